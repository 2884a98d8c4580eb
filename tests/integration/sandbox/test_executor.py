"""The executor over its socket: programs and nothing else, for who may open it, and back after a restart."""

from __future__ import annotations

import asyncio
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from verifier_service.executor.server import Executor
from verifier_service.sandbox import remote_wire
from verifier_service.sandbox.conformance import CHECKS
from verifier_service.sandbox.conformance.programs import expect_output, limits, run, still_well
from verifier_service.sandbox.contract import Limits, Program, ProgramRefused, SandboxFault, SlotWaitTimeout
from verifier_service.sandbox.remote import RemoteBackend
from verifier_service.sandbox.runner import wire
from verifier_service.sandbox.select import make_bubblewrap_backend
from verifier_service.settings import Settings

pytestmark = pytest.mark.bubblewrap
SETTINGS = Settings(sandbox_slots=1, sandbox_spares=1)


async def serve(path: Path) -> Executor:
    executor = Executor(make_bubblewrap_backend(SETTINGS), SETTINGS, path)
    await executor.start()
    async with asyncio.timeout(60):
        while not executor.ready:
            await asyncio.sleep(0.05)
    return executor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "executor.sock"


@pytest_asyncio.fixture
async def executor(path: Path) -> AsyncIterator[Executor]:
    made = await serve(path)
    yield made
    await made.aclose(5)


@pytest_asyncio.fixture
async def backend(executor: Executor, path: Path) -> AsyncIterator[RemoteBackend]:
    made = RemoteBackend(path)
    await made.start()
    yield made
    await made.aclose()


@pytest.mark.parametrize(
    "name",
    [
        "a right program exits with 0 and its output",
        "cases run in order and apart",
        "leaving early stops the rest",
        "an output flood is cut",
        "a large right output passes whole",
        "a judge hears the submission and reports",
        "large frames pass whole",
    ],
)
async def test_a_program_runs_as_it_would_without_the_socket_between(backend: RemoteBackend, name: str) -> None:
    await CHECKS[name](backend)


async def test_the_socket_is_for_owner_and_group_alone(executor: Executor, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o660


async def test_a_limit_above_the_ceiling_is_refused_and_the_connection_lives(backend: RemoteBackend) -> None:
    with pytest.raises(ProgramRefused, match="memory_mb"):
        await run(backend, "print(1)", memory_mb=10**6)
    with pytest.raises(ProgramRefused, match="wall_time_s"):
        await run(backend, "print(1)", wall_time_s=float("inf"))
    await still_well(backend)


async def test_waiting_for_a_slot_ends_at_the_deadline(backend: RemoteBackend) -> None:
    async with backend.run(Program("python", "import time\ntime.sleep(30)"), limits(wall_time_s=30.0)):
        with pytest.raises(SlotWaitTimeout):
            async with backend.run(Program("python", "print(1)"), Limits(), deadline_s=0.2):
                pass
    await still_well(backend)


async def test_a_client_that_leaves_stops_its_program(backend: RemoteBackend, path: Path) -> None:
    other = RemoteBackend(path)
    running = other.run(Program("python", "import time\ntime.sleep(60)"), limits(wall_time_s=60.0))
    execution = await running.__aenter__()
    execution._exchange.link.close()
    async with asyncio.timeout(20):
        await expect_output(backend, "print('free')", b"free\n")
    await running.__aexit__(None, None, None)
    await other.aclose()


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">IB", 2**32 - 1, remote_wire.ASK_RUN),
        wire.frame(99, b""),
        wire.frame(remote_wire.ASK_RUN, b"short"),
        wire.frame(remote_wire.ASK_RUN, struct.pack(">d", float("nan")) + b"x" * 100),
        wire.frame(remote_wire.ASK_JUDGE, remote_wire.pack_ask(1.0, b"\xff" * 200)),
        wire.frame(wire.FAULT, b"no such thing from a client"),
    ],
)
async def test_what_is_no_request_ends_the_connection_and_harms_nobody(backend: RemoteBackend, path: Path, data: bytes) -> None:
    def talk() -> bytes:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(str(path))
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            return client.recv(100)

    assert await asyncio.to_thread(talk) == b""
    await still_well(backend)


async def test_an_executor_that_was_restarted_is_found_again(path: Path) -> None:
    first = await serve(path)
    backend = RemoteBackend(path)
    await backend.start()
    await first.aclose(5)
    assert not path.exists()
    with pytest.raises(SandboxFault, match="does not answer"):
        await run(backend, "print(1)")
    second = await serve(path)
    await still_well(backend)
    await backend.aclose()
    await second.aclose(5)


async def test_two_executors_never_share_a_socket_and_a_dead_ones_is_replaced(
    executor: Executor, path: Path, tmp_path: Path
) -> None:
    rival = Executor(make_bubblewrap_backend(SETTINGS), SETTINGS, path)
    with pytest.raises(SandboxFault, match="another executor"):
        await rival.start()
    stale = tmp_path / "stale.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(stale))
    third = await serve(stale)
    await third.aclose(1)


async def test_the_check_tells_whether_an_executor_is_ready(executor: Executor, path: Path, tmp_path: Path) -> None:
    def check(socket_path: Path) -> int:
        command = [sys.executable, "-m", "verifier_service.executor", "--check"]
        environment = {"PATH": "/usr/bin:/bin", "VERIFIER_EXECUTOR_SOCKET": str(socket_path)}
        return subprocess.run(
            command, env=environment, cwd=Path(__file__).parents[3], capture_output=True, check=False
        ).returncode

    assert await asyncio.to_thread(check, path) == 0
    assert await asyncio.to_thread(check, tmp_path / "nobody.sock") == 1
