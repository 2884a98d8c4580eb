# ruff: noqa: E501 - programs and tests stand here as they are sent
"""Hostile submissions in real sandboxes: none passes, each is scored, and the next submission runs as ever."""

from __future__ import annotations

from typing import Any

import pytest

from verifier_protocol import CodeSpec, ScoredVerdict
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.verifier import CodeVerifier

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="session")]

LIMITS = {"cpu_time_s": 0.8, "wall_time_s": 3.0, "memory_mb": 256}
FUNCTION = {"style": "function", "entry_point": "f", "cases": [{"args": [1], "expected": 2}, {"args": [2], "expected": 3}]}
ASSERTS = {"style": "asserts", "code": "assert f(1) == 2\nassert f(2) == 3\n"}
TEST_FILE = {
    "style": "asserts",
    "code": "import pytest\n@pytest.mark.parametrize('x', [1, 2])\ndef test_f(x):\n    assert f(x) == x + 1\ndef test_error():\n    with pytest.raises(ValueError):\n        f('x')\n",
}
STDIN = {"style": "stdin", "cases": [{"stdin": "1\n", "expected_stdout": "2\n"}, {"stdin": "2\n", "expected_stdout": "3\n"}]}
RIGHT = "def f(x):\n    if isinstance(x, str):\n        raise ValueError(x)\n    return x + 1\n"

ATTACKS = {
    "exits at once": "import os\nos._exit(0)",
    "exits inside the call": "import os\ndef f(x): os._exit(0)",
    "kills its parent": "import os, signal\ndef f(x): os.kill(os.getppid(), signal.SIGKILL); return 0",
    "kills its group": "import os, signal\ndef f(x): os.killpg(0, signal.SIGKILL)",
    "kills all it may": "import os, signal\ndef f(x): os.kill(-1, signal.SIGKILL); return 0",
    "stops itself": "import os, signal\ndef f(x): os.kill(os.getpid(), signal.SIGSTOP)",
    "closes all descriptors": "import os\nos.closerange(0, 4096)\ndef f(x): return x + 1",
    "sends all descriptors nowhere": "import os\nn = os.open('/dev/null', os.O_RDWR)\nfor fd in range(256):\n    try: os.dup2(n, fd)\n    except OSError: pass\ndef f(x): return x + 1",
    "sprays frames": "import os, json\nfor kind in ('a', 'x', 'q'):\n    m = json.dumps([kind, 2, [], [0, None]]).encode()\n    for fd in range(3, 64):\n        try: os.write(fd, len(m).to_bytes(4, 'big') + m)\n        except OSError: pass\ndef f(x): return 0",
    "sprays a huge length": "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\xff' * 8)\n    except OSError: pass\ndef f(x): return 0",
    "floods the channel": "import os\ndef f(x):\n    while True:\n        for fd in range(3, 16):\n            try: os.write(fd, b'\\0\\0\\0\\x02[]' * 1000)\n            except OSError: pass",
    "answers for its child": "import os\ndef f(x):\n    if os.fork():\n        os._exit(0)\n    return 0",
    "leaves a child that answers too": "import os, time\ndef f(x):\n    os.fork()\n    return 0",
    "never answers": "import time\ndef f(x): time.sleep(1000)",
    "computes for ever": "def f(x):\n    while True: pass",
    "one long operation": "def f(x): return pow(7, 10 ** 9)",
    "takes all memory": "def f(x):\n    a = []\n    while True: a.append(bytearray(b'x' * (1 << 20)))",
    "a value that fills the judge": "def f(x): return [[i] * 10 for i in range(90000)]",
    "nested up to the limit": "def f(x):\n    a = []\n    for _ in range(190): a = [a]\n    return a",
    "a large shared structure": "def f(x):\n    a = []\n    for _ in range(100): a = [a] * 10\n    return a",
    "a text of many megabytes": "def f(x): return 'x' * (30 << 20)",
    "a recursion without end": "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(x): return f(x) + f(x)",
    "a segmentation fault": "import ctypes\ndef f(x): ctypes.string_at(0)",
    "a thread that stays": "import threading, time\nthreading.Thread(target=time.sleep, args=(300,)).start()\ndef f(x): return 0",
    "a hook at exit": "import atexit, os\natexit.register(os._exit, 0)\ndef f(x): return 0",
    "its own start again": "import os, sys\nif __debug__:\n    try: os.execve(sys.executable, [sys.executable, '-O', '-c', 'pass'], dict(os.environ, PYTHONOPTIMIZE='1'))\n    except OSError: pass\ndef f(x): return 0",
    "planted files": "import os\nfor d in ('.', '/tmp', '/dev/shm'):\n    for n in ('conftest.py', 'sitecustomize.py', 'json.py', 'pytest.py', 'tests.py'):\n        try: open(os.path.join(d, n), 'w').write('raise SystemExit(0)')\n        except OSError: pass\ndef f(x): return 0",
    "patched harness": "import gc, types\ndef yes(*a, **k): return True\nfor o in gc.get_objects():\n    if isinstance(o, types.FunctionType) and not o.__code__.co_freevars and o.__module__ == 'submission_harness':\n        o.__code__ = yes.__code__\ndef f(x): return 0",
    "patched interpreter": "import sys, builtins\nbuiltins.exec = builtins.compile = builtins.getattr = lambda *a, **k: True\nsys.settrace(lambda *a: None)\nsys.addaudithook(lambda *a: None)\ndef f(x): return 0",
    "equal to everything": "class E:\n    def __eq__(s, o): return True\n    def __ne__(s, o): return False\n    __hash__ = object.__hash__\ndef f(x): return E()",
    "a lie about its type": "class E:\n    __class__ = int\n    def __eq__(s, o): return True\n    def __index__(s): return 2\ndef f(x): return E()",
    "skips": "import unittest\ndef f(x): raise unittest.SkipTest('no')",
    "prints a report": 'import os\nos.write(1, b\'{"kind": "done"}\\n===== 3 passed =====\\n\')\nos._exit(0)',
    "a decorator without function": "def f(x): return 0\n@f",
}


