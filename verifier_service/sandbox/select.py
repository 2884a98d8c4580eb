"""Which backend this machine and these settings get, and why not another.

`auto`: the executor if its socket is set, else Docker if an engine answers, else bubblewrap if it works, else none; and
then the reason says what to install. `minimum_isolation=container` refuses bubblewrap, asked for by name or not.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import docker.errors
import requests.exceptions

import docker
from verifier_service.sandbox import image
from verifier_service.sandbox.bubblewrap_backend import BubblewrapBackend, BubblewrapSlots, try_bubblewrap
from verifier_service.sandbox.builds import Builds
from verifier_service.sandbox.contract import MIB, Limits, SandboxBackend
from verifier_service.sandbox.docker_backend import (
    CALL_TIMEOUT_S,
    ContainerTemplate,
    DockerBackend,
    DockerSlots,
    runtimes_for,
)
from verifier_service.sandbox.pool import PoolEvents
from verifier_service.sandbox.pooled import Compiling
from verifier_service.sandbox.profiles import ProfiledBackend
from verifier_service.sandbox.remote import RemoteBackend
from verifier_service.sandbox.runner.languages import LANGUAGES
from verifier_service.settings import Settings

BUILD_PROCESSES = 64
BUILD_OUTPUT_BYTES = 64 << 10  # of what a compiler says


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """A backend, not started; or None, and `reason` says why and how to mend it."""

    backend: SandboxBackend | None
    reason: str


def core_count() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def lack_of_engine() -> str | None:
    """Why no Docker engine can be used, or None. Blocking for as long as an engine takes to answer a ping."""
    client = None
    try:
        client = docker.from_env(timeout=5)
        client.ping()
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        return f"no Docker engine answers ({error})"
    finally:
        if client is not None:
            client.close()
    return None


def prepare_image(settings: Settings, announce: Callable[[str], None]) -> None:
    """Where these settings mean Docker, build the sandboxes' image if it is missing or out of date; else do nothing.

    Blocking, for minutes at the first time: done before a start, whose own time is bounded. `announce` is told before
    it builds. An engine without the runtime is told here, too, before anybody waits for an image. Raises SandboxFault.
    """
    by_executor = settings.sandbox == "executor" or settings.executor_socket is not None
    if by_executor or settings.sandbox not in ("auto", "docker") or lack_of_engine() is not None:
        return
    with closing(docker.from_env(timeout=CALL_TIMEOUT_S)) as client:
        runtimes_for(client, settings.sandbox_runtime)
        if not image.is_current(client, settings.sandbox_image):
            announce(f"building the sandboxes' image {settings.sandbox_image} (once; a minute or so)")
            image.ensure(client, settings.sandbox_image)


def _compiling(settings: Settings) -> Compiling:
    limits = Limits(
        cpu_time_s=settings.code_build_cpu_s,
        wall_time_s=2 * settings.code_build_cpu_s,
        memory_mb=settings.code_build_memory_mb,
        processes=BUILD_PROCESSES,
        output_bytes=BUILD_OUTPUT_BYTES,
        file_bytes=settings.code_build_tmpfs_mb * MIB,
    )
    return Compiling(limits, Builds(settings.code_build_cache_mb * MIB))


def _slots(settings: Settings, profile: str) -> int:
    own = settings.sandbox_other_slots if profile != "python" else None
    return own or settings.sandbox_slots or core_count()


def _most_memory_mb(settings: Settings) -> int:
    """The most that a program of any language, or its compiler, may be granted."""
    extra_mb = max(row.memory_extra_mb for row in LANGUAGES.values())
    return max(settings.code_memory_ceiling_mb + extra_mb, settings.code_build_memory_mb)


def make_docker_backend(settings: Settings, events: PoolEvents | None = None, profile: str = "python") -> DockerBackend:
    """Slots of one profile."""
    plain = profile == "python"
    template = ContainerTemplate(
        image=settings.image_of(profile),
        profile=profile,
        runtime=settings.sandbox_runtime,
        memory_mb=settings.code_memory_mb,
        memory_ceiling_mb=settings.code_memory_ceiling_mb if plain else _most_memory_mb(settings),
        processes=settings.code_processes_ceiling,
        tmpfs_mb=settings.sandbox_tmpfs_mb if plain else max(settings.sandbox_tmpfs_mb, settings.code_build_tmpfs_mb),
    )
    maker = DockerSlots(lambda: docker.from_env(timeout=CALL_TIMEOUT_S), template)
    slots = _slots(settings, profile)
    return DockerBackend(
        maker,
        slots=slots,
        spares=settings.sandbox_spares if settings.sandbox_reuse == "reset" else max(settings.sandbox_spares, slots),
        recycle_after=settings.sandbox_recycle_after,
        reuse=settings.sandbox_reuse == "reset",
        compiling=_compiling(settings),
        events=events,
    )


def make_docker_profiles(settings: Settings, events: PoolEvents | None = None) -> ProfiledBackend:
    """Slots of all profiles that the settings name."""
    return ProfiledBackend(
        {profile: make_docker_backend(settings, events, profile) for profile in settings.sandbox_profiles.split(",")}
    )


def make_bubblewrap_backend(settings: Settings, events: PoolEvents | None = None) -> BubblewrapBackend:
    """Slots with all languages that this machine has."""
    several = settings.sandbox_profiles != "python"
    maker = BubblewrapSlots(
        tmpfs_mb=max(settings.sandbox_tmpfs_mb, settings.code_build_tmpfs_mb) if several else settings.sandbox_tmpfs_mb,
    )
    return BubblewrapBackend(
        maker,
        slots=settings.sandbox_slots or core_count(),
        spares=settings.sandbox_spares,
        recycle_after=settings.sandbox_recycle_after,
        reuse=settings.sandbox_reuse == "reset",
        compiling=_compiling(settings),
        events=events,
    )


async def choose_backend(settings: Settings, events: PoolEvents | None = None) -> BackendChoice:
    """The backend for these settings, not started. Raises nothing: trouble is the choice's reason."""
    wish = settings.sandbox
    if wish == "off":
        return BackendChoice(None, "running code is switched off (VERIFIER_SANDBOX=off)")
    if wish == "executor" or (wish == "auto" and settings.executor_socket is not None):
        if settings.executor_socket is None:
            return BackendChoice(None, "VERIFIER_SANDBOX=executor needs VERIFIER_EXECUTOR_SOCKET, the executor's Unix socket")
        return BackendChoice(RemoteBackend(settings.executor_socket), "")
    engine = None
    if wish in ("auto", "docker"):
        engine = await asyncio.to_thread(lack_of_engine)
        if engine is None:
            return BackendChoice(make_docker_profiles(settings, events), "")
        if wish == "docker":
            return BackendChoice(None, f"{engine}; start one (scripts/docker-engine.sh) or let this user use it")
    return await _bubblewrap(settings, events, engine)


async def _bubblewrap(settings: Settings, events: PoolEvents | None, engine: str | None) -> BackendChoice:
    before = f"{engine}, and " if engine else ""
    if settings.minimum_isolation == "container":
        return BackendChoice(None, f"{before}VERIFIER_MINIMUM_ISOLATION=container refuses bubblewrap: start a Docker engine")
    if shutil.which("bwrap") is None:
        return BackendChoice(None, f"{before}bubblewrap is not installed: start a Docker engine, or apt-get install bubblewrap")
    lack = await asyncio.to_thread(try_bubblewrap)
    if lack is not None:
        return BackendChoice(None, f"{before}bubblewrap does not work here: {lack}")
    return BackendChoice(make_bubblewrap_backend(settings, events), "")
