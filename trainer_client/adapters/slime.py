"""slime: a function for `--custom-rm-path trainer_client.adapters.slime.custom_rm`, with or without `--group-rm`.

The service's URL is slime's own `--rm-url`, or VERIFIER_CLIENT_URL. A sample's label is a gold, or verifier specs or
tests as JSON text; its metadata may hold `verifiers` or `tests` instead.

slime knows no null reward. An unscored sample raises (as slime's own remote reward does after its last try), unless
VERIFIER_CLIENT_UNSCORED=neutral: then, with --group-rm, it gets the mean of its scored siblings, which leaves the
group's mean where it was, and is taken out of the loss (`remove_sample`).
"""

from __future__ import annotations

import math
import os
from typing import Any

from trainer_client.adapters.endpoint import Endpoint, endpoint, unscored_error, why_unscored
from trainer_client.answers import ScoredGroup

UNSCORED_VARIABLE = "VERIFIER_CLIENT_UNSCORED"


async def custom_rm(args: Any, sample: Any, **_: Any) -> Any:
    """A float for one sample, a list of floats (same order, same length) for a list of them.

    Raises VerificationAborted for what stays unscored.
    """
    at = endpoint(getattr(args, "rm_url", None))
    if isinstance(sample, list):
        return await _group_rewards(at, sample)
    result = await at.coalescer.score_one(_group(at, sample))
    reward = result.rewards[0]
    if reward is None:
        raise unscored_error("slime", why_unscored(result))
    return reward


async def _group_rewards(at: Endpoint, samples: list[Any]) -> list[float]:
    results = await at.client.score([_group(at, sample) for sample in samples], deadline_s=at.coalescer.deadline_s)
    known = [result.rewards[0] for result in results if result.rewards[0] is not None]
    if len(known) < len(samples) and (not known or os.environ.get(UNSCORED_VARIABLE) != "neutral"):
        raise unscored_error("slime", _first_reason(results))
    neutral = math.fsum(known) / len(known) if known else 0.0
    rewards = []
    for sample, result in zip(samples, results, strict=True):
        reward = result.rewards[0]
        if reward is None:
            sample.remove_sample = True
            reward = neutral
        rewards.append(reward)
    return rewards


def _group(at: Endpoint, sample: Any) -> dict[str, Any]:
    metadata = sample.metadata if isinstance(getattr(sample, "metadata", None), dict) else None
    return at.group([sample.response], sample.label, metadata)


def _first_reason(results: list[ScoredGroup]) -> str:
    return next((why_unscored(result) for result in results if result.rewards[0] is None), "no verdict")
