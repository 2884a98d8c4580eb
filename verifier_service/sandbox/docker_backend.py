"""Slots that are Docker containers, all from one fixed template; nothing of a program reaches Docker's API.

Control calls of the SDK block, so they run in threads; frames travel over the attach stream, in the event loop.
Each container carries the id of the instance that made it, and who that is (boot, pid and its start time): at the next
start, containers of owners that are gone are removed. A container also ends by itself when its stdin closes, and the
engine then removes it, so that a killed service leaves nothing even before that.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import docker.errors
import requests.exceptions

import docker
from verifier_service.sandbox import image
from verifier_service.sandbox.contract import BackendInfo, SandboxFault
from verifier_service.sandbox.link import RunnerLink
from verifier_service.sandbox.oci_runtime import RuntimeMissing, Runtimes, is_gvisor, lack_of_runtime
from verifier_service.sandbox.pool import UNFITTED, Pool, PoolEvents
from verifier_service.sandbox.pooled import Compiling, PooledBackend, languages_of, versions_of
from verifier_service.sandbox.runner import wire
from verifier_service.sandbox.runner.languages import most_processes_extra

LABEL = "io.verifier.sandbox"
HELLO_S = 30.0
CALL_TIMEOUT_S = 60
REMOVE_ALL_S = 15.0
RUNNER_MEMORY_MB = 56  # at least, for runner, zygotes and the kernel's own share of the container's memory
SPARE_MEMORY_MB = 32  # of that, on top of what runner and zygotes hold between runs
RUNNER_TASKS = 24
GVISOR_MEMORY_MB = 256  # gVisor's own kernel, and what a program takes between two looks at it
GVISOR_TASKS = 64  # on the host, of each task inside that is allowed: seen under fork bombs, and it dies for want of one
CAPABILITIES = ["SETUID", "SETGID", "CHOWN", "KILL", "DAC_OVERRIDE", "FOWNER"]
_Made = TypeVar("_Made")
_TROUBLE = (docker.errors.DockerException, requests.exceptions.RequestException, OSError)


@dataclass(frozen=True, slots=True)
class ContainerTemplate:
    """All that may differ from one deployment's containers, or one profile's, to another's."""

    image: str
    profile: str
    runtime: str
    memory_mb: int
    memory_ceiling_mb: int
    processes: int
    tmpfs_mb: int


