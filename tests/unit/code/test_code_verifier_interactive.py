"""What the verifier makes of an interactor's decision and of how both processes ended, on a scripted backend."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from verifier_protocol import CodeSpec, Outcome, ScoredVerdict
from verifier_service.faults import InfrastructureFault, TaskFault
from verifier_service.sandbox.contract import (
    Ending,
    JudgedProgram,
    JudgedTermination,
    JudgeFrame,
    Limits,
    ProgramRefused,
    Termination,
)
from verifier_service.sandbox.fake import FakeBackend, ended
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline, SpecRefused
from verifier_service.verifiers.code.host import SecondChance
from verifier_service.verifiers.code.verifier import CodeVerifier

GOOD, STOPPED, CRASHED = ended(), ended(ending=Ending.STOPPED), ended(exit_code=1)
REJECTS = ended(exit_code=1)
NO_MEMORY, LATE = ended(ending=Ending.MEMORY), ended(ending=Ending.WALL_TIME)
MET, LISTENS = {"kind": "met", "compiles": True, "left": False}, {"kind": "listens"}
Frames = list[dict[str, Any]]
Judge = Callable[[dict[str, Any]], tuple[Frames, Termination, Termination]]


def decided(accepted: bool, **more: Any) -> dict[str, Any]:
    usual = {"raised": None, "at_the_end": False, "received": 5, "waited_s": 0.01, "tail": "said\n"}
    return {"kind": "ended", "accepted": accepted, **usual, **more}


TOO_SLOW = Outcome.TIME_LIMIT_EXCEEDED
IDLE = {"kind": "idle", "received": 0, "waited_s": 2.1, "tail": ""}
FLOODED = {"kind": "flooded", "tail": "x"}
ACCEPTED, REJECTED, TOO_EARLY = decided(True), decided(False), decided(False, at_the_end=True)


def unused(*args: Any) -> Termination:
    raise AssertionError("nothing of this style runs plainly")


class Setting:
    """A verifier on a backend whose judge is scripted, and the payloads that it was given."""

    def __init__(self, judge: Judge, *, load: float = 0.0) -> None:
        self.payloads: list[dict[str, Any]] = []

        def script(program: JudgedProgram, payload: bytes, limits: Limits) -> list[JudgeFrame | JudgedTermination]:
            self.payloads.append(json.loads(payload))
            frames, submission, judged = judge(self.payloads[-1])
            events: list[JudgeFrame | JudgedTermination] = [JudgeFrame(0, json.dumps(frame).encode()) for frame in frames]
            return [*events, JudgedTermination(0, submission, judged)]

        self.backend = FakeBackend(unused, judged_script=script)
        self.verifier = CodeVerifier(self.backend, Settings(), second_chance=SecondChance(lambda: load))

    async def verdict(self, count: int = 1, **more: Any) -> ScoredVerdict:
        cases = [{"stdin": f"secret-{n}", "expected_stdout": f"sesame-{n}"} for n in range(count)]
        tests = {"style": "interactive", "interactor": {"source": "decide()"}, "cases": cases}
        spec = CodeSpec.model_validate({"kind": "code", "tests": tests, **more})
        return await self.verifier.verify(self.verifier.prepare(spec), "```python\nprint(1)\n```", Deadline.after(60))


async def of(frames: Frames, submission: Termination, judge: Termination) -> ScoredVerdict:
    return await Setting(lambda payload: (frames, submission, judge)).verdict()


async def test_input_reference_and_interactor_reach_the_judge_alone() -> None:
    setting = Setting(lambda payload: ([MET, LISTENS, ACCEPTED], GOOD, GOOD))
    verdict = await setting.verdict(2)
    assert (verdict.score, verdict.passed, verdict.total, verdict.trust) == (1.0, 2, 2, "isolated")
    (program,) = setting.backend.judged
    assert [(payload["stdin"], payload["expected"]) for payload in setting.payloads] == [
        ("secret-0", "sesame-0"),
        ("secret-1", "sesame-1"),
    ]
    assert {payload["interactor"] for payload in setting.payloads} == {"decide()"}
    sent = program.source + program.submission_harness + program.judge_harness
    assert not any(word in sent for word in ("secret-", "sesame", "decide()"))
    assert program.files == ()
    assert not any(word in verdict.model_dump_json() for word in ("secret-", "sesame", "decide()"))


async def test_the_limits_are_both_processes_own_and_the_interactor_outlives_the_submission() -> None:
    setting = Setting(lambda payload: ([MET, LISTENS, ACCEPTED], GOOD, GOOD))
    await setting.verdict(limits={"cpu_time_s": 1.5, "wall_time_s": 4.0, "memory_mb": 99, "output_bytes": 1234, "file_bytes": 0})
    (limits,), (of_judge,) = setting.backend.limits, setting.backend.judge_limits
    assert (limits.cpu_time_s, limits.wall_time_s, limits.memory_mb, limits.file_bytes) == (1.5, 4.0, 99, 0)
    assert replace(of_judge, wall_time_s=4.0, file_bytes=0) == limits
    assert of_judge.wall_time_s > 4.0
    assert of_judge.file_bytes >= len("secret-0")  # its own files must fit
    assert setting.payloads[0]["output_bytes"] == 1234


async def test_what_was_said_is_shown_and_not_what_the_interactor_said() -> None:
    noisy = ended(stderr=b"sesame", stdout=b"sesame")
    verdict = await of([MET, LISTENS, REJECTED], CRASHED, noisy)
    assert verdict.tests is not None
    assert verdict.tests[0].stdout_tail == "said\n"
    assert "sesame" not in verdict.model_dump_json()


OUTCOMES: dict[str, tuple[Frames, Termination, Termination, Outcome]] = {
    "accepted": ([MET, LISTENS, ACCEPTED], GOOD, GOOD, Outcome.CORRECT),
    "accepted at the end of its output": ([MET, LISTENS, decided(True, at_the_end=True)], GOOD, GOOD, Outcome.CORRECT),
    "accepted, and stopped as it lingered": ([MET, LISTENS, ACCEPTED], STOPPED, GOOD, Outcome.CORRECT),
    "accepted before it crashed": ([MET, LISTENS, ACCEPTED], CRASHED, GOOD, Outcome.RUNTIME_ERROR),
    "accepted before it hung": ([MET, LISTENS, ACCEPTED], LATE, GOOD, TOO_SLOW),
    "accepted before it flooded": ([MET, LISTENS, ACCEPTED, FLOODED], STOPPED, REJECTS, Outcome.OUTPUT_LIMIT_EXCEEDED),
    "rejected": ([MET, LISTENS, REJECTED], STOPPED, REJECTS, Outcome.INCORRECT),
    "rejected, which crashed it": ([MET, LISTENS, REJECTED], CRASHED, REJECTS, Outcome.INCORRECT),
    "rejected for what it had printed before it was killed": ([MET, LISTENS, REJECTED], LATE, REJECTS, TOO_SLOW),
    "left early": ([MET, LISTENS, TOO_EARLY], GOOD, REJECTS, Outcome.INCORRECT),
    "closed its output early": ([MET, LISTENS, TOO_EARLY], STOPPED, REJECTS, Outcome.INCORRECT),
    "crashed": ([MET, LISTENS, TOO_EARLY], CRASHED, REJECTS, Outcome.RUNTIME_ERROR),
    "killed": ([MET, LISTENS, TOO_EARLY], ended(ending=Ending.SIGNALLED, signal=11), REJECTS, Outcome.RUNTIME_ERROR),
    "took its memory": ([MET, LISTENS, TOO_EARLY], NO_MEMORY, REJECTS, Outcome.MEMORY_LIMIT_EXCEEDED),
    "took its time": ([MET, LISTENS, TOO_EARLY], ended(ending=Ending.CPU_TIME), REJECTS, TOO_SLOW),
    "waited": ([MET, LISTENS, TOO_EARLY], LATE, REJECTS, TOO_SLOW),
    "slept while it was waited for": ([MET, LISTENS, IDLE], STOPPED, REJECTS, TOO_SLOW),
    "forked": ([MET, LISTENS, TOO_EARLY], ended(ending=Ending.PROCESSES), REJECTS, Outcome.PROCESS_LIMIT_EXCEEDED),
    "flooded": ([MET, LISTENS, FLOODED], STOPPED, REJECTS, Outcome.OUTPUT_LIMIT_EXCEEDED),
    "does not compile": ([{**MET, "compiles": False}], CRASHED, GOOD, Outcome.COMPILE_ERROR),
    "kills its compiler": ([{**MET, "left": True}], ended(ending=Ending.SIGNALLED, signal=11), GOOD, Outcome.RUNTIME_ERROR),
    "kills the judge with its compilation": ([], NO_MEMORY, NO_MEMORY, Outcome.MEMORY_LIMIT_EXCEEDED),
    "listening, the interactor ran out of time": ([MET, LISTENS], GOOD, ended(ending=Ending.CPU_TIME), TOO_SLOW),
    "listening, the interactor ran out of memory": ([MET, LISTENS], STOPPED, NO_MEMORY, Outcome.MEMORY_LIMIT_EXCEEDED),
    "left a child that kept its output open": ([MET, LISTENS], GOOD, LATE, TOO_SLOW),
    "left a child that reads nothing": ([MET, {"kind": "fills"}], GOOD, LATE, TOO_SLOW),
    "read nothing and crashed": ([MET, {"kind": "fills"}], CRASHED, LATE, Outcome.RUNTIME_ERROR),
    "listening, the interactor crashed": ([MET, LISTENS], STOPPED, ended(ending=Ending.SIGNALLED, signal=11), Outcome.INCORRECT),
    "listening, the interactor left in haste": ([MET, LISTENS], STOPPED, ended(exit_code=2), Outcome.INCORRECT),
    "listening, the interactor accepted in haste": ([MET, LISTENS], STOPPED, GOOD, Outcome.CORRECT),
    "took all memory, and the judge's": ([MET], NO_MEMORY, NO_MEMORY, Outcome.MEMORY_LIMIT_EXCEEDED),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTCOMES)
async def test_an_outcome_follows_from_the_decision_and_both_ends(name: str) -> None:
    frames, submission, judge, outcome = OUTCOMES[name]
    verdict = await of(frames, submission, judge)
    assert (verdict.outcome, verdict.score) == (outcome, float(outcome is Outcome.CORRECT)), verdict


RAISED = {"name": "ValueError", "line": 3, "own_mistake": False}
FAILED = decided(False, raised=RAISED)
HOG = ended(ending=Ending.MEMORY, memory_mb=400.0)
BROKEN: dict[str, tuple[Frames, Termination, Termination, str]] = {
    "does not compile": ([{"kind": "bad_task", "detail": "no compile"}], CRASHED, REJECTS, "no compile"),
    "raises before it reads anything": ([MET, FAILED], CRASHED, REJECTS, "ValueError in its line 3"),
    "rejects without reading": ([MET, REJECTED], GOOD, REJECTS, "rejects"),
    "accepts without reading": ([MET, ACCEPTED], GOOD, GOOD, "accepts"),
    "uses a name that it has not": (
        [MET, LISTENS, decided(False, raised={**RAISED, "own_mistake": True})],
        GOOD,
        REJECTS,
        "line 3",
    ),
    "computes for ever": ([MET], ended(ending=Ending.WALL_TIME), ended(ending=Ending.CPU_TIME), "limits"),
    "sleeps for ever": ([MET], CRASHED, ended(ending=Ending.WALL_TIME), "limits"),
    "takes all memory": ([MET], NO_MEMORY, HOG, "limits"),
    "leaves in haste": ([MET], STOPPED, ended(exit_code=0), "left"),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_interactor_is_the_tasks_fault(name: str) -> None:
    frames, submission, judge, said = BROKEN[name]
    with pytest.raises(TaskFault, match=said):
        await of(frames, submission, judge)


@pytest.mark.parametrize(
    ("frames", "submission"), [([], CRASHED), ([], STOPPED), ([], GOOD), ([MET], STOPPED), ([MET, LISTENS], GOOD)]
)
async def test_a_judge_that_dies_of_nobodys_doing_is_no_verdict(frames: Frames, submission: Termination) -> None:
    with pytest.raises(InfrastructureFault):
        await of(frames, submission, ended(ending=Ending.SIGNALLED, signal=9))


async def test_a_deadlock_is_blamed_on_the_submission_and_the_detail_speaks_of_flushing() -> None:
    late = ended(ending=Ending.WALL_TIME, wall_s=20.0, cpu_s=0.02)
    silent = await of([MET, LISTENS, decided(False, at_the_end=True, received=0, waited_s=19.9, tail="")], late, REJECTS)
    assert silent.outcome is TOO_SLOW
    assert "no output came; output must be flushed" in silent.detail
    spoke = await of([MET, LISTENS, decided(False, at_the_end=True, received=12, waited_s=19.9)], late, REJECTS)
    assert "nothing came after 12 bytes" in spoke.detail
    idle = await of([MET, LISTENS, IDLE], STOPPED, REJECTS)
    assert "waited 2.1 s and no output came; output must be flushed" in idle.detail


@pytest.mark.parametrize(("waited_s", "cpu_s"), [(0.1, 0.02), (19.9, 9.0)])
async def test_a_program_that_was_not_waiting_is_not_told_to_flush(waited_s: float, cpu_s: float) -> None:
    late = ended(ending=Ending.WALL_TIME, wall_s=20.0, cpu_s=cpu_s)
    found = await of([MET, LISTENS, decided(False, at_the_end=True, waited_s=waited_s)], late, REJECTS)
    assert found.outcome is TOO_SLOW
    assert "flushed" not in found.detail


async def test_a_crash_after_acceptance_says_so() -> None:
    assert "had accepted it; exit status 1" in (await of([MET, LISTENS, ACCEPTED], CRASHED, GOOD)).detail


def only_even(payload: dict[str, Any]) -> tuple[Frames, Termination, Termination]:
    odd = int(payload["stdin"].removeprefix("secret-")) % 2
    return ([MET, LISTENS, REJECTED], STOPPED, REJECTS) if odd else ([MET, LISTENS, ACCEPTED], GOOD, GOOD)


async def test_binary_scoring_stops_at_the_first_failure_and_a_fraction_goes_on() -> None:
    setting = Setting(only_even)
    binary = await setting.verdict(5)
    assert (binary.score, binary.passed, binary.total, len(setting.payloads)) == (0.0, 1, 5, 2)
    assert setting.backend.judged[0].stop_on_error
    setting = Setting(only_even)
    fraction = await setting.verdict(5, scoring="fraction")
    assert (fraction.score, fraction.outcome, len(setting.payloads)) == (0.6, Outcome.PARTIAL, 5)
    assert not setting.backend.judged[0].stop_on_error


async def test_a_compile_error_is_told_once() -> None:
    setting = Setting(lambda payload: ([{**MET, "compiles": False}], CRASHED, GOOD))
    verdict = await setting.verdict(5, scoring="fraction")
    assert (verdict.outcome, verdict.total, len(setting.payloads)) == (Outcome.COMPILE_ERROR, 5, 1)


async def test_tamper_signs_of_the_submission_are_passed_on() -> None:
    verdict = await of([MET, LISTENS, ACCEPTED], ended(tamper=("denied system call ptrace",)), GOOD)
    assert verdict.tamper == ["denied system call ptrace"]


async def test_a_starved_case_is_run_once_more() -> None:
    starved = ended(ending=Ending.WALL_TIME, cpu_s=2.0, wall_s=20.0)
    answers: list[tuple[Frames, Termination, Termination]] = [
        ([MET, LISTENS, ACCEPTED], GOOD, GOOD),
        ([MET, LISTENS, TOO_EARLY], starved, REJECTS),
    ]
    answers += [([MET, LISTENS, ACCEPTED], GOOD, GOOD)] * 2
    turns = iter(answers)
    setting = Setting(lambda payload: next(turns), load=4.0)
    verdict = await setting.verdict(3)
    assert (verdict.score, verdict.passed) == (1.0, 3)
    assert [payload["stdin"] for payload in setting.payloads] == ["secret-0", "secret-1", "secret-1", "secret-2"]


async def test_many_large_cases_go_to_a_slot_in_parts() -> None:
    setting = Setting(lambda payload: ([MET, LISTENS, ACCEPTED], GOOD, GOOD))
    case = {"stdin": "7" * 6_000_000}
    tests = {"style": "interactive", "interactor": {"source": "decide()"}, "cases": [case] * 5}
    task = setting.verifier.prepare(CodeSpec.model_validate({"kind": "code", "tests": tests}))
    verdict = await setting.verifier.verify(task, "```python\nprint(1)\n```", Deadline.after(60))
    assert verdict.passed == 5
    assert [len(program.payloads) for program in setting.backend.judged] == [3, 2]


async def test_tests_that_no_sandbox_takes_are_the_tasks_fault() -> None:
    def refuses(payload: dict[str, Any]) -> tuple[Frames, Termination, Termination]:
        raise ProgramRefused("too large")

    with pytest.raises(TaskFault, match="too large"):
        await Setting(refuses).verdict()


def spec(**changes: Any) -> CodeSpec:
    tests = {"style": "interactive", "interactor": {"source": "decide()"}, "cases": [{}], **changes.pop("tests", {})}
    return CodeSpec.model_validate({"kind": "code", "tests": tests, **changes})


@pytest.mark.parametrize("tests", [{"cases": []}, {"interactor": {"source": " \n"}}])
def test_a_task_that_grades_nothing_is_refused(tests: dict[str, Any]) -> None:
    with pytest.raises(TaskFault, match="no tests"):
        Setting(only_even).verifier.prepare(spec(tests=tests))


def test_a_submission_may_be_of_any_language_and_an_interactor_is_of_python() -> None:
    setting = Setting(only_even)
    with pytest.raises(SpecRefused) as refused:
        setting.verifier.prepare(spec(tests={"interactor": {"source": "x", "language": "cpp"}}))
    assert refused.value.field == "tests.interactor.language"
    with pytest.raises(SpecRefused) as refused:
        setting.verifier.prepare(spec(language="cpp"))
    assert refused.value.field == "language"
    setting.backend.languages = ("python", "cpp")
    assert setting.verifier.prepare(spec(language="cpp")).spec.language == "cpp"


async def test_a_program_that_its_compiler_refuses_is_a_compile_error() -> None:
    verdict = await of([], ended(ending=Ending.COMPILE_ERROR, stderr=b"main.cpp:1: no"), STOPPED)
    assert (verdict.score, verdict.outcome) == (0.0, Outcome.COMPILE_ERROR)
    assert verdict.tests is not None
    assert "main.cpp" in verdict.tests[0].stderr_tail


def test_the_style_is_announced() -> None:
    assert "interactive" in Setting(only_even).verifier.describe()["styles"]
