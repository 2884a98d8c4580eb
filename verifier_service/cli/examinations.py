"""The doctor's examinations, each of which tries one part and returns what it saw."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import httpx

from verifier_service.cli.serve import base_url, is_loopback
from verifier_service.faults import Fault
from verifier_service.sandbox.contract import SandboxBackend, SandboxFault
from verifier_service.sandbox.oci_runtime import Runtimes, is_gvisor, lack_of_runtime
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Verifier

DEFAULT_ENGINE = "unix:///var/run/docker.sock"
ENGINE_TIMEOUT_S = 5.0
START_TIMEOUT_S = 120.0
LEAST_MEMORY_MB_PER_SLOT = 256
ENGINE_REMEDY = "install Docker, or on Debian and Ubuntu run: sudo scripts/docker-engine.sh"


class Status(StrEnum):
    OK = "ok"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    part: str
    status: Status
    seen: str
    remedy: str = ""


async def examine(settings: Settings, doing: Callable[[str], None]) -> AsyncIterator[Finding]:
    """All findings, in the order in which a person would mend them. `doing` is told what is tried now."""
    yield _python()
    yield _machine(settings)
    yield await _port(settings)
    doing("trying the Docker engine")
    async for finding in _docker(settings):
        yield finding
    yield await _bubblewrap()
    async for finding in _verifiers(settings, doing):
        yield finding


def _python() -> Finding:
    seen = f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.release()}"
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        return Finding("python", Status.BROKEN, seen, "use Python 3.11, 3.12 or 3.13")
    if platform.system() != "Linux":
        return Finding("python", Status.NOTE, seen, "sandboxes need Linux; elsewhere use docker compose")
    return Finding("python", Status.OK, seen)


def _machine(settings: Settings) -> Finding:
    cores = len(os.sched_getaffinity(0))
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    slots = settings.sandbox_slots or cores
    seen = f"{cores} cores, {memory_mb:,} MiB of memory; {slots} sandboxes at one time"
    wanted_mb = slots * (LEAST_MEMORY_MB_PER_SLOT + settings.code_memory_mb)
    if memory_mb < wanted_mb:
        return Finding(
            "machine", Status.NOTE, seen, f"programs may use {wanted_mb:,} MiB; lower VERIFIER_SANDBOX_SLOTS or _CODE_MEMORY_MB"
        )
    return Finding("machine", Status.OK, seen)


async def _port(settings: Settings) -> Finding:
    where = f"{settings.host}:{settings.port}"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            if await _answers(f"{base_url(settings)}/healthz"):
                return Finding("port", Status.NOTE, f"{where} is taken by a service that answers already")
            return Finding("port", Status.BROKEN, f"{where}: {error.strerror}", "free the port, or choose another with --port")
    if not is_loopback(settings.host) and settings.tokens_file is None:
        remedy = "set VERIFIER_TOKENS_FILE (verifier-service hash-token)"
        return Finding("port", Status.NOTE, f"{where} is free; open to other machines without a token", remedy)
    return Finding("port", Status.OK, f"{where} is free")


async def _answers(url: str) -> bool:
    try:
        async with httpx.AsyncClient(timeout=ENGINE_TIMEOUT_S) as client:
            return (await client.get(url)).is_success
    except httpx.HTTPError:
        return False


async def _docker(settings: Settings) -> AsyncIterator[Finding]:
    """The engine by its own HTTP interface, so that neither the SDK nor the command line has to be there."""
    address = os.environ.get("DOCKER_HOST") or DEFAULT_ENGINE
    scheme, _, rest = address.partition("://")
    transport = httpx.AsyncHTTPTransport(uds=rest) if scheme == "unix" else None
    url = "http://docker" if scheme == "unix" else f"http://{rest}"
    try:
        async with httpx.AsyncClient(transport=transport, base_url=url, timeout=ENGINE_TIMEOUT_S) as client:
            info = (await client.get("/info")).raise_for_status().json()
            profiles = settings.sandbox_profiles.split(",")
            images = {name: await client.get(f"/images/{settings.image_of(name)}/json") for name in profiles}
    except (httpx.HTTPError, ValueError) as error:
        if isinstance(error, httpx.ConnectError) and _is_denied(rest):
            remedy = "add yourself to the group docker: sudo usermod -aG docker $USER, then log in again"
            yield Finding("docker", Status.NOTE, f"this user may not use the socket at {address}", remedy)
        else:
            yield Finding("docker", Status.NOTE, f"no engine answers at {address}", ENGINE_REMEDY)
        return
    runtimes = ", ".join(sorted(info.get("Runtimes", {})))
    seen = f"engine {info.get('ServerVersion')} at {address}, cgroup v{info.get('CgroupVersion', '1')}, runtimes {runtimes}"
    yield Finding("docker", Status.OK, seen)
    yield _runtime(settings.sandbox_runtime, info.get("Runtimes") or {})
    for profile, image in images.items():
        yield _image(settings, profile, image)
    yield await _compose()


def _image(settings: Settings, profile: str, image: httpx.Response) -> Finding:
    name = settings.image_of(profile)
    title = "sandbox image" if profile == "python" else f"image {profile}"
    if image.is_success:
        return Finding(title, Status.OK, f"{name}, {image.json().get('Size', 0) / 1e6:,.0f} MB")
    when = "the first start builds it" if profile == "python" else "the first start builds it while it serves, in minutes"
    return Finding(title, Status.NOTE, f"{name} is not built yet", f"{when} (make serve)")


def _runtime(name: str, runtimes: Runtimes) -> Finding:
    if lack := lack_of_runtime(name, runtimes):
        return Finding("runtime", Status.BROKEN, f"{name} is not registered in the engine", lack)
    if is_gvisor(name, runtimes):
        return Finding("runtime", Status.OK, f"{name}: gVisor, a kernel of its own for each sandbox")
    return Finding("runtime", Status.OK, f"{name}: sandboxes share this machine's kernel")


async def _compose() -> Finding:
    if shutil.which("docker") and await _runs("docker", "compose", "version"):
        return Finding("compose", Status.OK, "installed: docker compose up --build")
    if shutil.which("docker-compose"):
        return Finding("compose", Status.OK, "installed, the older one: docker-compose up --build")
    remedy = "only needed for docker compose up: install docker-compose-plugin or docker-compose"
    return Finding("compose", Status.NOTE, "not installed", remedy)


def _is_denied(socket_path: str) -> bool:
    return Path(socket_path).is_socket() and not os.access(socket_path, os.W_OK)


async def _runs(*command: str) -> bool:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
    return await process.wait() == 0


async def _bubblewrap() -> Finding:
    if shutil.which("bwrap") is None:
        return Finding("bubblewrap", Status.NOTE, "not installed", "only needed without Docker: apt-get install bubblewrap")
    if not await _runs("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"):
        remedy = (
            "allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1, "
            "and on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0"
        )
        return Finding("bubblewrap", Status.NOTE, "installed, but this user can't make namespaces", remedy)
    return Finding("bubblewrap", Status.OK, "makes namespaces")


async def _verifiers(settings: Settings, doing: Callable[[str], None]) -> AsyncIterator[Finding]:
    from verifier_service.sandbox.select import choose_backend
    from verifier_service.verifiers.registry import make_verifiers

    doing("choosing a sandbox")
    choice = await choose_backend(settings)
    verifiers = make_verifiers(settings, choice.backend, choice.reason)
    try:
        for kind, verifier in verifiers.items():
            doing(f"trying the verifier {kind}")
            yield await _canary(kind, verifier)
        if choice.backend is not None:
            doing("trying the sandbox's limits")
            async for finding in _sandbox(choice.backend):
                yield finding
    finally:
        for verifier in verifiers.values():
            await verifier.aclose()


async def _canary(kind: str, verifier: Verifier) -> Finding:
    """Start the verifier and let it score its right and its wrong answer."""
    start = time.monotonic()
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            await verifier.start()
            await verifier.canary()
    except Fault as error:
        return Finding(f"verifier {kind}", Status.BROKEN, "does not score", str(error))
    except TimeoutError:
        return Finding(
            f"verifier {kind}", Status.BROKEN, f"did not start within {START_TIMEOUT_S:.0f} s", "is the machine overloaded?"
        )
    return Finding(
        f"verifier {kind}",
        Status.OK,
        f"version {verifier.id.version} scored a right and a wrong answer, {time.monotonic() - start:.2f} s with its start",
    )


async def _sandbox(backend: SandboxBackend) -> AsyncIterator[Finding]:
    info = backend.info()
    seen = (
        f"{info.name}, isolation by {info.isolation} ({info.runtime}), {info.slots} slots, languages {', '.join(info.languages)}"
    )
    yield Finding("sandbox", Status.OK if info.isolation == "container" else Status.NOTE, seen, info.note)
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            for limit, what in (await backend.probe()).items():
                yield Finding(f"  limit: {limit}", Status.OK, what)
    except SandboxFault as error:
        yield Finding("  limits", Status.BROKEN, "one does not bite", str(error))
    except TimeoutError:
        yield Finding("  limits", Status.BROKEN, f"not proven within {START_TIMEOUT_S:.0f} s", "is the machine overloaded?")
