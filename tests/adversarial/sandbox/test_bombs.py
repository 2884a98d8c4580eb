# ruff: noqa: E501 - programs stand here as they are sent
"""Each kind of bomb, alone and as the submission of a judge: told as what it is, never a failure of the sandbox, over in
time, and the next program and the next pair run as ever."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from verifier_service.sandbox.conformance.programs import DEADLINE_S, expect_output, limits, run
from verifier_service.sandbox.contract import Ending, JudgedProgram, JudgedTermination, Termination
from verifier_service.sandbox.pooled import PooledBackend

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMITS = limits(cpu_time_s=1.0, wall_time_s=3.0, memory_mb=64, processes=12, output_bytes=200_000, file_bytes=4 << 20)
IN_TIME_S = 45.0  # on a crowded machine; thirty of them would be the sandbox's own patience with what can't be killed
ANYHOW = frozenset(Ending) - {Ending.COMPILE_ERROR}
SPENT = {Ending.CPU_TIME, Ending.WALL_TIME, Ending.PROCESSES}
BOMBS: dict[str, tuple[str, frozenset[Ending] | set[Ending]]] = {
    "forks": ("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", SPENT),
    "forks into sessions": ("import os\nwhile True:\n    try:\n        if os.fork() == 0: os.setsid()\n    except OSError: pass", SPENT),
    "threads": ("import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(100,)).start()", SPENT),
    "memory of one": ("x = []\nwhile True: x.append(bytearray(b'x') * (4 << 20))", {Ending.MEMORY}),
    "memory of many": ("import os\nfor _ in range(3): os.fork()\nx = []\nwhile True: x.append(bytearray(b'x') * (1 << 20))", {Ending.MEMORY, Ending.CPU_TIME, Ending.WALL_TIME}),
    "memory in files": ("n = 0\nwhile True:\n    n += 1\n    open(f'/dev/shm/{n}', 'wb').write(b'x' * (1 << 20))", {Ending.MEMORY, Ending.FILE_SIZE, Ending.EXITED}),
    "memory in sockets": ("import os, socket\nkeep = []\nwhile True:\n    a, b = socket.socketpair()\n    a.setblocking(False)\n    keep += (a, b)\n    try:\n        while True: a.send(b'x' * 65536)\n    except BlockingIOError: pass", ANYHOW),
    "memory in pipes": ("import os\nkeep = []\nwhile True:\n    keep.append(os.pipe())\n    os.set_blocking(keep[-1][1], False)\n    os.write(keep[-1][1], b'x' * 65536)", ANYHOW),
    "output": ("import os\nwhile True: os.write(1, b'x' * 65536)", {Ending.OUTPUT}),
    "output of a child": ("import os\nif os.fork() == 0:\n    while True: os.write(2, b'x' * 65536)\nos.wait()", {Ending.OUTPUT}),
    "the disk": ("n = 0\nwhile True:\n    n += 1\n    open(str(n), 'wb').write(b'x' * (1 << 20))", {Ending.MEMORY, Ending.FILE_SIZE}),
    "the disk's names": ("import os\nn = 0\nwhile True:\n    n += 1\n    os.mknod(str(n))", {Ending.FILE_SIZE, Ending.CPU_TIME}),
    "descriptors": ("import os\nwhile True: os.open('/dev/null', 0)", {Ending.EXITED}),
    "grandchildren that hold the pipes": ("import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork(): os._exit(0)\n    time.sleep(100)\nos.wait()", {Ending.EXITED}),
    "a stopped process": ("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", {Ending.WALL_TIME}),
    "a stopped child": ("import os, signal\nif os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)\nos.wait()", {Ending.WALL_TIME}),
    "zombies": ("import os, time\nfor _ in range(8):\n    if os.fork() == 0: os._exit(0)\ntime.sleep(100)", {Ending.WALL_TIME}),
    "children that no signal reaches": ("import os, signal, time\nfor _ in range(5):\n    if os.fork() == 0:\n        [signal.signal(n, signal.SIG_IGN) for n in signal.valid_signals() - {9, 19}]\n        while True: time.sleep(1)\nwhile True: pass", {Ending.CPU_TIME, Ending.WALL_TIME}),
    "one long system call": ("import mmap, os\nwhile True:\n    m = mmap.mmap(-1, 32 << 20)\n    m.write(bytes(32 << 20))\n    m.close()", ANYHOW),
    "page tables": ("import mmap\nkeep = []\nwhile True:\n    keep.append(mmap.mmap(-1, 1 << 30))\n    for i in range(0, 1 << 30, 1 << 21): keep[-1][i]", ANYHOW),
}  # fmt: skip
SUBMISSION = "def serve(source, channel_fd):\n    exec(compile(source, 'submission.py', 'exec'), {'__name__': '__main__'})\n"
JUDGE = """
import socket
def judge(payload, channel_fd, emit):
    channel = socket.socket(fileno=channel_fd)
    channel.settimeout(4.0)
    try:
        emit(b"heard " + channel.recv(10))
    except OSError:
        emit(b"gone")
