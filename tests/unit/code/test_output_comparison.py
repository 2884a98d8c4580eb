"""When an output agrees with the expected one, mode by mode."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_protocol import Compare
from verifier_service.verifiers.code.compare import difference, numbers_agree


def agrees(got: str | bytes, want: str | bytes, **how: object) -> bool:
    as_bytes = [side.encode() if isinstance(side, str) else side for side in (got, want)]
    return difference(as_bytes[0], as_bytes[1], Compare.model_validate(how)) is None


@pytest.mark.parametrize(
    ("got", "want", "right"),
    [
        ("1\n2\n", "1\n2", True),
        ("1 \t\n2\n\n \n", "1\n2\n", True),
        ("a\r\nb\r\n", "a\nb\n", True),
        ("", "\n", True),
        (" 1\n", "1\n", False),
        ("1\n\n2\n", "1\n2\n", False),
        ("1 2", "1  2", False),
        ("1\n2\n3\n4\n", "1\n2\n3\n", False),
        ("", "1\n", False),
        ("2 1", "1 2", False),
        ("User 10", "10", False),
        ("1\u00a0", "1", False),
        (b"\xff\xfe", "1", False),
        (b"\xff\xfe \n", b"\xff\xfe", True),
        (b"a\x00b", "ab", False),
    ],
)
def test_lines_ignore_trailing_blanks_and_trailing_empty_lines_only(got: str | bytes, want: str | bytes, right: bool) -> None:
    assert agrees(got, want) is right


def test_exact_means_every_byte() -> None:
    assert agrees("1\n", "1\n", mode="exact")
    assert not agrees("1\n", "1", mode="exact")


def test_tokens_ignore_all_white_space() -> None:
    assert agrees(" 1\n\n2 3", "1 2\n3\n", mode="tokens")
    assert not agrees("12 3", "1 2 3", mode="tokens")
    assert not agrees("1 2", "1 2 3", mode="tokens")


@pytest.mark.parametrize(
    ("got", "want", "right"),
    [
        ("0.3000001", "0.3", True),
        ("0.30001", "0.3", False),
        ("10", "10.0", True),
        ("1e1", "10", True),
        ("+.5", "0.5", True),
        ("x 0.5", "x 0.5000001", True),
        ("y 0.5", "x 0.5", False),
        ("nan", "nan", True),
        ("nan", "0.3", False),
        ("inf", "0.3", False),
        ("0.3", "inf", False),
        ("1e999", "0.3", False),
        ("1e999", "1e998", False),
        ("0x10", "16", False),
        ("1_0", "10", False),
        ("٣", "3", False),
        ("1/2", "0.5", False),
        ("0.3 0.3", "0.3", False),
        ("", "0.3", False),
        ("1" * 1000, "1" * 999 + "2", False),
    ],
)
def test_floats_agree_within_the_tolerance_and_words_only_with_themselves(got: str, want: str, right: bool) -> None:
    assert agrees(got, want, mode="float", abs_tol=1e-6, rel_tol=1e-6) is right


def test_the_relative_tolerance_is_of_the_expected_value() -> None:
    assert agrees("1000.5", "1000", mode="float", rel_tol=1e-3)
    assert not agrees("1001.5", "1000", mode="float", rel_tol=1e-3)


def test_whole_numbers_beyond_a_floats_precision_do_not_agree_by_rounding() -> None:
    assert not agrees("1000000000000000001", "1000000000000000000", mode="float", abs_tol=1e-6)
    assert agrees("1000000000000000001", "1000000000000000000", mode="float", rel_tol=1e-9)


def test_unordered_lines_are_a_multiset() -> None:
    assert agrees("b\na \n\na", "a\na\nb\n", mode="unordered_lines")
    assert not agrees("a\nb\nb", "a\na\nb", mode="unordered_lines")
    assert not agrees("a\nb", "a\na\nb", mode="unordered_lines")


def test_a_difference_names_the_place_and_never_the_expected_text() -> None:
    found = difference(b"1\n3\n", b"1\nsecret\n", Compare())
    assert found is not None
    assert found.where == "line 2 differs"
    found = difference(b"abcdef", b"abcxyz", Compare(mode="exact"))
    assert found is not None
    assert found.where == "byte 4 differs"


@given(st.binary(max_size=60), st.binary(max_size=60), st.sampled_from(["lines", "exact", "tokens", "float", "unordered_lines"]))
def test_every_mode_takes_any_bytes_and_an_output_agrees_with_itself(got: bytes, want: bytes, mode: str) -> None:
    assert agrees(got, got, mode=mode)
    assert agrees(got, want, mode=mode) == agrees(want, got, mode=mode)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 10))
def test_numbers_agree_exactly_when_their_distance_is_within_the_tolerance(got: float, want: float, tol: float) -> None:
    assert numbers_agree(repr(got).encode(), repr(want).encode(), tol, 0.0) == (abs(got - want) <= tol)


def test_ten_megabytes_are_compared_in_a_moment() -> None:
    started = time.perf_counter()
    got, want = b"1 2\n" * 2_500_000, b"1 2\n" * 2_499_999 + b"1 3\n"
    for mode in ("lines", "exact"):
        assert not agrees(got, want, mode=mode)
    assert not agrees(b"9" * 10_000_000, b"9" * 9_999_999, mode="float", abs_tol=1)
    assert time.perf_counter() - started < 5.0
