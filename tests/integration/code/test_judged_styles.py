"""Tests of the styles function and asserts, and special judges, through real sandboxes."""

from __future__ import annotations

from typing import Any

import pytest

from verifier_protocol import CodeSpec, Outcome, ScoredVerdict
from verifier_service.faults import TaskFault
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.verifier import CodeVerifier

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="session")]


async def verdict(verifier: CodeVerifier, tests: dict[str, Any], source: str, **more: Any) -> ScoredVerdict:
    spec = CodeSpec.model_validate({"kind": "code", "tests": tests, **more})
    return await verifier.verify(verifier.prepare(spec), f"```python\n{source}\n```", Deadline.after(110))


def function(*cases: tuple[list[Any], Any]) -> dict[str, Any]:
    return {"style": "function", "entry_point": "f", "cases": [{"args": args, "expected": expected} for args, expected in cases]}


def asserts(code: str, **more: Any) -> dict[str, Any]:
    return {"style": "asserts", "code": code, **more}


async def test_function_cases_pass_and_fail(verifier: CodeVerifier) -> None:
    tests = function(([1, 2], 3), ([[1], [2]], [1, 2]))
    right = await verdict(verifier, tests, "def f(a, b):\n    print('noise')\n    return a + b")
    assert (right.score, right.passed, right.total, right.trust) == (1.0, 2, 2, "isolated")
    wrong = await verdict(verifier, tests, "def f(a, b):\n    return a if a == [1] else a + b", scoring="fraction")
    assert (wrong.score, wrong.outcome) == (0.5, Outcome.PARTIAL)


async def test_a_case_that_ends_the_process_costs_only_itself(verifier: CodeVerifier) -> None:
    source = (
        "import os\ndef f(x):\n    if x == 2:\n        os._exit(0)\n    if x == 3:\n        raise ValueError('no')\n    return x"
    )
    found = await verdict(verifier, function(*(([n], n) for n in range(1, 6))), source, scoring="fraction")
    assert found.tests is not None
    assert [test.outcome.value for test in found.tests] == ["correct", "runtime_error", "runtime_error", "correct", "correct"]


async def test_each_case_has_the_time_limit_for_itself(verifier: CodeVerifier) -> None:
    source = (
        "import time\ndef f(x):\n    end = time.process_time() + 0.7\n    while time.process_time() < end: pass\n    return x"
    )
    limits = {"cpu_time_s": 1.2, "wall_time_s": 90.0}
    found = await verdict(verifier, function(*(([n], n) for n in range(4))), source, limits=limits)
    assert found.score == 1.0, found


async def test_a_case_that_never_ends_is_out_of_time(verifier: CodeVerifier) -> None:
    source = "def f(x):\n    while x == 1: pass\n    return x"
    limits = {"cpu_time_s": 1.0, "wall_time_s": 4.0}
    found = await verdict(verifier, function(([0], 0), ([1], 1), ([2], 2)), source, limits=limits, scoring="fraction")
    assert found.tests is not None
    assert [test.outcome.value for test in found.tests] == ["correct", "time_limit_exceeded", "correct"]


async def test_memory_beyond_the_limit_is_told_from_a_crash(verifier: CodeVerifier) -> None:
    source = "def f(x):\n    return len([bytearray(b'x' * (1 << 20)) for _ in range(3000)])"
    found = await verdict(verifier, function(([0], 0)), source, limits={"memory_mb": 128})
    assert found.outcome is Outcome.MEMORY_LIMIT_EXCEEDED


async def test_numpy_values_cross(verifier: CodeVerifier) -> None:
    source = "import numpy as np\ndef f(xs): return np.cumsum(xs)\ndef total(a): return a.sum()\ndef double(a):\n    a *= 2"
    found = await verdict(verifier, function(([[1, 2]], [1, 3])), source)
    assert found.score == 1.0, found
    code = "import numpy as np\na = f([1, 2, 3])\nassert isinstance(a, np.ndarray) and a.shape == (3,)\n"
    code += "np.testing.assert_array_equal(a, np.array([1, 3, 6]))\nassert np.isclose(total(np.ones(4)), 4.0)\n"
    code += "b = np.arange(3)\ndouble(b)\nassert b.tolist() == [0, 2, 4]"
    found = await verdict(verifier, asserts(code), source)
    assert found.score == 1.0, found


async def test_test_files_run_in_the_judge(verifier: CodeVerifier) -> None:
    code = "import pytest\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_f(n):\n    assert f(n) == n * n\n"
    code += "def test_error():\n    with pytest.raises(ValueError, match='negative'):\n        f(-1)\n"
    source = "def f(n):\n    if n < 0:\n        raise ValueError('negative')\n    return n * n"
    found = await verdict(verifier, asserts(code), source)
    assert (found.score, found.passed, found.total) == (1.0, 4, 4), found
    found = await verdict(verifier, asserts(code), source.replace("n * n", "n + n"), scoring="fraction")
    assert (found.passed, found.total) == (2, 4), found


