"""A harness's text goes over a link once; judged programs name it from then on."""

from __future__ import annotations

import pytest

from verifier_service.sandbox import execution
from verifier_service.sandbox.contract import JudgedProgram, Limits
from verifier_service.sandbox.execution import pack_harnesses, pack_judged, teach
from verifier_service.sandbox.runner import wire


class Link:
    """What `teach` needs of a link."""

    def __init__(self) -> None:
        self.known: dict[bytes, bytes] = {}
        self.sent: list[bytes] = []

    def post(self, frame: bytes) -> None:
        self.sent.append(frame)


def program(source: str = "x = 1", judge: str = "def judge(): ...") -> JudgedProgram:
    return JudgedProgram("python", source, submission_harness="def serve(): ...", judge_harness=judge, payloads=(b"{}",))


def packed(one: JudgedProgram) -> tuple[bytes, bytes]:
    body = pack_judged(one, Limits(), Limits())
    return body, pack_harnesses(one, body)


@pytest.mark.parametrize("source", ["x = 1", "import numpy"])
def test_a_judged_program_names_the_harnesses_that_its_frame_brings(source: str) -> None:
    body, harnesses = packed(program(source))
    assert wire.harnesses_in(wire.JUDGE, body) == wire.harnesses_in(wire.WARM, harnesses)
    submission, judge, numpy = wire.unpack_warm(harnesses)
    assert (submission.source, judge.source, numpy) == (b"def serve(): ...", b"def judge(): ...", "numpy" in source)
    unpacked = wire.unpack_judge(body)
    assert (unpacked.submission_harness, unpacked.judge_harness) == (submission.name, judge.name)
    assert b"def judge" not in body


def test_another_text_has_another_name() -> None:
    names = {wire.unpack_judge(packed(program(judge=f"judge = {n}"))[0]).judge_harness for n in range(3)}
    assert len(names) == 3


def test_harnesses_go_over_a_link_once() -> None:
    link = Link()
    for _ in range(3):
        teach(link, wire.WARM, packed(program())[1])  # type: ignore[arg-type]
    assert link.sent == [wire.frame(wire.WARM, packed(program())[1])]


def test_harnesses_that_were_forgotten_are_sent_again() -> None:
    link = Link()
    kinds = [packed(program(judge=f"judge = {n}"))[1] for n in range(execution.MOST_HARNESSES + 1)]
    for harnesses in (*kinds, kinds[0]):
        teach(link, wire.WARM, harnesses)  # type: ignore[arg-type]
    assert len(link.known) == execution.MOST_HARNESSES
    assert len(link.sent) == len(kinds) + 1
