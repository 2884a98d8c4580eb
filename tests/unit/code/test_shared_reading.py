"""What the first judge of a task made of the test's text, and is handed to the judges of its other submissions."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
import unittest
from collections.abc import Iterator
from typing import Any

import pytest

from verifier_protocol import CodeSpec, ScoredVerdict
from verifier_service.sandbox.contract import Ending, JudgedProgram, JudgedTermination, JudgeFrame, Limits, Termination
from verifier_service.sandbox.fake import FakeBackend, ended
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.harness import judge_side, rehearsal_judge, rehearsal_submission, submission_side, task_plan
from verifier_service.verifiers.code.harness.peer import Peer
from verifier_service.verifiers.code.harness.task_code import BadTask
from verifier_service.verifiers.code.harness.task_plan import packed, planned, unpacked
from verifier_service.verifiers.code.verifier import CodeVerifier

CHECK = """
METADATA = {"author": "nobody"}
def check(candidate):
    assert candidate(1) == 2
"""
CLASSES = """
from solution import Stack
stack = Stack()
stack.push(1)
assert stack.items == [1]
assert abs(total([1, 2]) - 3) < 1e-6
class Helper:
    def test_inside(self):
        pass
"""


@pytest.mark.parametrize(
    ("code", "entry_point"), [(CHECK, "f"), (CLASSES, None), ("assert f(1)", None), ("assert len([])", None)]
)
def test_a_plan_that_was_sent_says_what_it_said_where_it_was_made(code: str, entry_point: str | None) -> None:
    plan = planned(code, entry_point, tells_of_drops=True)
    text = packed(plan)
    assert text is not None
    assert unpacked(json.loads(json.dumps(text))) == plan


def test_a_plan_knows_the_classes_that_a_test_uses_and_marks_what_it_drops() -> None:
    plan = planned(CLASSES, None, tells_of_drops=True)
    assert (plan.drops, plan.total, plan.units) == (True, 3, (3, 4))
    assert "Stack" in plan.classes_in_use
    assert not planned(CHECK, "f", tells_of_drops=True).drops


def test_the_plan_of_another_interpreter_is_not_read() -> None:
    text = packed(planned(CHECK, "f", tells_of_drops=True))
    assert text is not None
    assert unpacked("30a00f0 " + text.partition(" ")[2]) is None


def test_a_plan_too_long_to_be_worth_it_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_plan, "MOST_PACKED", 10)
    assert packed(planned(CHECK, "f", tells_of_drops=True)) is None


@pytest.mark.parametrize("code", ["assert f(1)\nreturn 3", "assert f(1)\nawait f(2)", "assert f(1)\nbreak"])
def test_a_statement_that_only_the_compiler_refuses_makes_a_bad_task(code: str) -> None:
    with pytest.raises(BadTask, match="no valid Python"):
        planned(code, None, tells_of_drops=True)


# --- the service hands it on


class Backend:
    """A scripted judge that tells what it read, and the payloads that it got."""

    def __init__(self, frames: list[dict[str, Any]]) -> None:
        self.payloads: list[dict[str, Any]] = []

        def script(program: JudgedProgram, payload: bytes, limits: Limits) -> list[JudgeFrame | JudgedTermination]:
            self.payloads.append(json.loads(payload))
            events = [JudgeFrame(0, json.dumps(frame).encode()) for frame in frames]
            return [*events, JudgedTermination(0, ended(ending=Ending.STOPPED), ended())]

        self.verifier = CodeVerifier(FakeBackend(_unused, judged_script=script), Settings())

    async def verdicts(self, count: int) -> list[ScoredVerdict]:
        tests = {"style": "asserts", "code": "assert f(1)"}
        task = self.verifier.prepare(CodeSpec.model_validate({"kind": "code", "tests": tests}))
        return [await self.verifier.verify(task, f"```python\nx = {n}\n```", Deadline.after(60)) for n in range(count)]


def _unused(*args: Any) -> Termination:
    raise AssertionError("nothing of this style runs plainly")


PLAN = {"kind": "plan", "total": 1}
PASSED = [
    {"kind": "begin", "test": 0},
    {"kind": "test", "test": 0, "outcome": "correct", "note": "", "wall_s": 0.1, "cpu_s": 0.1},
]
DONE = {"kind": "done"}


async def test_later_submissions_of_a_task_are_judged_by_what_the_first_judge_read() -> None:
    backend = Backend([{"kind": "text", "plan": "read"}, PLAN, *PASSED, DONE])
    assert [verdict.score for verdict in await backend.verdicts(3)] == [1.0, 1.0, 1.0]
    assert [payload["plan"] for payload in backend.payloads] == [None, "read", "read"]


async def test_what_a_judge_says_of_the_text_after_it_met_the_submission_is_not_handed_on() -> None:
    for early in ([PLAN], PASSED[:1], [PLAN, *PASSED]):
        backend = Backend([*early, {"kind": "text", "plan": "forged"}, PLAN, *PASSED, DONE])
        await backend.verdicts(2)
        assert [payload["plan"] for payload in backend.payloads] == [None, None]


# --- rehearsals


@pytest.fixture
def state() -> Iterator[None]:
    """What a zygote has, compared before and after."""

    def now() -> tuple[Any, ...]:
        names = ("solution", "tests", "pytest", "random")
        seen = [sys.modules.get(name) for name in names]
        return (
            sys.getrecursionlimit(),
            random.seed,
            unittest.main,
            list(sys.meta_path),
            dataclasses.asdict,
            seen,
            len(submission_side.NAMES),
        )

    before = now()
    yield
    assert now() == before


def test_a_rehearsal_of_the_judge_passes_its_tests_and_leaves_nothing_behind(
    state: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[bytes] = []
    real = judge_side.judge
    monkeypatch.setattr(rehearsal_judge, "judge", lambda payload, fd, emit: real(payload, fd, reports.append))
    monkeypatch.setattr(rehearsal_judge, "ROUNDS", 1)
    rehearsal_judge.rehearse()
    kinds = [json.loads(report) for report in reports]
    assert sum(frame["kind"] == "done" for frame in kinds) == len(rehearsal_judge.SESSIONS)
    outcomes = [frame["outcome"] for frame in kinds if frame["kind"] == "test"]
    assert outcomes == ["correct"] * 8 + ["runtime_error"]


def test_a_rehearsal_of_the_submission_answers_and_leaves_nothing_behind(
    state: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    answered: list[str] = []
    real = Peer._serve

    def counted(self: Any, message: list[Any]) -> None:
        real(self, message)
        answered.append(message[1])

    monkeypatch.setattr(Peer, "_serve", counted)
    monkeypatch.setattr(rehearsal_submission, "ROUNDS", 1)
    rehearsal_submission.rehearse()
    assert len(answered) == sum(map(len, rehearsal_submission.SESSIONS))
    assert "IndexError" in capfd.readouterr().err
