"""Programs mean what they mean under `python3 solution.py`."""

from __future__ import annotations

from verifier_service.sandbox.conformance.programs import (
    DEADLINE_S,
    SMALL,
    Check,
    expect_output,
    limits,
    run,
    run_all,
    still_well,
)
from verifier_service.sandbox.contract import Ending, Program, ProgramRefused, SandboxBackend


async def a_right_program_exits_with_0_and_its_output(backend: SandboxBackend) -> None:
    end = await expect_output(backend, "print(sum(map(int, input().split())))", b"42\n", b"19 23\n")
    assert end.stderr == b""
    assert end.tamper == ()
    assert 0 <= end.cpu_s < 5  # some kernels count in steps of 10 ms
    assert 0 < end.wall_s < 10
    assert 1 < end.memory_mb < 128


async def exit_codes_are_told(backend: SandboxBackend) -> None:
    for source, code in (
        ("import sys; sys.exit(3)", 3),
        ("exit(4)", 4),
        ("raise SystemExit", 0),
        ("import sys; sys.exit('words')", 1),
        ("import os; os._exit(7)", 7),
        ("import sys; sys.exit(-1)", 255),
        ("1 / 0", 1),
        ("import sys; sys.exit(256 + 5)", 5),
    ):
        end = await run(backend, source)
        assert (end.ending, end.exit_code, end.signal) == (Ending.EXITED, code, None), (source, end)
    assert (await run(backend, "import sys; sys.exit('words')")).stderr == b"words\n"


async def an_uncaught_exception_leaves_a_traceback_of_the_program_alone(backend: SandboxBackend) -> None:
    end = await run(backend, "def f():\n    return {}['key']\n\nprint('before')\nf()\n")
    assert end.exit_code == 1
    assert end.stdout == b"before\n"
    text = end.stderr.decode()
    assert text.startswith("Traceback (most recent call last):\n")
    assert "line 5, in <module>" in text
    assert "return {}['key']" in text
    assert text.rstrip().endswith("KeyError: 'key'")
    assert "runner" not in text


async def signals_are_told(backend: SandboxBackend) -> None:
    for name, number in (("SIGSEGV", 11), ("SIGABRT", 6), ("SIGKILL", 9), ("SIGTERM", 15)):
        end = await run(
            backend, f"import os, signal\nprint('x', flush=True)\nos.kill(os.getpid(), signal.{name})\nsignal.pause()"
        )
        assert (end.ending, end.signal, end.exit_code) == (Ending.SIGNALLED, number, None), (name, end)
        assert end.stdout == b"x\n"


async def what_does_not_compile_is_told_apart(backend: SandboxBackend) -> None:
    deep = "x = " + "(" * 500 + ")" * 500
    for source in ("def f(:\n", "x = '\0'", "print('\udc80')", "return 1", "  x = 1", deep, "a b"):
        end = await run(backend, source)
        assert end.ending is Ending.COMPILE_ERROR, (source[:40], end)
        assert end.stderr
        assert end.stdout == b""
    for end in await run_all(backend, Program("python", "if", (b"", b"", b""))):
        assert end.ending is Ending.COMPILE_ERROR
        assert b"SyntaxError" in end.stderr
    end = await run(backend, "import sys\nsys.stderr.write('SyntaxError: invalid syntax\\n')\nsys.exit(1)")
    assert end.ending is Ending.EXITED


async def the_module_is_main(backend: SandboxBackend) -> None:
    source = """
import sys, __main__
from dataclasses import dataclass
@dataclass
class P:
    x: int
assert __name__ == "__main__" and __main__.P is P and sys.modules["__main__"] is __main__
print(sys.argv[1:], len(open(__file__).read()) > 10, P(3))
if __name__ == "__main__":
    print("main")
"""
    (end,) = await run_all(backend, Program("python", source, args=("a", "b c")))
    assert end.stdout == b"['a', 'b c'] True P(x=3)\nmain\n", end


