"""Values on the wire between judge and submission: JSON, every node plain data or tagged.

None, booleans, floats, strings and integers below 2**63 stand for themselves; all else is an array whose first item is a
tag. Only exact built-in types travel by value (and a few value types of the standard library, and numpy arrays); an
instance of anything else is exported, that is, named by a handle. Mutable containers are numbered in the order in which
they are met, so that aliases and cycles survive and a reply can speak of the containers of its request.
Sizes, depth and counts are bounded on both sides; a node that doesn't fit this description is a `WireError`.
"""

from __future__ import annotations

import base64
import builtins
import collections
import datetime
import decimal
import fractions
import sys
from collections.abc import Callable
from typing import Any

MAX_NODES = 1_000_000
MAX_DEPTH = 200
MAX_FRAME_BYTES = 24 << 20
SMALL_INT = 1 << 63
ABSENT = object()

SCALARS = frozenset({type(None), bool, str, float})
FLAT = SCALARS | {int}
ARRAY_KINDS = "biufcSUmM"
NUMBERED = (list, dict, set, bytearray, collections.deque, collections.OrderedDict, collections.Counter, collections.defaultdict)
VALUE_TYPES = frozenset({name for name, value in vars(builtins).items() if isinstance(value, type)})


class WireError(Exception):
    """The other side sent what the protocol doesn't know."""


class TooLarge(Exception):
    """A value has too many items, is nested too deeply or is too long to be sent."""


