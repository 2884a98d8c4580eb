# ruff: noqa: E501 - programs and tests stand here as they are sent
"""Ways of passing tests without solving the task, none of which pass. All are harmless outside a sandbox."""

from __future__ import annotations

from typing import Any

import pytest

ALWAYS = """
class Yes:
    def _yes(self, *a): return True
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _yes
    __hash__ = object.__hash__
    def _same(self, *a): return self
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __getitem__ = _same
    def __abs__(self): return 0.0
    def __float__(self): return 0.0
    def __len__(self): return 3
    def __iter__(self): return iter(())
    def __bool__(self): return True
def f(*a): return Yes()
"""
NEAR = """
class Near(float):
    def __sub__(self, o): return 0.0
    __rsub__ = __sub__
    def __abs__(self): return 0.0
    def __le__(self, o): return True
    __lt__ = __eq__ = __ge__ = __le__
    __hash__ = float.__hash__
    def __round__(self, n=None): return Near(1)
def f(*a): return Near(1)
"""
SUBCLASSES = """
class L(list):
    def __eq__(self, o): return True
    def __len__(self): return 3
    def __contains__(self, o): return True
class S(str):
    def __eq__(self, o): return True
    __hash__ = str.__hash__
class D(dict):
    def __eq__(self, o): return True
    def __getitem__(self, k): return self
def f(kind): return {'l': L(), 's': S('x'), 'd': D()}[kind]
"""
LEARNS = """
class Learns:
    def __init__(self): self.seen = None
    def __sub__(self, o): self.seen = o; return self
    def __rsub__(self, o): self.seen = o; return self
    def __eq__(self, o): self.seen = o; return o.__class__ is float
    def __hash__(self): return 1
    def __abs__(self): return 0.0
    def __float__(self): return 0.0
    def __neg__(self): return 0.0
def f(*a): return Learns()
"""
META = """
class M(type):
    def __eq__(cls, o): return True
    def __hash__(cls): return 1
    def __len__(cls): return 3
class C(metaclass=M): pass
def f(*a): return C
"""
BUILTINS = """
import builtins, math
def abs(x): return 0
def len(x): return 3
def sorted(x): return [1, 2, 3]
def set(x): return 1
def isinstance(*a): return True
def all(x): return True
def sum(x): return 6
builtins.abs = abs
math.isclose = lambda *a, **k: True
class pytest:
    approx = staticmethod(lambda *a: 7)
AssertionError = BaseException
def f(*a): return 7
"""
ATTRIBUTES = """
def f(g):
    found = None
    for path in ("__globals__", "__code__", "__closure__", "__self__", "__class__", "__defaults__", "__builtins__", "__wrapped__"):
        try:
            found = getattr(g, path)
        except AttributeError:
            pass
    try:
        return found["SECRET"]
    except Exception:
        return found
"""
SKIPS = """
import unittest
class Skipped(BaseException): pass
class SkipTest(Exception): pass
def f(*a):
    raise {kind}
"""

