"""What is known of each prompt: how often it is solved, by a policy that moves.

Rule: the tracker is fed with what all ranks saw of a generation batch, in one call, on every rank, so that every rank
holds the same state and draws the same next batch. A null reward is not an observation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

STATE_VERSION = 1


class Pool(StrEnum):
    """Where a prompt stands; `target` is inside the band."""

    UNSEEN = "unseen"
    HARD = "hard"
    TARGET = "target"
    EASY = "easy"
    RETIRED = "retired"


@dataclass(frozen=True)
class CurriculumSettings:
    """band_low, band_high: the pass rates worth training on; target: the one to aim at within them.
    decay: what earlier evidence counts after each new visit of a prompt (1: for ever).
    prior_solved, prior_failed: the Beta prior, in completions.
    explore_share, retest_share: shares of a batch for unseen prompts, and for retired or hard ones that are due again.
    retire_after: visits in a row with every completion solved after which a prompt rests.
    retest_after: generation batches after which a retired or hard prompt is due for another look.
    """

    band_low: float = 0.2
    band_high: float = 0.8
    target: float = 0.5
    decay: float = 0.5
    prior_solved: float = 1.0
    prior_failed: float = 1.0
    explore_share: float = 0.125
    retest_share: float = 0.0625
    retire_after: int = 2
    retest_after: int = 50

    def __post_init__(self) -> None:
        if not 0 <= self.band_low < self.band_high <= 1:
            raise ValueError(f"the band needs 0 <= band_low < band_high <= 1, not {self.band_low} and {self.band_high}")
        if not self.band_low <= self.target <= self.band_high:
            raise ValueError(f"target {self.target} lies outside the band {self.band_low} to {self.band_high}")
        if not 0 < self.decay <= 1:
            raise ValueError(f"decay must be in (0, 1], not {self.decay}")
        if self.prior_solved <= 0 or self.prior_failed <= 0:
            raise ValueError("prior_solved and prior_failed must be above 0")
        if self.explore_share < 0 or self.retest_share < 0 or self.explore_share + self.retest_share > 1:
            raise ValueError("explore_share and retest_share must be 0 or more and add up to 1 at most")
        if self.retire_after < 1 or self.retest_after < 1:
            raise ValueError("retire_after and retest_after must be 1 or more")


@dataclass(frozen=True)
class Observation:
    """What (a part of) one group of a prompt did: `scored` completions with a reward, `passed` of them solved."""

    prompt_id: str
    passed: int
    scored: int
    reward_min: float
    reward_max: float

    @property
    def zero_variance(self) -> bool:
        return self.reward_max <= self.reward_min


def observations_of(prompt_ids: Sequence[str], rewards: Sequence[float | None], pass_reward: float) -> list[Observation]:
    """One observation a prompt, in order of appearance; None and NaN rewards are left out, a prompt without any too.

    A completion passes from `pass_reward` on (with a tolerance of 1e-6, since rewards travel as float32).
    """
    by_prompt: dict[str, list[float]] = {}
    for prompt_id, reward in zip(prompt_ids, rewards, strict=True):
        if reward is not None and not math.isnan(reward):
            by_prompt.setdefault(prompt_id, []).append(reward)
    return [
        Observation(prompt_id, sum(r >= pass_reward - 1e-6 for r in values), len(values), min(values), max(values))
        for prompt_id, values in by_prompt.items()
    ]


def merge(observations: Iterable[Observation]) -> list[Observation]:
    """One observation a prompt where several ranks saw parts of a group."""
    merged: dict[str, Observation] = {}
    for new in observations:
        old = merged.get(new.prompt_id)
        merged[new.prompt_id] = (
            new
            if old is None
            else Observation(
                new.prompt_id,
                old.passed + new.passed,
                old.scored + new.scored,
                min(old.reward_min, new.reward_min),
                max(old.reward_max, new.reward_max),
            )
        )
    return list(merged.values())


@dataclass
class Record:
    """solved, failed: completions, decayed; last_batch: of the last visit; perfect_streak: visits in a row all solved."""

    solved: float = 0.0
    failed: float = 0.0
    visits: int = 0
    last_batch: int = 0
    perfect_streak: int = 0
    retired: bool = False


@dataclass(frozen=True)
class BatchReport:
    """What one generation batch taught: shares over its prompts that have a reward at all."""

    prompts: int
    pass_rate: float
    informative_share: float
    all_solved_share: float
    all_failed_share: float
    in_band_share: float
    retired: int
    revived: int


class PassRateTracker:
    """A decayed Beta posterior of the pass rate for every prompt that was visited."""

    def __init__(self, settings: CurriculumSettings | None = None) -> None:
        self.settings = settings or CurriculumSettings()
        self.records: dict[str, Record] = {}

    def observe(self, observations: Iterable[Observation], batch: int) -> BatchReport:
        """Takes in a generation batch, all ranks together, `batch` being its running number."""
        merged = [o for o in merge(observations) if o.scored > 0]
        retired = revived = 0
        for seen in merged:
            record = self.records.setdefault(seen.prompt_id, Record())
            was_retired = record.retired
            self._update(record, seen, batch)
            retired += record.retired and not was_retired
            revived += was_retired and not record.retired
        count = max(len(merged), 1)
        low, high = self.settings.band_low, self.settings.band_high
        return BatchReport(
            prompts=len(merged),
            pass_rate=sum(o.passed / o.scored for o in merged) / count,
            informative_share=sum(not o.zero_variance for o in merged) / count,
            all_solved_share=sum(o.passed == o.scored for o in merged) / count,
            all_failed_share=sum(o.passed == 0 for o in merged) / count,
            in_band_share=sum(low <= o.passed / o.scored <= high for o in merged) / count,
            retired=retired,
            revived=revived,
        )

    def _update(self, record: Record, seen: Observation, batch: int) -> None:
        record.solved = record.solved * self.settings.decay + seen.passed
        record.failed = record.failed * self.settings.decay + seen.scored - seen.passed
        record.visits += 1
        record.last_batch = batch
        record.perfect_streak = record.perfect_streak + 1 if seen.passed == seen.scored else 0
        record.retired = record.perfect_streak >= self.settings.retire_after

    def pass_rate(self, prompt_id: str) -> float:
        """The posterior mean; the prior's mean for a prompt never visited."""
        record = self.records.get(prompt_id) or Record()
        solved = record.solved + self.settings.prior_solved
        return solved / (solved + record.failed + self.settings.prior_failed)

    def pool(self, prompt_id: str) -> Pool:
        record = self.records.get(prompt_id)
        if record is None:
            return Pool.UNSEEN
        if record.retired:
            return Pool.RETIRED
        rate = self.pass_rate(prompt_id)
        if rate < self.settings.band_low:
            return Pool.HARD
        return Pool.EASY if rate > self.settings.band_high else Pool.TARGET

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"version": STATE_VERSION, "records": {key: asdict(record) for key, record in self.records.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state.get("version") != STATE_VERSION:
            raise ValueError(f"the curriculum's state is of version {state.get('version')}, this program reads {STATE_VERSION}")
        self.records = {str(key): Record(**values) for key, values in state["records"].items()}
