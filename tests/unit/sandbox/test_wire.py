"""The frames between host and runner: what is packed comes back, what is broken is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.sandbox.runner import wire

LIMITS = wire.WireLimits(1.5, 2.5, 64, 8, 1000, 2000)
END = wire.WireTermination("exited", 0, 0, 0.1, 0.2, 12.5, b"out\xff", b"", ("left 1 running process(es)", "x"))
blobs = st.binary(max_size=50)


@given(
    st.integers(0, 2**32 - 1),
    blobs,
    st.lists(blobs, max_size=4),
    st.lists(blobs, max_size=4),
    st.lists(st.tuples(blobs, blobs), max_size=3),
)
def test_a_program_comes_back_as_it_was_packed(
    run_id: int, source: bytes, args: list[bytes], stdins: list[bytes], files: list[tuple[bytes, bytes]]
) -> None:
    run = wire.RunBody(run_id, 3, LIMITS, source, args, files, stdins, b"rust")
    packed = wire.pack_run(run)
    assert wire.unpack_run(packed) == run
    assert wire.language_in(wire.RUN, packed) == b"rust"
    assert wire.unpack_run(wire.with_built(packed, b"built")) == run._replace(built=b"built")


@given(blobs, st.lists(blobs, max_size=4))
def test_a_judged_program_comes_back_as_it_was_packed(source: bytes, payloads: list[bytes]) -> None:
    run = wire.JudgeBody(7, 0, LIMITS, LIMITS._replace(processes=1), source, b"sub", b"judge", [(b"f", b"d")], payloads, b"go")
    packed = wire.pack_judge(run)
    assert wire.unpack_judge(packed) == run
    assert wire.language_in(wire.JUDGE, packed) == b"go"
    assert wire.unpack_judge(wire.with_built(packed, b"built")) == run._replace(built=b"built")


def test_terminations_and_the_end_come_back() -> None:
    assert wire.unpack_case(wire.pack_case(5, 2, END)) == (5, 2, END)
    killed = END._replace(ending="memory", exit_code=-1, signal=9, tamper=())
    assert wire.unpack_pair(wire.pack_pair(5, 2, END, killed)) == (5, 2, END, killed)
    assert wire.unpack_done(wire.pack_done(9, True, "oom", 33)) == (9, True, "oom", 33)
    assert wire.unpack_emit(wire.pack_emit(1, 0, b"data")) == (1, 0, b"data")


@given(st.binary(max_size=200))
def test_bytes_that_are_no_frame_are_refused_and_nothing_else_happens(data: bytes) -> None:
    for unpack in (
        wire.unpack_run,
        wire.unpack_judge,
        wire.unpack_case,
        wire.unpack_pair,
        wire.unpack_done,
        wire.unpack_emit,
        wire.unpack_warm,
        wire.unpack_number,
    ):
        try:
            unpack(data)
        except wire.WireError:
            continue


@given(st.integers(0, 60))
def test_a_frame_that_is_cut_short_is_refused(cut: int) -> None:
    whole = wire.pack_run(wire.RunBody(1, 0, LIMITS, b"source", [b"arg"], [(b"f", b"d")], [b"in"]))
    with pytest.raises(wire.WireError):
        wire.unpack_run(whole[: min(cut, len(whole) - 1)])
    with pytest.raises(wire.WireError):
        wire.unpack_run(whole + b"\0")


def test_a_frame_over_the_bound_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_BODY", 10)
    with pytest.raises(wire.WireError):
        wire.frame(wire.RUN, b"x" * 11)