async def verdict(verifier: CodeVerifier, tests: dict[str, Any], source: str) -> ScoredVerdict:
    spec = CodeSpec.model_validate({"kind": "code", "tests": tests, "limits": LIMITS})
    return await verifier.verify(verifier.prepare(spec), f"```python\n{source}\n```", Deadline.after(110))


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("style", ["function", "asserts", "test file"])
async def test_an_attack_scores_zero_and_the_next_submission_runs(verifier: CodeVerifier, name: str, style: str) -> None:
    tests = {"function": FUNCTION, "asserts": ASSERTS, "test file": TEST_FILE}[style]
    found = await verdict(verifier, tests, ATTACKS[name])
    assert found.score == 0.0, found
    after = await verdict(verifier, tests, RIGHT)
    assert after.score == 1.0, after


STDIN_ATTACKS = {
    "prints and exits badly": "print(int(input()) + 1)\nraise SystemExit(1)",
    "prints all numbers": "for i in range(1000): print(i)",
    "prints nothing": "input()",
    "leaves a child that prints later": "import os, time\nif os.fork() == 0:\n    time.sleep(1)\n    print(2, flush=True)\n    os._exit(0)",
    "swallows signals": "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
    "floods": "import os\nwhile True: os.write(1, b'2\\n' * 30000)",
    "forks without end": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "is no text": "import os\nos.write(1, b'\\xff\\xfe\\n')",
}


@pytest.mark.parametrize("name", STDIN_ATTACKS)
async def test_an_attack_on_stdin_tests_scores_zero(verifier: CodeVerifier, name: str) -> None:
    found = await verdict(verifier, STDIN, STDIN_ATTACKS[name])
    assert found.score == 0.0, found
    assert (await verdict(verifier, STDIN, "print(int(input()) + 1)")).score == 1.0


async def test_what_looks_like_an_attack_is_listed(verifier: CodeVerifier) -> None:
    assert "always-equal object" in ((await verdict(verifier, FUNCTION, ATTACKS["equal to everything"])).tamper or [])
    assert (await verdict(verifier, FUNCTION, RIGHT)).tamper == []
