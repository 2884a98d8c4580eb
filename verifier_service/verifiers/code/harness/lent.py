"""Containers in attributes of the other end's objects. They travel by value, so this end has copies; where a copy is changed,
as by `node.children.append(…)`, the other end is told before it is asked or answered anything else.
"""

from __future__ import annotations

import collections
from typing import Any, NamedTuple

LENT_KINDS = (list, dict, set, collections.deque, bytearray)
MAX_LENT, MAX_LENT_ITEMS, MAX_LENT_DEPTH = 8, 10_000, 20


class Lent(NamedTuple):
    """A container that was found in an attribute of a stand-in, and what it held then."""

    owner: Any
    name: str
    value: Any
    before: Any


def lent(owner: Any, name: str, value: Any) -> Lent | None:
    """None where there is too much to remember."""
    try:
        return Lent(owner, name, value, _copied(value, [MAX_LENT_ITEMS], 0))
    except OverflowError:
        return None


def changed(one: Lent) -> bool:
    """Whether this end did something to the container, or to one in it."""
    return not _same(one.value, one.before, 0)


def refill(own: Any, before: Any, value: Any) -> None:
    """Do to a container what the other end did to its copy, if it is still as it was."""
    if type(own) is not type(value) or own != before:
        return
    if isinstance(own, (list, bytearray)):
        own[:] = value
    else:
        own.clear()
        own.extend(value) if isinstance(own, collections.deque) else own.update(value)


def _copied(value: Any, left: list[int], depth: int) -> Any:
    """The containers anew, with the same items."""
    left[0] -= len(value)
    if left[0] < 0 or depth > MAX_LENT_DEPTH:
        raise OverflowError
    if type(value) is dict:
        return {key: _copied(item, left, depth + 1) if type(item) in LENT_KINDS else item for key, item in value.items()}
    if type(value) in (set, bytearray):
        return value.copy()
    return type(value)(_copied(item, left, depth + 1) if type(item) in LENT_KINDS else item for item in value)


def _same(one: Any, other: Any, depth: int) -> bool:
    """Whether these hold the very same items in the same order."""
    kind = type(one)
    if kind is not type(other) or kind not in LENT_KINDS:
        return one is other
    if len(one) != len(other) or depth > MAX_LENT_DEPTH:
        return False
    if kind in (set, bytearray):
        return bool(one == other)
    if kind is dict and not all(map(_identical, one, other)):
        return False
    pairs = zip(one.values(), other.values(), strict=True) if kind is dict else zip(one, other, strict=True)
    return all(_same(mine, theirs, depth + 1) for mine, theirs in pairs)


def _identical(one: Any, other: Any) -> bool:
    return one is other
