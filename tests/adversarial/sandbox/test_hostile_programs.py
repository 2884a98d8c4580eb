"""Programs that attack the sandbox itself. Whatever they do: they are told about as programs are, and the next ones run
as ever, in every slot."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from verifier_service.sandbox.conformance.programs import expect_output, limits, run, run_all, still_well
from verifier_service.sandbox.contract import Ending, Program
from verifier_service.sandbox.pooled import PooledBackend
from verifier_service.sandbox.select import make_bubblewrap_backend, make_docker_backend
from verifier_service.settings import Settings

SETTINGS = Settings(sandbox_slots=1, sandbox_spares=1)
BACKENDS = [
    pytest.param(make_docker_backend, marks=pytest.mark.docker, id="docker"),
    pytest.param(make_bubblewrap_backend, marks=pytest.mark.bubblewrap, id="bubblewrap"),
]


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=BACKENDS)
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[PooledBackend]:
    made: PooledBackend = request.param(SETTINGS)
    await made.start()
    yield made
    await made.aclose()


pytestmark = pytest.mark.asyncio(loop_scope="module")

SURVIVED = {
    "folders without permissions": """
import os
for i in range(50):
    os.makedirs(f"a{i}/b/c")
    open(f"a{i}/b/c/file", "w").close()
    os.chmod(f"a{i}/b/c", 0)
    os.chmod(f"a{i}/b", 0)
    os.chmod(f"a{i}", 0)
os.chmod(".", 0)
""",
    "names that no shell likes": """
import os
for name in (b"-rf", b"\\xff\\xfe", b"new\\nline", b"..." , b"'; rm -rf /", b"x" * 255, b" ", b"*"):
    open(name, "w").close()
    os.mkdir(name + b"d" if len(name) < 250 else name[:-1])
""",
    "links out of the folder": """
import os
os.symlink("/", "root"); os.symlink("/proc/1/root", "runner"); os.symlink("loop", "loop"); os.symlink("/dev/shm", "shm")
os.mkfifo("fifo")
""",
    "names that the wiping itself uses": """
import os
for i in range(200):
    os.makedirs(f".wipe-{i}-1/x/y")
    os.makedirs(f"d{i}/.wipe-{i}-1/z")
""",
    "a file held open by a name that is gone": """
import os
f = open("gone", "w"); os.unlink("gone"); f.write("x" * 100000); f.flush()
os._exit(0)
""",
    "its folder renamed and replaced": """
import os
try:
    os.rename("/box/work", "/box/other")
except OSError:
    pass
try:
    os.mkdir("/box/more")
except OSError:
    pass
""",
    "attributes on its folder": """
import os
for place in (".", "/tmp", "/dev/shm", "/box"):
    try:
        os.setxattr(place, "user.mark", b"planted")
    except OSError:
        pass
os.utime(".", (1, 1)); os.chmod(".", 0o777)
""",
    "pipes made small and deaf": """
import fcntl
for fd in (0, 1, 2):
    try:
        fcntl.fcntl(fd, 1031, 4096)
        fcntl.fcntl(fd, fcntl.F_SETFL, 2048)
        fcntl.fcntl(fd, fcntl.F_SETOWN, 1)
    except OSError:
        pass
""",
    "signals ignored and blocked": """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
import os
os.umask(0o777); os.nice(19)
""",
    "limits of its own lowered": """
import resource
for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):
    resource.setrlimit(kind, (3, 3))
""",
    "a queue and a terminal": """
import os
for path in ("/dev/mqueue/planted", "/dev/pts/planted"):
    try:
        open(path, "w")
    except OSError:
        pass
try:
    os.openpty()
except OSError:
    pass
""",
    "a memory file that runs itself": """
import os
fd = os.memfd_create("x")
os.write(fd, b"#!/usr/bin/python3\\nimport time\\ntime.sleep(0)\\n")
if os.fork() == 0:
    os.execve(f"/proc/self/fd/{fd}", ["x"], {})
