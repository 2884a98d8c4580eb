"""For OpenRLHF: `--reward.remote_url trainer_client/examples/rewards_openrlhf.py`, with VERIFIER_CLIENT_URL set."""

from __future__ import annotations

from trainer_client.adapters.openrlhf import make_reward_func

reward_func = make_reward_func(verifiers=["math", {"kind": "format", "style": "think_boxed", "weight": 0.5}])
