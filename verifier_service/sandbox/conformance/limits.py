"""Each limit bites, has an ending of its own, holds for children too, and leaves the next program alone."""

from __future__ import annotations

import time

from verifier_service.sandbox.conformance.programs import Check, expect_ending, expect_output, run, still_well
from verifier_service.sandbox.contract import Ending, SandboxBackend


async def cpu_time_of_one_process_is_limited(backend: SandboxBackend) -> None:
    end = await expect_ending(backend, "print('on', flush=True)\nwhile True: pass", Ending.CPU_TIME, cpu_time_s=0.5)
    assert 0.4 < end.cpu_s < 1.6, end
    assert end.stdout == b"on\n"


async def cpu_time_counts_children(backend: SandboxBackend) -> None:
    source = "import os\nfor _ in range(3):\n    if os.fork() == 0:\n        while True: pass\nos.wait()"
    started = time.monotonic()
    await expect_ending(backend, source, Ending.CPU_TIME, cpu_time_s=0.8, wall_time_s=60.0)
    assert time.monotonic() - started < 40
    source = "import os\nfor _ in range(20):\n    if os.fork() == 0:\n        for i in range(10 ** 9): pass\n    os.wait()"
    await expect_ending(backend, source, Ending.CPU_TIME, cpu_time_s=0.8, wall_time_s=60.0)
    await still_well(backend)


async def wall_time_is_limited(backend: SandboxBackend) -> None:
    end = await expect_ending(backend, "import time\nprint('on', flush=True)\ntime.sleep(60)", Ending.WALL_TIME, wall_time_s=0.5)
    assert 0.4 < end.wall_s < 5, end
    assert end.stdout == b"on\n"
    assert end.cpu_s < 0.4


async def a_stopped_process_runs_into_wall_time(backend: SandboxBackend) -> None:
    await expect_ending(backend, "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", Ending.WALL_TIME, wall_time_s=0.5)
    source = "import os, signal\nif os.fork() == 0:\n    os.kill(os.getpid(), signal.SIGSTOP)\nelse:\n    os.wait()"
    await expect_ending(backend, source, Ending.WALL_TIME, wall_time_s=0.5)
    await still_well(backend)


async def a_thread_that_never_ends_runs_into_wall_time(backend: SandboxBackend) -> None:
    source = "import threading, time\nthreading.Thread(target=time.sleep, args=(300,)).start()\nprint('done')"
    end = await expect_ending(backend, source, Ending.WALL_TIME, wall_time_s=0.5)
    assert end.stdout in (b"done\n", b"")
    await still_well(backend)


async def memory_of_one_process_is_limited(backend: SandboxBackend) -> None:
    await expect_ending(backend, "x = []\nwhile True: x.append(bytearray(b'x') * (8 << 20))", Ending.MEMORY, memory_mb=64)
    await expect_ending(backend, "x = bytes(10 ** 12)", Ending.MEMORY, memory_mb=64)
    await still_well(backend)


async def memory_counts_children(backend: SandboxBackend) -> None:
    source = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        x = []
        for _ in range(10):
            x.append(bytearray(b"x") * (2 << 20))
            time.sleep(0.02)
        time.sleep(30)
os.wait()
"""
    started = time.monotonic()
    await expect_ending(backend, source, Ending.MEMORY, memory_mb=64, wall_time_s=60.0)
    assert time.monotonic() - started < 40
    await still_well(backend)


async def memory_that_is_allowed_may_be_used(backend: SandboxBackend) -> None:
    await expect_output(backend, "x = bytearray(b'x') * (96 << 20)\nprint(len(x))", b"%d\n" % (96 << 20), memory_mb=128)


async def a_crash_is_no_memory_limit(backend: SandboxBackend) -> None:
    end = await run(backend, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert (end.ending, end.signal) == (Ending.SIGNALLED, 9), end


async def processes_are_limited(backend: SandboxBackend) -> None:
    source = "import os, time\nfor _ in range(100):\n    if os.fork() == 0:\n        time.sleep(30)\n        os._exit(0)"
    await expect_ending(backend, source, Ending.PROCESSES, processes=8)
    source = (
        "import threading, time\nfor _ in range(100):\n    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()"
    )
    await expect_ending(backend, source, Ending.PROCESSES, processes=8)
    await still_well(backend)


async def a_program_that_copes_with_a_refused_process_has_passed_no_limit(backend: SandboxBackend) -> None:
    source = """
import os, signal, time
children = []
try:
    for _ in range(100):
        pid = os.fork()
        if pid == 0:
            time.sleep(30)
            os._exit(0)
        children.append(pid)
except OSError:
    pass
for pid in children:
    os.kill(pid, signal.SIGKILL)
for pid in children:
    os.waitpid(pid, 0)
