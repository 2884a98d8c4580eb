"""Tests of the style `interactive`: the submission talks to a program of the task, see `harness.interactive_judge`.

The interactor runs in the judge's process, beside the submission and under another user, and they share two pipes and
nothing else. Its exit status 0 accepts, and then the submission must end well, too. Who is to blame: an interactor that
fails before it reads anything of the submission fails for every submission, so the task is broken. From then on all counts
against the submission, but for a name or a module that the interactor uses and has not.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from verifier_protocol import InteractiveCase, InteractiveTests, Outcome
from verifier_service.faults import InfrastructureFault, TaskFault
from verifier_service.sandbox.contract import (
    MIB,
    Ending,
    JudgedProgram,
    JudgedTermination,
    JudgeFrame,
    Limits,
    SandboxBackend,
    Termination,
)
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.harness import bundle
from verifier_service.verifiers.code.host import SecondChance
from verifier_service.verifiers.code.results import Tally, failure_of, how_it_ended, test_result
from verifier_service.verifiers.code.task import CodeTask

INTERACTOR_LANGUAGES = ("python",)
JUDGE_GRACE_S = 3.0  # the interactor outlives the submission's wall limit, to see its output end
IDLE_S = 2.0  # that a submission may sleep, with all its threads and children, while the interactor waits for it
EXCHANGE_BYTES = 16 * MIB  # of payloads that go to a slot at once
WAITED_SHARE, IDLE_SHARE = 0.5, 0.1  # of the wall time: a wait so long, beside so little work, was on both sides
HOG_SHARE = 0.5  # of the memory that both share: who has taken more is to blame for its end
JUDGE_LIMITS = {
    Ending.CPU_TIME: Outcome.TIME_LIMIT_EXCEEDED,
    Ending.WALL_TIME: Outcome.TIME_LIMIT_EXCEEDED,
    Ending.MEMORY: Outcome.MEMORY_LIMIT_EXCEEDED,
}


@dataclass(slots=True)
class Conversation:
    """What the judge said of one case. `decided` is its last word: what the interactor decided, if it got so far."""

    met: dict[str, Any] | None = None
    listens: bool = False
    fills: bool = False
    flooded: bool = False
    idle: dict[str, Any] | None = None
    decided: dict[str, Any] | None = None
    tail: bytes = b""

    def read(self, frame: dict[str, Any]) -> None:
        """Take in one frame. Raises TaskFault when the interactor does not compile."""
        match frame["kind"]:
            case "bad_task":
                raise TaskFault(frame["detail"])
            case "met":
                self.met = frame
            case "listens":
                self.listens = True
            case "fills":
                self.fills = True
            case "flooded":
                self.flooded = True
            case "idle":
                self.idle = frame
            case "ended":
                self.decided = frame
        self.tail = frame["tail"].encode("latin-1") if "tail" in frame else self.tail

    def outcome(self, end: JudgedTermination, memory_mb: int) -> tuple[Outcome, str]:
        """The case's outcome and a word on it; `memory_mb` is what both may use together.

        Raises:
            TaskFault: the interactor is broken.
            InfrastructureFault: the judge's process failed.
        """
        submission, failure = end.submission, _failure_of(end.submission)
        if self.met is None:
            if failure is not None and submission.ending is not Ending.EXITED:
                return failure, how_it_ended(submission)  # in its compilation, which took the judge with it
            raise InfrastructureFault(f"the judge failed: {end.judge.ending}, {how_it_ended(end.judge)}")
        if not self.met["compiles"]:
            return Outcome.COMPILE_ERROR, ""
        if self.met["left"]:
            return failure or Outcome.RUNTIME_ERROR, how_it_ended(submission)
        if self.flooded:
            return Outcome.OUTPUT_LIMIT_EXCEEDED, ""
        if self.idle is not None:
            return Outcome.TIME_LIMIT_EXCEEDED, _waiting(self.idle)
        if self.decided is None:
            return self._without_decision(end.judge, submission, memory_mb)
        self._check_interactor(self.decided)
        if self.decided["accepted"]:
            return (Outcome.CORRECT, "") if failure is None else (failure, self._after_acceptance(submission))
        by_itself = submission.ending in (Ending.EXITED, Ending.SIGNALLED)  # perhaps of the interactor's leaving
        if not self.decided["at_the_end"] and (failure is None or by_itself):
            return Outcome.INCORRECT, "the interactor does not accept it" + _raised(self.decided)
        if failure is not None:
            waited = submission.ending is Ending.WALL_TIME and self._both_waited(self.decided, submission)
            return failure, _waiting(self.decided) if waited else how_it_ended(submission)
        return Outcome.INCORRECT, "its output ended before the interactor accepted it"

    def _check_interactor(self, decided: dict[str, Any]) -> None:
        raised = decided["raised"]
        if raised is not None and (raised["own_mistake"] or not self.listens):
            when = "" if self.listens else " before it read anything of the program"
            raise TaskFault(f"the task's interactor failed{when}{_raised(decided)}")
        if not self.listens:
            how = "accepts" if decided["accepted"] else "rejects"
            raise TaskFault(f"the task's interactor {how} without reading anything of the program")

    def _without_decision(self, judge: Termination, submission: Termination, memory_mb: int) -> tuple[Outcome, str]:
        """The interactor's process ended in another way than by the end of its program."""
        hog = judge.ending is Ending.MEMORY and judge.memory_mb > HOG_SHARE * memory_mb
        waits = judge.ending is Ending.WALL_TIME and self.fills  # for the program to read
        if not self.listens and not waits and (hog or judge.ending in (Ending.CPU_TIME, Ending.WALL_TIME)):
            raise TaskFault("the task's interactor came to its limits before it read anything of the program")
        if (failure := _failure_of(submission)) is not None:
            return failure, how_it_ended(submission)
        if judge.ending is Ending.SIGNALLED and (not self.listens or judge.signal == signal.SIGKILL):
            raise InfrastructureFault(f"the judge failed: {how_it_ended(judge)}")
        if not self.listens and not waits:
            raise TaskFault("the task's interactor left before it read anything of the program")
        if judge.ending in JUDGE_LIMITS:
            return JUDGE_LIMITS[judge.ending], "the interactor came to its own limit with this program"
        if judge.ending is Ending.EXITED and judge.exit_code == 0:
            return Outcome.CORRECT, ""
        return Outcome.INCORRECT, "the interactor does not accept it"

    def _after_acceptance(self, submission: Termination) -> str:
        how = how_it_ended(submission)
        return "the interactor had accepted it" + (f"; {how}" if how else "")

    def _both_waited(self, decided: dict[str, Any], submission: Termination) -> bool:
        """Whether a program that ran out of time was likely waiting as long as the interactor was."""
        idle = submission.cpu_s < IDLE_SHARE * submission.wall_s
        return idle and bool(decided["waited_s"] > WAITED_SHARE * submission.wall_s)


