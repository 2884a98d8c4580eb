# ruff: noqa: E501 - programs stand here as they are sent
"""The submissions of `soak.py`: honest ones, right and wrong, graders' cheats, and attacks on the sandbox.

Each is a spec, a completion, and the reward that it must get; never null, whatever it does. A language is added with a
line in `LANGUAGES`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

serial = itertools.count(random.SystemRandom().randrange(10**9))
Spec = dict[str, Any]


class Submission(NamedTuple):
    """One completion, and what it must be worth."""

    name: str
    completion: str
    reward: float
    hostile: bool = False


class Group(NamedTuple):
    """Completions that share their verifiers."""

    verifiers: list[Spec]
    submissions: list[Submission]


# language: (reads integers and prints their sum, the same but wrong, how a comment begins)
LANGUAGES = {
    "python": ("print(sum(map(int, open(0).read().split())))", "print(sum(map(int, open(0).read().split())) + 1)", "#"),
}
SLOW = {"cpu_time_s": 0.5, "wall_time_s": 1.5, "memory_mb": 96, "processes": 12, "output_bytes": 100_000, "file_bytes": 4 << 20}
PATIENT = {"cpu_time_s": 10.0, "wall_time_s": 60.0, "memory_mb": 256}


def block(source: str, language: str = "python", comment: str = "#") -> str:
    """Distinct each time, so that nobody's memory answers for the sandbox."""
    return f"<think>\nhm\n</think>\n```{language}\n{source}\n{comment} {next(serial)}\n```\n"


def code(tests: Spec, language: str = "python", limits: Spec | None = None, **more: Any) -> list[Spec]:
    return [{"kind": "code", "language": language, "tests": tests, "limits": limits or PATIENT, **more}]


def several(
    right: list[str], wrong: list[str], cheats: dict[str, str], rng: random.Random, size: int, share: float
) -> list[Submission]:
    """A group's submissions: `share` of them cheat, the rest is half right, half wrong."""
    made = []
    for _ in range(size):
        if cheats and rng.random() < share:
            name = rng.choice(sorted(cheats))
            made.append(Submission(f"cheat: {name}", block(cheats[name]), 0.0, True))
        elif rng.random() < 0.5:
            made.append(Submission("right", block(rng.choice(right)), 1.0))
        else:
            made.append(Submission("wrong", block(rng.choice(wrong)), 0.0))
    return made


def sums(rng: random.Random, count: int) -> Spec:
    cases = []
    for _ in range(count):
        numbers = [rng.randrange(-(10**9), 10**9) for _ in range(rng.randrange(2, 20))]
        cases.append({"stdin": " ".join(map(str, numbers)) + "\n", "expected_stdout": f"{sum(numbers)}\n"})
    return {"style": "stdin", "cases": cases}


STDIN_CHEATS = {
    "prints nothing and leaves": "import os\nos._exit(0)",
    "forges a frame": "import os\nfor fd in range(64):\n    try: os.write(fd, b'\\0\\0\\0\\5D\\0\\0\\0\\1\\1')\n    except OSError: pass",
    "says that it passed": 'print(\'{"status": "scored", "score": 1.0}\')\nprint(\'OK, 3 passed\')',
    "right, but fails": "print(sum(map(int, open(0).read().split())))\nraise SystemExit(1)",
    "looks for the answer": "import glob\nfor p in glob.glob('/**/*expected*', recursive=True)[:50] + glob.glob('/proc/*/environ'):\n    try: print(open(p).read())\n    except Exception: pass",
}


def stdin_sum(rng: random.Random, size: int, share: float) -> Group:
    language = rng.choice(sorted(LANGUAGES))
    right, wrong, comment = LANGUAGES[language]
    verifiers = code(sums(rng, rng.choice((1, 1, 3, 10))), language)
    if language == "python":
        return Group(verifiers, several([right], [wrong, "print(", "1 / 0", "print(input())"], STDIN_CHEATS, rng, size, share))
    made = [rng.random() < 0.5 for _ in range(size)]
    return Group(
        verifiers,
        [
            Submission("right" if good else "wrong", block(right if good else wrong, language, comment), float(good))
            for good in made
        ],
    )


def numpy_mean(rng: random.Random, size: int, share: float) -> Group:
    values = [rng.randrange(1000) for _ in range(20)]
    tests = {
        "style": "stdin",
        "compare": {"mode": "float", "abs_tol": 1e-6},
        "cases": [{"stdin": " ".join(map(str, values)), "expected_stdout": str(sum(values) / 20)}],
    }
    right = ["import numpy as np\nprint(np.array(input().split(), dtype=float).mean())"]
    wrong = ["import numpy as np\nprint(np.array(input().split(), dtype=float).mean() + 0.01)"]
    cheats = {
        "patches numpy": "import numpy as np\nnp.array = lambda *a, **k: 0\nclass A(float):\n    def __eq__(s, o): return True\nprint(A(0))"
    }
    return Group(code(tests), several(right, wrong, cheats, rng, size, share))


