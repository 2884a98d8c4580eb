"""Special judges: a program of the task that decides whether an output is right.

It runs in a slot run of its own, after the submission's has been given back, so the two never meet and one slot is
enough. It finds `input.txt`, `expected.txt` and `actual.txt` in its work folder, and their names, in this order, as its
arguments; exit status 0 accepts, any other way to end does not. Nothing that it prints is passed on, since it may quote
what was expected.
"""

from __future__ import annotations

from dataclasses import replace

from verifier_protocol import Checker, Outcome
from verifier_service.faults import InfrastructureFault, TaskFault
from verifier_service.sandbox.contract import MIB, Ending, Limits, Program, SandboxBackend
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.compare import Difference
from verifier_service.verifiers.code.results import failure_of

INPUT, EXPECTED, ACTUAL = "input.txt", "expected.txt", "actual.txt"


async def checked(
    backend: SandboxBackend, checker: Checker, limits: Limits, *, given: bytes, expected: bytes, actual: bytes, deadline: Deadline
) -> Difference | None:
    """None when the checker accepts, else why not.

    Raises:
        TaskFault: the checker doesn't compile.
        SandboxFault, SlotWaitTimeout, ProgramRefused: from the backend.
    """
    program = Program(
        checker.language,
        checker.source,
        args=(INPUT, EXPECTED, ACTUAL),
        files=((INPUT, given), (EXPECTED, expected), (ACTUAL, actual)),
        files_are_data=True,
    )
    roomy = replace(limits, file_bytes=max(limits.file_bytes, len(given) + len(expected) + len(actual) + MIB))
    async with backend.run(program, roomy, deadline_s=deadline.remaining_s()) as execution:
        terminations = [termination async for termination in execution]
    if not terminations:
        raise InfrastructureFault("the sandbox ended before it had run the checker")
    (termination,) = terminations
    if termination.ending is Ending.COMPILE_ERROR:
        raise TaskFault("the task's checker does not compile")
    failure = failure_of(termination)
    if failure is None:
        return None
    return Difference("the checker does not accept it" + ("" if failure is Outcome.RUNTIME_ERROR else f": {failure}"))
