"""Comparing a program's output with the expected one: bytes against bytes, in linear time, outside the sandbox.

- lines: line by line; blanks at the end of a line and empty lines at the end of the output don't count.
- exact: byte by byte.
- tokens: what stands between white space, in order.
- float: as tokens, but two plain decimal numbers agree when |got - want| <= max(abs_tol, rel_tol * |want|). Only digits
  with an optional sign, point and exponent are numbers; `nan` and `inf` are words, which agree only with themselves.
- unordered_lines: as lines without the empty ones, in any order.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from math import isfinite

from verifier_protocol import Compare

BLANKS = b" \t\r\f\v"
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?")
_INTEGER = re.compile(rb"[+-]?[0-9]+")
MAX_NUMBER_CHARS = 400  # a longer token is compared as a word: a float has no use for its digits


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two outputs part, without saying what was expected."""

    where: str


def difference(got: bytes, want: bytes, how: Compare) -> Difference | None:
    """None when `got` is right, else where it goes wrong first. Neither side need be valid UTF-8."""
    if got == want:
        return None
    if how.mode == "exact":
        return Difference(f"byte {_first_difference(got, want) + 1} differs")
    if how.mode == "lines":
        return _ordered(_lines(got), _lines(want), "line")
    if how.mode == "tokens":
        return _ordered(got.split(), want.split(), "token")
    if how.mode == "float":
        return _numeric(got.split(), want.split(), how.abs_tol, how.rel_tol)
    return _unordered([line for line in _lines(got) if line], [line for line in _lines(want) if line])


def _lines(output: bytes) -> list[bytes]:
    lines = [line.rstrip(BLANKS) for line in output.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _first_difference(got: bytes, want: bytes) -> int:
    """Index of the first differing byte, found by halving: slices compare in C."""
    low, high = 0, min(len(got), len(want))
    while low < high:
        middle = (low + high + 1) // 2
        if got[low:middle] == want[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _ordered(got: list[bytes], want: list[bytes], unit: str) -> Difference | None:
    if got == want:
        return None
    for number, (mine, theirs) in enumerate(zip(got, want, strict=False), start=1):
        if mine != theirs:
            return Difference(f"{unit} {number} differs")
    return _wrong_count(got, want, unit)


def _numeric(got: list[bytes], want: list[bytes], abs_tol: float, rel_tol: float) -> Difference | None:
    for number, (mine, theirs) in enumerate(zip(got, want, strict=False), start=1):
        if mine != theirs and not numbers_agree(mine, theirs, abs_tol, rel_tol):
            return Difference(f"token {number} differs")
    return None if len(got) == len(want) else _wrong_count(got, want, "token")


def numbers_agree(got: bytes, want: bytes, abs_tol: float, rel_tol: float) -> bool:
    """Whether both are plain decimal numbers within the tolerance. Integers are compared as such, of any size."""
    if len(got) > MAX_NUMBER_CHARS or len(want) > MAX_NUMBER_CHARS:
        return False
    if not _NUMBER.fullmatch(got) or not _NUMBER.fullmatch(want):
        return False
    if _INTEGER.fullmatch(got) and _INTEGER.fullmatch(want) and int(got) == int(want):
        return True
    mine, theirs = float(got), float(want)
    if not isfinite(mine) or not isfinite(theirs):
        return False
    if mine == theirs:  # whole numbers beyond a float's precision must not agree by rounding
        return not (_INTEGER.fullmatch(got) and _INTEGER.fullmatch(want)) or abs(int(got) - int(want)) <= max(
            abs_tol, rel_tol * abs(theirs)
        )
    return abs(mine - theirs) <= max(abs_tol, rel_tol * abs(theirs))


def _unordered(got: list[bytes], want: list[bytes]) -> Difference | None:
    if Counter(got) == Counter(want):
        return None
    if len(got) != len(want):
        return _wrong_count(got, want, "line")
    return Difference("the lines differ, in whatever order")


def _wrong_count(got: list[bytes], want: list[bytes], unit: str) -> Difference:
    return Difference(f"{'too few' if len(got) < len(want) else 'too many'} {unit}s: {len(got)}")
