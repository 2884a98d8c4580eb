"""ScaleBox's special judges: a program of the task's that says whether an output is right.

As upstream, it is asked only where the output isn't the expected one, finds `stdin.txt`, `stdout.txt` (expected) and
`answer.txt` (the submission's output) beside it, and accepts with exit status 0. It runs in a sandbox of its own, after the
submission's: the expected output meets the judge alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from verifier_protocol import Compare, Outcome, TestResult
from verifier_service.api.compat.grading import Unscored
from verifier_service.sandbox.contract import MIB, Ending
from verifier_service.scoring.flights import Run
from verifier_service.scoring.runs import Runs
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.compare import difference
from verifier_service.verifiers.code.results import failure_of, test_result


async def judge_all(
    runs: Runs,
    run: Run,
    cases: Sequence[tuple[bytes, bytes]],
    judge: Run,
    compare: Compare,
    deadline: Deadline,
    *,
    run_all: bool,
) -> list[TestResult]:
    """One result for each case of (stdin, expected output), up to the first failure unless `run_all`.

    Raises:
        DeadlineExceeded, InfrastructureFault, ProgramRefused: as `Runs.run`; then nothing is known.
        Unscored: the judge doesn't compile.
    """
    results = await asyncio.gather(*(_judged(runs, run, case, judge, compare, deadline) for case in cases))
    if run_all:
        return list(results)
    first = next((i for i, result in enumerate(results) if result.outcome is not Outcome.CORRECT), len(results))
    return list(results[: first + 1])


async def _judged(
    runs: Runs, run: Run, case: tuple[bytes, bytes], judge: Run, compare: Compare, deadline: Deadline
) -> TestResult:
    stdin, expected = case
    ended = await runs.run(replace(run, stdin=stdin), deadline)
    failure = failure_of(ended)
    if failure is not None:
        return test_result(failure, ended)
    if difference(ended.stdout, expected, compare) is None:
        return test_result(Outcome.CORRECT, ended)
    files = (("stdin.txt", stdin), ("stdout.txt", expected), ("answer.txt", ended.stdout))
    size = sum(len(data) for _, data in files)
    limits = replace(judge.limits, file_bytes=max(judge.limits.file_bytes, size + MIB))
    opinion = await runs.run(replace(judge, files=files, files_are_data=True, limits=limits), deadline)
    if opinion.ending is Ending.COMPILE_ERROR:
        raise Unscored("the special judge does not compile", retryable=False)
    accepted = failure_of(opinion) is None
    return test_result(Outcome.CORRECT if accepted else Outcome.INCORRECT, ended)
