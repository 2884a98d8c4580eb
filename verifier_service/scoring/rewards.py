"""From a group's verdicts to its rewards and statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence

from verifier_protocol import GroupResult, GroupStats, ScoredVerdict, Verdict


def reward_of(verdicts: Sequence[Verdict], weights: Sequence[float]) -> float | None:
    """The weighted sum of a completion's scores; None as soon as one verifier left it unscored."""
    terms = []
    for verdict, weight in zip(verdicts, weights, strict=True):
        if not isinstance(verdict, ScoredVerdict):
            return None
        terms.append(weight * verdict.score)
    return math.fsum(terms)


def group_result(group_id: str | None, verdicts: list[list[Verdict]], weights: Sequence[float]) -> GroupResult:
    """Args: verdicts: [completion][verifier]; weights: [verifier]."""
    rewards = [reward_of(row, weights) for row in verdicts]
    known = [r for r in rewards if r is not None]
    full = sum(all(isinstance(v, ScoredVerdict) and v.score == 1.0 for v in row) for row in verdicts)
    mean = math.fsum(known) / len(known) if known else None
    stats = GroupStats(
        mean=mean,
        std=math.sqrt(math.fsum((r - mean) ** 2 for r in known) / len(known)) if mean is not None else None,
        pass_rate=full / len(known) if known else None,
        unscored=len(rewards) - len(known),
        zero_variance=bool(known) and max(known) == min(known),
    )
    return GroupResult(id=group_id, rewards=rewards, verdicts=verdicts, stats=stats)