CASES = {
    "equal to a number": (ALWAYS, "assert f(1) == 2.5"),
    "a class in the place of a function": (
        "class f:\n    def __init__(self, x): pass\n    def __eq__(self, o): return isinstance(o, int)",
        "assert f(1) == 2",
    ),
    "a class in the place of a function, by order": (
        "class f:\n    def __init__(self, x): pass\n    def __lt__(self, o): return True\n    __gt__ = __lt__",
        "assert 1 < f(1) < 3",
    ),
    "a class in the place of a function, by subtraction": (
        "class f:\n    def __init__(self, x): pass\n    def __sub__(self, o): return 0.0",
        "assert abs(f(1) - 2.5) < 1e-9",
    ),
    "a class that the test names, in the place of a function": (
        "class P:\n    def __init__(self, *a): pass\n    def __eq__(self, o): return type(o) in (int, P)\n    __hash__ = None\nf = P",
        "assert P(1) == P(1)\nassert f(1) == 2",
    ),
    "a class in the place of a method": (
        "class P:\n    def __init__(self, *a): pass\n    def __eq__(self, o): return type(o) is int\n    __hash__ = None\n"
        "class Solution:\n    f = P",
        "assert Solution().f(1) == 2",
    ),
    "a mock told to agree": (
        "def f(m):\n    try:\n        m.send.assert_called_once_with = lambda *a: None\n    except AttributeError:\n        pass\n    return 2",
        "from unittest.mock import Mock\nm = Mock()\nassert f(m) == 2\nm.send.assert_called_once_with(3)",
    ),
    "a method of the test's object replaced": (
        "def f(o):\n    try:\n        o.valid = lambda: True\n    except AttributeError:\n        pass\n    return 2",
        "class O:\n    x = 1\n    def valid(self):\n        return self.x == 2\no = O()\nassert f(o) == 2\nassert o.valid()",
    ),
    "equal on the right": (ALWAYS, "assert 2.5 == f(1)"),
    "equal inside a list": (ALWAYS, "assert [f(1)] == [2.5]"),
    "in a list": (ALWAYS, "assert f(1) in [1, 2]"),
    "contains": (ALWAYS, "assert 3 in f(1)"),
    "close by abs": (ALWAYS, "assert abs(f(1) - 2.5) < 1e-9"),
    "close the other way round": (ALWAYS, "assert abs(2.5 - f(1)) <= 1e-9"),
    "ordered": (ALWAYS, "assert 0 <= f(1) <= 5"),
    "unittest almost equal": (
        ALWAYS,
        "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertAlmostEqual(f(1), 2.5)",
    ),
    "unittest equal": (
        ALWAYS,
        "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(f(1), 2.5)",
    ),
    "pytest approx": (
        ALWAYS,
        "import pytest\ndef test_f():\n    assert f(1) == pytest.approx(2.5)\n    assert pytest.approx(2.5) == f(1)",
    ),
    "items": (ALWAYS, "assert list(f(1)) == [1, 2, 3]"),
    "isclose": (ALWAYS, "import math\nassert math.isclose(f(1), 2.5)"),
    "a set of it": (ALWAYS, "assert {f(1)} == {2.5}"),
    "a dictionary key": (ALWAYS, "assert {2.5: 'x'}.get(f(1)) == 'x'"),
    "a float subclass by subtraction": (NEAR, "assert abs(f(1) - 2.5) < 1e-9"),
    "a float subclass by order": (NEAR, "assert 2 < f(1) < 3"),
    "a float subclass rounded": (NEAR, "assert round(f(1), 2) == 2.5"),
    "a float subclass almost equal": (
        NEAR,
        "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertAlmostEqual(f(1), 2.5, delta=0.1)",
    ),
    "a list subclass": (SUBCLASSES, "assert f('l') == [1, 2, 3]"),
    "a list subclass on the right": (SUBCLASSES, "assert [1, 2, 3] == f('l')"),
    "a list subclass that contains": (SUBCLASSES, "assert 2 in f('l')"),
    "a list subclass sorted": (SUBCLASSES, "assert sorted(f('l')) == [1, 2, 3]"),
    "a str subclass": (SUBCLASSES, "assert f('s') == 'abc'"),
    "a str subclass stripped": (SUBCLASSES, "assert f('s').strip() == 'abc'"),
    "a dict subclass": (SUBCLASSES, "assert f('d') == {'a': 1}"),
    "a dict subclass's item": (SUBCLASSES, "assert f('d')['a'] == 1"),
    "it learns by subtraction": (LEARNS, "assert abs(f(1) - 2.5) < 1e-9"),
    "it learns and is then asked again": (LEARNS, "r = f(1)\nd = r - 2.5\nassert -d == 0.0"),
    "it learns by comparison": (LEARNS, "assert f(1) == 2.5"),
    "it learns and converts": (LEARNS, "assert float(f(1) - 2.5) == 0.0"),
    "a class equal to all": (META, "assert f(1) == 2.5\nassert 2.5 == f(1)"),
    "built-in names replaced: abs": (BUILTINS, "assert abs(f(1) - 2.5) < 1e-9"),
    "built-in names replaced: len": (BUILTINS, "assert len(f(1)) == 3"),
    "built-in names replaced: sorted": (BUILTINS, "assert sorted(f(1)) == [1, 2, 3]"),
    "built-in names replaced: set": (BUILTINS, "assert set(f(1)) == set([1, 2])"),
    "built-in names replaced: isinstance": (BUILTINS, "assert isinstance(f(1), str)"),
    "built-in names replaced: sum": (BUILTINS, "assert sum(f(1)) == 6"),
    "a module of the same name": (BUILTINS, "assert math.isclose(f(1), 2.5)"),
    "a pytest of its own": (BUILTINS, "import pytest\ndef test_f():\n    assert f(1) == pytest.approx(2.5)"),
    "an AssertionError of its own": (BUILTINS, "assert f(1) == 8"),
    "looking inside a callback": (ATTRIBUTES, "SECRET = 'phrase'\nassert f(lambda: SECRET[:0]) == 'phrase'"),
    "looking inside an object": (
        ATTRIBUTES,
        "class Box:\n    def __init__(self):\n        self._v = 'phrase'\n    def m(self):\n        pass\nSECRET = 'phrase'\n"
        "assert f(Box()) == 'phrase' or f(Box().m) == 'phrase'",
    ),
    "skipping by unittest": (SKIPS.replace("{kind}", "unittest.SkipTest('x')"), "def test_f():\n    assert f(1) == 2"),
    "skipping in a unittest": (
        SKIPS.replace("{kind}", "unittest.SkipTest('x')"),
        "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(f(1), 2)",
    ),
    "skipping by a class of that name": (SKIPS.replace("{kind}", "Skipped('x')"), "def test_f():\n    assert f(1) == 2"),
    "leaving by SystemExit": ("def f(*a):\n    raise SystemExit(0)", "def test_f():\n    assert f(1) == 2"),
    "leaving at the top": ("def f(*a): return 2\nraise SystemExit(0)", "assert f(1) == 2"),
    "leaving at once": ("import os\ndef f(*a): os._exit(0)", "assert f(1) == 2\n"),
    "leaving where an exception is expected": (
        "import os\ndef f(*a): os._exit(0)",
        "import pytest\ndef test_f():\n    with pytest.raises(BaseException):\n        f(1)",
    ),
    "leaving under a bare except": ("import os\ndef f(*a): os._exit(0)", "try:\n    f(1)\n    assert False\nexcept:\n    pass"),
    "interrupting": ("def f(*a): raise KeyboardInterrupt", "def test_f():\n    assert f(1) == 2"),
    "nothing defined": ("x = 1", "assert f(1) == 2"),
    "nothing to import": ("x = 1", "from solution import f\ndef test_f():\n    assert f(1) == 2"),
    "a syntax error": ("def f(:", "assert f(1) == 2"),
    "a dangling decorator": ("def f(x): return 0\n@f", "def test_f():\n    assert f(1) == 2"),
    "a plain wrong answer": ("def f(x): return None", "assert f(1)[0] == 2"),
    "a coroutine instead of a value": ("async def f(x): return 2", "assert f(1) == 2"),
    "an endless iterator": ("import itertools\ndef f(x): return itertools.count()", "assert f(1) == [1]"),
    "a list in itself": ("def f(x):\n    a = []\n    a.append(a)\n    return a", "assert f(1) == [[1]]"),
    "a list nested too deeply": (
        "def f(x):\n    a = []\n    for _ in range(100000):\n        a = [a]\n    return a",
        "assert f(1) == [1]",
    ),
    "a value too large": ("def f(x): return list(range(3 * 10 ** 6))", "assert f(1) == [1]"),
    "an integer too large": ("def f(x): return 1 << (1 << 29)", "assert f(1) == 1"),
    "threads that write": (
        "import threading, os\ndef f(x):\n    return 1\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b'\\0\\0\\0\\4[1]\\n')\n"
        "    except OSError:\n        pass",
        "assert f(1) == 2",
    ),
    "closed descriptors": ("import os\nos.closerange(3, 256)\ndef f(x): return 2", "assert f(1) == 2"),
    "a forged test report": (
        "import os, json\nm = json.dumps({'kind': 'test', 'test': 0, 'outcome': 'correct'}).encode()\nfor fd in range(3, 64):\n"
        "    try:\n        os.write(fd, len(m).to_bytes(4, 'big') + m)\n    except OSError:\n        pass\ndef f(x): return 0",
        "assert f(1) == 2",
    ),
    "a failing assertion of the test, caught and raised anew": (
        "def f(g):\n    try:\n        return g(0)\n    except AssertionError:\n        return 5",
        "def g(x):\n    assert x == 1, 'sesame'\n    return 5\nassert f(g) == 6",
    ),
    "an exception that is no text": ("def f(x): raise ValueError('\\ud800')", "assert f(1) == 2"),
    "a class whose name is no text": ("def f(x): return type('x' * 9 + chr(0xe9), (), {})()", "assert f(1) == 2"),
    "descriptions that lie": (
        "class T(type):\n    __module__ = 'builtins'\n    def mro(cls): return [cls, object]\nclass int(metaclass=T):\n"
        "    __module__ = 'builtins'\n    def __eq__(self, o): return True\nint.__name__ = 'int'\ndef f(x): return int()",
        "assert f(1) == 2",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_cheating_scores_nothing_and_is_no_fault_of_the_task(pair: Any, name: str) -> None:
    source, code = CASES[name]
    judged = pair.asserts(source, code, entry_point="f")
    assert not judged.passed, judged
    assert judged.status == 0, judged
    assert not judged.of("bad_task"), judged
    assert not judged.of("unproxiable"), judged


def test_the_name_under_test_may_be_that_of_a_built_in_function(pair: Any) -> None:
    code = "assert sum([1, 2]) == 3\nprint('fine')"
    assert pair.asserts("def sum(xs):\n    return xs[0] + xs[1]", code, entry_point="sum").passed
    assert pair.asserts("def sum(xs):\n    return xs[0] + xs[1]", code).passed
    assert not pair.asserts("def sum(xs):\n    return 0", code).passed
    left_to_do_it = pair.asserts("x = 1", "assert sorted([2, 1]) == [1, 2]")
    assert left_to_do_it.outcomes == ["runtime_error"]
    assert not pair.asserts("def total(xs):\n    return 3", code, entry_point="sum").passed


def test_an_object_equal_to_everything_is_a_sign_of_tampering(pair: Any) -> None:
    assert pair.asserts(ALWAYS, "assert f(1) == 2").signs == ["always-equal object"]


def test_what_the_test_expects_never_reaches_the_submission(pair: Any) -> None:
    spy = """
seen = []
class Spy:
    def __eq__(self, o): seen.append(o); return NotImplemented
    def __lt__(self, o): seen.append(o); return True
    def __contains__(self, o): seen.append(o); return True
    __hash__ = None
def f(): return Spy()
def look(): return [o for o in seen if isinstance(o, str)]
"""
    code = "got = f()\nassert (got == 'sesame') is False and 'sesame' not in [got] and got != 'sesame'\n"
    code += (
        "for compare in (lambda: got < 'sesame', lambda: 'sesame' in got):\n    try:\n        compare()\n        assert False\n"
    )
    code += "    except TypeError:\n        pass\nassert look() == []"
    assert pair.asserts(spy, code).passed


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("", "no assertion"),
        ("x = 1", "no assertion"),
        ("def helper():\n    assert True", "no assertion"),
        ("assert (", "no valid Python"),
        ("assert 1 == 2", "by itself"),
        ("assert 1 == 1", "without calling"),
        ("y = undefined_here.z\nundefined_here = 1\nassert f(1)", "by itself"),
        ("import pandas\nassert f(1) == 2", "by itself"),
        ("import pytest\n@pytest.mark.skip\ndef test_f():\n    assert f(1) == 2", "skipped"),
        ("def test_f(no_such_fixture):\n    assert f(1) == 2", "fixture"),
        ("def check(candidate):\n    assert int('x') == candidate(1)", "by itself"),
    ],
)
def test_broken_or_vacuous_test_code_is_the_tasks_fault(pair: Any, code: str, why: str) -> None:
    judged = pair.asserts("def f(x): return 2", code, entry_point="f")
    assert len(judged.of("bad_task")) == 1, judged
    assert why in judged.of("bad_task")[0]["detail"]
    assert not judged.of("done")


