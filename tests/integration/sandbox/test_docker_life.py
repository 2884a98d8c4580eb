"""Containers come and go as they should: after crashes, kills and an engine's trouble, nothing stays and all recovers."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import docker
from verifier_service.sandbox import docker_backend
from verifier_service.sandbox.conformance.programs import expect_output, run, still_well
from verifier_service.sandbox.contract import Ending, Limits, Program, SandboxFault
from verifier_service.sandbox.docker_backend import LABEL, DockerBackend
from verifier_service.sandbox.select import make_docker_backend
from verifier_service.settings import Settings

pytestmark = pytest.mark.docker
ROOT = Path(__file__).parents[3]


@pytest.fixture
def engine() -> Iterator[docker.DockerClient]:
    client = docker.from_env()
    yield client
    client.close()


@pytest_asyncio.fixture
async def backend() -> AsyncIterator[DockerBackend]:
    made = make_docker_backend(Settings(sandbox_slots=1, sandbox_spares=1))
    await made.start()
    yield made
    await made.aclose()


def containers_of(client: docker.DockerClient, label: str) -> list[Any]:
    return client.containers.list(all=True, ignore_removed=True, filters={"label": label})


def instance_of(backend: DockerBackend) -> str:
    return f"{LABEL}.instance={backend._maker.instance}"


async def test_closing_leaves_no_container(backend: DockerBackend, engine: docker.DockerClient) -> None:
    assert containers_of(engine, instance_of(backend))
    await backend.aclose()
    await backend.aclose()
    assert containers_of(engine, instance_of(backend)) == []


@pytest.mark.parametrize("step", ["_create", "_attach"])
async def test_a_start_that_is_cancelled_leaves_neither_container_nor_connection(
    backend: DockerBackend, engine: docker.DockerClient, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    maker = backend._maker
    under_way, going_on = threading.Event(), threading.Event()
    made: list[Any] = []
    containers: list[str] = []
    owner: Any = docker_backend if step == "_attach" else maker
    call = getattr(owner, step)

    def slowly(*arguments: Any) -> Any:
        made.append(call(*arguments))
        containers.append(arguments[1] if step == "_attach" else made[0].id)
        under_way.set()
        going_on.wait(20)
        return made[0]

    monkeypatch.setattr(owner, step, slowly)
    making = asyncio.ensure_future(maker.make())
    await asyncio.to_thread(under_way.wait, 20)
    making.cancel()
    await asyncio.sleep(0)
    going_on.set()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert containers[0] not in {container.id for container in containers_of(engine, instance_of(backend))}
    if step == "_attach":
        assert made[0].fileno() == -1


async def test_a_container_killed_while_it_runs_is_a_fault_and_the_next_program_runs(
    backend: DockerBackend, engine: docker.DockerClient
) -> None:
    async def run_and_kill() -> None:
        async with backend.run(Program("python", "import time\ntime.sleep(60)"), Limits(wall_time_s=60)) as execution:
            (lease,) = backend.pool._busy
            await asyncio.to_thread(engine.containers.get(lease.slot._container.id).kill)  # type: ignore[attr-defined]
            async for _ in execution:
                pass

    with pytest.raises(SandboxFault):
        await run_and_kill()
    await still_well(backend, 3)


async def test_a_container_killed_while_idle_is_not_lent(backend: DockerBackend, engine: docker.DockerClient) -> None:
    for container in containers_of(engine, instance_of(backend)):
        await asyncio.to_thread(container.kill)
    await asyncio.sleep(0.3)
    deadline = time.monotonic() + 30
    while True:  # faults while there is no slot are told at once, and end by themselves
        try:
            await expect_output(backend, "print('back')", b"back\n")
            break
        except SandboxFault:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)


async def test_an_engine_that_comes_back_is_used_again(backend: DockerBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = True
    create = backend._maker._create

    def refuse(arguments: dict[str, Any]) -> Any:
        if broken:
            raise docker.errors.APIError("engine is down")
        return create(arguments)

    monkeypatch.setattr(backend._maker, "_create", refuse)
    for lease in list(backend.pool._idle):
        lease.slot.link.lose("engine went away")

    async def run_some() -> None:
        for _ in range(3):
            await run(backend, "print(1)")
            await asyncio.sleep(0.2)

    with pytest.raises(SandboxFault):
        await run_some()
    broken = False
    await asyncio.sleep(2.5)
    await still_well(backend)


async def test_memory_limits_follow_the_program(backend: DockerBackend) -> None:
    source = "x = bytearray(b'x') * (200 << 20)\nprint(len(x) >> 20)"
    assert (await run(backend, source, memory_mb=128)).ending is Ending.MEMORY
    await expect_output(backend, source, b"200\n", memory_mb=400)
    await expect_output(backend, "x = bytearray(b'x') * (700 << 20)\nprint(len(x) >> 20)", b"700\n", memory_mb=1024)
    assert (await run(backend, source, memory_mb=128)).ending is Ending.MEMORY


async def test_strict_mode_gives_each_program_a_container_of_its_own() -> None:
    backend = make_docker_backend(Settings(sandbox_slots=1, sandbox_spares=1, sandbox_reuse="never"))
    await backend.start()
    try:
        before = backend.stats().recycles["strict"]
        seen = set()
        for _ in range(3):
            async with backend.run(Program("python", "print(1)"), Limits()) as execution:
                (lease,) = backend.pool._busy
                seen.add(lease.slot._container.id)  # type: ignore[attr-defined]
                async for end in execution:
                    assert end.stdout == b"1\n"
        assert len(seen) == 3
        assert backend.stats().recycles["strict"] == before + 3
    finally:
        await backend.aclose()


async def test_slots_are_recycled_without_a_program_noticing() -> None:
    backend = make_docker_backend(Settings(sandbox_slots=2, sandbox_spares=1, sandbox_recycle_after=3))
    await backend.start()
    try:
        ends = await asyncio.gather(*(run(backend, f"print({n})") for n in range(30)))
        assert [end.stdout for end in ends] == [f"{n}\n".encode() for n in range(30)]
        assert backend.stats().recycles["worn"] >= 5
    finally:
        await backend.aclose()


KILLED = """
import asyncio, sys
from verifier_service.sandbox.select import make_docker_backend
from verifier_service.settings import Settings
async def main():
    backend = make_docker_backend(Settings(sandbox_slots=1, sandbox_spares=1))
    await backend.start()
    print(backend._maker.instance, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


def test_a_killed_owner_leaves_nothing_after_the_next_start(engine: docker.DockerClient) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, cwd=ROOT, text=True) as owner:
        assert owner.stdout is not None
        label = f"{LABEL}.instance={owner.stdout.readline().strip()}"
        assert containers_of(engine, label)
        os.kill(owner.pid, signal.SIGKILL)
    docker_backend.reap_orphans(engine)
    deadline = time.monotonic() + 10
    while containers_of(engine, label):  # removal by the engine itself may be under way
        assert time.monotonic() < deadline
        time.sleep(0.1)


