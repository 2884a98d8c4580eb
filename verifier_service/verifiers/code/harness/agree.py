"""Whether a result agrees with the expected JSON value, types included.

1 is not "1", true is not 1; 2 and 2.0 agree; a tuple agrees with a list, as JSON has no tuples; numbers agree within
`float_tol` or `rel_tol`; NaN and infinities agree with nothing. JSON's keys are strings: a dictionary whose keys are all
numbers is compared by their JSON form.
"""

from __future__ import annotations

import math
from typing import Any


def agrees(expected: Any, got: Any, float_tol: float, rel_tol: float) -> bool:
    """Compare; recursion is bounded by the depth of the expected value."""
    kind = type(expected)
    if kind is list:
        if type(got) not in (list, tuple) or len(got) != len(expected):
            return False
        return all(agrees(mine, theirs, float_tol, rel_tol) for mine, theirs in zip(expected, got, strict=True))
    if kind is dict:
        return _mappings_agree(expected, got, float_tol, rel_tol)
    if kind is int or kind is float:
        return type(got) in (int, float) and numbers_agree(expected, got, float_tol, rel_tol)
    return type(got) is kind and bool(got == expected)


def numbers_agree(expected: float, got: float, float_tol: float, rel_tol: float) -> bool:
    """Equal, or both finite and within the tolerance; integers of any size."""
    if not _finite(got):
        return False
    if got == expected:
        return True
    tolerance = float_tol
    if rel_tol:
        try:
            tolerance = max(tolerance, rel_tol * abs(expected))
        except OverflowError:
            tolerance = math.inf if rel_tol >= 1 else tolerance
    try:
        return bool(tolerance) and abs(got - expected) <= tolerance
    except OverflowError:  # a large integer against a float
        return False


def _finite(number: float) -> bool:
    return type(number) is int or math.isfinite(number)


def _mappings_agree(expected: dict[str, Any], got: Any, float_tol: float, rel_tol: float) -> bool:
    if not issubclass(type(got), dict) or len(got) != len(expected):
        return False
    if got and all(type(key) in (int, float) for key in got):
        got = {_json_key(key): value for key, value in got.items()}
    return len(got) == len(expected) and all(
        type(key) is str and key in expected and agrees(expected[key], value, float_tol, rel_tol) for key, value in got.items()
    )


def _json_key(key: float) -> str:
    return repr(key) if type(key) is float or abs(key) < 1 << 63 else ""
