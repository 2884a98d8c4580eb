"""Packed tests hold plain data, or are refused; nothing in them is ever carried out."""

from __future__ import annotations

import base64
import collections
import contextlib
import decimal
import os
import pickle
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.api.compat.packed_tests import MAX_OPCODES, unpack_tests
from verifier_service.api.problems import RequestRefused


def pack(value: Any, protocol: int = 4) -> str:
    return pack_bytes(pickle.dumps(value, protocol))


def pack_bytes(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


def as_lists(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [as_lists(v) for v in value]
    return {k: as_lists(v) for k, v in value.items()} if isinstance(value, dict) else value


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | st.binary()
PLAIN = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.lists(inner).map(tuple),
    max_leaves=30,
)


@given(PLAIN, st.sampled_from(range(6)))
def test_plain_data_comes_out_as_it_went_in(value: Any, protocol: int) -> None:
    try:
        data = pickle.dumps(value, protocol)
    except UnicodeEncodeError:
        return
    if (protocol < 3 and b"_codecs" in data) or b"__builtin__\nbytes" in data:
        with pytest.raises(RequestRefused):
            unpack_tests(pack_bytes(data))
        return
    assert unpack_tests(pack_bytes(data)) == as_lists(value)


class Evil:
    def __init__(self, made: str) -> None:
        self.made = made

    def __reduce__(self) -> Any:
        return os.mkdir, (self.made,)


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_calls_something_is_refused_and_calls_nothing(tmp_path: Path, protocol: int) -> None:
    made = tmp_path / "made"
    with pytest.raises(RequestRefused, match="texts, numbers"):
        unpack_tests(pack(["assert 1", Evil(str(made))], protocol))
    assert not made.exists()


@pytest.mark.parametrize(
    "value",
    [collections.OrderedDict(a=1), decimal.Decimal(1), Path("/"), {1, 2}, frozenset({1}), os.path.join, Evil, 1j, range(3)],
)
def test_any_other_object_is_refused(value: Any) -> None:
    for protocol in range(6):
        with pytest.raises(RequestRefused):
            unpack_tests(pack([value], protocol))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_out_of_range_is_refused(value: float) -> None:
    with pytest.raises(RequestRefused):
        unpack_tests(pack([value]))


def test_a_structure_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(RequestRefused):
        unpack_tests(pack(loop))


def test_a_tree_that_is_larger_than_its_pickle_is_refused_quickly() -> None:
    tree: list[Any] = ["x"]
    for _ in range(60):
        tree = [tree, tree]
    start = time.monotonic()
    with pytest.raises(RequestRefused):
        unpack_tests(pack(tree))
    assert time.monotonic() - start < 2


def test_deep_nesting_is_refused() -> None:
    depth = 100_000 // 2
    with pytest.raises(RequestRefused):
        unpack_tests(pack_bytes(b"\x80\x04" + b"]" * depth + b"a" * (depth - 1) + b"."))


def test_a_key_that_is_no_scalar_is_refused() -> None:
    with pytest.raises(RequestRefused):
        unpack_tests(pack({(1, 2): 3}))


def test_too_many_parts_are_refused() -> None:
    with pytest.raises(RequestRefused):
        unpack_tests(pack_bytes(b"(" + b"N" * (MAX_OPCODES + 1) + b"l."))


def test_a_bomb_is_not_inflated() -> None:
    start = time.monotonic()
    with pytest.raises(RequestRefused, match="larger"):
        unpack_tests(base64.b64encode(zlib.compress(b"\0" * (200 << 20), 1)).decode())
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b".",
        b"N",
        b"NN.",
        b"(.",
        b"a.",
        b"0.",
        b"\x80\x04s.",
        b"h\x05.",
        b"I99x\n.",
        b"\x8c\xffab",
        b"}(Nu.",
        b"]\x94h\x00h\x00a",
        b"\x85.",
    ],
)
def test_a_broken_pickle_is_refused(data: bytes) -> None:
    with pytest.raises(RequestRefused):
        unpack_tests(pack_bytes(data))


@given(st.binary(max_size=200))
def test_any_bytes_are_plain_data_or_refused(data: bytes) -> None:
    with contextlib.suppress(RequestRefused):
        unpack_tests(pack_bytes(data))


@pytest.mark.parametrize("text", ["hello", "!!!", base64.b64encode(b"no zlib").decode(), pack(["a"])[:-8]])
def test_what_is_not_packed_is_refused(text: str) -> None:
    with pytest.raises(RequestRefused):
        unpack_tests(text)


def test_it_imports_nothing_that_could_load_a_pickle() -> None:
    import verifier_service.api.compat.packed_tests as module

    assert module.__file__ is not None
    source = Path(module.__file__).read_text()
    assert "import pickle\n" not in source
    assert "Unpickler" not in source
