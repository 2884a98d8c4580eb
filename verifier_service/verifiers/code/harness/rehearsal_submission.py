"""A small session of the submission's end, run by its zygote before it is forked: each run then finds caches filled, code
specialised and its pages mapped. The other end's part is written down beforehand; nothing of it stays.
"""

from __future__ import annotations

import json
import socket
import sys
from typing import Any

from verifier_service.verifiers.code.harness.channel import HEAD
from verifier_service.verifiers.code.harness.submission_side import MODULE, serve

ROUNDS = 6
SAMPLE = b'''
from typing import Dict, List, Optional, Tuple
import math, re
from collections import Counter, defaultdict

def near(numbers: List[float], threshold: float) -> bool:
    """Whether two of the numbers are nearer to one another than the threshold.
    >>> near([1.0, 2.0], 0.5)
    False
    """
    for i, one in enumerate(numbers):
        for j in range(i + 1, len(numbers)):
            if i != j and abs(one - numbers[j]) < threshold:
                return True
    return False

class Stack:
    def __init__(self, items=None):
        self.items = list(items or [])

    def push(self, item):
        self.items.append(item)
        return self

    def __len__(self):
        return len(self.items)

def words(text: str, least: int = 1) -> Dict[str, int]:
    counts = Counter(word.lower() for word in text.split() if len(word) >= least)
    groups = defaultdict(list)
    for word, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        groups[count].append(word)
    return {word: count for count, group in groups.items() for word in group}

def broken(value):
    stack = Stack([value]).push(f"{value}")
    while len(stack) < 4:
        stack.push(math.floor(len(stack) / 2))
    return stack.items[9]
'''


def _call(function: int, *arguments: Any) -> list[Any]:
    return ["call", [["o", function], ["t", list(arguments)], ["d", []]]]


def _invoke(name: str, *arguments: Any) -> list[Any]:
    return ["invoke", [name, ["l", list(arguments)], ["d", []], None]]


SESSIONS: tuple[list[list[Any]], ...] = (
    [
        ["load", [False]],
        ["get", ["near"]],
        _call(0, ["l", [1.0, 2.5, 4.25]], 0.5),
        _call(0, ["l", [1, 2, 2]], 1),
        ["get", ["missing"]],
        ["get", ["words"]],
        _call(3, "a bc a", 1),
        _call(3, ["t", ["a", True, None, 3]], 1),
    ],
    [
        ["load", [False]],
        _invoke("near", ["l", [1, 2]], 3),
        _invoke("words", "one two two"),
        _invoke("broken", ["l", [["d", ["key", ["l", [1, 2]]]]]]),
    ],
)


def rehearse() -> None:
    """To be called in a zygote, whose stderr goes nowhere."""
    limit = sys.getrecursionlimit()
    for session in SESSIONS * ROUNDS:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for request in session:
                data = json.dumps(["q", *request]).encode("ascii")
                theirs.sendall(HEAD.pack(len(data)) + data)
            theirs.shutdown(socket.SHUT_WR)
            serve(SAMPLE, ours.fileno())
        del sys.modules[MODULE]
    sys.setrecursionlimit(limit)
