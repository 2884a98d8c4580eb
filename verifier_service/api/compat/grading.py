"""Grading for foreign protocols: patient, and never a number for what was not judged.

The clients behind these routes neither know `null` nor read Retry-After, and most count a failed request as a wrong
answer. So a full service is waited for, what our side broke is tried again until the deadline, and only then the request
fails as a whole, with the status that its client takes best (see docs/compatibility.md).

The work goes on when such a client hangs up: it will ask again, and then finds the verdicts in the cache.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from fastapi import Request
from fastapi.responses import Response

from verifier_protocol import CodeSpec, Group, GroupResult, UnscoredReason, UnscoredVerdict
from verifier_service.api.problems import RequestRefused, problem_response
from verifier_service.faults import Overloaded
from verifier_service.scoring.runs import Runs
from verifier_service.scoring.scorer import Scorer
from verifier_service.verifiers.base import SpecRefused

SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 5.0
PATIENCE_S = 40.0  # with faults of ours, for clients that ask again themselves


class Unscored(Exception):
    """Something was not judged, for no fault of the completion; `retryable` says whether asking again may help."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable

    def as_problem(self, retryable_status: int) -> Response:
        """The answer for a client that can't be told more: that status, or 422 when the task itself is broken."""
        if self.retryable:
            return problem_response(retryable_status, str(self), headers={"retry-after": "5"})
        return problem_response(422, f"the task can't be graded: {self}")


async def grade(
    request: Request, groups: Sequence[Group], deadline_s: float, size_bytes: int = 0, *, patience_s: float | None = None
) -> list[GroupResult]:
    """Results in the groups' order, every verdict of them scored.

    Args:
        deadline_s: seconds for all of it.
        patience_s: seconds within which faults of ours are tried again; the default is for clients that ask again.

    Raises:
        Unscored: one was not, within the deadline.
        RequestRefused: 422; a spec that this deployment refuses.
    """
    scorer: Scorer = request.app.state.parts.scorer
    runs: Runs = request.app.state.parts.runs
    if not runs.languages() and any(isinstance(spec, CodeSpec) for group in groups for spec in group.verifiers):
        raise Unscored(runs.unavailable, retryable=True)  # waiting brings no sandbox
    end = time.monotonic() + deadline_s
    last_try = time.monotonic() + min(deadline_s, PATIENCE_S if patience_s is None else patience_s)
    results: list[GroupResult | None] = [None] * len(groups)
    pause_s = SHORTEST_PAUSE_S
    while True:
        todo = [i for i, result in enumerate(results) if result is None]
        fault = Unscored("the service had no room for this request in time", retryable=True)
        try:
            answer = await scorer.score([groups[i] for i in todo], max(0.01, end - time.monotonic()), size_bytes)
            admitted = True
        except Overloaded:
            admitted = False
        except SpecRefused as e:
            field = e.field.partition(".verifiers[")[2].partition("].")[2]
            raise RequestRefused(422, f"{field}: {e}", field) from None
        else:
            found = [_fault_of(result) for result in answer.groups]
            for i, result, why in zip(todo, answer.groups, found, strict=True):
                if why is None:
                    results[i] = result
            faults = [why for why in found if why is not None]
            if not faults:
                return [result for result in results if result is not None]
            fault = next((why for why in faults if not why.retryable), faults[0])
        if not fault.retryable or time.monotonic() + pause_s >= (last_try if admitted else end):
            raise fault
        await asyncio.sleep(pause_s)
        pause_s = min(LONGEST_PAUSE_S, pause_s * 2)


def _fault_of(result: GroupResult) -> Unscored | None:
    """Why a group has an unscored verdict; one that no second try can mend comes first."""
    unscored = [v for row in result.verdicts for v in row if isinstance(v, UnscoredVerdict)]
    unscored.sort(key=lambda v: v.reason is not UnscoredReason.BAD_TASK)
    return Unscored(unscored[0].detail or unscored[0].reason.value, retryable=unscored[0].retryable) if unscored else None