def owner_labels(instance: str) -> dict[str, str]:
    """Labels that name this process, so that a later one can tell whether it still lives."""
    return {
        LABEL: "slot",
        f"{LABEL}.instance": instance,
        f"{LABEL}.boot": _boot_id(),
        f"{LABEL}.pid": str(os.getpid()),
        f"{LABEL}.started": _start_time(os.getpid()) or "",
        f"{LABEL}.host": socket.gethostname(),
    }


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _start_time(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _owner_is_gone(labels: dict[str, str]) -> bool:
    """Whether the maker is certainly no more. One in another container or on another host is none of our business,
    unless it bears our own host name: then it is an earlier life of this very container."""
    if labels.get(f"{LABEL}.boot") != _boot_id():
        return labels.get(f"{LABEL}.host") == socket.gethostname()
    if labels.get(f"{LABEL}.host") != socket.gethostname():
        return False
    pid = labels.get(f"{LABEL}.pid", "")
    return not pid.isdigit() or _start_time(int(pid)) != labels.get(f"{LABEL}.started")


def reap_orphans(client: docker.DockerClient) -> int:
    """Remove labelled containers whose owner is gone; how many."""
    reaped = 0
    for container in client.containers.list(all=True, ignore_removed=True, filters={"label": f"{LABEL}=slot"}):
        if _owner_is_gone(container.labels):
            with suppress(docker.errors.NotFound, docker.errors.APIError):
                container.remove(force=True)
                reaped += 1
    return reaped


def runtimes_for(client: docker.DockerClient, runtime: str) -> Runtimes:
    """Blocking: the engine's runtimes. Raises SandboxFault, which says how to mend it, where this one is not among them."""
    try:
        runtimes: Runtimes = client.info().get("Runtimes") or {}
    except _TROUBLE as error:
        raise SandboxFault(f"the Docker engine does not tell its runtimes: {error}") from error
    if lack := lack_of_runtime(runtime, runtimes):
        raise RuntimeMissing(lack)
    return runtimes


def _held_by_engine(template: ContainerTemplate, gvisor: bool) -> tuple[int, int]:
    """MiB and tasks that the engine holds a container to. gVisor's cgroup can't be moved later and holds its kernel too,
    and at its end that kernel dies: so it is wide there, and the runner holds the program to its limits."""
    tasks = template.processes + RUNNER_TASKS + most_processes_extra()
    if not gvisor:
        return template.memory_mb + RUNNER_MEMORY_MB, tasks
    memory_mb = template.memory_ceiling_mb + 2 * template.tmpfs_mb + RUNNER_MEMORY_MB + GVISOR_MEMORY_MB
    return memory_mb, GVISOR_TASKS * tasks


def _create_arguments(template: ContainerTemplate, labels: dict[str, str], gvisor: bool) -> dict[str, Any]:
    memory_mb, tasks = _held_by_engine(template, gvisor)
    memory = f"{memory_mb}m"
    uid = secrets.randbelow(1 << 28) * 2 + (1 << 29)
    config = {
        "submission_uid": uid,  # random: per-user limits of the kernel are then this container's own
        "judge_uid": uid + 1,
        "cgroup": not gvisor,
    }
    inodes = 16384
    # Docker forbids running what lies on a tmpfs unless told otherwise; where there are compilers, that is what it is for.
    executable = "" if template.profile == "python" else "exec,"
    return {
        "image": template.image,
        "command": [json.dumps(config)],
        "runtime": template.runtime,
        "network_mode": "none",
        "ipc_mode": "private",
        "read_only": True,
        "cap_drop": ["ALL"],
        "cap_add": CAPABILITIES,
        "security_opt": ["no-new-privileges", f"seccomp={image.SECCOMP_PROFILE.read_text()}"],
        "tmpfs": {
            "/box": f"rw,{executable}nosuid,nodev,size={template.tmpfs_mb}m,nr_inodes={inodes},mode=0711",
            "/dev/shm": f"rw,nosuid,nodev,noexec,size={template.tmpfs_mb}m,nr_inodes={inodes},mode=1777",  # noqa: S108
        },
        "mem_limit": memory,
        "memswap_limit": memory,
        "pids_limit": tasks,
        "nano_cpus": 1_000_000_000,
        "oom_score_adj": 300,
        "ulimits": [
            docker.types.Ulimit(name="core", soft=0, hard=0),
            docker.types.Ulimit(name="nofile", soft=1024, hard=1024),
            docker.types.Ulimit(name="stack", soft=64 << 20, hard=64 << 20),
        ],
        "log_config": docker.types.LogConfig(type="none"),
        "labels": labels,
        "environment": {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
        "hostname": "sandbox",
        "stdin_open": True,
        "auto_remove": True,
        "detach": False,  # with stdin_open this means StdinOnce: stdin closes with the attach stream, so no orphan lives on
    }


class DockerSlot:
    """One container, attached."""

    def __init__(self, container: Any, link: RunnerLink, memory_mb: int, movable: bool) -> None:
        self._container = container
        self._movable = movable
        self.memory_mb = memory_mb
        self._own_mb = RUNNER_MEMORY_MB
        self.link = link
        self.hello: dict[str, Any] = {}

    async def fit_memory(self, memory_mb: int) -> None:
        """Move the cgroup's limit, if it is another and can be; programs of one task mostly share it."""
        if memory_mb == self.memory_mb or not self._movable:
            return
        limit = (memory_mb + self._own_mb) << 20
        try:
            await asyncio.to_thread(self._container.update, mem_limit=limit, memswap_limit=limit)
        except _TROUBLE as error:
            raise SandboxFault(f"a container's memory limit could not be set: {error}") from error
        self.memory_mb = memory_mb

    def rests_at(self, resting_mb: int) -> None:
        own_mb = max(RUNNER_MEMORY_MB, -(-(resting_mb + SPARE_MEMORY_MB) // 8) * 8)
        if own_mb != self._own_mb:
            self._own_mb = own_mb
            self.memory_mb = UNFITTED

    async def destroy(self) -> None:
        self.link.close()
        await asyncio.shield(asyncio.to_thread(_remove, self._container))


def _remove(container: Any) -> None:
    with suppress(*_TROUBLE):
        container.remove(force=True, v=True)


class DockerSlots:
    """Makes slots that are containers."""

    def __init__(self, connect: Callable[[], docker.DockerClient], template: ContainerTemplate) -> None:
        self._connect = connect
        self.template = template
        self.instance = secrets.token_hex(8)
        self._client: docker.DockerClient | None = None
        self.hello: dict[str, Any] = {}
        self.gvisor = False
        self._closing = False
        self._image_id = ""  # the name may move on to another checkout's image while this one runs

    def client(self) -> docker.DockerClient:
        if self._client is None:
            self._client = self._connect()
        return self._client

    def prepare(self) -> None:
        """Blocking: reach the engine, see that it has the runtime, build the image if need be, reap what dead owners left.

        Raises SandboxFault.
        """
        self._closing = False
        try:
            client = self.client()
            client.ping()
            reap_orphans(client)
        except _TROUBLE as error:
            raise SandboxFault(f"no Docker engine answers: {error}; is it running, and may this user use it?") from error
        runtimes = runtimes_for(client, self.template.runtime)
        self.gvisor = is_gvisor(self.template.runtime, runtimes)
        self._image_id = image.ensure(client, self.template.image, self.template.profile, lambda: self._closing)

    def give_up(self) -> None:
        """End a build that is under way."""
        self._closing = True

    async def make(self) -> DockerSlot:
        """A container whose runner has said hello."""
        try:
            slot = await self._attached()
        except _TROUBLE as error:
            raise SandboxFault(f"a sandbox container could not be started: {error}") from error
        try:
            async with asyncio.timeout(HELLO_S):
                kind, body = await slot.link.receive()
            hello = json.loads(body) if kind == wire.HELLO else {}
            if hello.get("version") != wire.VERSION:
                raise SandboxFault("the image's runner speaks another version; rebuild the image")
        except BaseException as error:
            await slot.destroy()
            if isinstance(error, TimeoutError):
                raise SandboxFault(f"a container's runner did not say hello within {HELLO_S:.0f} s") from error
            raise
        slot.hello = self.hello = hello
        return slot

    async def _attached(self) -> DockerSlot:
        arguments = _create_arguments(self.template, owner_labels(self.instance), self.gvisor)
        arguments["image"] = self._image_id or self.template.image
        container = await _made(lambda: self._create(arguments), undo=_remove)
        link = RunnerLink(demux=True)
        try:
            sock = await _made(lambda: _attach(self.client(), container.id), undo=socket.socket.close)
            await asyncio.get_running_loop().create_unix_connection(lambda: link, sock=sock)
            await asyncio.to_thread(container.start)
        except BaseException:
            link.close()
            await asyncio.shield(asyncio.to_thread(_remove, container))
            raise
        return DockerSlot(container, link, self.template.memory_mb, movable=not self.gvisor)

    def _create(self, arguments: dict[str, Any]) -> Any:
        return self.client().containers.create(**arguments)

    def remove_all(self) -> None:
        """Blocking: remove every container of this instance, whatever became of its slot."""
        deadline = time.monotonic() + REMOVE_ALL_S
        with suppress(*_TROUBLE):
            filters: dict[str, str | list[str] | bool] = {"label": f"{LABEL}.instance={self.instance}"}
            while left := self.client().containers.list(all=True, ignore_removed=True, filters=filters):
                for container in left:
                    _remove(container)
                if time.monotonic() > deadline:
                    return  # the engine is stuck; the next start removes them
                time.sleep(0.05)  # a removal that is under way already can't be waited for otherwise

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


async def _made(make: Callable[[], _Made], *, undo: Callable[[_Made], None]) -> _Made:
    """What a blocking call makes. A thread can't be cancelled: what it made after all is undone before the cancellation
    goes on."""
    making = asyncio.ensure_future(asyncio.to_thread(make))
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        with suppress(*_TROUBLE):
            made = await making
            await asyncio.to_thread(undo, made)
        raise


def _attach(client: docker.DockerClient, container_id: str) -> socket.socket:
    """The raw two-way stream of a container's stdio."""
    stream: Any = client.api.attach_socket(container_id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
    # The SDK wraps the hijacked connection for blocking use; taken out of it, the descriptor is ours alone to close.
    sock = socket.socket(fileno=stream._sock.detach())
    sock.setblocking(False)
    return sock


class DockerBackend(PooledBackend):
    """Sandboxes in containers of the local engine."""

    def __init__(
        self,
        maker: DockerSlots,
        *,
        slots: int,
        spares: int,
        recycle_after: int,
        reuse: bool,
        compiling: Compiling,
        events: PoolEvents | None = None,
    ) -> None:
        pool = Pool(
            maker,
            slots=slots,
            spares=spares,
            recycle_after=recycle_after,
            events=events,
            profile=maker.template.profile,
        )
        super().__init__(pool, reuse=reuse, compiling=compiling)
        self._maker = maker

    async def start(self) -> None:
        await asyncio.to_thread(self._maker.prepare)
        await super().start()

    async def aclose(self) -> None:
        self._maker.give_up()
        await super().aclose()
        await asyncio.shield(asyncio.to_thread(self._maker.remove_all))
        self._maker.close()

    def info(self) -> BackendInfo:
        runtime = self._maker.template.runtime
        hello = self._maker.hello
        return BackendInfo(
            name="docker",
            isolation="container",
            runtime=runtime,
            slots=self.pool.slots,
            languages=languages_of(hello),
            versions=versions_of(hello),
            details={"image": self._maker.template.image, "python": str(hello.get("python", ""))},
        )
