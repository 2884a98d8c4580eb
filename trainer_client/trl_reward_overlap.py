"""Scoring while others are still being generated.

In a `rollout_func`, hand over each completion as soon as it is done; by the time the longest one is, the others have
their verdicts. The scorer shares the client of the reward function: what was scored early is in that client's cache, so
the reward function that TRL calls afterwards finds it there and asks only for what is missing.

    reward = make_reward_function(url, verifiers=["math"])
    scorer = OverlappedScorer.of(reward)
    def rollout(prompts, trainer):
        for text, row in completions_as_they_finish(prompts):
            scorer.submit(text, answer=row["answer"])
        scorer.gather_now()
        return {"prompt_ids": ..., "completion_ids": ..., "logprobs": ...}
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from trainer_client.answers import ScoredGroup
from trainer_client.client import VerifierClient
from trainer_client.client_coalesce import Coalescer
from trainer_client.rewards import RewardRecipe, message_text
from trainer_client.trl_reward import DEADLINE_S, RewardPlan


class OverlappedScorer:
    """Collects submissions until the next gather. Safe to submit from several threads."""

    def __init__(self, client: VerifierClient, recipe: RewardRecipe, *, deadline_s: float = DEADLINE_S) -> None:
        self._recipe = recipe
        self._coalescer = Coalescer(client, deadline_s=deadline_s)
        self._lock = threading.Lock()
        self._futures: list[Future[ScoredGroup]] = []

    @classmethod
    def of(cls, reward_function: Callable[..., Any]) -> OverlappedScorer:
        """A scorer for what make_reward_function made: same client, same verifiers, same deadline."""
        plan = reward_function.keywords.get("reward_plan") if isinstance(reward_function, functools.partial) else None
        if not isinstance(plan, RewardPlan):
            raise TypeError("pass a function that make_reward_function made")
        return cls(plan.client, plan.recipe, deadline_s=plan.deadline_s)

    def submit(self, completion: Any, **columns: Any) -> int:
        """Start scoring one completion at once. `columns` are its row of the data set: answer, tests, verifiers …

        Returns its position in what gather gives. Its deadline counts from here.

        Raises RequestRefused for a row that doesn't say how to verify it.
        """
        group = {"completions": [message_text(completion)], "verifiers": self._recipe.specs(columns)}
        future = self._coalescer.submit(group)
        with self._lock:
            self._futures.append(future)
            return len(self._futures) - 1

    @property
    def waiting(self) -> int:
        """Submissions that have no verdict yet."""
        with self._lock:
            return sum(not future.done() for future in self._futures)

    async def gather(self) -> list[float | None]:
        """The rewards of all submissions since the last gather, in order; None for the unscored.

        Never takes longer than the deadline of the last submission. Raises RequestRefused for a bug of the caller.
        """
        results = await asyncio.gather(*(asyncio.wrap_future(future) for future in self._take()))
        return [result.rewards[0] for result in results]

    def gather_now(self) -> list[float | None]:
        """The same for a caller without an event loop, as TRL's rollout_func is."""
        return [future.result().rewards[0] for future in self._take()]

    def _take(self) -> list[Future[ScoredGroup]]:
        with self._lock:
            taken, self._futures = self._futures, []
        return taken
