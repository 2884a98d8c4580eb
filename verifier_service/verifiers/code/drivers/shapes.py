"""What the arguments of a task's cases are by themselves, for entry points that don't say: templates, generic functions.

A shape is `bool`, `int`, `long` (beyond 32 bits), `float`, `str`, `[shape` for arrays, `{shape` for objects, or None where
the values of all cases have nothing in common or can't be told (null, integers beyond 64 bits).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Shape = str | None
Shapes = tuple[tuple[Shape, ...], ...]

MOST_DEPTH = 8
_CPP = {"bool": "bool", "int": "int", "long": "long long", "float": "double", "str": "std::string"}
_GO = {"bool": "bool", "int": "int", "long": "int", "float": "float64", "str": "string"}
_RUST = {"bool": "bool", "int": "i32", "long": "i64", "float": "f64", "str": "String"}


def shapes_of(cases: Iterable[Sequence[Any]]) -> Shapes:
    """The shapes of the arguments at each position, for each number of arguments, ascending."""
    by_count: dict[int, list[Sequence[Any]]] = {}
    for arguments in cases:
        by_count.setdefault(len(arguments), []).append(arguments)
    return tuple(
        tuple(_shape([arguments[place] for arguments in by_count[count]]) for place in range(count)) for count in sorted(by_count)
    )


def _shape(values: list[Any], depth: int = 0) -> Shape:
    """What all of these are; of empty arrays and objects, what the others hold, else integers."""
    kinds = set(map(type, values))
    if not kinds or depth > MOST_DEPTH:
        return "int" if not kinds else None
    if kinds == {bool} or kinds == {str}:
        return "bool" if bool in kinds else "str"
    if kinds <= {int, float}:
        if any(type(value) is int and abs(value) >= 1 << 63 for value in values):
            return None
        small = all(type(value) is float or -(1 << 31) <= value < 1 << 31 for value in values)
        return "float" if float in kinds else "int" if small else "long"
    if kinds == {list}:
        inner = _shape([item for value in values for item in value], depth + 1)
        return None if inner is None else f"[{inner}"
    if kinds == {dict}:
        inner = _shape([item for value in values for item in value.values()], depth + 1)
        return None if inner is None else "{" + inner
    return None


def types_of(shapes: Shapes, written: Callable[[Shape], str | None]) -> list[str] | None:
    """The arguments' types, where all cases have as many and each of them can be told."""
    if len(shapes) != 1:
        return None
    types = [one for shape in shapes[0] if (one := written(shape)) is not None]
    return types if len(types) == len(shapes[0]) else None


def in_cpp(shape: Shape) -> str | None:
    """The C++ type of such a value."""
    return _written(shape, _CPP, "std::vector<{}>", "std::map<std::string, {}>")


def in_go(shape: Shape) -> str | None:
    """The Go type."""
    return _written(shape, _GO, "[]{}", "map[string]{}")


def in_rust(shape: Shape) -> str | None:
    """The Rust type."""
    return _written(shape, _RUST, "::std::vec::Vec<{}>", "::std::collections::HashMap<String, {}>")


def _written(shape: Shape, names: dict[str, str], array: str, mapping: str) -> str | None:
    if shape is None:
        return None
    if shape[0] in "[{":
        inner = _written(shape[1:], names, array, mapping)
        return None if inner is None else (array if shape[0] == "[" else mapping).format(inner)
    return names[shape]
