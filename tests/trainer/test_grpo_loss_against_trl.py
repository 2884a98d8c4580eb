"""Our loss against TRL's own `GRPOTrainer._compute_loss`, called on the same tensors, for each loss both know."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from trl import GRPOTrainer

from trainer_client.advantages import TRL_ADVANTAGES, group_advantages
from trainer_client.grpo_loss import LossOptions, count_items, grpo_loss

ROWS, LENGTH, PROMPT = 8, 9, 3
named = LossOptions.named


def trl_loss(b: dict[str, Tensor], *, loss_type: str, level: str = "token", **settings: Any) -> tuple[Tensor, Tensor]:
    """Loss and gradient by the logprobs, of TRL's method with everything around it (model, accelerator) replaced."""
    policy = b["policy"].clone().requires_grad_()
    args = SimpleNamespace(
        delta=settings.get("delta"), use_bias_correction_kl=settings.get("bias", False), steps_per_generation=1
    )
    trainer = SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *a, **k: (policy, torch.zeros_like(policy), None),
        aux_loss_enabled=False,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        importance_sampling_level=level,
        beta=settings.get("beta", 0.0),
        args=args,
        loss_type=loss_type,
        epsilon_low=settings.get("low", 0.2),
        epsilon_high=settings.get("high", 0.2),
        use_vllm=False,
        vllm_importance_sampling_correction=False,
        model=SimpleNamespace(training=True),
        current_gradient_accumulation_steps=1,
        max_completion_length=settings.get("max_completion_length", LENGTH),
        accelerator=SimpleNamespace(num_processes=1, reduce=lambda x, reduction: x, gather=lambda x: x),
        _entropy_bonus_enabled=False,
        _metrics={"train": defaultdict(list)},
    )
    inputs = {
        "prompt_ids": torch.zeros(ROWS, PROMPT, dtype=torch.long),
        "prompt_mask": torch.ones(ROWS, PROMPT, dtype=torch.long),
        "completion_ids": torch.zeros(ROWS, LENGTH, dtype=torch.long),
        "completion_mask": b["mask"],
        "advantages": b["advantages"],
        "num_items_in_batch": b["mask"].sum(),
        "old_per_token_logps": b["old"],
        "ref_per_token_logps": b["ref"],
    }
    loss = GRPOTrainer._compute_loss(trainer, None, inputs)
    loss.backward()
    assert policy.grad is not None
    return loss.detach(), policy.grad


def batch(seed: int) -> dict[str, Tensor]:
    random = torch.Generator().manual_seed(seed)
    policy = -torch.randn(ROWS, LENGTH, generator=random).abs()
    lengths = torch.randint(1, LENGTH + 1, (ROWS, 1), generator=random)
    return {
        "policy": policy,
        "old": policy + 0.4 * torch.randn(ROWS, LENGTH, generator=random),
        "ref": policy + 0.4 * torch.randn(ROWS, LENGTH, generator=random),
        "mask": (torch.arange(LENGTH) < lengths).long(),
        "advantages": torch.randn(ROWS, generator=random),
    }


CASES: list[tuple[LossOptions, dict[str, Any]]] = [
    (named("grpo"), {"loss_type": "grpo", "beta": 0.04}),
    (named("grpo", kl_bias_correction=True), {"loss_type": "grpo", "beta": 0.04, "bias": True}),
    (named("grpo", beta=0.0, delta=1.5), {"loss_type": "grpo", "delta": 1.5}),
    (named("bnpo"), {"loss_type": "bnpo", "beta": 0.04}),
    (named("dapo"), {"loss_type": "dapo", "high": 0.28}),
    (named("dr_grpo", constant_length=32), {"loss_type": "dr_grpo", "max_completion_length": 32}),
    (named("gspo"), {"loss_type": "grpo", "level": "sequence", "low": 3e-4, "high": 4e-4}),
    (
        named("gspo", epsilon_low=0.2, epsilon_high=0.2, beta=0.04, kl_bias_correction=True),
        {"loss_type": "grpo", "level": "sequence", "beta": 0.04, "bias": True},
    ),
    (named("cispo", ratio_cap=1.3), {"loss_type": "cispo", "high": 1.3}),
]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("options", "settings"), CASES)
def test_value_and_gradient_are_trls(options: LossOptions, settings: dict[str, Any], seed: int) -> None:
    b = batch(seed)
    want, want_gradient = trl_loss(b, **settings)
    policy = b["policy"].clone().requires_grad_()
    loss, _ = grpo_loss(
        policy,
        b["advantages"],
        b["mask"],
        old_logprobs=b["old"],
        ref_logprobs=b["ref"],
        options=options,
        num_items=count_items(b["mask"], options),
    )
    loss.backward()
    assert policy.grad is not None
    assert loss.item() == pytest.approx(want.item(), abs=1e-6)
    assert torch.allclose(policy.grad, want_gradient, atol=1e-6)


def test_trls_advantages_are_ours_with_its_options() -> None:
    """TRL's formula as its trainer computes it: torch.std within the group, plus 1e-4."""
    rewards = torch.tensor([[1.0, 0.0, 0.5, 1.5], [0.0, 0.0, 0.0, 1.0]])
    want = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
    got = group_advantages(rewards, options=TRL_ADVANTAGES).advantages
    assert torch.allclose(got.view(2, 4), want, atol=1e-6)