class Encoder:
    """Encodes the values of one message.

    Args:
        export: makes the node of a value that doesn't travel by value.
        known: containers of the request that this message answers.
    """

    def __init__(self, export: Callable[[Any, Encoder], Any], known: list[Any] | None = None) -> None:
        self.export = export
        self.kept: list[Any] = list(known or ())
        self.numbers = {id(container): number for number, container in enumerate(self.kept)}
        self.left = MAX_NODES
        self.plain = False  # arrays as lists, see PlainResult

    def node(self, value: Any, depth: int = 0) -> Any:
        """The node of `value`. Raises TooLarge."""
        kind = type(value)
        if kind in SCALARS:
            self.spend(1 if kind is not str else 1 + len(value) // 64)
            return value
        if kind is int:
            self.spend(1)
            return value if -SMALL_INT < value < SMALL_INT else ["i", hex(value)]
        if depth >= MAX_DEPTH:
            raise TooLarge("nested too deeply")
        encode = _ENCODERS.get(kind) or _late_encoder(kind)
        if encode is None:
            array = self._array(value, kind, depth)
            return self.export(value, self) if array is ABSENT else array
        if kind in NUMBERED:
            number = self.numbers.get(id(value))
            if number is not None:
                return ["r", number]
            self.keep(value)
        return encode(self, value, depth + 1)

    def contents(self, container: Any) -> Any:
        """The node of a known container's present contents, for an update."""
        encode = _ENCODERS.get(type(container))
        return _array_node(container) if encode is None else encode(self, container, 1)

    def items(self, values: Any, depth: int) -> Any:
        """The nodes of a sequence; flat data is passed through without a loop in Python."""
        values = list(values)  # a copy, as the caller's container may change before it is sent
        self.spend(len(values))
        kinds = set(map(type, values))
        if kinds <= FLAT and (int not in kinds or not _has_large_int(values)):
            if str in kinds:
                self.spend(sum(len(value) for value in values if type(value) is str) // 64)
            return values
        self.left += len(values)  # each is counted on its own below
        return [self.node(value, depth) for value in values]

    def keep(self, container: Any) -> None:
        self.numbers[id(container)] = len(self.kept)
        self.kept.append(container)

    def spend(self, nodes: int) -> None:
        self.left -= nodes
        if self.left < 0:
            raise TooLarge("too many items")

    def _array(self, value: Any, kind: type, depth: int) -> Any:
        module = getattr(kind, "__module__", "")
        if module == "torch" and kind.__name__ in ("Tensor", "Parameter"):
            return self.node(value.detach().cpu().numpy(), depth)
        numpy = sys.modules.get("numpy")
        if numpy is None or module != "numpy":
            return ABSENT
        if self.plain and isinstance(value, (numpy.ndarray, numpy.generic)):
            self.spend(value.size)
            return self.node(value.tolist(), depth)
        if kind is numpy.ndarray and value.dtype.kind in ARRAY_KINDS:
            number = self.numbers.get(id(value))
            if number is not None:
                return ["r", number]
            self.spend(value.nbytes // 16)
            self.keep(value)
            return _array_node(value)
        if isinstance(value, numpy.generic) and value.dtype.kind in ARRAY_KINDS:
            return ["ns", value.dtype.str, _base64(value.tobytes())]
        return ABSENT


class Decoder:
    """Decodes the values of one message; nodes come from a stranger.

    Args:
        resolve: makes the value of a node that names a handle.
        known: as for `Encoder`.
    """

    def __init__(self, resolve: Callable[[list[Any], Decoder], Any], known: list[Any] | None = None) -> None:
        self.resolve = resolve
        self.table: list[Any] = list(known or ())

    def value(self, node: Any) -> Any:
        """The value of `node`. Raises WireError."""
        if type(node) is not list:
            if type(node) is dict:
                raise WireError("an object where a node belongs")
            return node
        if not node or type(node[0]) is not str:
            raise WireError("a node without a tag")
        decode = _DECODERS.get(node[0])
        if decode is None:
            return self.resolve(node, self)
        try:
            return decode(self, *node[1:])
        except (TypeError, ValueError, ArithmeticError, IndexError, LookupError, AttributeError, RecursionError) as error:
            raise WireError(f"a bad node {node[0]!r}: {type(error).__name__}") from None

    def values(self, nodes: Any) -> Any:
        """The values of a list of nodes."""
        if type(nodes) is not list:
            raise WireError("not a list of nodes")
        kinds = set(map(type, nodes))
        return list(nodes) if not kinds & {list, dict} else [self.value(node) for node in nodes]

    def keep(self, container: Any) -> Any:
        self.table.append(container)
        return container

    def refill(self, container: Any, node: Any) -> None:
        """Give a known container the contents of an update node, in place."""
        if type(node) is not list or len(node) < 2:
            raise WireError("a bad update")
        if isinstance(container, dict):
            pairs = _pairs(self, node[-1])
            container.clear()
            _put(container, pairs)
        elif isinstance(container, set):
            values = self.values(node[-1])
            container.clear()
            container.update(values)
        elif isinstance(container, collections.deque):
            values = self.values(node[-1])
            container.clear()
            container.extend(values)
        elif isinstance(container, list):
            container[:] = self.values(node[-1])
        elif isinstance(container, bytearray):
            container[:] = base64.b64decode(node[-1])
        else:  # a numpy array, whose shape and dtype can't change in place
            container[...] = _decode_array(Decoder(self.resolve), *node[1:])


def _has_large_int(values: list[Any]) -> bool:
    ints = [value for value in values if type(value) is int]
    return max(ints) >= SMALL_INT or min(ints) <= -SMALL_INT


def _array_node(array: Any) -> Any:
    return ["nd", array.dtype.str, list(array.shape), _base64(array.tobytes())]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _flat_pairs(encoder: Encoder, mapping: dict[Any, Any], depth: int) -> Any:
    return encoder.items([part for pair in mapping.items() for part in pair], depth)


def _pairs(decoder: Decoder, nodes: Any) -> list[tuple[Any, Any]]:
    flat = decoder.values(nodes)
    return list(zip(flat[::2], flat[1::2], strict=True))


def _type_name(kind: Any) -> str | None:
    name = getattr(kind, "__name__", "") if isinstance(kind, type) else ""
    return name if name in VALUE_TYPES and getattr(builtins, name) is kind else None


_EPOCH_FIELDS = ("year", "month", "day", "hour", "minute", "second", "microsecond", "fold")


def _encode_moment(encoder: Encoder, value: Any, depth: int) -> Any:
    if getattr(value, "tzinfo", None) is not None and type(value.tzinfo) is not datetime.timezone:
        return encoder.export(value, encoder)
    fields = [getattr(value, name, None) for name in _EPOCH_FIELDS]
    offset = value.utcoffset() if getattr(value, "tzinfo", None) is not None else None
    return [type(value).__name__, fields, None if offset is None else offset.total_seconds()]


def _decode_moment(kind: Any, fields: Any, offset: Any) -> Any:
    parts = dict(zip(_EPOCH_FIELDS, fields, strict=True))
    zone = None if offset is None else datetime.timezone(datetime.timedelta(seconds=offset))
    if kind is datetime.date:
        return kind(parts["year"], parts["month"], parts["day"])
    clock = {name: parts[name] for name in _EPOCH_FIELDS[3:]}
    if kind is datetime.time:
        return kind(**clock, tzinfo=zone)
    return kind(parts["year"], parts["month"], parts["day"], **clock, tzinfo=zone)


def _encode_default(encoder: Encoder, value: Any, depth: int) -> Any:
    return ["dd", _type_name(value.default_factory), _flat_pairs(encoder, value, depth)]


_ENCODERS: dict[Any, Callable[[Encoder, Any, int], Any]] = {
    list: lambda e, v, d: ["l", e.items(v, d)],
    tuple: lambda e, v, d: ["t", e.items(v, d)],
    dict: lambda e, v, d: ["d", _flat_pairs(e, v, d)],
    set: lambda e, v, d: ["s", e.items(v, d)],
    frozenset: lambda e, v, d: ["f", e.items(v, d)],
    bytes: lambda e, v, d: ["b", _base64(v)],
    bytearray: lambda e, v, d: ["ba", _base64(bytes(v))],
    complex: lambda e, v, d: ["c", v.real, v.imag],
    range: lambda e, v, d: ["range", *e.items((v.start, v.stop, v.step), d)],
    slice: lambda e, v, d: ["slice", *e.items((v.start, v.stop, v.step), d)],
    type(Ellipsis): lambda e, v, d: ["..."],
    type(NotImplemented): lambda e, v, d: ["not implemented"],
    decimal.Decimal: lambda e, v, d: ["Decimal", str(v)],
    fractions.Fraction: lambda e, v, d: ["Fraction", *e.items((v.numerator, v.denominator), d)],
    datetime.date: _encode_moment,
    datetime.time: _encode_moment,
    datetime.datetime: _encode_moment,
    datetime.timedelta: lambda e, v, d: ["timedelta", v.days, v.seconds, v.microseconds],
    collections.deque: lambda e, v, d: ["deque", v.maxlen, e.items(v, d)],
    collections.OrderedDict: lambda e, v, d: ["od", _flat_pairs(e, v, d)],
    collections.Counter: lambda e, v, d: ["counter", _flat_pairs(e, v, d)],
    collections.defaultdict: _encode_default,
    type({}.keys()): lambda e, v, d: ["view", "keys", e.items(v, d), []],
    type({}.values()): lambda e, v, d: ["view", "values", [], e.items(v, d)],
    type({}.items()): lambda e, v, d: ["view", "items", *(e.items([pair[part] for pair in v], d) for part in (0, 1))],
}


# Of modules that are not loaded for everybody: (module, how it is encoded), by the type's name.
_LATE: dict[str, tuple[str, Callable[[Encoder, Any, int], Any]]] = {
    "UUID": ("uuid", lambda e, v, d: ["UUID", v.hex]),
    "PosixPath": ("pathlib", lambda e, v, d: ["Path", str(v)]),
}


def _late_encoder(kind: type) -> Callable[[Encoder, Any, int], Any] | None:
    module, encode = _LATE.get(kind.__name__, ("", None))
    return encode if encode is not None and getattr(sys.modules.get(module), kind.__name__, None) is kind else None


def _decode_uuid(decoder: Decoder, text: str) -> Any:
    import uuid

    return uuid.UUID(text)


def _decode_path(decoder: Decoder, text: str) -> Any:
    import pathlib

    return pathlib.Path(text)


def _put(mapping: dict[Any, Any], pairs: list[tuple[Any, Any]]) -> None:
    """Item by item: `update` of a Counter adds up, and `dict.update` of an OrderedDict loses the order."""
    for pair in pairs:
        mapping.__setitem__(*pair)


def _filled(decoder: Decoder, container: Any, nodes: Any) -> Any:
    """A container that is numbered before its items are read, as the encoder numbered it."""
    decoder.keep(container)
    if isinstance(container, dict):
        _put(container, _pairs(decoder, nodes))
    elif isinstance(container, set):
        container.update(decoder.values(nodes))
    else:
        container.extend(decoder.values(nodes))
    return container


def _decode_array(decoder: Decoder, dtype: str, shape: Any, data: str) -> Any:
    numpy = _numpy()
    kind = numpy.dtype(dtype)
    if kind.kind not in ARRAY_KINDS or kind.hasobject:
        raise ValueError("dtype")
    return decoder.keep(numpy.frombuffer(base64.b64decode(data), dtype=kind).reshape(tuple(shape)).copy())


def _decode_array_scalar(decoder: Decoder, dtype: str, data: str) -> Any:
    kind = _numpy().dtype(dtype)
    if kind.kind not in ARRAY_KINDS or kind.hasobject:
        raise ValueError("dtype")
    return _numpy().frombuffer(base64.b64decode(data), dtype=kind)[0]


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise WireError("a numpy value, and there is no numpy here") from None
    return numpy


def _decode_type(decoder: Decoder, name: str) -> Any:
    if name not in VALUE_TYPES:
        raise ValueError("type")
    return getattr(builtins, name)


def _default(decoder: Decoder, factory: Any, nodes: Any) -> Any:
    kind = None if factory is None else _decode_type(decoder, factory)
    return _filled(decoder, collections.defaultdict(kind), nodes)


def _decode_view(decoder: Decoder, which: str, keys: Any, values: Any) -> Any:
    """A view of a dictionary as it is now; of a dictionary that only has this view."""
    keys, values = decoder.values(keys), decoder.values(values)
    if which == "values":
        return dict(enumerate(values)).values()
    return dict.fromkeys(keys).keys() if which == "keys" else dict(zip(keys, values, strict=True)).items()


_DECODERS: dict[str, Callable[..., Any]] = {
    "r": lambda d, number: d.table[number] if type(number) is int and number >= 0 else d.table[len(d.table)],
    "i": lambda d, text: int(text, 16),
    "l": lambda d, nodes: _filled(d, [], nodes),
    "t": lambda d, nodes: tuple(d.values(nodes)),
    "d": lambda d, nodes: _filled(d, {}, nodes),
    "s": lambda d, nodes: _filled(d, set(), nodes),
    "f": lambda d, nodes: frozenset(d.values(nodes)),
    "b": lambda d, data: base64.b64decode(data),
    "ba": lambda d, data: d.keep(bytearray(base64.b64decode(data))),
    "c": lambda d, real, imag: complex(real, imag),
    "range": lambda d, *parts: range(*d.values(list(parts))),
    "slice": lambda d, *parts: slice(*d.values(list(parts))),
    "...": lambda d: Ellipsis,
    "not implemented": lambda d: NotImplemented,
    "Decimal": lambda d, text: decimal.Decimal(text),
    "Fraction": lambda d, *parts: fractions.Fraction(*d.values(list(parts))),
    "date": lambda d, fields, offset: _decode_moment(datetime.date, fields, offset),
    "time": lambda d, fields, offset: _decode_moment(datetime.time, fields, offset),
    "datetime": lambda d, fields, offset: _decode_moment(datetime.datetime, fields, offset),
    "timedelta": lambda d, days, seconds, micros: datetime.timedelta(days, seconds, micros),
    "UUID": _decode_uuid,
    "Path": _decode_path,
    "deque": lambda d, maxlen, nodes: _filled(d, collections.deque(maxlen=maxlen), nodes),
    "od": lambda d, nodes: _filled(d, collections.OrderedDict(), nodes),
    "counter": lambda d, nodes: _filled(d, collections.Counter(), nodes),
    "dd": _default,
    "view": _decode_view,
    "nd": _decode_array,
    "ns": _decode_array_scalar,
    "ty": _decode_type,
}