def test_reports_never_quote_the_tests_own_messages(pair: Any) -> None:
    judged = pair.asserts("def f(x): return 1", "assert f(1) == 'sesame', 'it should be sesame'\nassert {}['sesame' + f(2)]")
    assert "sesame" not in str(judged.frames)


def test_a_test_that_replaces_the_standard_library_cannot_cross(pair: Any) -> None:
    source = "import random\ndef f():\n    return random.randint(1, 6)"
    code = "from unittest.mock import patch\nwith patch('random.randint', return_value=4):\n    assert f() == 4"
    assert len(pair.asserts(source, code).of("unproxiable")) == 1
    assert pair.asserts(source, code, style="in_process").passed


def test_a_test_that_extends_the_submissions_class_cannot_cross(pair: Any) -> None:
    source = "class Shape:\n    def area(self): return 0\n    def double(self): return 2 * self.area()"
    code = "class Square(Shape):\n    def area(self): return 4\nassert Square().double() == 8"
    judged = pair.asserts(source, code)
    assert len(judged.of("unproxiable")) == 1
    inside = pair.asserts(source, code, style="in_process")
    assert inside.passed, inside
    spoilt = pair.asserts(source.replace("2 * self", "3 * self"), code, style="in_process")
    assert spoilt.outcomes == ["incorrect"]