async def test_an_image_name_that_moves_on_does_not_change_the_running_pools_containers(engine: docker.DockerClient) -> None:
    name = f"verifier-test-{secrets.token_hex(4)}"
    backend = make_docker_backend(Settings(sandbox_slots=1, sandbox_image=f"{name}:latest"))
    maker = backend._maker
    try:
        await asyncio.to_thread(maker.prepare)
        engine.images.get("debian:trixie-slim").tag(name, "latest")
        slot = await maker.make()
        assert slot.hello
        await slot.destroy()
    finally:
        await backend.aclose()
        for image in engine.images.list(name=name):
            for tag in image.tags:
                if tag.startswith(f"{name}:"):
                    engine.images.remove(tag)


def large_pages_can_be_had() -> bool:
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    release = tuple(int(part) for part in os.uname().release.split(".")[:2])
    return os.uname().machine == "x86_64" and release >= (6, 1) and setting.exists() and "[never]" not in setting.read_text()


@pytest.mark.skipif(not large_pages_can_be_had(), reason="this kernel brings no pages together on request")
async def test_a_program_finds_the_interpreters_code_on_large_pages(backend: DockerBackend) -> None:
    source = """
for line in open("/proc/self/smaps_rollup"):
    if line.startswith("AnonHugePages:"):
        print(int(line.split()[1]) >= 2048)
"""
    await expect_output(backend, source, b"True\n")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is only one CPU")
async def test_a_run_stays_on_one_cpu_until_it_takes_long(backend: DockerBackend) -> None:
    cpus = len(os.sched_getaffinity(0))
    await run(backend, "pass")  # from where the runner wakes next, it keeps what it starts there
    await asyncio.sleep(0.1)
    await run(backend, "pass")
    await expect_output(backend, "import os\nprint(len(os.sched_getaffinity(0)))", b"1\n")
    source = """
import os, threading, time
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import os, time; time.sleep(0.4); print(len(os.sched_getaffinity(0)))"])
seen = []
thread = threading.Thread(target=lambda: (time.sleep(0.3), seen.append(len(os.sched_getaffinity(0)))))
thread.start()
thread.join()
child.wait()
print(len(os.sched_getaffinity(0)), seen[0])
"""
    await expect_output(backend, source, f"{cpus}\n{cpus} {cpus}\n".encode())
