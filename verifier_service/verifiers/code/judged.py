"""Tests of the styles `function` and `asserts`: a judge beside the submission, see `harness`.

This side sends both harnesses and the payload, reads the judge's reports, and says what became of the tests that were
never reported: they have not passed, for the reason for which the submission ended.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verifier_protocol import FunctionTests, Outcome
from verifier_protocol.request import AssertTests
from verifier_service.faults import InfrastructureFault, TaskFault
from verifier_service.sandbox.contract import Ending, JudgedProgram, JudgedTermination, Limits, SandboxBackend, Termination
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.harness import bundle
from verifier_service.verifiers.code.host import SecondChance
from verifier_service.verifiers.code.results import Tally, failure_of, how_it_ended, readable, test_result
from verifier_service.verifiers.code.task import CodeTask

JUDGE_GRACE_S = 3.0  # the judge outlives the submission's wall limit, to report it
LIMIT_ENDINGS = frozenset({Ending.CPU_TIME, Ending.WALL_TIME, Ending.MEMORY})
SPENT_SHARE = 0.05  # of a time limit: earlier cases that took more may have caused a later one's time-out


@dataclass(slots=True)
class Report:
    """What the judge of one payload said, and how the pair ended."""

    total: int | None = None
    tests: list[dict[str, Any]] = field(default_factory=list)
    skipped: int = 0
    begun: int | None = None
    load_failure: dict[str, Any] | None = None
    signs: list[str] = field(default_factory=list)
    unproxiable: str = ""
    plan: str | None = None
    done: bool = False
    confused: bool = False
    ending: JudgedTermination | None = None

    def read(self, frame: dict[str, Any]) -> None:
        """Take in one frame. Raises TaskFault when the judge says that the test code is broken."""
        match frame["kind"]:
            case "text" if self.is_blank:
                self.plan = frame["plan"]
            case "plan":
                self.total = frame["total"]
            case "begin":
                self.begun = frame["test"]
            case "test" if frame["outcome"] == "skipped":
                self.skipped += 1
                self.begun = None
            case "test":
                self.tests.append(frame)
                self.begun = None
            case "load_failed":
                self.load_failure = frame
            case "bad_task":
                raise TaskFault(frame["detail"])
            case "unproxiable":
                self.unproxiable = frame["detail"]
            case "signs":
                self.signs = frame["signs"]
            case "confused":
                self.confused = True
            case "done":
                self.done = True

    @property
    def is_blank(self) -> bool:
        """Whether the judge has said nothing yet, and so has not met the submission."""
        return self.total is None and self.begun is None and not self.tests

    @property
    def submission(self) -> Termination:
        assert self.ending is not None
        return self.ending.submission

    def what_stopped_it(self) -> tuple[Outcome, str]:
        """Why the test that was under way, or the first, has no report.

        Raises:
            InfrastructureFault: the judge itself failed.
        """
        assert self.ending is not None
        judge, submission = self.ending.judge, self.ending.submission
        if submission.ending is not Ending.STOPPED and (failure := failure_of(submission)) is not None:
            return failure, how_it_ended(submission)
        if judge.ending in (Ending.WALL_TIME, Ending.CPU_TIME):
            return Outcome.TIME_LIMIT_EXCEEDED, "the tests did not end with this program's answers"
        if judge.ending is Ending.MEMORY:
            return Outcome.MEMORY_LIMIT_EXCEEDED, "the tests ran out of memory with this program's answers"
        if (judge.ending is Ending.EXITED and judge.exit_code == 0) or self.confused:
            return Outcome.RUNTIME_ERROR, "the program ended, or stopped answering, before the tests were over"
        raise InfrastructureFault(f"the judge of the tests failed: {judge.ending}, {how_it_ended(judge)}")


async def run_function(
    backend: SandboxBackend, task: CodeTask, source: str, deadline: Deadline, second_chance: SecondChance
) -> Tally:
    """Run the cases, as many as go in one process; each has the limits for itself.

    Raises:
        TaskFault, InfrastructureFault, and what the backend raises.
    """
    tests = task.spec.tests
    assert isinstance(tests, FunctionTests)
    tally = Tally(total=len(tests.cases))
    alone = False  # whether the next case is run by itself, as an earlier one may have used up its limits
    while len(tally.results) < tally.total:
        done = len(tally.results)
        cases = tests.cases[done : done + 1] if alone else tests.cases[done:]
        payload = _function_payload(task, tests, cases)
        report = await _judged(backend, task, source, payload, deadline, second_chance)
        failed = _take_tests(tally, report)
        if report.load_failure is not None:
            _take_load_failure(tally, report)
            break
        if len(tally.results) < done + len(cases) and not (failed and task.spec.stops_on_failure):
            alone = not alone and len(tally.results) > done and _may_be_innocent(report, task.limits)
            if alone:
                continue
            _take_ending(tally, report)
            failed = True
        alone = False
        if failed and task.spec.stops_on_failure:
            break
    return tally


async def run_asserts(
    backend: SandboxBackend, task: CodeTask, source: str, deadline: Deadline, second_chance: SecondChance
) -> tuple[Tally, bool]:
    """Run test code; (tally, whether it ran in the submission's own process).

    Raises:
        TaskFault, InfrastructureFault, and what the backend raises.
    """
    tests = task.spec.tests
    assert isinstance(tests, AssertTests)
    report = await _judged(backend, task, source, _asserts_payload(task, tests), deadline, second_chance)
    if report.plan is not None and task.reading.plan is None:
        task.reading.plan, task.reading.payload = report.plan, b""
    in_process = bool(report.unproxiable) and tests.allow_in_process
    if report.unproxiable and not in_process:
        raise TaskFault(f"{report.unproxiable}; send allow_in_process: true to run such tests in the submission's process")
    if in_process:
        payload = _packed(style="in_process", code=tests.code, entry_point=tests.entry_point, stop=task.spec.stops_on_failure)
        report = await _judged(backend, task, source, payload, deadline, second_chance, in_process=True)
    if report.total is None:
        report.what_stopped_it()
        if not any(sign.startswith("killed ") for sign in report.submission.tamper):
            raise InfrastructureFault("the judge ended before it had read the tests")
        report.total = 1  # how many there are is not known any more
    tally = Tally(total=max(report.total - report.skipped, 1))
    failed = _take_tests(tally, report)
    if report.load_failure is not None:
        _take_load_failure(tally, report)
    elif not report.done or (report.confused and not failed):
        _take_ending(tally, report)
    if report.done and tally.first_failure() is None:
        tally.total = len(tally.results)
    return tally, in_process


def _packed(**payload: Any) -> bytes:
    return json.dumps(payload).encode()


def _asserts_payload(task: CodeTask, tests: AssertTests) -> bytes:
    reading = task.reading
    if not reading.payload:
        reading.payload = _packed(
            style="asserts",
            code=tests.code,
            entry_point=tests.entry_point,
            stop=task.spec.stops_on_failure,
            plan=reading.plan,
        )
    return reading.payload


def _function_payload(task: CodeTask, tests: FunctionTests, cases: Sequence[Any]) -> bytes:
    whole = len(cases) == len(tests.cases)
    if whole and task.reading.payload:
        return task.reading.payload
    payload = _packed(
        style="function",
        entry_point=tests.entry_point,
        cases=[{"args": case.args, "kwargs": case.kwargs, "expected": case.expected} for case in cases],
        float_tol=tests.float_tol,
        rel_tol=tests.rel_tol,
        inplace_arg=tests.inplace_arg,
        stop=task.spec.stops_on_failure,
    )
    if whole:
        task.reading.payload = payload
    return payload


async def _judged(
    backend: SandboxBackend,
    task: CodeTask,
    source: str,
    payload: bytes,
    deadline: Deadline,
    second_chance: SecondChance,
    *,
    in_process: bool = False,
) -> Report:
    """Run one payload; a starved run once more, alone."""
    program = JudgedProgram(
        language=task.spec.language,
        source=source,
        submission_harness=bundle.in_process_harness() if in_process else bundle.submission_harness(),
        judge_harness=bundle.judge_harness(),
        payloads=(payload,),
    )
    report = await _one_run(backend, program, task.limits, deadline)
    if second_chance.is_due(report.submission, task.limits, deadline):
        async with second_chance.alone:
            report = await _one_run(backend, program, task.limits, deadline)
    return report


async def _one_run(backend: SandboxBackend, program: JudgedProgram, limits: Limits, deadline: Deadline) -> Report:
    report = Report()
    judge_limits = replace(limits, wall_time_s=limits.wall_time_s + JUDGE_GRACE_S)
    async with backend.run_judged(program, limits, judge_limits=judge_limits, deadline_s=deadline.remaining_s()) as execution:
        async for event in execution:
            if isinstance(event, JudgedTermination):
                report.ending = event
            else:
                report.read(json.loads(event.data))
    if report.ending is None:
        raise InfrastructureFault("the sandbox ended before it had run the tests")
    return report


def _take_tests(tally: Tally, report: Report) -> bool:
    """Add the reported tests; whether one failed."""
    failed = False
    for number, test in enumerate(report.tests):
        outcome = Outcome(test["outcome"])
        failed = failed or outcome is not Outcome.CORRECT
        last = number == len(report.tests) - 1 and report.done
        shown = report.submission if last else _without_output(report.submission)
        measured = replace(shown, cpu_s=test["cpu_s"], wall_s=test["wall_s"])
        tally.add(test_result(outcome, measured), readable(test["note"]))
    _take_signs(tally, report)
    return failed


def _take_load_failure(tally: Tally, report: Report) -> None:
    failure = report.load_failure
    assert failure is not None
    tally.add(test_result(Outcome(failure["outcome"]), report.submission), readable(failure["note"]))


def _take_ending(tally: Tally, report: Report) -> None:
    outcome, note = report.what_stopped_it()
    tally.add(test_result(outcome, report.submission), note)


def _take_signs(tally: Tally, report: Report) -> None:
    for sign in (*report.signs, *report.submission.tamper):
        tally.tamper[sign] += 1


def _may_be_innocent(report: Report, limits: Limits) -> bool:
    """Whether earlier cases in the same process may be the reason why this one met a limit."""
    ending = report.submission.ending
    if ending not in LIMIT_ENDINGS:
        return False
    spent_s = sum(test["wall_s"] for test in report.tests)
    return ending is Ending.MEMORY or spent_s > SPENT_SHARE * min(limits.cpu_time_s, limits.wall_time_s)


def _without_output(termination: Termination) -> Termination:
    return replace(termination, stdout=b"", stderr=b"")