os.wait()
""",
}


@pytest.mark.parametrize("name", SURVIVED)
async def test_nothing_of_it_reaches_the_next_program(backend: PooledBackend, name: str) -> None:
    await run(backend, SURVIVED[name], wall_time_s=5.0)
    look = """
import fcntl, os, signal, stat
shm = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
print(os.listdir("."), shm, os.listxattr("."), oct(stat.S_IMODE(os.stat(".").st_mode)))
mask, blocked = os.umask(0o22), signal.pthread_sigmask(signal.SIG_BLOCK, [])
print(oct(mask), os.nice(0), signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, blocked == set())
print([fcntl.fcntl(fd, fcntl.F_GETFL) & 2048 for fd in (0, 1, 2)], fcntl.fcntl(1, 1032))
"""
    nice = os.nice(0) if backend.info().name == "bubblewrap" else 0  # a box has that of whoever started the tests
    for _ in range(4):
        await expect_output(backend, look, b"[] [] [] 0o700\n0o22 %d True True\n[0, 0, 0] 65536\n" % nice)


async def test_a_program_that_is_its_own_next_case_finds_nothing(backend: PooledBackend) -> None:
    source = """
import os
print(os.listdir('.'), os.path.exists('/dev/shm/x'))
open('x', 'w').close()
try: open('/dev/shm/x', 'w').close()
except OSError: pass
"""
    for end in await run_all(backend, Program("python", source, (b"",) * 4)):
        assert end.stdout == b"[] False\n", end


async def test_an_uncollected_grandchild_of_every_kind_is_gone_before_the_next_case(backend: PooledBackend) -> None:
    source = """
import os, signal, time
mine = str(os.getuid())
others = [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]
others = [p for p in others if f"Uid:\\t{mine}\\t" in open(f"/proc/{p}/status").read()]
print(len(others) if os.stat("/proc/1").st_uid != os.getuid() else 0)
for kind in range(3):
    if os.fork() == 0:
        if kind == 0:
            os.setsid()
        if kind == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        for number in range(1, 32):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        time.sleep(60)
"""
    for end in await run_all(backend, Program("python", source, (b"",) * 3), limits(wall_time_s=30.0)):
        assert end.stdout == b"0\n", end
        assert any("left" in sign for sign in end.tamper)


async def test_memory_files_count_as_memory(backend: PooledBackend) -> None:
    source = "import os\nfd = os.memfd_create('x')\nwhile True: os.write(fd, b'x' * (1 << 20))"
    end = await run(backend, source, memory_mb=64, file_bytes=1 << 30, wall_time_s=30.0)
    assert end.ending in (Ending.MEMORY, Ending.FILE_SIZE, Ending.SIGNALLED, Ending.EXITED), end
    assert end.exit_code != 0
    await still_well(backend)


async def test_bytes_that_look_like_frames_are_output_and_nothing_more(backend: PooledBackend) -> None:
    forged = """
import sys, struct
body = struct.pack('>II', 1, 0) + b'\\0' * 64
sys.stdout.buffer.write(struct.pack('>IB', len(body), ord('C')) + body + struct.pack('>IB', 5, ord('D')) + b'\\0\\0\\0\\1\\1')
"""
    end = await run(backend, forged)
    assert end.ending is Ending.EXITED
    assert len(end.stdout) == 5 + 72 + 5 + 5
    await still_well(backend)


async def test_a_source_that_strains_the_compiler_ends_in_time(backend: PooledBackend) -> None:
    for source in (
        "x = " + "-" * 200_000 + "1",
        "(" * 100_000,
        "x = [" + "1," * 300_000 + "]",
        "if 1:\n" + "".join(" " * n + "if 1:\n" for n in range(1, 99)),
        "\x00",
        "# coding: nonsense\n",
        "f'{" * 300,
    ):
        for stdins in ((b"",), (b"", b"")):
            ends = await run_all(backend, Program("python", source, stdins), limits(cpu_time_s=3.0, wall_time_s=20.0))
            assert len(ends) == len(stdins)
            assert all(end.ending is not Ending.STOPPED for end in ends)
    await still_well(backend)
