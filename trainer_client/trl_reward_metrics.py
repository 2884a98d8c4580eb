"""What one step's verdicts say, as numbers and words for a training log. Golds and tests are never in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trainer_client.answers import ScoredGroup
from trainer_client.rewards import flat_verdicts
from verifier_protocol import ScoredVerdict, UnscoredReason, UnscoredVerdict, Verdict

PREFIX = "verifier"


@dataclass(frozen=True, slots=True)
class BatchReport:
    """`completions = failed + bad_tasks + scored`; `outcomes` has one short text per completion."""

    results: list[ScoredGroup]
    weights: list[list[float]]
    completions: int
    failed: int
    bad_tasks: int
    first_failure: str
    first_bad_task: str
    metrics: dict[str, float]
    outcomes: list[str]


def describe_batch(groups: Sequence[dict[str, Any]], results: list[ScoredGroup], seconds: float) -> BatchReport:
    rows = flat_verdicts(results)
    failures = [bad for row in rows if (bad := _failure(row)) is not None]
    bad_tasks = [verdict for verdict in failures if verdict.reason is UnscoredReason.BAD_TASK]
    others = [verdict for verdict in failures if verdict.reason is not UnscoredReason.BAD_TASK]
    weights = [[_weight(spec) for spec in group["verifiers"]] for group in groups]
    return BatchReport(
        results=results,
        weights=weights,
        completions=len(rows),
        failed=len(others),
        bad_tasks=len(bad_tasks),
        first_failure=others[0].detail if others else "",
        first_bad_task=bad_tasks[0].detail if bad_tasks else "",
        metrics=_metrics(results, rows, len(others), len(bad_tasks), seconds),
        outcomes=[" ".join(f"{verdict.kind}:{_word(verdict)}" for verdict in row) for row in rows],
    )


def _failure(row: Sequence[Verdict]) -> UnscoredVerdict | None:
    """Why a completion has no reward: a failure of the service before a broken task, None if it has one."""
    unscored = [verdict for verdict in row if isinstance(verdict, UnscoredVerdict)]
    return min(unscored, key=lambda verdict: verdict.reason is UnscoredReason.BAD_TASK, default=None)


def _metrics(
    results: Sequence[ScoredGroup], rows: Sequence[Sequence[Verdict]], failed: int, bad_tasks: int, seconds: float
) -> dict[str, float]:
    if not rows:
        return {}
    scores: dict[str, list[float]] = {}
    outcomes: Counter[str] = Counter()
    for row in rows:
        for verdict in row:
            if isinstance(verdict, ScoredVerdict):
                scores.setdefault(verdict.kind, []).append(verdict.score)
                outcomes[f"{verdict.kind}/{verdict.outcome.value}"] += 1
    metrics = {f"{PREFIX}/{kind}/score": sum(values) / len(values) for kind, values in sorted(scores.items())}
    metrics |= {f"{PREFIX}/{name}_share": count / len(rows) for name, count in sorted(outcomes.items())}
    passed = [all(isinstance(v, ScoredVerdict) and v.score == 1.0 for v in row) for row in rows if _failure(row) is None]
    if passed:
        metrics[f"{PREFIX}/pass_rate"] = sum(passed) / len(passed)
    several = [result for result in results if len(result.rewards) > 1]
    if several:
        metrics[f"{PREFIX}/zero_variance_share"] = sum(result.stats.zero_variance for result in several) / len(several)
    metrics[f"{PREFIX}/unscored_share"] = failed / len(rows)
    metrics[f"{PREFIX}/bad_task_share"] = bad_tasks / len(rows)
    metrics[f"{PREFIX}/seconds"] = seconds
    return metrics


def _weight(spec: Any) -> float:
    weight = spec.get("weight", 1.0) if isinstance(spec, dict) else spec.weight
    return float(weight)


def _word(verdict: Verdict) -> str:
    return verdict.outcome.value if isinstance(verdict, ScoredVerdict) else f"unscored({verdict.reason.value})"
