"""What the verifier makes of a judge's reports and of how the pair ended, on a scripted backend."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from verifier_protocol import CodeSpec, Outcome, ScoredVerdict
from verifier_service.faults import InfrastructureFault, TaskFault
from verifier_service.sandbox.contract import Ending, JudgedProgram, JudgedTermination, JudgeFrame, Limits, Termination
from verifier_service.sandbox.fake import FakeBackend, ended
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline, SpecRefused
from verifier_service.verifiers.code.host import SecondChance
from verifier_service.verifiers.code.verifier import CodeVerifier

STOPPED = ended(ending=Ending.STOPPED)
GOOD = ended()
Frames = list[dict[str, Any]]
Judge = Callable[[dict[str, Any]], tuple[Frames, Termination, Termination]]


def unused(*args: Any) -> Termination:
    raise AssertionError("nothing of these styles runs plainly")


def report_of(number: int, outcome: str = "correct", wall_s: float = 0.01, note: str = "") -> dict[str, Any]:
    return {"kind": "test", "test": number, "outcome": outcome, "note": note, "wall_s": wall_s, "cpu_s": wall_s}


DONE = {"kind": "done"}


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

    async def verdict(self, tests: dict[str, Any], **more: Any) -> ScoredVerdict:
        spec = CodeSpec.model_validate({"kind": "code", "tests": tests, **more})
        return await self.verifier.verify(self.verifier.prepare(spec), "```python\ndef f(x): return x\n```", Deadline.after(60))


def function(count: int) -> dict[str, Any]:
    return {"style": "function", "entry_point": "f", "cases": [{"args": [n], "expected": f"sesame-{n}"} for n in range(count)]}


ASSERTS = {"style": "asserts", "code": "assert f(1) == 'sesame'\nassert f(2)"}


async def test_all_cases_go_to_one_judge_and_no_expected_value_to_the_submission() -> None:
    setting = Setting(lambda payload: ([report_of(n) for n in range(3)] + [DONE], STOPPED, GOOD))
    verdict = await setting.verdict(function(3))
    assert (verdict.score, verdict.passed, verdict.trust) == (1.0, 3, "isolated")
    (program,) = setting.backend.judged
    assert [case["expected"] for case in setting.payloads[0]["cases"]] == ["sesame-0", "sesame-1", "sesame-2"]
    assert "sesame" not in program.source + program.submission_harness + program.judge_harness
    assert program.files == ()
    assert "sesame" not in verdict.model_dump_json()


async def test_the_judge_outlives_the_submissions_wall_limit() -> None:
    setting = Setting(lambda payload: ([report_of(0), DONE], STOPPED, GOOD))
    await setting.verdict(function(1))
    assert setting.backend.judge_limits[0].wall_time_s > setting.backend.limits[0].wall_time_s


async def test_a_failed_case_fails_the_completion() -> None:
    frames = [report_of(0), report_of(1, "incorrect", note="the result is a Box, not plain data"), DONE]
    verdict = await Setting(lambda payload: (frames, STOPPED, GOOD)).verdict(function(3))
    assert (verdict.score, verdict.outcome, verdict.passed, verdict.total) == (0.0, Outcome.INCORRECT, 1, 3)
    assert "test 2: wrong answer (the result is a Box, not plain data)" in verdict.detail


async def test_a_submission_that_dies_loses_that_case_and_the_rest_run_on() -> None:
    def judge(payload: dict[str, Any]) -> tuple[Frames, Termination, Termination]:
        if len(payload["cases"]) == 4:
            return [report_of(0), {"kind": "begin", "test": 1}, {"kind": "gone", "why": "ended"}], ended(exit_code=0), GOOD
        return [report_of(0), report_of(1), DONE], STOPPED, GOOD

    setting = Setting(judge)
    verdict = await setting.verdict(function(4), scoring="fraction")
    assert verdict.tests is not None
    assert [test.outcome.value for test in verdict.tests] == ["correct", "runtime_error", "correct", "correct"]
    assert [len(payload["cases"]) for payload in setting.payloads] == [4, 2]


async def test_a_case_that_meets_a_limit_after_others_is_run_alone_before_it_counts() -> None:
    slow = ended(ending=Ending.CPU_TIME, cpu_s=10.0)

    def judge(payload: dict[str, Any]) -> tuple[Frames, Termination, Termination]:
        if len(payload["cases"]) == 3:
            return [report_of(0, wall_s=6.0), {"kind": "begin", "test": 1}], slow, GOOD
        return [report_of(n, wall_s=6.0) for n in range(len(payload["cases"]))] + [DONE], STOPPED, GOOD

    setting = Setting(judge)
    verdict = await setting.verdict(function(3))
    assert verdict.score == 1.0
    assert [len(payload["cases"]) for payload in setting.payloads] == [3, 1, 1]


async def test_a_case_that_meets_its_limit_by_itself_counts_at_once() -> None:
    setting = Setting(lambda payload: ([{"kind": "begin", "test": 0}], ended(ending=Ending.CPU_TIME, cpu_s=10.0), GOOD))
    verdict = await setting.verdict(function(3))
    assert verdict.outcome is Outcome.TIME_LIMIT_EXCEEDED
    assert len(setting.payloads) == 1


async def test_a_starved_pair_is_run_once_more_alone() -> None:
    starved = ended(ending=Ending.WALL_TIME, cpu_s=1.0, wall_s=20.0)
    runs = [([], starved, GOOD), ([report_of(0), DONE], STOPPED, GOOD)]
    setting = Setting(lambda payload: runs.pop(0), load=9.0)
    assert (await setting.verdict(function(1))).score == 1.0


@pytest.mark.parametrize(
    ("submission", "judge", "outcome"),
    [
        (ended(ending=Ending.MEMORY), GOOD, Outcome.MEMORY_LIMIT_EXCEEDED),
        (ended(ending=Ending.SIGNALLED, signal=9), GOOD, Outcome.RUNTIME_ERROR),
        (ended(ending=Ending.OUTPUT), GOOD, Outcome.OUTPUT_LIMIT_EXCEEDED),
        (ended(exit_code=0), GOOD, Outcome.RUNTIME_ERROR),
        (STOPPED, ended(ending=Ending.WALL_TIME), Outcome.TIME_LIMIT_EXCEEDED),
        (STOPPED, ended(ending=Ending.CPU_TIME), Outcome.TIME_LIMIT_EXCEEDED),
        (STOPPED, ended(ending=Ending.MEMORY), Outcome.MEMORY_LIMIT_EXCEEDED),
        (STOPPED, GOOD, Outcome.RUNTIME_ERROR),
    ],
)
@pytest.mark.parametrize("style", ["function", "asserts"])
async def test_what_was_never_reported_has_not_passed(
    style: str, submission: Termination, judge: Termination, outcome: Outcome
) -> None:
    frames = [{"kind": "plan", "total": 2}, {"kind": "begin", "test": 0}]
    verdict = await Setting(lambda payload: (frames, submission, judge)).verdict(function(2) if style == "function" else ASSERTS)
    assert (verdict.score, verdict.outcome, verdict.passed, verdict.total) == (0.0, outcome, 0, 2)


@pytest.mark.parametrize("judge", [ended(exit_code=1), ended(ending=Ending.SIGNALLED, signal=11)])
async def test_a_judge_that_fails_is_the_services_fault(judge: Termination) -> None:
    with pytest.raises(InfrastructureFault, match="judge"):
        await Setting(lambda payload: ([{"kind": "plan", "total": 2}], STOPPED, judge)).verdict(ASSERTS)


async def test_a_judge_confused_by_the_submission_scores_zero() -> None:
    frames = [{"kind": "plan", "total": 2}, {"kind": "begin", "test": 0}, {"kind": "confused", "why": "TypeError"}]
    verdict = await Setting(lambda payload: (frames, STOPPED, GOOD)).verdict(ASSERTS)
    assert (verdict.score, verdict.outcome) == (0.0, Outcome.RUNTIME_ERROR)


async def test_broken_test_code_is_unscored() -> None:
    frames = [{"kind": "bad_task", "detail": "the test code is no valid Python"}]
    with pytest.raises(TaskFault, match="valid Python"):
        await Setting(lambda payload: (frames, STOPPED, GOOD)).verdict(ASSERTS)


async def test_skipped_tests_are_not_counted() -> None:
    frames = [
        {"kind": "plan", "total": 3},
        report_of(0, "skipped"),
        report_of(0),
        {"kind": "plan", "total": 3},
        report_of(1),
        DONE,
    ]
    verdict = await Setting(lambda payload: (frames, STOPPED, GOOD)).verdict(ASSERTS)
    assert (verdict.score, verdict.passed, verdict.total) == (1.0, 2, 2)


async def test_a_submission_that_does_not_load_fails_all_tests() -> None:
    frames = [{"kind": "plan", "total": 3}, {"kind": "load_failed", "outcome": "compile_error", "note": "SyntaxError"}, DONE]
    verdict = await Setting(lambda payload: (frames, STOPPED, GOOD)).verdict(ASSERTS)
    assert (verdict.outcome, verdict.passed, verdict.total) == (Outcome.COMPILE_ERROR, 0, 3)
    assert "SyntaxError" in verdict.detail


async def test_signs_of_tampering_are_listed() -> None:
    frames = [{"kind": "plan", "total": 1}, report_of(0, "incorrect"), DONE, {"kind": "signs", "signs": ["always-equal object"]}]
    submission = ended(ending=Ending.STOPPED, tamper=("left processes",))
    verdict = await Setting(lambda payload: (frames, submission, GOOD)).verdict(ASSERTS)
    assert verdict.tamper == ["always-equal object", "left processes"]


async def test_tests_that_cannot_cross_need_leave_to_run_in_process() -> None:
    def judge(payload: dict[str, Any]) -> tuple[Frames, Termination, Termination]:
        if payload["style"] == "asserts":
            return [{"kind": "plan", "total": 1}, {"kind": "unproxiable", "detail": "it can't cross"}], STOPPED, GOOD
        return [{"kind": "plan", "total": 1}, report_of(0), DONE], STOPPED, GOOD

    with pytest.raises(TaskFault, match="allow_in_process"):
        await Setting(judge).verdict(ASSERTS)
    verdict = await Setting(judge).verdict({**ASSERTS, "allow_in_process": True})
    assert (verdict.score, verdict.trust) == (1.0, "in_process")


async def test_reports_that_stop_short_of_the_plan_never_pass() -> None:
    frames = [{"kind": "plan", "total": 2}, report_of(0)]
    verdict = await Setting(lambda payload: (frames, STOPPED, GOOD)).verdict(ASSERTS)
    assert (verdict.score, verdict.passed) == (0.0, 1)


def test_blank_test_code_and_no_cases_are_the_tasks_fault() -> None:
    verifier = Setting(lambda payload: ([], STOPPED, GOOD)).verifier
    for tests in ({"style": "asserts", "code": " \n"}, function(0), {**function(1), "inplace_arg": 3}):
        with pytest.raises(TaskFault):
            verifier.prepare(CodeSpec.model_validate({"kind": "code", "tests": tests}))


def test_these_styles_are_for_python() -> None:
    backend = FakeBackend(unused, languages=("python", "cpp"))
    with pytest.raises(SpecRefused, match="for python"):
        CodeVerifier(backend, Settings()).prepare(CodeSpec.model_validate({"kind": "code", "language": "cpp", "tests": ASSERTS}))


def checker_tests(*expected: str) -> dict[str, Any]:
    cases = [{"stdin": f"{n}\n", "expected_stdout": text} for n, text in enumerate(expected)]
    return {"style": "stdin", "cases": cases, "checker": {"source": "check"}}


async def test_a_checker_runs_after_the_submission_has_left_its_slot() -> None:
    def script(program: Any, stdin: bytes, limits: Limits) -> Termination:
        if program.source != "check":
            return ended(b"out " + stdin)
        files = dict(program.files)
        assert program.args == ("input.txt", "expected.txt", "actual.txt")
        return ended(
            b"secret",
            exit_code=0 if files["actual.txt"] == b"out " + files["input.txt"] and files["expected.txt"] == b"ok" else 1,
        )

    backend = FakeBackend(script)
    verifier = CodeVerifier(backend, Settings())
    task = verifier.prepare(
        CodeSpec.model_validate({"kind": "code", "tests": checker_tests("ok", "no", "ok"), "scoring": "fraction"})
    )
    verdict = await verifier.verify(task, "```python\nx\n```", Deadline.after(5))
    assert verdict.tests is not None
    assert [test.outcome.value for test in verdict.tests] == ["correct", "incorrect", "correct"]
    assert [program.source for program in backend.programs] == ["x\n", "check", "check", "check"]
    assert "secret" not in verdict.model_dump_json()
    assert backend.programs[0].files == ()


@pytest.mark.parametrize(("name", "ours"), [("py", "python"), ("c++", "cpp"), ("cpp", "cpp")])
def test_a_checkers_language_goes_by_all_its_names(name: str, ours: str) -> None:
    verifier = CodeVerifier(FakeBackend(lambda program, stdin, limits: ended(), languages=("python", "cpp")), Settings())
    tests = {**checker_tests("ok"), "checker": {"language": name, "source": "check"}}
    task = verifier.prepare(CodeSpec.model_validate({"kind": "code", "tests": tests}))
    assert task.checker is not None
    assert task.checker.language == ours
    tests["checker"] = {"language": "cobol", "source": "check"}
    with pytest.raises(SpecRefused, match="there is python, cpp"):
        verifier.prepare(CodeSpec.model_validate({"kind": "code", "tests": tests}))


def test_an_interactors_language_goes_by_all_its_names() -> None:
    verifier = CodeVerifier(FakeBackend(lambda program, stdin, limits: ended()), Settings())
    tests = {"style": "interactive", "interactor": {"language": "python3", "source": "x"}, "cases": [{"stdin": ""}]}
    verifier.prepare(CodeSpec.model_validate({"kind": "code", "tests": tests}))


async def test_a_whole_reply_is_a_program_without_byte_order_mark_and_carriage_returns() -> None:
    backend = FakeBackend(lambda program, stdin, limits: ended(b"1"))
    verifier = CodeVerifier(backend, Settings())
    tests = {"style": "stdin", "cases": [{"stdin": "", "expected_stdout": "1"}]}
    task = verifier.prepare(CodeSpec.model_validate({"kind": "code", "tests": tests, "extract": "whole"}))
    await verifier.verify(task, "\ufeffread x\r\necho 1\r\n", Deadline.after(5))
    assert [program.source for program in backend.programs] == ["read x\necho 1\n"]


async def test_a_checker_that_does_not_compile_is_the_tasks_fault() -> None:
    verifier = CodeVerifier(
        FakeBackend(
            lambda program, stdin, limits: ended(ending=Ending.COMPILE_ERROR) if program.source == "check" else ended(b"x")
        ),
        Settings(),
    )
    task = verifier.prepare(CodeSpec.model_validate({"kind": "code", "tests": checker_tests("ok")}))
    with pytest.raises(TaskFault, match="checker"):
        await verifier.verify(task, "```python\nx\n```", Deadline.after(5))