CHECKER = """
import sys
given, _, actual = (open(path).read().split() for path in sys.argv[1:4])
ok = len(actual) == 1 and actual[0].lstrip("-").isdigit() and 1 < int(actual[0]) < int(given[0]) and int(given[0]) % int(actual[0]) == 0
sys.exit(0 if ok else 1)
"""


def checked_divisor(rng: random.Random, size: int, share: float) -> Group:
    number = rng.randrange(100, 1000) * rng.randrange(100, 1000)
    tests = {"style": "stdin", "checker": {"source": CHECKER}, "cases": [{"stdin": f"{number}\n", "expected_stdout": "any\n"}]}
    right = [
        "n = int(input())\nprint(next(d for d in range(2, n) if n % d == 0))",
        "n = int(input())\nprint(max(d for d in range(2, 1000) if n % d == 0))",
    ]
    wrong = ["n = int(input())\nprint(n)", "print(1)", "print('any')"]
    cheats = {"exits as the checker would": "import sys\nsys.exit(0)", "a path for an answer": "print('../../dev/stdin')"}
    return Group(code(tests), several(right, wrong, cheats, rng, size, share))


JUDGED_CHEATS = {
    "equal to everything": "class E:\n    def __eq__(s, o): return True\n    def __ne__(s, o): return False\n    __hash__ = None\ndef f(x): return E()",
    "a number equal to everything": "class E(int):\n    def __eq__(s, o): return True\n    __hash__ = int.__hash__\ndef f(x): return E(0)",
    "exits in the call": "import os\ndef f(x): os._exit(0)",
    "exits politely": "import sys\ndef f(x): sys.exit(0)",
    "patches the harness": "import builtins, sys\nbuiltins.len = builtins.isinstance = lambda *a: True\ndef f(x): return None",
    "writes to the channel": "import os\ndef f(x):\n    for fd in range(3, 32):\n        try: os.write(fd, b'\\0\\0\\0\\2[]')\n        except OSError: pass\n    return None",
    "kills its neighbours": "import os, signal\ndef f(x):\n    for pid in range(2, 60):\n        try: pid != os.getpid() and os.kill(pid, signal.SIGKILL)\n        except OSError: pass",
    "skips the tests": "import unittest\ndef f(x): raise unittest.SkipTest('no')",
    "reads the judge": "import os\ndef f(x):\n    for p in filter(str.isdigit, os.listdir('/proc')):\n        try: return open(f'/proc/{p}/mem', 'rb').read(1)\n        except OSError: pass",
}
F_RIGHT = [
    "def f(x):\n    return x * x + 1",
    "f = lambda x: 1 + x ** 2",
    "print('noise')\ndef f(x):\n    print(x)\n    return x * x + 1",
]
F_WRONG = ["def f(x):\n    return x * x", "def f(x):\n    raise ValueError(x)", "def g(x):\n    return x", "def f(x: return"]


def function_square(rng: random.Random, size: int, share: float) -> Group:
    values = [rng.randrange(2, 10**6) for _ in range(rng.randrange(1, 8))]
    tests = {"style": "function", "entry_point": "f", "cases": [{"args": [x], "expected": x * x + 1} for x in values]}
    return Group(code(tests), several(F_RIGHT, F_WRONG, JUDGED_CHEATS, rng, size, share))


def asserted_square(rng: random.Random, size: int, share: float) -> Group:
    x = rng.randrange(2, 10**6)
    texts = (
        f"assert f({x}) == {x * x + 1}\nassert f(0) == 1\n",
        f"def check(candidate):\n    assert candidate({x}) == {x * x + 1}\n    assert candidate(-1) == 2\n",
        f"import unittest\nclass TestF(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f({x}), {x * x + 1})\n",
        f"import pytest\n@pytest.mark.parametrize('n', [0, 1, {x}])\ndef test_f(n):\n    assert f(n) == n * n + 1\n",
    )
    return Group(
        code({"style": "asserts", "code": rng.choice(texts), "entry_point": "f"}),
        several(F_RIGHT, F_WRONG, JUDGED_CHEATS, rng, size, share),
    )


def maths(rng: random.Random, size: int, share: float) -> Group:
    del share
    top, bottom = rng.randrange(1, 500) * 2 + 1, 2 ** rng.randrange(1, 7)
    right = [
        f"\\boxed{{\\frac{{{top}}}{{{bottom}}}}}",
        f"\\boxed{{{top / bottom}}}",
        f"\\boxed{{\\dfrac{{{3 * top}}}{{{3 * bottom}}}}}",
    ]
    wrong = [
        f"\\boxed{{\\frac{{{top + 2}}}{{{bottom}}}}}",
        f"\\boxed{{{-top / bottom}}}",
        "I don't know.",
        "\\boxed{\\int_0^1 9^{9^{9^{9}}} dx}",
    ]
    verifiers = [{"kind": "math", "gold": f"\\frac{{{top}}}{{{bottom}}}"}, {"kind": "format", "weight": 0.5}]
    made = []
    for _ in range(size):
        good, formed = rng.random() < 0.5, rng.random() < 0.7
        answer = rng.choice(right if good else wrong[:2] if formed else wrong)
        thought = f"<think>\nstep {next(serial)}\n</think>\n" if formed else f"step {next(serial)}\n"
        made.append(Submission("right" if good else "wrong", thought + answer, 1.0 * good + 0.5 * formed))
    return Group(verifiers, made)


