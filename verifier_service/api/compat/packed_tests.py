"""Tests as data sets of open-instruct pack them: base64 of zlib of a pickle.

A pickle is a program for the machine that loads it, so none is loaded here: its opcodes are read one by one, and those for
plain containers and scalars are carried out by this module. Nothing is imported, made or called; tuples become lists, and
keys are scalars, so that no hash or comparison walks a structure of a stranger's making. Sizes are bounded before and
after inflating, and so are the number of opcodes and the depth.
"""

from __future__ import annotations

import math
import pickletools
import zlib
from typing import Any

from verifier_service.api.compat.bodies import decoded
from verifier_service.api.problems import RequestRefused

MAX_INFLATED_BYTES = 32 << 20
MAX_OPCODES = 200_000
MAX_DEPTH = 100

_SKIPPED = frozenset({"PROTO", "FRAME"})
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_NUMBERS = frozenset({"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"})
_TEXTS = frozenset({"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"})
_BYTES = frozenset({"BINBYTES", "SHORT_BINBYTES", "BINBYTES8"})
_VALUES = _NUMBERS | _TEXTS | _BYTES
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_PUTS = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_GETS = frozenset({"GET", "BINGET", "LONG_BINGET"})


class NotPlain(ValueError):
    """The pickle asks for more than plain data, or is broken."""


def unpack_tests(text: str, field: str = "tests") -> Any:
    """The packed value: lists, dicts and scalars.

    Raises:
        RequestRefused: 413 when it inflates beyond the limits, 422 when it isn't packed plain data.
    """
    data = _inflated(decoded(text, field), field)
    machine = _Machine()
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if count >= MAX_OPCODES:
                raise RequestRefused(413, f"{field}: the packed tests have too many parts", field)
            machine.step(opcode.name, argument)
        value = machine.result()
        _check_depth(value)
    except (ValueError, IndexError, KeyError, TypeError, UnicodeError):  # genops on a broken stream, and NotPlain
        raise RequestRefused(
            422, f"{field}: packed tests may hold texts, numbers, lists and dicts only, {MAX_DEPTH} deep", field
        ) from None
    return value


def _inflated(data: bytes, field: str) -> bytes:
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(data, MAX_INFLATED_BYTES)
    except zlib.error:
        raise RequestRefused(422, f"{field} is neither JSON nor packed tests", field) from None
    if inflater.unconsumed_tail:
        raise RequestRefused(413, f"{field}: the packed tests are larger than {MAX_INFLATED_BYTES} bytes", field)
    if not inflater.eof:
        raise RequestRefused(422, f"{field}: the packed tests are cut off", field)
    return plain


class _Machine:
    """The stack machine of pickletools, without the opcodes that import, make or call."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []  # the stacks under the open marks
        self._memo: dict[int, Any] = {}
        self._ended = False

    def result(self) -> Any:
        if not self._ended or len(self._stack) != 1 or self._below:
            raise NotPlain("no end")
        return self._stack[0]

    def step(self, name: str, argument: Any) -> None:
        stack = self._stack
        if name in _VALUES:
            if isinstance(argument, float) and not math.isfinite(argument):
                raise NotPlain("a number is out of range")
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name == "MEMOIZE":
            self._memo[len(self._memo)] = stack[-1]
        elif name in _PUTS:
            self._memo[int(argument)] = stack[-1]
        elif name in _GETS:
            stack.append(self._memo[int(argument)])
        elif name == "STOP":
            self._ended = True
        elif name not in _SKIPPED:
            self._container(name)

    def _container(self, name: str) -> None:
        stack = self._stack
        if name in ("EMPTY_LIST", "EMPTY_TUPLE"):
            stack.append([])
        elif name == "EMPTY_DICT":
            stack.append({})
        elif name == "MARK":
            self._below.append(stack)
            self._stack = []
        elif name in ("LIST", "TUPLE"):
            self._to_mark().append(stack)
        elif name in _TUPLES:
            parts = _TUPLES[name]
            if len(stack) < parts:
                raise NotPlain("too few parts")
            stack[-parts:] = [stack[-parts:]]
        elif name == "APPEND":
            _extend(stack[-2], [stack.pop()])
        elif name == "APPENDS":
            _extend(self._to_mark()[-1], stack)
        elif name == "DICT":
            self._to_mark().append({})
            _set(self._stack[-1], stack)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            _set(stack[-1], [key, value])
        elif name == "SETITEMS":
            _set(self._to_mark()[-1], stack)
        else:
            raise NotPlain(name)

    def _to_mark(self) -> list[Any]:
        """Close the innermost mark; the stack below it."""
        self._stack = self._below.pop()
        return self._stack


def _extend(target: Any, items: list[Any]) -> None:
    if not isinstance(target, list):
        raise NotPlain("not a list")
    target.extend(items)


def _set(target: Any, items: list[Any]) -> None:
    if not isinstance(target, dict) or len(items) % 2:
        raise NotPlain("not a dict")
    for key, value in zip(items[::2], items[1::2], strict=True):
        if not isinstance(key, (str, int, float, bytes, type(None))):
            raise NotPlain("a key is no scalar")
        target[key] = value


def _check_depth(value: Any) -> None:
    """A memo can make a list that holds itself, or a tree far larger than its pickle: both end here."""
    level, seen = [value], 0
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, (dict, list)):
                seen += len(item)
                if seen > MAX_OPCODES:
                    raise NotPlain("too large")
                below.extend(item.values() if isinstance(item, dict) else item)
        if not below:
            return
        level = below
    raise NotPlain("too deep")