async def test_the_submission_finds_no_test_anywhere_in_its_process(verifier: CodeVerifier) -> None:
    source = """
import gc, os, re, sys
PATTERN = re.compile("open-" + "sesame-[0-9]+")
def f():
    found = []
    frame = sys._getframe()
    while frame:
        found += [str(v)[:5000] for v in [*frame.f_locals.values(), *frame.f_globals.values()]]
        frame = frame.f_back
    for o in gc.get_objects():
        if isinstance(o, (list, tuple, dict)) and len(o) < 200:
            try: found.append(repr(o)[:5000])
            except Exception: pass
    for line in open("/proc/self/maps"):
        if "rw-p" in line:
            a, b = (int(x, 16) for x in line.split()[0].split("-"))
            try:
                with open("/proc/self/mem", "rb") as memory:
                    memory.seek(a)
                    found.append(memory.read(min(b - a, 64 << 20)).decode("latin-1"))
            except OSError: pass
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            for leaf in ("cmdline", "environ", "mem"):
                try: found.append(open(f"/proc/{pid}/{leaf}", "rb").read(1 << 20).decode("latin-1"))
                except OSError: pass
    return next((m[0] for text in found for m in [PATTERN.search(text)] if m), "nothing")
"""
    limits = {"memory_mb": 1024}
    assert (await verdict(verifier, function(([], "nothing")), source, limits=limits)).score == 1.0
    assert (await verdict(verifier, function(([], "open-sesame-123")), source, limits=limits)).outcome is Outcome.INCORRECT
    code = "SECRET = 'open-sesame-456'\nassert f() == SECRET"
    assert (await verdict(verifier, asserts(code), source, limits=limits)).outcome is Outcome.INCORRECT


async def test_broken_test_code_is_the_tasks_fault(verifier: CodeVerifier) -> None:
    for code in ("assert (", "x = 1", "assert 1 == 2", "def test_f(nothing):\n    assert f()"):
        with pytest.raises(TaskFault):
            await verdict(verifier, asserts(code), "def f(): return 1")


async def test_tests_that_cannot_cross_run_in_process_only_when_allowed(verifier: CodeVerifier) -> None:
    source = "class Shape:\n    def area(self): return 0\n    def double(self): return 2 * self.area()"
    code = "class Square(Shape):\n    def area(self): return 4\nassert Square().double() == 8"
    with pytest.raises(TaskFault, match="allow_in_process"):
        await verdict(verifier, asserts(code), source)
    found = await verdict(verifier, asserts(code, allow_in_process=True), source)
    assert (found.score, found.trust) == (1.0, "in_process")
    wrong = await verdict(verifier, asserts(code, allow_in_process=True), source.replace("2 *", "3 *"))
    assert (wrong.score, wrong.outcome) == (0.0, Outcome.INCORRECT)


CHECKER = """
import sys
given, expected, actual = (open(name).read().split() for name in sys.argv[1:])
assert sys.argv[1:] == ["input.txt", "expected.txt", "actual.txt"]
n = int(given[0])
sys.exit(0 if len(actual) == 2 and sum(map(int, actual)) == n and expected == ["any"] else 1)
"""


async def test_a_checker_decides(verifier: CodeVerifier) -> None:
    tests = {
        "style": "stdin",
        "cases": [{"stdin": f"{n}\n", "expected_stdout": "any\n"} for n in (5, 9)],
        "checker": {"source": CHECKER},
    }
    right = await verdict(verifier, tests, "n = int(input())\nprint(1, n - 1)")
    assert (right.score, right.passed) == (1.0, 2), right
    wrong = await verdict(verifier, tests, "n = int(input())\nprint(4, 1)", scoring="fraction")
    assert (wrong.score, wrong.outcome) == (0.5, Outcome.PARTIAL)
    crashed = await verdict(verifier, tests, "print(4, 1)\nraise ValueError")
    assert crashed.outcome is Outcome.RUNTIME_ERROR
    with pytest.raises(TaskFault, match="checker"):
        await verdict(verifier, {**tests, "checker": {"source": "def ("}}, "n = int(input())\nprint(1, n - 1)")


async def test_the_submission_never_sees_the_checkers_files(verifier: CodeVerifier) -> None:
    tests = {
        "style": "stdin",
        "cases": [{"stdin": "", "expected_stdout": "any\n"}] * 3,
        "checker": {"source": "import sys\nsys.exit(0)"},
    }
    source = "import glob, sys\nprint(glob.glob('**/*.txt', recursive=True), sys.argv[1:])"
    found = await verdict(verifier, tests, source)
    assert found.tests is not None
    assert {test.stdout_tail for test in found.tests} == {"[] []\n"}
