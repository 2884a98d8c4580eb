# ruff: noqa: E501 - programs and tests stand here as they are sent
"""The style `function`: what agrees with an expected JSON value, and what a submission may return."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.verifiers.code.harness.agree import agrees

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("expected", "got", "right"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (2.0, 2, True),
        (1, "1", False),
        (1, True, False),
        (True, 1, False),
        (True, True, True),
        (0, False, False),
        (None, None, True),
        (None, 0, False),
        ("", None, False),
        ([1, [2]], (1, (2,)), True),
        ([1], [1, 1], False),
        ([1, 2], {1, 2}, False),
        ({"a": [1]}, {"a": (1,)}, True),
        ({"1": "a"}, {1: "a"}, True),
        ({"1": "a"}, {"1": "a"}, True),
        ({"1": "a", "2": "b"}, {1: "a", "2": "b"}, False),
        ({}, [], False),
        ([], "", False),
        (10**400, 10**400, True),
        (10**400, 1.0, False),
        (0.3, 0.1 + 0.2, False),
        (1.0, float("nan"), False),
        (1e308, float("inf"), False),
        ("a", b"a", False),
        (1, 1 + 0j, False),
    ],
)
def test_values_agree_with_their_types(expected: Any, got: Any, right: bool) -> None:
    assert agrees(expected, got, 0.0, 0.0) is right


def test_numbers_agree_within_the_tolerance() -> None:
    assert agrees(0.3, 0.1 + 0.2, 1e-9, 0.0)
    assert agrees(1000.0, 1000.5, 0.0, 1e-3)
    assert not agrees(1000.0, 1002.0, 0.0, 1e-3)
    assert not agrees(1.0, float("nan"), 1e9, 1.0)
    assert not agrees(1.0, float("inf"), 1e9, 1.0)
    assert not agrees(10**400, 5.0, 1e9, 0.1)
    assert agrees([{"x": 0.5}], [{"x": 0.50000000001}], 1e-9, 0.0)


@given(JSON)
def test_every_value_agrees_with_itself(value: Any) -> None:
    assert agrees(value, value, 0.0, 0.0)


@given(JSON, st.just([]).flatmap(lambda _: JSON))
def test_agreement_is_symmetric_between_plain_json_values(one: Any, other: Any) -> None:
    assert agrees(one, other, 0.0, 0.0) == agrees(other, one, 0.0, 0.0)


RIGHT = {
    "a function": ("def f(a, b): return a + b", "f", [([1, 2], 3), (["a", "b"], "ab")], {}),
    "a method of class Solution, with names that nobody imported": (
        "class Solution:\n    def f(self, xs: List[int]) -> Dict[str, int]:\n        q = deque(xs)\n        return {'n': len(q)}",
        "f",
        [([[1, 2]], {"n": 2})],
        {},
    ),
    "a tuple for a list": ("def f(n): return (n, [n, (n,)])", "f", [([1], [1, [1, [1]]])], {}),
    "a counter for a dictionary": (
        "from collections import Counter\ndef f(s): return Counter(s)",
        "f",
        [(["aab"], {"a": 2, "b": 1})],
        {},
    ),
    "a named tuple": (
        "from collections import namedtuple\nP = namedtuple('P', 'x y')\ndef f(): return P(1, 2)",
        "f",
        [([], [1, 2])],
        {},
    ),
    "an argument changed in place": ("def f(xs): xs.reverse()", "f", [([[1, 2]], [2, 1])], {"inplace_arg": 0}),
    "printing": ("def f(x):\n    print('noise' * 1000)\n    return x", "f", [([1], 1)], {}),
    "a main guard": ("def f(x): return x\nif __name__ == '__main__':\n    raise SystemExit(3)", "f", [([1], 1)], {}),
    "helpers and state": (
        "calls = 0\ndef g(x): return x + 1\ndef f(x):\n    global calls\n    calls += 1\n    return g(x)",
        "f",
        [([1], 2), ([2], 3)],
        {},
    ),
    "deep recursion": ("def f(n): return 0 if n == 0 else 1 + f(n - 1)", "f", [([5000], 5000)], {}),
    "large integers": ("def f(a, b): return a ** b", "f", [([3, 5000], 3**5000)], {}),
    "a linked list": (
        "class Solution:\n    def f(self, head: Optional[ListNode]) -> Optional[ListNode]:\n        prev = None\n        while head:\n"
        "            head.next, prev, head = prev, head, head.next\n        return prev",
        "f",
        [([[1, 2, 3]], [3, 2, 1]), ([[]], [])],
        {},
    ),
    "lists of linked lists": (
        "class Solution:\n    def f(self, lists: List[Optional[ListNode]]) -> List[int]:\n        return [n.val if n else None for n in lists]",
        "f",
        [([[[1, 2], [], [3]]], [1, None, 3]), ([[]], [])],
        {},
    ),
    "a tree": (
        "class Solution:\n    def f(self, root: Optional[TreeNode]) -> Optional[TreeNode]:\n        if root:\n"
        "            root.left, root.right = self.f(root.right), self.f(root.left)\n        return root",
        "f",
        [([[4, 2, 7, 1, None, None, 9]], [4, 7, 2, 9, None, None, 1]), ([[]], [])],
        {},
    ),
    "empty lists among linked lists": (
        "class Solution:\n    def f(self, head: Optional[ListNode], k: int) -> List[Optional[ListNode]]:\n        return [head] + [None] * k",
        "f",
        [([[1, 2], 2], [[1, 2], [], []]), ([[], 1], [[], []])],
        {},
    ),
    "null among numbers": (
        "class Solution:\n    def f(self, x: int) -> List[int]:\n        return [x, None]",
        "f",
        [([1], [1, None])],
        {},
    ),
    "a node class of its own": (
        "class ListNode:\n    def __init__(self, val=0, next=None):\n        self.val, self.next = val, next\nclass Solution:\n"
        "    def f(self, head: ListNode) -> ListNode:\n        assert type(head) is ListNode\n        return head.next",
        "f",
        [([[1, 2]], [2])],
        {},
    ),
    "a coroutine function": ("async def f(x): return x", "f", [([1], 1)], {}),
    "within the tolerance": ("def f(a, b): return a + b", "f", [([0.1, 0.2], 0.3)], {"float_tol": 1e-9}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_results_are_correct(pair: Any, name: str) -> None:
    source, entry_point, cases, more = RIGHT[name]
    judged = pair.function(source, entry_point, *cases, **more)
    assert judged.passed, judged


WRONG = {
    "another value": ("def f(x): return x + 1", [([1], 1)], "incorrect"),
    "text for a number": ("def f(x): return str(x)", [([1], 1)], "incorrect"),
    "nothing": ("def f(x): pass", [([1], 1)], "incorrect"),
    "an exception where blank text is expected": ("def f(x): raise ValueError", [([1], "")], "runtime_error"),
    "an object equal to everything": (
        "class E:\n    def __eq__(s, o): return True\ndef f(x): return E()",
        [([1], 1)],
        "incorrect",
    ),
    "an integer subclass equal to everything": (
        "class E(int):\n    def __eq__(s, o): return True\n    __hash__ = None\ndef f(x): return E(5)",
        [([1], 1)],
        "incorrect",
    ),
    "a set for a list": ("def f(x): return {1}", [([1], [1])], "incorrect"),
    "a generator for a list": ("def f(x): yield 1", [([1], [1])], "incorrect"),
    "an endless iterator": ("import itertools\ndef f(x): return itertools.count()", [([1], [0])], "incorrect"),
    "a list in itself": ("def f(x):\n    a = []\n    a.append(a)\n    return a", [([1], [[1]])], "incorrect"),
    "nested too deeply": (
        "def f(x):\n    a = []\n    for _ in range(100000): a = [a]\n    return a",
        [([1], [])],
        "output_limit_exceeded",
    ),
    "ten million items": ("def f(x): return list(range(10 ** 7))", [([1], [0])], "output_limit_exceeded"),
    "not a number": ("def f(x): return float('nan')", [([1], 1.0)], "incorrect"),
    "an endless linked list": (
        "class Solution:\n    def f(self, head: ListNode) -> ListNode:\n        head.next = head\n        return head",
        [([[1]], [1])],
        "runtime_error",
    ),
    "leaving": ("class Finished(SystemExit): pass\ndef f(x): raise Finished(0)", [([1], 1)], "runtime_error"),
    "no such function": ("def g(x): return 1", [([1], 1)], "runtime_error"),
    "a patched json": ("import json\njson.dumps = lambda *a, **k: '[]'\ndef f(x): return 2", [([1], 1)], None),
    "patched modules": (
        "import sys, types\nfor n in ('json', 'struct', 'os', 'base64'):\n    sys.modules[n] = types.ModuleType(n)\ndef f(x): return 2",
        [([1], 1)],
        "incorrect",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_results_are_not(pair: Any, name: str) -> None:
    source, cases, outcome = WRONG[name]
    judged = pair.function(source, "f", *cases)
    assert not judged.passed
    assert judged.status == 0
    if outcome is not None:
        assert judged.outcomes == [outcome], judged


def test_a_submission_that_does_not_load_says_why(pair: Any) -> None:
    assert pair.function("def f(:", "f", ([1], 1)).of("load_failed")[0]["outcome"] == "compile_error"
    failed = pair.function("import no_such_module\ndef f(x): return x", "f", ([1], 1)).of("load_failed")[0]
    assert failed["outcome"] == "runtime_error"
    assert "no_such_module" in failed["note"]


def test_a_submission_that_ends_inside_a_call_leaves_the_case_unreported(pair: Any) -> None:
    judged = pair.function("import os\ndef f(x):\n    if x == 2: os._exit(0)\n    return x", "f", ([1], 1), ([2], 2), ([3], 3))
    assert judged.outcomes == ["correct"]
    assert judged.of("gone")
    assert not judged.of("done")


def test_a_failing_case_does_not_stop_the_others_unless_asked_to(pair: Any) -> None:
    cases = [([1], 1), ([2], 0), ([3], 3)]
    assert pair.function("def f(x): return x", "f", *cases).outcomes == ["correct", "incorrect", "correct"]
    assert pair.function("def f(x): return x", "f", *cases, stop=True).outcomes == ["correct", "incorrect"]
