"""Tests of the style `function` for languages other than Python: a driver of the language around the submission.

Arguments go in on stdin, a line of JSON a case; results come out behind a mark on stdout, and are compared here, as
Python's are. A reply *is* the answer: the driver holds nothing but the arguments, so forging its replies gains nothing.

The cases of a submission go to one process together, within the limits of one case, since starting a runtime may cost
more than a hundred calls. But a case is failed only by a process that it was first in: what goes wrong later, where an
earlier case may be the reason, is run again by itself; a wrong answer several times, lest a guess have a second try.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from verifier_protocol import FunctionTests, Outcome, TestResult
from verifier_service.faults import InfrastructureFault
from verifier_service.sandbox.contract import MIB, Program, SandboxBackend, Termination
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.drivers import Assembled, Call, assembled
from verifier_service.verifiers.code.harness.agree import agrees
from verifier_service.verifiers.code.host import SecondChance
from verifier_service.verifiers.code.results import Tally, failure_of, how_it_ended, readable, test_result
from verifier_service.verifiers.code.task import CodeTask

TOGETHER_BYTES, TOGETHER_CASES = 2 * MIB, 500  # that go to one process
RUNS_AFTER_A_WRONG_ANSWER = 3  # by itself, which must all be right
MOST_GROUPS = 8  # processes that take cases together; what is left after them has a process a case
# A right answer may be written longer than what is expected, 0.30000000000000004 for .3, but not without bound.
LONGER, SLACK_BYTES = 64, 4096
NOTE_CHARS = 500
MARK = b"\n\x1everifier-driver "
_REPLY = re.compile(rb"([0-9]{1,6}) (answer|unwritable|failed|compile) ([^\n]*)\n")
FORGED = "wrote a reply in the driver's place"


class Judged(NamedTuple):
    """What became of one case."""

    result: TestResult
    note: str = ""
    tamper: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.result.outcome is Outcome.CORRECT


@dataclass(slots=True)
class Replies:
    """What a process said: for each case, by its place on stdin, the kind of the reply, its JSON, and what was printed before."""

    found: dict[int, tuple[str, bytes, bytes]] = field(default_factory=dict)
    rest: bytes = b""  # printed after the last reply
    forged: bool = False


def replies_in(stdout: bytes) -> Replies:
    """Find the replies; the last one counts where a case has several."""
    replies = Replies()
    printed, *parts = stdout.split(MARK)
    for part in parts:
        reply = _REPLY.match(part)
        if reply is None:
            printed += MARK + part
            continue
        number = int(reply[1])
        replies.forged = replies.forged or number != len(replies.found)
        replies.found[number] = (reply[2].decode(), reply[3], printed)
        printed = part[reply.end() :]
    replies.rest = printed
    return replies


async def run_driven(
    backend: SandboxBackend, task: CodeTask, source: str, deadline: Deadline, second_chance: SecondChance
) -> Tally:
    """Run the cases in order.

    Raises:
        InfrastructureFault: the sandbox ended without a word.
        SandboxFault, SlotWaitTimeout, ProgramRefused: from the backend.
    """
    tests = task.spec.tests
    assert isinstance(tests, FunctionTests)
    run = _Run(backend, task, tests, _program(task, tests, source), deadline, second_chance)
    tally = Tally(total=len(tests.cases))
    groups = 0
    while (case := len(tally.results)) < tally.total:
        if case in run.judged:
            found = run.judged[case]
            tally.add(found.result, found.note, found.tamper)
            ends = found.result.outcome is Outcome.COMPILE_ERROR
            if ends or (not found.passed and task.spec.stops_on_failure):
                break
            continue
        if case in run.doubtful or groups >= MOST_GROUPS:
            await run.alone(case, all_that_is_left=groups >= MOST_GROUPS)
        else:
            groups += MOST_GROUPS if await run.together(case) else 1
    return tally


def _program(task: CodeTask, tests: FunctionTests, source: str) -> Assembled:
    arities = tuple(sorted({len(case.args) for case in tests.cases}))
    call = Call(tests.entry_point, tests.inplace_arg, arities, task.shapes)
    return assembled(task.spec.language, source, call)


class _Run:
    """The cases of one submission: which are judged, and which failed behind others and are to be run by themselves."""

    def __init__(
        self,
        backend: SandboxBackend,
        task: CodeTask,
        tests: FunctionTests,
        program: Assembled,
        deadline: Deadline,
        second_chance: SecondChance,
    ) -> None:
        self.judged: dict[int, Judged] = {}
        self.doubtful: set[int] = set()
        self.answered_wrong: set[int] = set()  # of the doubtful
        self._backend = backend
        self._task = task
        self._tests = tests
        self._program = program
        self._deadline = deadline
        self._second_chance = second_chance

    async def together(self, first: int) -> bool:
        """Give one process the cases from `first` on; whether a limit ended it, so that the rest had better be apart."""
        stdins = self._task.stdins
        last, size = first, 0
        while last < len(stdins) and last not in self.judged and last - first < TOGETHER_CASES and size <= TOGETHER_BYTES:
            size += len(stdins[last])
            last += 1
        (end,) = await self._run([b"".join(stdins[first:last])], lambda _: False)
        replies = replies_in(end.stdout)
        for place, case in enumerate(range(first, last)):
            await asyncio.sleep(0)  # results may be large: let the loop breathe between comparisons
            found = self._judge(case, end, replies, place)
            if found.passed or place == 0:
                self.judged[case] = found
            else:
                self.doubtful.add(case)
                self.answered_wrong |= {case} if place in replies.found else set()
            if place not in replies.found:
                return place > 0 and failure_of(end) not in (None, Outcome.RUNTIME_ERROR)
        return False

    async def alone(self, first: int, *, all_that_is_left: bool) -> None:
        """Run the case in a process of its own; others that are to be run so, too, as far as they are wanted."""
        cases = [case for case in range(first, len(self._task.stdins)) if case not in self.judged]
        stops = self._task.spec.stops_on_failure
        if not all_that_is_left:
            cases = [first] if stops else [case for case in cases if case in self.doubtful]
        runs = [case for case in cases for _ in range(RUNS_AFTER_A_WRONG_ANSWER if case in self.answered_wrong else 1)]
        waiting = iter(runs)

        def take(end: Termination) -> bool:
            case = next(waiting)
            if case not in self.judged or self.judged[case].passed:
                self.judged[case] = self._judge(case, end, replies_in(end.stdout), 0)
            return stops and not self.judged[case].passed

        await self._run([self._task.stdins[case] for case in runs], take)

    async def _run(self, stdins: Sequence[bytes], take: Callable[[Termination], bool]) -> list[Termination]:
        """Terminations of a process for each of these, up to the one that `take` says is the last. A starved one is run
        once more, alone, and is then the last, too."""
        ends: list[Termination] = []
        program = Program(self._task.spec.language, self._program.source, stdins=tuple(stdins), files=self._program.files)
        limits = self._task.limits
        starved = False
        async with self._backend.run(program, limits, deadline_s=self._deadline.remaining_s()) as execution:
            async for end in execution:
                starved = self._second_chance.is_due(end, limits, self._deadline)
                if starved:
                    break
                ends.append(end)
                if take(end):
                    break
                await asyncio.sleep(0)
        if starved:
            async with self._second_chance.alone:
                once = replace(program, stdins=program.stdins[len(ends) : len(ends) + 1])
                async with self._backend.run(once, limits, deadline_s=self._deadline.remaining_s()) as execution:
                    async for end in execution:
                        ends.append(end)
                        take(end)
        if not ends:
            raise InfrastructureFault("the sandbox ended before it had run the tests")
        return ends

    def _judge(self, case: int, end: Termination, replies: Replies, place: int) -> Judged:
        outcome, note = self._outcome(case, end, replies, place)
        answered = place in replies.found
        printed = replies.found[place][2] if answered else replies.rest
        share = max(1, len(replies.found) + (not answered))
        own = replace(end, stdout=printed, cpu_s=end.cpu_s / share, wall_s=end.wall_s / share)
        if outcome is Outcome.CORRECT:
            own = replace(own, stderr=b"")  # of all cases of its process
        signs = (*end.tamper, FORGED) if replies.forged else end.tamper
        return Judged(test_result(outcome, own), note, signs if place == 0 else ())

    def _outcome(self, case: int, end: Termination, replies: Replies, place: int) -> tuple[Outcome, str]:
        if place not in replies.found:
            failure = failure_of(end)
            if failure is not None:
                return failure, how_it_ended(end)
            return Outcome.RUNTIME_ERROR, "the program ended before it had answered"
        kind, text, _ = replies.found[place]
        if kind == "answer":
            return self._compared(case, text)
        outcomes = {"unwritable": Outcome.INCORRECT, "failed": Outcome.RUNTIME_ERROR, "compile": Outcome.COMPILE_ERROR}
        return outcomes[kind], _note(text)

    def _compared(self, case: int, text: bytes) -> tuple[Outcome, str]:
        if len(text) > LONGER * len(self._task.expected[case]) + SLACK_BYTES:
            return Outcome.INCORRECT, "the result is far too long"
        try:
            got = json.loads(text.decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError):
            return Outcome.INCORRECT, "the result is no JSON"
        tests = self._tests
        right = agrees(tests.cases[case].expected, got, tests.float_tol, tests.rel_tol)
        return (Outcome.CORRECT if right else Outcome.INCORRECT), ""


def _note(text: bytes) -> str:
    """A driver's words, or whatever the submission put in their place."""
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return readable(words[:NOTE_CHARS]) if isinstance(words, str) else ""
