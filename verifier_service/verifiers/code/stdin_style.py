"""Tests of the style `stdin`: input in, output out, compared here. Expected outputs never leave this process.

All cases go to one slot in one exchange. A wrong answer under stop-on-failure leaves the execution early, which kills
what still runs and gives the slot back.
"""

from __future__ import annotations

import asyncio

from verifier_protocol import Outcome, StdinTests
from verifier_service.sandbox.contract import Program, SandboxBackend, Termination
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.compare import difference
from verifier_service.verifiers.code.host import SecondChance
from verifier_service.verifiers.code.results import Tally, failure_of, how_it_ended, test_result
from verifier_service.verifiers.code.task import CodeTask


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
        starved = await _run_from(backend, task, source, tally, deadline, second_chance)
        if not starved:
            break
        async with second_chance.alone:
            await _run_one(backend, task, source, tally, deadline)
        if len(tally.results) == done or _stops(task, tally):
            break
    return tally


async def _run_from(
    backend: SandboxBackend, task: CodeTask, source: str, tally: Tally, deadline: Deadline, second_chance: SecondChance
) -> bool:
    """Run what is left; True when it stopped before a case whose time-out must be looked at once more."""
    stop = task.spec.stops_on_failure
    program = Program(task.spec.language, source, stdins=task.stdins[len(tally.results) :], stop_on_error=stop)
    async with backend.run(program, task.limits, deadline_s=deadline.remaining_s()) as execution:
        async for termination in execution:
            if second_chance.is_due(termination, task.limits):
                return True
            _judge(task, tally, termination)
            if _stops(task, tally):
                return False
            await asyncio.sleep(0)  # outputs may be large: let the loop breathe between comparisons
    return False


async def _run_one(backend: SandboxBackend, task: CodeTask, source: str, tally: Tally, deadline: Deadline) -> None:
    number = len(tally.results)
    program = Program(task.spec.language, source, stdins=task.stdins[number : number + 1])
    async with backend.run(program, task.limits, deadline_s=deadline.remaining_s()) as execution:
        async for termination in execution:
            _judge(task, tally, termination)


def _judge(task: CodeTask, tally: Tally, termination: Termination) -> None:
    tests = task.spec.tests
    assert isinstance(tests, StdinTests)
    outcome, note = failure_of(termination), how_it_ended(termination)
    if outcome is None:
        found = difference(termination.stdout, task.expected[len(tally.results)], tests.compare)
        outcome = Outcome.CORRECT if found is None else Outcome.INCORRECT
        note = "" if found is None else found.where
    tally.add(test_result(outcome, termination), note, termination.tamper)


def _stops(task: CodeTask, tally: Tally) -> bool:
    """Whether the rest need not run: on failure where asked for, and after a compile error in any case."""
    last = tally.results[-1].outcome
    return last is Outcome.COMPILE_ERROR or (last is not Outcome.CORRECT and task.spec.stops_on_failure)
