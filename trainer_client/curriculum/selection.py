"""Which prompts the next generation batch asks: those whose expected pass rate lies in the band, plus a share to learn
about the others. Deterministic given the tracker and the random state, so that all ranks choose alike."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from trainer_client.curriculum.tracker import CurriculumSettings, PassRateTracker, Pool

# The lowest weight of a prompt in the band, at its far edge from the target, relative to one at the target.
EDGE_WEIGHT = 0.25


@dataclass(frozen=True)
class Choice:
    """prompt_ids in the order drawn; expected_pass_rate: mean of the tracker's estimates; pools: how many from each."""

    prompt_ids: list[str]
    expected_pass_rate: float
    pools: dict[str, int]


class PromptSelector:
    """Draws batches of distinct prompts. `batch` counts the draws; a prompt isn't drawn twice in a row, since its result
    is not known yet when the next batch is drawn (the trainer's data loader reads one batch ahead)."""

    def __init__(self, prompt_ids: Sequence[str], tracker: PassRateTracker, seed: int = 0) -> None:
        if len(set(prompt_ids)) != len(prompt_ids):
            twice = Counter(prompt_ids).most_common(1)[0][0]
            raise ValueError(f"prompt ids must be unique; {twice!r} stands for several prompts")
        self.tracker = tracker
        self.known = frozenset(prompt_ids)
        self.batch = 0
        self._random = random.Random(seed)  # noqa: S311 - draws prompts, guards nothing
        self._unseen = list(prompt_ids)
        self._random.shuffle(self._unseen)
        self._last: list[str] = []

    @property
    def settings(self) -> CurriculumSettings:
        return self.tracker.settings

    def choose(self, count: int) -> Choice:
        """The next `count` prompts. Raises ValueError where there are fewer prompts than that."""
        if count > len(self.known):
            raise ValueError(
                f"a batch of {count} different prompts needs at least as many in the data set, not {len(self.known)}"
            )
        resting = set(self._last)
        pools = self._pools(resting)
        unseen = self._take_unseen(count, resting)
        chosen: list[str] = self._due(pools, self._rounded(self.settings.retest_share * count))
        explore = min(len(unseen), self._rounded(self.settings.explore_share * count))
        chosen += unseen[:explore]
        chosen += self._weighted(pools[Pool.TARGET], count - len(chosen))
        chosen += unseen[explore : explore + count - len(chosen)]
        self._fill(chosen, count, pools)
        if len(chosen) < count:
            chosen += sorted(resting - set(chosen))[: count - len(chosen)]
        return self._issue(chosen)

    def _pools(self, resting: set[str]) -> dict[Pool, list[str]]:
        pools: dict[Pool, list[str]] = {pool: [] for pool in Pool}
        for prompt_id in self.tracker.records:
            if prompt_id in self.known and prompt_id not in resting:
                pools[self.tracker.pool(prompt_id)].append(prompt_id)
        return pools

    def _take_unseen(self, count: int, resting: set[str]) -> list[str]:
        """Up to `count` prompts never visited. A prompt leaves the queue when the tracker knows it, not when it is drawn:
        one whose rewards all were null is asked again."""
        self._unseen = [p for p in self._unseen if p not in self.tracker.records]
        return [p for p in self._unseen[: count + len(resting)] if p not in resting][:count]

    def _rounded(self, share: float) -> int:
        """Up or down at random, so that a share of half a prompt is one prompt every other batch."""
        return int(share) + (self._random.random() < share % 1)

    def _due(self, pools: dict[Pool, list[str]], count: int) -> list[str]:
        due = [p for pool in (Pool.RETIRED, Pool.HARD) for p in pools[pool] if self._age(p) >= self.settings.retest_after]
        return self._random.sample(due, min(count, len(due)))

    def _age(self, prompt_id: str) -> int:
        return self.batch - self.tracker.records[prompt_id].last_batch

    def _weighted(self, candidates: Iterable[str], count: int) -> list[str]:
        """Without replacement, by closeness to the target and by age (Efraimidis and Spirakis: largest u^(1/w))."""
        low, high, target = self.settings.band_low, self.settings.band_high, self.settings.target
        keyed = []
        for prompt_id in candidates:
            rate = self.tracker.pass_rate(prompt_id)
            reach = (high - target) if rate > target else (target - low)
            closeness = 1.0 if reach <= 0 else 1 - abs(rate - target) / reach
            weight = max(closeness, EDGE_WEIGHT) * (1 + max(self._age(prompt_id), 0))
            keyed.append((self._random.random() ** (1 / weight), prompt_id))
        keyed.sort(reverse=True)
        return [prompt_id for _, prompt_id in keyed[: max(count, 0)]]

    def _fill(self, chosen: list[str], count: int, pools: dict[Pool, list[str]]) -> None:
        """From outside the band, nearest first, each time from the side that brings the batch's mean to the target."""
        taken = set(chosen)
        hard = sorted((p for p in pools[Pool.HARD] if p not in taken), key=lambda p: (self.tracker.pass_rate(p), self._age(p)))
        easy = sorted((p for p in pools[Pool.EASY] if p not in taken), key=lambda p: (-self.tracker.pass_rate(p), self._age(p)))
        total = sum(self.tracker.pass_rate(p) for p in chosen)
        while len(chosen) < count and (hard or easy):
            wants_easier = total < self.settings.target * len(chosen)
            side = easy if (wants_easier and easy) or not hard else hard
            chosen.append(side.pop())
            total += self.tracker.pass_rate(chosen[-1])
        retired = [p for p in pools[Pool.RETIRED] if p not in taken]
        retired.sort(key=self._age, reverse=True)
        chosen += retired[: count - len(chosen)]

    def _issue(self, chosen: list[str]) -> Choice:
        self.batch += 1
        self._last = list(chosen)
        drawn = set(chosen)  # those still without a reward queue up again, behind the others
        self._unseen = [p for p in self._unseen if p not in drawn] + [p for p in self._unseen if p in drawn]
        self._random.shuffle(chosen)
        rates = [self.tracker.pass_rate(p) for p in chosen]
        pools = Counter(str(self.tracker.pool(p)) for p in chosen)
        return Choice(chosen, sum(rates) / max(len(rates), 1), dict(pools))

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON values, the tracker's among them."""
        version, internal, gauss = self._random.getstate()
        return {
            "batch": self.batch,
            "last": self._last,
            "unseen": self._unseen,
            "random": [version, list(internal), gauss],
            "tracker": self.tracker.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Prompts that left the data set are forgotten for drawing, new ones are unseen."""
        self.tracker.load_state_dict(state["tracker"])
        self.batch = int(state["batch"])
        self._last = [p for p in state["last"] if p in self.known]
        version, internal, gauss = state["random"]
        self._random.setstate((version, tuple(internal), gauss))
        kept = [p for p in state["unseen"] if p in self.known]
        fresh = sorted(self.known - set(state["unseen"]) - set(self.tracker.records))
        self._random.shuffle(fresh)
        self._unseen = kept + fresh