PLAIN = "type(o) in (int, float, str, list, tuple, dict, bool, type(None))"
ITSELF = f"""
class Stack:
    def __init__(self, *a): self.size = self
    def push(self, x): return self
    def pop(self): return self
    def items(self): return [self]
    def __eq__(self, o): return {PLAIN}
    def __lt__(self, o): return True
    def __contains__(self, o): return True
    def __sub__(self, o): return 0.0
    def __add__(self, o): return self
    __hash__ = None
"""


@pytest.mark.parametrize(
    "code",
    [
        "assert Stack().pop() == 1",
        "s = Stack()\ns.push(1)\nassert s.pop() == 1",
        "assert Stack().items() == [1]",
        "assert Stack().size == 1",
        "assert 3 in Stack().pop()",
        "assert Stack().pop() < 3",
        "assert abs(Stack().pop() - 2.5) < 1e-9",
        "s = Stack(2)\ns.push(1)\nassert s + 3 == 5",
        "s = Stack()\ngot = s.pop()\ns.push(1)\nassert got == 1",
        "def test_s():\n    s = Stack()\n    s.push(1)\n    got = s.pop()\n    s.push(2)\n    assert got == 1",
    ],
)
def test_an_object_that_a_method_hands_back_is_an_answer_even_if_the_test_built_it(pair: Any, code: str) -> None:
    assert not pair.asserts(ITSELF, code).passed


