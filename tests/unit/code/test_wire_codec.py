"""What crosses between judge and submission arrives as it left, and nothing else is accepted."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.verifiers.code.harness.codec import _DECODERS, Decoder, Encoder, TooLarge, WireError

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False)
)
HASHABLE = st.recursive(SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(HASHABLE, inner, max_size=3)
        | st.sets(HASHABLE, max_size=3)
    ),
    max_leaves=20,
)


def refuse(*args: Any) -> Any:
    raise WireError("not by value")


def across(value: Any) -> Any:
    return Decoder(refuse).value(json.loads(json.dumps(Encoder(refuse).node(value))))


def types_in(value: Any) -> Any:
    """The types of a value and of all in it."""
    if isinstance(value, dict):
        return dict, [(types_in(key), types_in(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [types_in(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(str(types_in(item)) for item in value)
    return type(value)


@given(VALUES)
def test_plain_values_arrive_with_their_types(value: Any) -> None:
    arrived = across(value)
    assert arrived == value
    assert types_in(arrived) == types_in(value)


@pytest.mark.parametrize(
    "value",
    [
        2**63,
        -(2**63),
        10**5000,
        [2**64, 1],
        "\ud800",
        float("inf"),
        range(1, 9, 2),
        slice(1, None),
        ...,
        NotImplemented,
        bytearray(b"x"),
        Decimal("1.10"),
        Fraction(1, 3),
        date(2024, 2, 29),
        datetime(2024, 2, 29, 12, 30, tzinfo=UTC),
        timedelta(days=1, seconds=2),
        deque([1, 2], maxlen=5),
        OrderedDict([("b", 1), ("a", 2)]),
        Counter("aab"),
        defaultdict(list, a=[1]),
        Path("/x/y"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_value_types_of_the_standard_library_arrive(value: Any) -> None:
    arrived = across(value)
    assert type(arrived) is type(value)
    assert arrived == value


def test_aliases_and_cycles_survive() -> None:
    row = [0]
    rows = across([row, row])
    assert rows[0] is rows[1]
    loop: list[Any] = [1]
    loop.append(loop)
    arrived = across(loop)
    assert arrived[1] is arrived


def test_an_update_speaks_of_the_requests_containers() -> None:
    outer: Any = [[1], {"k": 2}]
    encoder = Encoder(refuse)
    node = json.loads(json.dumps(encoder.node(outer)))
    remote = Decoder(refuse)
    there = remote.value(node)
    there[0].append(there[1])
    there[1]["new"] = [5]
    reply = Encoder(refuse, remote.table)
    updates = [(number, reply.contents(container)) for number, container in enumerate(remote.table)]
    local = Decoder(refuse, encoder.kept)
    kept = list(encoder.kept)
    for number, update in json.loads(json.dumps(updates)):
        local.refill(kept[number], update)
    assert outer == [[1, {"k": 2, "new": [5]}], {"k": 2, "new": [5]}]
    assert outer[0][1] is outer[1]


def test_subclasses_do_not_travel_by_value() -> None:
    class Sly(int):
        pass

    with pytest.raises(WireError):
        across(Sly(3))


def test_sizes_and_depth_are_bounded() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(TooLarge):
        Encoder(refuse).node(deep)
    with pytest.raises(TooLarge):
        Encoder(refuse).node(list(range(2_000_000)))
    with pytest.raises(TooLarge):
        Encoder(refuse).node(["x" * 1000] * 200_000)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=12,
)
TAGS = st.sampled_from([*_DECODERS, "o", "h", "k", "e", "g", "big", "x"])


@given(st.builds(lambda tag, rest: [tag, *rest], TAGS, st.lists(JSON, max_size=4)) | JSON)
def test_a_hostile_node_is_a_value_or_a_wire_error(node: Any) -> None:
    with suppress(WireError):
        Decoder(refuse).value(node)
