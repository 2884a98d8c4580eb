"""verl: a `compute_score` to name in its configuration, and a reward manager class.

    reward.custom_reward_function.path=pkg://trainer_client.adapters.verl
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.verifier_url=http://127.0.0.1:8000

verl takes the set of keys from the first sample, so every sample has the same ones:
`score` (the reward), `acc` (1.0 if every verifier gave its full score) and `unscored` (1.0 if there is no verdict).
It knows no null reward: an unscored sample raises, unless `unscored_score` names a substitute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from trainer_client.adapters.endpoint import Endpoint, Verifiers, endpoint, unscored_error, why_unscored
from trainer_client.answers import ScoredGroup
from verifier_protocol import ScoredVerdict

Sample = dict[str, float]


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    verifier_url: str | Sequence[str] | None = None,
    verifiers: Verifiers | None = None,
    deadline_s: float | None = None,
    unscored_score: float | None = None,
    **_: Any,
) -> Sample:
    """verl's hook for one sample. Samples that are asked for at about the same time travel in one request.

    `ground_truth` is a gold, or verifier specs or tests as an object or JSON text; `extra_info` may hold `verifiers` or
    `tests` instead.

    Raises VerificationAborted for an unscored sample if `unscored_score` is None.
    """
    del data_source
    at = endpoint(verifier_url, verifiers, deadline_s)
    result = await at.coalescer.score_one(at.group([solution_str], ground_truth, extra_info))
    return _sample(result, 0, unscored_score)


def compute_score_batch(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    *,
    verifier_url: str | Sequence[str] | None = None,
    verifiers: Verifiers | None = None,
    deadline_s: float | None = None,
    unscored_score: float | None = None,
    **_: Any,
) -> list[Sample]:
    """The same for verl's batch reward manager: one call for all samples, in order."""
    del data_sources
    at = endpoint(verifier_url, verifiers, deadline_s)
    extras = extra_infos if extra_infos is not None else [None] * len(solution_strs)
    rows = zip(solution_strs, ground_truths, extras, strict=True)
    groups = [at.group([text], truth, extra) for text, truth, extra in rows]
    results = at.client.submit(groups, deadline_s=at.coalescer.deadline_s).result()
    return [_sample(result, 0, unscored_score) for result in results]


class VerifierRewardManager:
    """A reward manager for `reward.reward_manager.source=importlib` (module.path=pkg://trainer_client.adapters.verl).

    Decodes one response and scores it. Settings stand under `+reward.reward_kwargs`: verifier_url, verifiers, deadline_s,
    unscored_score. verl's own compute_score argument is not used.
    """

    def __init__(
        self,
        config: Any,
        tokenizer: Any,
        compute_score: Any = None,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
        **_: Any,
    ) -> None:
        del compute_score, reward_router_address, reward_model_tokenizer
        self.config = config
        self.tokenizer = tokenizer
        settings = config.get("reward", {}).get("reward_kwargs", None) or {}
        self._unscored_score: float | None = settings.get("unscored_score")
        self._where = settings.get("verifier_url"), settings.get("verifiers"), settings.get("deadline_s")
        self._endpoint()  # a missing URL is an error now, not at the first sample

    def _endpoint(self) -> Endpoint:
        return endpoint(*self._where)

    async def run_single(self, data: Any) -> dict[str, Any]:
        """verl's entry: a DataProto of one sample (of several turns, the last counts)."""
        item = data[len(data) - 1]
        responses = item.batch["responses"]
        length = int(item.batch["attention_mask"][-responses.shape[-1] :].sum())
        text = await asyncio.to_thread(self.tokenizer.decode, responses[:length], skip_special_tokens=True)
        truth = item.non_tensor_batch["reward_model"]["ground_truth"]
        extra = item.non_tensor_batch.get("extra_info")
        at = self._endpoint()
        result = await at.coalescer.score_one(at.group([text], truth, extra))
        sample = _sample(result, 0, self._unscored_score)
        return {"reward_score": sample["score"], "reward_extra_info": sample}


def _sample(result: ScoredGroup, row: int, unscored_score: float | None) -> Sample:
    reward = result.rewards[row]
    if reward is None:
        if unscored_score is None:
            raise unscored_error("verl", why_unscored(result, row))
        return {"score": float(unscored_score), "acc": 0.0, "unscored": 1.0}
    passed = all(isinstance(verdict, ScoredVerdict) and verdict.score == 1.0 for verdict in result.verdicts[row])
    return {"score": reward, "acc": float(passed), "unscored": 0.0}