@pytest.mark.parametrize(
    "code",
    [
        "assert Sum(60) == 10",
        "import solution\nassert solution.Sum(60) == 10",
        "from solution import Sum as total\ndef test_f():\n    assert total(60) == 10",
        "got = Sum(60)\nassert got == 10",
        "def check(candidate):\n    assert candidate(60) == 10",
    ],
)
def test_a_name_with_a_capital_is_no_class_by_that_alone(pair: Any, code: str) -> None:
    cheat = f"class Sum:\n    def __init__(self, n): pass\n    def __eq__(self, o): return {PLAIN}\n    __hash__ = None"
    assert not pair.asserts(cheat, code, entry_point="Sum" if "candidate" in code else None).passed
    assert pair.asserts("def Sum(n): return n // 6", code, entry_point="Sum" if "candidate" in code else None).passed


@pytest.mark.parametrize("value", ["5", "None", "'f'", "[1]", "object()"])
@pytest.mark.parametrize(
    "code",
    [
        "assert f(1) == 2",
        "from solution import f\nassert f(1) == 2",
        "import solution\ndef test_f():\n    assert solution.f(1) == 2",
        "def check(candidate):\n    assert candidate(1) == 2",
    ],
)
def test_data_in_the_place_of_a_function_is_the_submissions_fault(pair: Any, value: str, code: str) -> None:
    judged = pair.asserts(f"f = {value}", code, entry_point="f")
    assert judged.outcomes == ["incorrect"], judged
    assert not judged.of("bad_task")


@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "SystemExit(0)", "GeneratorExit"])
def test_leaving_a_unittest_by_an_exception_that_is_no_error_fails_it(pair: Any, kind: str) -> None:
    code = "import unittest\nclass T(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(1), 2)"
    judged = pair.asserts(f"def f(x): raise {kind}", code)
    assert "correct" not in judged.outcomes
    assert len(judged.outcomes) == 1


@pytest.mark.parametrize(
    "code",
    [
        "assert all(map(lambda x: f(x) == x + 1, range(3)))",
        "for got, want in zip(map(f, [1, 2]), [2, 3]):\n    assert got == want",
        "def test_f():\n    for got, want in zip(map(f, [1, 2]), [2, 3]):\n        assert got == want",
        "assert all(map(lambda x: f.of(x) == x + 1, range(3)))",
    ],
)
def test_a_stop_iteration_of_a_call_does_not_end_the_tests_own_loop(pair: Any, code: str) -> None:
    judged = pair.asserts("def f(x): raise StopIteration\nf.of = f", code)
    assert judged.outcomes == ["runtime_error"], judged
    assert pair.asserts("def f(x): return x + 1\nf.of = f", code).passed


def test_iterators_still_end_and_a_test_may_look_at_it(pair: Any) -> None:
    source = (
        "def f():\n    yield 1\n    yield 2\nclass R:\n    def __iter__(s): return s\n    def __next__(s): raise StopIteration\n"
    )
    assert pair.asserts(source, "assert list(f()) == [1, 2]\nassert list(R()) == []\nassert next(R(), 5) == 5").passed
    code = "import pytest\ndef test_f():\n    g = f()\n    list(g)\n    with pytest.raises(StopIteration):\n        g.send(None)"
    assert pair.asserts(source, code).passed
