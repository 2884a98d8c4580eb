"""Tests of the style `stdin`: input in, output out, compared here. Expected outputs never leave this process.

All cases go to one slot in one exchange. A wrong answer under stop-on-failure leaves the execution early, which kills
what still runs and gives the slot back.
"""

from __future__ import annotations

import asyncio
import enum

from verifier_protocol import Outcome, StdinTests
from verifier_service.sandbox.contract import MIB, Program, SandboxBackend, Termination
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.checker import checked
from verifier_service.verifiers.code.compare import Difference, difference
from verifier_service.verifiers.code.host import SecondChance
from verifier_service.verifiers.code.results import Tally, failure_of, how_it_ended, test_result
from verifier_service.verifiers.code.task import CodeTask

LARGE_BYTES = 1 << 16  # an output whose comparison takes a while
WAITING_BYTES = 32 * MIB  # outputs held for a checker


class Next(enum.Enum):
    """What is to be done after a run of some cases."""

    DONE = enum.auto()
    MORE = enum.auto()  # run the rest
    ALONE = enum.auto()  # the next case may have been starved of CPU: run it once more, alone


async def run_stdin(
    backend: SandboxBackend, task: CodeTask, source: str, deadline: Deadline, second_chance: SecondChance
) -> Tally:
    """Run the cases in order and compare each output with what is expected.

    Raises:
        SandboxFault, SlotWaitTimeout, ProgramRefused: from the backend.
    """
    tally = Tally(total=len(task.stdins))
    while len(tally.results) < tally.total:
        done = len(tally.results)
        then = await _run_from(backend, task, source, tally, deadline, second_chance)
        if then is Next.DONE:
            break
        if then is Next.ALONE:
            async with second_chance.alone:
                await _run_one(backend, task, source, tally, deadline)
        if len(tally.results) == done or _stops(task, tally):
            break
    return tally


async def _run_from(
    backend: SandboxBackend, task: CodeTask, source: str, tally: Tally, deadline: Deadline, second_chance: SecondChance
) -> Next:
    """Run what is left, or as much of it as is judged at once."""
    first = len(tally.results)
    program = Program(task.spec.language, source, stdins=task.stdins[first:], stop_on_error=task.spec.stops_on_failure)
    waiting: list[Termination] = []  # for a checker, which runs when the slot has been given back
    outcome = Next.DONE
    async with backend.run(program, task.limits, deadline_s=deadline.remaining_s()) as execution:
        async for termination in execution:
            if second_chance.is_due(termination, task.limits, deadline):
                outcome = Next.ALONE
                break
            if task.checker is not None:
                waiting.append(termination)
                if sum(len(item.stdout) for item in waiting) > WAITING_BYTES:
                    outcome = Next.MORE
                    break
                continue
            _judge(task, tally, termination)
            if _stops(task, tally):
                break
            if len(termination.stdout) > LARGE_BYTES:
                await asyncio.sleep(0)  # let the loop breathe between comparisons
    for termination in waiting:
        await _check(backend, task, tally, termination, deadline)
        if _stops(task, tally):
            return Next.DONE
    return outcome


async def _run_one(backend: SandboxBackend, task: CodeTask, source: str, tally: Tally, deadline: Deadline) -> None:
    number = len(tally.results)
    program = Program(task.spec.language, source, stdins=task.stdins[number : number + 1])
    async with backend.run(program, task.limits, deadline_s=deadline.remaining_s()) as execution:
        terminations = [termination async for termination in execution]
    for termination in terminations:
        await _check(backend, task, tally, termination, deadline)


async def _check(backend: SandboxBackend, task: CodeTask, tally: Tally, termination: Termination, deadline: Deadline) -> None:
    """Judge one case, by the task's checker if it has one."""
    if task.checker is None or failure_of(termination) is not None:
        _judge(task, tally, termination)
        return
    number = len(tally.results)
    found = await checked(
        backend,
        task.checker,
        task.checker_limits,
        given=task.stdins[number],
        expected=task.expected[number],
        actual=termination.stdout,
        deadline=deadline,
    )
    _add(tally, termination, found)


def _judge(task: CodeTask, tally: Tally, termination: Termination) -> None:
    tests = task.spec.tests
    assert isinstance(tests, StdinTests)
    outcome = failure_of(termination)
    if outcome is not None:
        tally.add(test_result(outcome, termination), how_it_ended(termination), termination.tamper)
        return
    _add(tally, termination, difference(termination.stdout, task.expected[len(tally.results)], tests.compare))


def _add(tally: Tally, termination: Termination, found: Difference | None) -> None:
    outcome = Outcome.CORRECT if found is None else Outcome.INCORRECT
    tally.add(test_result(outcome, termination), "" if found is None else found.where, termination.tamper)


def _stops(task: CodeTask, tally: Tally) -> bool:
    """Whether the rest need not run: on failure where asked for, and after a compile error in any case."""
    last = tally.results[-1].outcome
    return last is Outcome.COMPILE_ERROR or (last is not Outcome.CORRECT and task.spec.stops_on_failure)
