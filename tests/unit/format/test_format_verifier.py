"""The format verifier as the scorer sees it."""

from __future__ import annotations

import pytest

from verifier_protocol import FormatSpec, Outcome
from verifier_service.faults import DeadlineExceeded
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.format.verifier import FormatVerifier


async def test_a_completion_in_the_format_scores_one_and_any_other_zero() -> None:
    verifier = FormatVerifier()
    await verifier.canary()
    task = verifier.prepare(FormatSpec(kind="format", style="think_answer"))
    right = await verifier.verify(task, "<think>x</think><answer>4</answer>", Deadline.after(5))
    wrong = await verifier.verify(task, "<answer>4</answer>", Deadline.after(5))
    assert (right.score, right.outcome, right.extracted) == (1.0, Outcome.CORRECT, "4")
    assert (wrong.score, wrong.outcome) == (0.0, Outcome.MALFORMED_ANSWER)


async def test_after_the_deadline_nothing_is_scored() -> None:
    with pytest.raises(DeadlineExceeded):
        await FormatVerifier().verify(FormatSpec(kind="format"), "<think>x</think>\\boxed{1}", Deadline.after(-1))
