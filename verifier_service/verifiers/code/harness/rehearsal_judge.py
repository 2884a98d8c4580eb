"""The same for the judge's end: tests of the usual kinds, against a submission whose answers are written down."""

from __future__ import annotations

import dataclasses
import json
import random
import socket
import sys
import types
import unittest
from typing import Any

from verifier_service.verifiers.code.harness.asserts import LOOKING_INSIDE
from verifier_service.verifiers.code.harness.channel import HEAD
from verifier_service.verifiers.code.harness.described import dunders_of
from verifier_service.verifiers.code.harness.judge_side import TEST_MODULE, judge

ROUNDS = 6

CHECK = """

METADATA = {
    'author': 'nobody',
    'dataset': 'test'
}


def check(candidate):
    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.3) == True
    assert candidate([1, 2, 3], 0.05) == False, "a message"
    assert abs(candidate("abc", {"a": (1, 2)}) - 2.5) < 1e-6
    assert candidate(x=[[1, 2], []]) == [1, 2]
    for value in range(3):
        assert candidate(value, None) == [value, value + 1]

"""
ASSERTS = """assert near([1, 2], 3) == [1, 2]
assert near((3, 4, 5, 6), (5, 7, 4, 10)) == (4, 5)
assert near("abc", n=2) == {"a": 1}
assert near(True) == False
"""
CASES = [{"args": [[1, 2, index], "text"], "kwargs": {}, "expected": {"key": [1, 2.5, "x"]}} for index in range(3)]

FUNCTION: dict[str, Any] = {"style": "function", "entry_point": "near", "cases": CASES, "inplace_arg": None}
TOLERANCES = {"float_tol": 1e-6, "rel_tol": 0.0, "stop": True}
HANDLE = ["h", 0, ["k", 1, "function", "builtins", [], dunders_of(types.FunctionType), None], None]
KNOWN = ["h", 0, ["k", 1], None]
MISSING = ["e", 2, ["ty", "AttributeError"], ["t", ["no"]], "no", None, None]

# (task, the submission's replies in order: those after the loading of it)
SESSIONS: tuple[tuple[dict[str, Any], list[Any]], ...] = (
    (
        {"style": "asserts", "code": CHECK, "entry_point": "near", "stop": True},
        [HANDLE, True, False, 2.5, ["l", [1, 2]], ["l", [0, 1]], ["l", [1, 2]], ["l", [2, 3]]],
    ),
    (
        {"style": "asserts", "code": ASSERTS, "entry_point": None, "stop": True},
        [HANDLE, ["l", [1, 2]], KNOWN, ["t", [4, 5]], KNOWN, ["d", ["a", 1]], KNOWN, False],
    ),
    ({**FUNCTION, **TOLERANCES}, [["d", ["key", ["l", [1, 2.5, "x"]]]]] * 3),
    ({**FUNCTION, **TOLERANCES}, [MISSING]),
)


def rehearse() -> None:
    """To be called in a zygote; takes back what a run of tests leaves behind."""
    limit, seed, main, finders = sys.getrecursionlimit(), random.seed, unittest.main, sys.meta_path[:]
    looking_inside = {name: getattr(dataclasses, name) for name in LOOKING_INSIDE}
    modules = {name: sys.modules.get(name) for name in (TEST_MODULE, "pytest")}
    for task, replies in SESSIONS * ROUNDS:
        payload = json.dumps(task).encode()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for node in [None, *replies]:
                raised = type(node) is list and node[0] == "e"
                data = json.dumps(["x" if raised else "a", node, [], [0.0001, None]]).encode("ascii")
                theirs.sendall(HEAD.pack(len(data)) + data)
            theirs.shutdown(socket.SHUT_WR)
            judge(payload, ours.fileno(), lambda report: None)
        for name, module in modules.items():
            sys.modules.pop(name, None)
            sys.modules.update({name: module} if module is not None else {})
        sys.meta_path[:] = finders
        random.seed, unittest.main = seed, main
        vars(dataclasses).update(looking_inside)
    sys.setrecursionlimit(limit)