async def run_interactive(
    backend: SandboxBackend, task: CodeTask, source: str, deadline: Deadline, second_chance: SecondChance
) -> Tally:
    """Run the cases in order, each with a fresh pair of processes; the limits are each one's.

    Raises:
        TaskFault, InfrastructureFault: see the module's rule.
        SandboxFault, SlotWaitTimeout, ProgramRefused: from the backend.
    """
    tests = task.spec.tests
    assert isinstance(tests, InteractiveTests)
    tally = Tally(total=len(tests.cases))
    while len(tally.results) < tally.total:
        done = len(tally.results)
        payloads = _payloads(tests, tests.cases[done:], task.limits)
        starved = await _run(backend, task, source, payloads, tally, deadline, second_chance)
        if starved:
            payload = payloads[len(tally.results) - done]
            async with second_chance.alone:
                await _run(backend, task, source, [payload], tally, deadline, None)
        if len(tally.results) == done or _stops(task, tally):
            break
    return tally


async def _run(
    backend: SandboxBackend,
    task: CodeTask,
    source: str,
    payloads: Sequence[bytes],
    tally: Tally,
    deadline: Deadline,
    second_chance: SecondChance | None,
) -> bool:
    """Run some cases; whether the next one was starved of CPU and should be run once more, alone."""
    program = JudgedProgram(
        language=task.spec.language,
        source=source,
        submission_harness=bundle.interactive_submission_harness(),
        judge_harness=bundle.judge_harness(),
        payloads=tuple(payloads),
        stop_on_error=task.spec.stops_on_failure,
    )
    limits = task.limits
    conversation = Conversation()
    async with backend.run_judged(
        program, limits, judge_limits=_judge_limits(limits, payloads), deadline_s=deadline.remaining_s()
    ) as execution:
        async for event in execution:
            if isinstance(event, JudgeFrame):
                conversation.read(json.loads(event.data))
                continue
            if second_chance is not None and second_chance.is_due(event.submission, limits, deadline):
                return True
            _take(tally, conversation, event, limits.memory_mb)
            if _stops(task, tally):
                break
            conversation = Conversation()
            await asyncio.sleep(0)
    return False


def _take(tally: Tally, conversation: Conversation, end: JudgedTermination, memory_mb: int) -> None:
    outcome, note = conversation.outcome(end, memory_mb)
    said = replace(end.submission, stdout=conversation.tail)
    tally.add(test_result(outcome, said), note, end.submission.tamper)


def _payloads(tests: InteractiveTests, cases: Sequence[InteractiveCase], limits: Limits) -> list[bytes]:
    """The first cases, as many as go to a slot at once."""
    payloads: list[bytes] = []
    size = 0
    for case in cases:
        payload = {
            "style": "interactive",
            "interactor": tests.interactor.source,
            "stdin": case.stdin,
            "expected": case.expected_stdout,
            "output_bytes": limits.output_bytes,
            "idle_s": IDLE_S,
        }
        payloads.append(json.dumps(payload).encode())
        size += len(payloads[-1])
        if size > EXCHANGE_BYTES:
            break
    return payloads


def _judge_limits(limits: Limits, payloads: Sequence[bytes]) -> Limits:
    """The submission's, with time to see its end and room for the files that the interactor is given."""
    return replace(
        limits,
        wall_time_s=limits.wall_time_s + JUDGE_GRACE_S,
        file_bytes=max(limits.file_bytes, *map(len, payloads)),
    )


def _stops(task: CodeTask, tally: Tally) -> bool:
    """Whether the rest need not run: on failure where asked for, and after a compile error in any case."""
    last = tally.results[-1].outcome if tally.results else Outcome.CORRECT
    return last is Outcome.COMPILE_ERROR or (last is not Outcome.CORRECT and task.spec.stops_on_failure)


def _failure_of(submission: Termination) -> Outcome | None:
    return None if submission.ending is Ending.STOPPED else failure_of(submission)


def _waiting(frame: dict[str, Any]) -> str:
    """Of a deadlock: the usual reason is a program's buffer."""
    got = frame["received"]
    since = f"nothing came after {got} bytes of output" if got else "no output came"
    return f"the interactor waited {frame['waited_s']:.1f} s and {since}; output must be flushed before input is awaited"


def _raised(decided: dict[str, Any]) -> str:
    """The exception that ended the interactor: class and line, since its text may show what was expected."""
    raised = decided["raised"]
    if raised is None:
        return ""
    return f": {raised['name']}" + (f" in its line {raised['line']}" if raised["line"] else "")