async def what_happens_at_exit_happens(backend: SandboxBackend) -> None:
    source = """
import atexit, threading, time, sys
class Last:
    def __del__(self):
        print("del")
def rest():
    try:
        yield
    finally:
        print("finally")
last, generator = Last(), rest()
next(generator)
atexit.register(print, "exit handler")
def work():
    time.sleep(0.05)
    print("thread")
threading.Thread(target=work).start()
out = open(1, "w", closefd=False)
out.write("unflushed\\n")
print("main")
"""
    end = await run(backend, source)
    assert end.exit_code == 0, end
    lines = end.stdout.decode().split("\n")
    assert lines[:3] == ["main", "thread", "exit handler"], end
    assert sorted(lines[3:]) == ["", "del", "finally", "unflushed"], end


async def input_comes_by_every_way(backend: SandboxBackend) -> None:
    for source in (
        "import sys\nprint(len(sys.stdin.read()))",
        "import sys\nprint(sum(len(line) for line in sys.stdin))",
        "import sys\nprint(len(sys.stdin.buffer.read()))",
        "import os\nn = 0\nwhile c := os.read(0, 65536): n += len(c)\nprint(n)",
        "print(len(open(0).read()))",
        "print(len(open('/dev/stdin').read()))",
        "n = 0\ntry:\n    while True: n += len(input()) + 1\nexcept EOFError: print(n)",
    ):
        await expect_output(backend, source, b"300000\n", b"123456789\n" * 30000)


async def bytes_pass_unchanged(backend: SandboxBackend) -> None:
    data = bytes(range(256)) * 8
    await expect_output(backend, "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())", data, data)
    end = await run(backend, "print('\\udcff\\u00e9')")
    assert end.exit_code in (0, 1)


async def a_large_right_output_passes_whole(backend: SandboxBackend) -> None:
    lines = "".join(f"{i}\n" for i in range(40000)).encode()
    assert len(lines) > 150_000
    await expect_output(backend, "for i in range(40000): print(i)", lines)
    await expect_output(backend, "import sys\nsys.stderr.write('e' * 300000)\nprint('done')", b"done\n")


async def a_large_input_is_read(backend: SandboxBackend) -> None:
    data = b"x" * (20 << 20)
    await expect_output(backend, "import sys\nprint(len(sys.stdin.buffer.read()))", b"%d\n" % len(data), data)


async def a_program_beyond_the_bound_is_refused(backend: SandboxBackend) -> None:
    try:
        async with backend.run(Program("python", "print(1)", (b"x" * (100 << 20),)), SMALL, deadline_s=DEADLINE_S):
            raise AssertionError("100 MB of input were taken")
    except ProgramRefused:
        await still_well(backend)


async def input_that_is_not_read_harms_nobody(backend: SandboxBackend) -> None:
    await expect_output(backend, "print('early')", b"early\n", b"y" * (2 << 20))
    await expect_output(backend, "import os\nos.close(0)\nprint('closed')", b"closed\n", b"y" * (2 << 20))
    await still_well(backend)


async def a_closed_stdout_is_the_programs_own_affair(backend: SandboxBackend) -> None:
    end = await run(backend, "import os\nprint('lost')\nos.close(1)")
    assert end.stdout == b""
    assert end.exit_code == 120, end
    end = await run(backend, "import sys\nprint('kept')\nsys.stdout.close()")
    assert (end.exit_code, end.stdout) == (0, b"kept\n"), end
    await still_well(backend)


async def cases_run_in_order_and_apart(backend: SandboxBackend) -> None:
    source = """
import builtins, sys
x = input()
print(x, hasattr(builtins, 'mark'))
builtins.mark = 1
open('left', 'x').close()
sys.exit(x == 'b')
"""
    ends = await run_all(backend, Program("python", source, (b"a", b"b", b"c")))
    assert [end.stdout for end in ends] == [b"a False\n", b"b False\n", b"c False\n"], ends
    assert [end.exit_code for end in ends] == [0, 1, 0]
    ends = await run_all(backend, Program("python", source, (b"a", b"b", b"c"), stop_on_error=True))
    assert [end.exit_code for end in ends] == [0, 1]


