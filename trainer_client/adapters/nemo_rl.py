"""NeMo-RL: an environment that scores the last assistant message of each conversation, one turn.

NeMo-RL runs environments as Ray actors; a file of the user's own makes one of this class:

    import ray
    from trainer_client.adapters.nemo_rl import VerifierEnvironment
    VerifierActor = ray.remote(VerifierEnvironment)
    env = VerifierActor.remote({"verifier_url": "http://127.0.0.1:8000", "verifiers": ["math"]})

A sample's metadata holds `ground_truth` (a gold, or verifier specs or tests as an object or JSON text), or `verifiers` or
`tests`. NeMo-RL has no value for an unscored sample, so one raises VerificationAborted.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from trainer_client.adapters.endpoint import endpoint, unscored_error, why_unscored

GROUND_TRUTH = "ground_truth"


class VerifierEnvironment:
    """What `nemo_rl.environments.interfaces.EnvironmentInterface` asks for, without importing it: `step` and
    `global_post_process_and_metrics`. `config` has verifier_url, verifiers and deadline_s, all optional."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        settings = config or {}
        self._endpoint = endpoint(settings.get("verifier_url"), settings.get("verifiers"), settings.get("deadline_s"))

    def step(self, message_log_batch: Sequence[Sequence[Mapping[str, Any]]], metadata: Sequence[Mapping[str, Any] | None]) -> Any:
        """One reward per conversation; every episode ends here."""
        at = self._endpoint
        groups = []
        for log, facts in zip(message_log_batch, metadata, strict=True):
            row = facts or {}
            groups.append(at.group([list(log)], row.get(GROUND_TRUTH), row))
        results = at.client.submit(groups, deadline_s=at.coalescer.deadline_s).result()
        rewards = []
        for result in results:
            if result.rewards[0] is None:
                raise unscored_error("NeMo-RL", why_unscored(result))
            rewards.append(result.rewards[0])
        torch = importlib.import_module("torch")
        interfaces = importlib.import_module("nemo_rl.environments.interfaces")
        count = len(rewards)
        fields = {
            "observations": [{"role": "environment", "content": f"reward: {reward:g}"} for reward in rewards],
            "metadata": list(metadata),
            "next_stop_strings": [None] * count,
            "rewards": torch.tensor(rewards, dtype=torch.float32),
            "terminateds": torch.ones(count),
            "answers": [None] * count,
        }
        known = interfaces.EnvironmentReturn._fields  # older versions have no `answers`
        return interfaces.EnvironmentReturn(**{name: value for name, value in fields.items() if name in known})

    def global_post_process_and_metrics(self, batch: Any) -> tuple[Any, dict[str, float]]:
        """The batch as it is, and its mean reward."""
        rewards = batch["total_reward"] if "total_reward" in batch else batch.get("rewards")
        return batch, {} if rewards is None else {"verifier/reward": float(rewards.mean())}