"""


async def pair(backend: PooledBackend, source: str) -> tuple[list[bytes], JudgedTermination]:
    """(what the judge emitted, how both ended)"""
    program = JudgedProgram("python", source, SUBMISSION, JUDGE, (b"",))
    async with backend.run_judged(program, LIMITS, judge_limits=limits(), deadline_s=DEADLINE_S) as execution:
        events = [event async for event in execution]
    ending = events.pop()
    assert isinstance(ending, JudgedTermination)
    return [event.data for event in events if not isinstance(event, JudgedTermination)], ending


async def the_next_ones_run_as_ever(backend: PooledBackend) -> None:
    await expect_output(backend, "print(int(input()) + 1)", b"2\n", b"1\n")
    frames, ending = await pair(backend, "import os\nos.write(3, b'well')")
    assert frames == [b"heard well"], ending
    assert (ending.submission.ending, ending.submission.exit_code) == (Ending.EXITED, 0), ending


@pytest.mark.parametrize("name", BOMBS)
async def test_a_bomb_is_told_as_what_it_is_and_the_next_program_runs(one_slot: PooledBackend, name: str) -> None:
    source, endings = BOMBS[name]
    began = time.monotonic()
    changes = {key: getattr(LIMITS, key) for key in LIMITS.__slots__}
    end: Termination = await run(one_slot, source, **changes)
    assert time.monotonic() - began < IN_TIME_S
    assert end.ending in endings, end
    await the_next_ones_run_as_ever(one_slot)


@pytest.mark.parametrize("name", BOMBS)
async def test_a_judge_outlives_the_bomb_beside_it(one_slot: PooledBackend, name: str) -> None:
    source, endings = BOMBS[name]
    began = time.monotonic()
    frames, ending = await pair(one_slot, source)
    assert time.monotonic() - began < IN_TIME_S
    assert ending.submission.ending in {*endings, Ending.STOPPED, Ending.SIGNALLED}, ending
    assert frames in ([b"heard "], [b"gone"]) or ending.judge.ending is not Ending.EXITED, ending
    await the_next_ones_run_as_ever(one_slot)


@contextmanager
def no_room_for_pipes() -> Iterator[None]:
    """This user's pipes use up what the kernel allows, as on a host with some hundred slots; new ones then hold little."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192) if hard >= 0 else 8192, hard))
    taken: list[int] = []
    try:
        with suppress(OSError):
            for _ in range(1300):
                taken += os.pipe()
        yield
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_inputs_and_outputs_pass_whole_on_a_host_without_room_for_pipes(one_slot: PooledBackend) -> None:
    with no_room_for_pipes():
        for size in (3000, 5000, 30_000, 70_000):
            data = b"x" * size
            await expect_output(one_slot, "import sys\nsys.stdout.write(sys.stdin.read())", data, data)