async def leaving_early_stops_the_rest(backend: SandboxBackend) -> None:
    source = "import time\nx = input()\nprint(x)\ntime.sleep(0 if x == 'a' else 30)"
    async with backend.run(
        Program("python", source, (b"a", b"b", b"c")), limits(wall_time_s=60.0), deadline_s=DEADLINE_S
    ) as execution:
        async for end in execution:
            assert end.stdout == b"a\n"
            break
    await still_well(backend)


async def files_are_there_and_gone_afterwards(backend: SandboxBackend) -> None:
    source = "import os\nprint(sorted(os.listdir('.')), open('data.txt').read())\nopen('data.txt', 'w').close()"
    program = Program("python", source, (b"", b""), files=(("data.txt", b"content"),))
    for end in await run_all(backend, program):
        assert end.stdout == b"['data.txt'] content\n", end
    await expect_output(backend, "import os\nprint(os.listdir('.'))", b"[]\n")


async def modules_beside_a_program_can_be_imported(backend: SandboxBackend) -> None:
    for number in (b"1", b"2"):
        files = (("beside.py", b"number = " + number),)
        for stdins in ((b"",), (b"", b"")):
            for end in await run_all(backend, Program("python", "import beside\nprint(beside.number)", stdins, files=files)):
                assert end.stdout == number + b"\n", end
    written = "open('made.py', 'w').write('x = 5')\nimport made\nprint(made.x)"
    await expect_output(backend, written, b"5\n")


async def processes_of_a_program_work(backend: SandboxBackend) -> None:
    source = """
import multiprocessing, subprocess, sys
def square(x):
    return x * x
if __name__ == "__main__":
    with multiprocessing.Pool(3) as pool:
        print(pool.map(square, range(5)))
    print(subprocess.run(["echo", "sub"], capture_output=True, text=True).stdout.strip())
    print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout.strip())
"""
    end = await expect_output(backend, source, b"[0, 1, 4, 9, 16]\nsub\n42\n", wall_time_s=20.0)
    assert end.tamper == ()


async def deep_recursion_is_an_error_or_works(backend: SandboxBackend) -> None:
    source = "import sys\nsys.setrecursionlimit(20000)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(15000))"
    await expect_output(backend, source, b"15000\n")
    end = await run(backend, "def f(n): return f(n + 1)\nf(0)")
    assert end.exit_code == 1
    assert b"RecursionError" in end.stderr
    source = """
import sys, threading
threading.stack_size(128 << 20)
sys.setrecursionlimit(10 ** 6)
def f(n): return 0 if n == 0 else 1 + f(n - 1)
t = threading.Thread(target=lambda: print(f(40000)))
t.start()
t.join()
"""
    await expect_output(backend, source, b"40000\n")


SEMANTICS: tuple[Check, ...] = (
    a_right_program_exits_with_0_and_its_output,
    exit_codes_are_told,
    an_uncaught_exception_leaves_a_traceback_of_the_program_alone,
    signals_are_told,
    what_does_not_compile_is_told_apart,
    the_module_is_main,
    what_happens_at_exit_happens,
    input_comes_by_every_way,
    bytes_pass_unchanged,
    a_large_right_output_passes_whole,
    a_large_input_is_read,
    a_program_beyond_the_bound_is_refused,
    input_that_is_not_read_harms_nobody,
    a_closed_stdout_is_the_programs_own_affair,
    cases_run_in_order_and_apart,
    leaving_early_stops_the_rest,
    files_are_there_and_gone_afterwards,
    modules_beside_a_program_can_be_imported,
    processes_of_a_program_work,
    deep_recursion_is_an_error_or_works,
)  # fmt: skip
