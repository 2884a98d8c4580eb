"""A scoring endpoint that needs no verifier: a completion equal to its gold is right."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from verifier_protocol import (
    Group,
    GroupResult,
    GroupStats,
    MathSpec,
    Outcome,
    ScoredVerdict,
    UnscoredReason,
    UnscoredVerdict,
    Verdict,
    VerifierId,
    completion_text,
)
from verifier_service.cli.file_scoring.endpoint import Refused

ID = VerifierId(name="fake", version="1")


class FakeEndpoint:
    """`broken` completions are unscored the first `broken_times` times; a gold `refuse` is refused with its request."""

    def __init__(self, broken_times: int = 0, reason: UnscoredReason = UnscoredReason.DEADLINE) -> None:
        self.broken_times = broken_times
        self.reason = reason
        self.requests: list[list[str | None]] = []

    async def score(self, groups: Sequence[Group], deadline_s: float) -> list[GroupResult]:
        self.requests.append([group.id for group in groups])
        if any(isinstance(spec, MathSpec) and spec.gold == "refuse" for group in groups for spec in group.verifiers):
            raise Refused("groups[0].verifiers[0].gold: refused")
        results = [self._result(group) for group in groups]
        if any(completion_text(c) == "broken" for group in groups for c in group.completions):
            self.broken_times -= 1
        return results

    def _result(self, group: Group) -> GroupResult:
        spec = group.verifiers[0]
        assert isinstance(spec, MathSpec)
        verdicts = [self._verdict(completion_text(c), spec.gold) for c in group.completions]
        rewards = [v.score if isinstance(v, ScoredVerdict) else None for v in verdicts]
        known = [r for r in rewards if r is not None]
        stats = GroupStats(
            mean=sum(known) / len(known) if known else None,
            std=None,
            pass_rate=None,
            unscored=rewards.count(None),
            zero_variance=len(set(known)) < 2,
        )
        return GroupResult(id=group.id, rewards=rewards, verdicts=[[v] for v in verdicts], stats=stats)

    def _verdict(self, text: str, gold: str) -> Verdict:
        if text == "broken" and self.broken_times > 0:
            retryable = self.reason is not UnscoredReason.BAD_TASK
            return UnscoredVerdict(kind="math", reason=self.reason, retryable=retryable, verifier=ID)
        right = text in (gold, "broken")
        outcome = Outcome.CORRECT if right else Outcome.INCORRECT
        return ScoredVerdict(kind="math", score=float(right), outcome=outcome, verifier=ID)


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: object, name: str = "in.jsonl") -> Path:
        path = tmp_path / name
        text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
        return path

    return write


@pytest.fixture
def make_endpoint() -> Callable[..., FakeEndpoint]:
    return FakeEndpoint