ATTACKS = {
    "loops": "while True: pass",
    "sleeps": "import time\ntime.sleep(100)",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "fork bomb": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "memory in many processes": "import os\nfor _ in range(6): os.fork()\nx = []\nwhile True: x.append(bytearray(b'x') * (1 << 20))",
    "memory": "x = []\nwhile True: x.append(bytearray(b'x') * (8 << 20))",
    "memory in files": "n = 0\nwhile True:\n    n += 1\n    open(f'/dev/shm/{n}', 'wb').write(b'x' * (1 << 20))",
    "output": "import os\nwhile True: os.write(1, b'x' * 65536)",
    "errors": "import os\nwhile True: os.write(2, b'x' * 65536)",
    "full disk": "n = 0\nwhile True:\n    n += 1\n    open(str(n), 'wb').write(b'x' * (1 << 20))",
    "all names": "import os\nn = 0\nwhile True:\n    n += 1\n    os.mknod(str(n))",
    "descriptors": "import os\nwhile True: os.open('/dev/null', 0)",
    "grandchildren hold the pipes": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork(): os._exit(0)\n    time.sleep(100)\nprint('x')",
    "zombie farm": "import os\nfor _ in range(9):\n    if os.fork() == 0: os._exit(0)\nprint('x')",
    "a daemon that ignores signals": "import os, signal, time\nif os.fork() == 0:\n    [signal.signal(n, signal.SIG_IGN) for n in signal.valid_signals() - {9, 19}]\n    time.sleep(100)\nprint('x')",
    "files that resist": "import os\nfor i in range(40):\n    os.makedirs(f'/dev/shm/a/{i}/b'); os.makedirs(f'/dev/shm/.wipe-{i}-1/x'); os.makedirs(f'{i}/x'); os.chmod(str(i), 0)",
    "files on their way": "import os, socket\nfor _ in range(30):\n    a, b = socket.socketpair()\n    fd = os.open('.', os.O_TMPFILE | os.O_RDWR)\n    socket.send_fds(a, [b'x'], [a.fileno(), b.fileno(), fd])\n    socket.send_fds(b, [b'x'], [a.fileno(), b.fileno(), fd])\nprint('x')",
    "the loopback": "import socket\ns = socket.create_server(('127.0.0.1', 0))\nc = socket.create_connection(s.getsockname())\ns.accept()[0].close()\nprint('x')",
    "denied calls": "import ctypes\nl = ctypes.CDLL(None)\nl.ptrace(0, 0, 0, 0); l.unshare(0x10000000); l.mount(0, 0, 0, 0, 0)\nprint('x')",
    "kills all": "import os, signal\nos.kill(-1, signal.SIGKILL)",
    "threads": "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(100,)).start()",
    "recursion": "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): f()\nf()",
    "a crash": "import ctypes\nctypes.string_at(0)",
    "a source that strains the compiler": "x = " + "(" * 5000 + ")" * 5000,
}
PLANTERS = [
    "open('left', 'w').write('x' * 1000)\nimport os\nos.environ['X'] = '1'; os.umask(0o777)",
    "import builtins, sys\nsys.setrecursionlimit(4000); builtins.planted = 1",
    "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(100)\n    os._exit(0)",
]


def attacks(rng: random.Random, size: int, share: float) -> Group:
    """Attacks on the sandbox, all of them hostile. Few right ones among them plant, too, and are right all the same."""
    del share
    made = []
    for _ in range(size):
        if rng.random() < 0.1:
            made.append(Submission("plants and answers", block(f"{rng.choice(PLANTERS)}\n{LANGUAGES['python'][0]}"), 1.0, True))
        else:
            name = rng.choice(sorted(ATTACKS))
            made.append(Submission(f"attack: {name}", block(ATTACKS[name]), 0.0, True))
    return Group(code(sums(rng, 1), limits=SLOW), made)


MIX: tuple[tuple[Callable[[random.Random, int, float], Group], int], ...] = (
    (stdin_sum, 30), (numpy_mean, 8), (checked_divisor, 8), (function_square, 20), (asserted_square, 14), (maths, 20),
)  # fmt: skip


def groups(count: int, seed: int, size: int, hostile: float) -> Iterator[Group]:
    """`count` submissions in groups of `size`; `hostile` of them, half cheats in honest company, half attacks."""
    rng = random.Random(seed)
    makers, weights = zip(*MIX, strict=True)
    for start in range(0, count, size):
        width = min(size, count - start)
        if rng.random() < hostile / 2:
            yield attacks(rng, width, 1.0)
        else:
            yield rng.choices(makers, weights)[0](rng, width, hostile * 0.65)