print(len(children))
"""
    await expect_output(backend, source, b"7\n", processes=8)
    source = (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(7) as e: print(sum(e.map(abs, range(100))))"
    )
    await expect_output(backend, source, b"4950\n", processes=8)


async def a_fork_bomb_ends_and_leaves_nothing(backend: SandboxBackend) -> None:
    for source in (
        "import os\nwhile True: os.fork()",
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        "import os, sys\nwhile True:\n    try:\n        if os.fork() == 0: os.setsid()\n    except OSError: pass",
    ):
        end = await run(backend, source, cpu_time_s=1.0, wall_time_s=3.0)
        assert end.ending in (Ending.PROCESSES, Ending.CPU_TIME, Ending.WALL_TIME), end
        await still_well(backend)


async def a_zombie_farm_leaves_nothing(backend: SandboxBackend) -> None:
    source = "import os, time\nfor _ in range(12):\n    if os.fork() == 0: os._exit(0)\ntime.sleep(0.1)\nprint('farm')"
    end = await run(backend, source)
    assert end.stdout == b"farm\n", end
    await still_well(backend)


async def an_output_flood_is_cut(backend: SandboxBackend) -> None:
    for stream in (1, 2):
        source = f"import os\nwhile True: os.write({stream}, b'x' * 65536)"
        started = time.monotonic()
        end = await expect_ending(backend, source, Ending.OUTPUT, output_bytes=200_000, wall_time_s=60.0)
        assert time.monotonic() - started < 40
        assert len(end.stdout) + len(end.stderr) == 200_000
    source = "import os\nif os.fork() == 0:\n    while True: os.write(1, b'y' * 65536)\nos.wait()"
    await expect_ending(backend, source, Ending.OUTPUT, output_bytes=200_000)
    await expect_ending(backend, "print('z' * 100_001)", Ending.OUTPUT, output_bytes=100_000)
    await still_well(backend)


async def files_are_limited(backend: SandboxBackend) -> None:
    source = "with open('big', 'wb') as f:\n    while True: f.write(b'x' * 65536)"
    await expect_ending(backend, source, Ending.FILE_SIZE, file_bytes=1 << 20)
    source = "import os\nn = 0\nwhile True:\n    n += 1\n    with open(f'f{n}', 'wb') as f: f.write(b'x' * (1 << 20))"
    await expect_ending(backend, source, Ending.FILE_SIZE, file_bytes=2 << 20, memory_mb=512, wall_time_s=30.0)
    await still_well(backend)


async def sparse_files_and_many_names_do_no_harm(backend: SandboxBackend) -> None:
    end = await run(backend, "open('sparse', 'wb').truncate(1 << 42)")
    assert end.ending in (Ending.FILE_SIZE, Ending.EXITED, Ending.SIGNALLED), end
    assert end.exit_code != 0
    end = await run(backend, "import os\nfor i in range(2000): os.mkdir('d'); os.chdir('d')\nprint('deep')")
    assert end.stdout == b"deep\n", end
    source = "n = 0\nwhile True:\n    open(str(n), 'w').close()\n    n += 1"
    end = await run(backend, source, cpu_time_s=3.0)
    assert end.ending in (Ending.FILE_SIZE, Ending.CPU_TIME), end
    await still_well(backend)


async def descriptors_run_out_for_the_program_alone(backend: SandboxBackend) -> None:
    source = """
import os
n = 0
try:
    while True: os.open('/dev/null', 0); n += 1
except OSError: pass
os.write(1, b'out of them' if n < 5000 else b'no end')
"""
    end = await run(backend, source)
    assert end.stdout == b"out of them", end
    await still_well(backend)


async def grandchildren_do_not_hold_the_end_back(backend: SandboxBackend) -> None:
    source = "import os, time\nif os.fork() == 0:\n    time.sleep(60)\nelse:\n    print('parent')"
    started = time.monotonic()
    end = await run(backend, source, wall_time_s=60.0)
    assert end.ending is Ending.EXITED, end
    assert end.stdout == b"parent\n"
    assert time.monotonic() - started < 40
    assert any("left" in sign for sign in end.tamper), end
    source = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64)
        time.sleep(60)
    os._exit(0)
os.wait()
print('daemon')
"""
    end = await run(backend, source, wall_time_s=60.0)
    assert end.stdout == b"daemon\n"
    assert any("left" in sign for sign in end.tamper), end
    await still_well(backend)


LIMITS: tuple[Check, ...] = (
    cpu_time_of_one_process_is_limited,
    cpu_time_counts_children,
    wall_time_is_limited,
    a_stopped_process_runs_into_wall_time,
    a_thread_that_never_ends_runs_into_wall_time,
    memory_of_one_process_is_limited,
    memory_counts_children,
    memory_that_is_allowed_may_be_used,
    a_crash_is_no_memory_limit,
    processes_are_limited,
    a_program_that_copes_with_a_refused_process_has_passed_no_limit,
    a_fork_bomb_ends_and_leaves_nothing,
    a_zombie_farm_leaves_nothing,
    an_output_flood_is_cut,
    files_are_limited,
    sparse_files_and_many_names_do_no_harm,
    descriptors_run_out_for_the_program_alone,
    grandchildren_do_not_hold_the_end_back,
)  # fmt: skip
