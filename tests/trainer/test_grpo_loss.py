from __future__ import annotations

import importlib.util
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from trainer_client.advantages import AdvantageOptions
from trainer_client.grpo_loss import GRPOLoss, LossOptions, count_items, grpo_loss

_spec = importlib.util.spec_from_file_location("slow_loss", Path(__file__).with_name("slow_loss.py"))
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
slow_loss = _module.slow_loss

named = LossOptions.named
VARIANTS: dict[str, LossOptions] = {
    "grpo": named("grpo"),
    "grpo k1": named("grpo", kl_estimator="k1"),
    "grpo k2": named("grpo", kl_estimator="k2"),
    "grpo bias corrected": named("grpo", kl_bias_correction=True),
    "grpo k1 bias corrected": named("grpo", kl_estimator="k1", kl_bias_correction=True),
    "grpo two-sided": named("grpo", delta=1.5),
    "grpo without reference": named("grpo", beta=0.0),
    "bnpo": named("bnpo"),
    "dapo": named("dapo"),
    "dr_grpo": named("dr_grpo", constant_length=8),
    "dr_grpo with kl": named("dr_grpo", constant_length=8, beta=0.1),
    "gspo": named("gspo"),
    "gspo wide with kl": named("gspo", epsilon_low=0.2, epsilon_high=0.3, beta=0.04, kl_bias_correction=True),
    "cispo": named("cispo"),
    "cispo capped": named("cispo", ratio_cap=1.1, beta=0.05),
}
every_variant = pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())


def batch(rows: int = 6, length: int = 7, seed: int = 3, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    random = torch.Generator().manual_seed(seed)

    def noise(scale: float) -> Tensor:
        return scale * torch.randn(rows, length, generator=random, dtype=dtype)

    policy = -noise(1.0).abs() - 0.05
    lengths = torch.arange(rows) % length + 1
    return {
        "policy": policy,
        "old": policy + noise(0.3),
        "ref": policy + noise(0.4),
        "mask": (torch.arange(length) < lengths.unsqueeze(1)).long(),
        "advantages": torch.randn(rows, generator=random, dtype=dtype),
    }


def loss_of(b: dict[str, Tensor], options: LossOptions, **kwargs: Any) -> Tensor:
    return grpo_loss(
        b["policy"], b["advantages"], b["mask"], old_logprobs=b["old"], ref_logprobs=b["ref"], options=options, **kwargs
    )[0]


def gradient_of(b: dict[str, Tensor], options: LossOptions, **kwargs: Any) -> Tensor:
    leaf = b["policy"].clone().requires_grad_()
    loss_of({**b, "policy": leaf}, options, **kwargs).backward()
    assert leaf.grad is not None
    return leaf.grad


def rows_of(b: dict[str, Tensor], rows: Any) -> dict[str, Tensor]:
    return {name: values[rows] for name, values in b.items()}


@every_variant
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_value_is_that_of_the_formula_written_as_a_loop(options: LossOptions, seed: int) -> None:
    b = batch(seed=seed)
    want = slow_loss(*(b[k].tolist() for k in ("policy", "old", "ref", "mask", "advantages")), options)
    assert loss_of(b, options).item() == pytest.approx(want, abs=1e-12)


def test_fixed_numbers_worked_out_by_hand() -> None:
    """One token of ratio 2 and advantage 1 is clipped at 1.2; one of ratio 1/2 and advantage -1 at 0.8, and k3(log 2)."""
    policy = torch.tensor([[math.log(0.5)], [math.log(0.25)]])
    old = torch.tensor([[math.log(0.25)], [math.log(0.5)]])
    loss, metrics = grpo_loss(
        policy,
        torch.tensor([1.0, -1.0]),
        torch.ones(2, 1),
        old_logprobs=old,
        ref_logprobs=torch.tensor([[0.0], [math.log(0.25)]]),
        options=named("grpo", beta=0.5),
    )
    assert loss.item() == pytest.approx((-1.2 + 0.8) / 2 + 0.5 * (2 - math.log(2) - 1) / 2, abs=1e-6)
    assert (metrics["clip_high"].item(), metrics["clip_low"].item()) == (0.5, 0.5)
    assert metrics["ratio_max"].item() == pytest.approx(2.0)


@pytest.mark.skipif("VERIFIER_LOSS_REFERENCE" not in os.environ, reason="VERIFIER_LOSS_REFERENCE names no reference file")
def test_the_values_are_those_of_the_reference_file() -> None:
    data = json.loads(Path(os.environ["VERIFIER_LOSS_REFERENCE"]).read_text())
    b = {name: torch.tensor(data[key]) for name, key in [("policy", "logp"), ("old", "old"), ("ref", "ref"), ("mask", "mask")]}
    b["advantages"] = torch.tensor(data["adv"])
    options = {
        "grpo_paper_b0.04": named("grpo"),
        "grpo_b0.04_TRLdefault_biascorr": named("grpo", kl_bias_correction=True),
        "grpo_b0": named("grpo", beta=0.0),
        "dapo_cliphigher": named("dapo"),
        "bnpo": named("bnpo", beta=0.0),
        "dr_grpo": named("dr_grpo", constant_length=8),
        "gspo": named("gspo"),
        "cispo": named("cispo"),
        "twosided_delta1.5": named("grpo", beta=0.0, delta=1.5),
    }
    got = {name: loss_of(b, options[name]).item() for name in data["trl_1_16_loss"]}
    assert got == pytest.approx(data["trl_1_16_loss"], abs=1e-6)


@pytest.mark.parametrize("options", [o for o in VARIANTS.values() if o.surrogate != "cispo"])
def test_the_gradient_is_that_of_finite_differences(options: LossOptions) -> None:
    """CISPO has a test of its own: it stops its ratio's gradient, so that its loss is no antiderivative of its gradient."""
    b = batch()
    leaf = b["policy"].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda p: loss_of({**b, "policy": p}, options), (leaf,), eps=1e-7, atol=1e-5)


def test_cispos_gradient_is_the_capped_ratio_times_the_advantage() -> None:
    b = batch()
    options = named("cispo", ratio_cap=1.2)
    ratio = (b["policy"] - b["old"]).exp().clamp(max=1.2)
    want = -ratio * b["advantages"].unsqueeze(1) * b["mask"] / b["mask"].sum()
    assert torch.allclose(gradient_of(b, options), want)


def test_the_k2_gradient_keeps_the_value_of_its_estimator() -> None:
    b = batch()
    own, straight = named("grpo", beta=1.0), named("grpo", beta=1.0, kl_gradient="k2")
    assert loss_of(b, own).item() == pytest.approx(loss_of(b, straight).item())
    k2 = named("grpo", beta=1.0, kl_estimator="k2")
    assert torch.allclose(gradient_of(b, straight), gradient_of(b, k2))
    assert not torch.allclose(gradient_of(b, own), gradient_of(b, k2))


@every_variant
def test_gradient_accumulation_gives_the_gradient_of_the_whole_batch(options: LossOptions) -> None:
    b = batch()
    items = count_items(b["mask"], options)
    pieces = [rows_of(b, piece) for piece in (slice(0, 1), slice(1, 4), slice(4, 6))]
    gathered = torch.cat([gradient_of(piece, options, num_items=items) for piece in pieces])
    assert torch.allclose(gathered, gradient_of(b, options), atol=1e-12)
    assert sum(loss_of(piece, options, num_items=items).item() for piece in pieces) == pytest.approx(loss_of(b, options).item())


@every_variant
def test_ranks_that_average_their_gradients_give_the_gradient_of_the_whole_batch(options: LossOptions) -> None:
    b = batch()
    shared = torch.tensor(0.1, dtype=torch.float64)

    def gradient(part: dict[str, Tensor], **kwargs: Any) -> float:
        weight = shared.clone().requires_grad_()
        loss_of({**part, "policy": part["policy"] + weight * part["policy"]}, options, **kwargs).backward()
        assert weight.grad is not None
        return weight.grad.item()

    ranks = [rows_of(b, slice(0, 2)), rows_of(b, slice(2, 6))]
    items = sum((count_items(rank["mask"], options) for rank in ranks), torch.tensor(0.0))
    averaged = sum(gradient(rank, num_items=items, world_size=2) for rank in ranks) / 2
    assert averaged == pytest.approx(gradient(b), abs=1e-12)


@every_variant
def test_what_lies_under_a_false_mask_is_never_read(options: LossOptions) -> None:
    b = batch()
    dirty = dict(b)
    for name, poison in (("policy", math.nan), ("old", -math.inf), ("ref", math.inf)):
        dirty[name] = torch.where(b["mask"].bool(), b[name], poison)
    assert loss_of(dirty, options).item() == loss_of(b, options).item()
    gradient = gradient_of(dirty, options)
    assert torch.equal(gradient, gradient_of(b, options))
    assert (gradient[~b["mask"].bool()] == 0).all()


@every_variant
def test_more_padding_changes_nothing(options: LossOptions) -> None:
    b = batch()
    wide = {k: v if v.dim() == 1 else torch.nn.functional.pad(v, (0, 5)) for k, v in b.items()}
    assert loss_of(wide, options).item() == pytest.approx(loss_of(b, options).item(), abs=1e-15)


@every_variant
def test_a_row_without_tokens_might_as_well_not_be_there(options: LossOptions) -> None:
    b = batch()
    b["mask"][2] = 0
    without = rows_of(b, [0, 1, 3, 4, 5])
    assert loss_of(b, options).item() == pytest.approx(loss_of(without, options).item(), abs=1e-15)
    empty = {**b, "mask": torch.zeros_like(b["mask"])}
    assert loss_of(empty, options).item() == 0.0
    assert (gradient_of(empty, options) == 0).all()


@every_variant
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_any_log_ratio_gives_a_finite_loss_and_gradient(options: LossOptions, dtype: torch.dtype, advantage: float) -> None:
    extremes = torch.tensor([0.0, -1e-3, -25.0, -89.0, -500.0, -1e6, -math.inf])
    policy, old, ref = (grid.flatten().unsqueeze(0).to(dtype) for grid in torch.meshgrid([extremes] * 3, indexing="ij"))
    b = {"policy": policy, "old": old, "ref": ref, "mask": torch.ones_like(policy), "advantages": torch.tensor([advantage])}
    assert loss_of(b, options).isfinite()
    assert gradient_of(b, options).isfinite().all()


@every_variant
def test_the_order_of_the_rows_does_not_matter(options: LossOptions) -> None:
    b = batch()
    assert loss_of(rows_of(b, [3, 1, 5, 0, 2, 4]), options).item() == pytest.approx(loss_of(b, options).item(), abs=1e-14)


@every_variant
def test_it_compiles_into_one_graph(options: LossOptions) -> None:
    b = batch(dtype=torch.float32)
    torch.compiler.reset()

    def step(policy: Tensor) -> Tensor:
        return loss_of({**b, "policy": policy}, options)

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    plain, fast = (b["policy"].clone().requires_grad_() for _ in range(2))
    step(plain).backward()
    compiled(fast).backward()
    assert plain.grad is not None
    assert fast.grad is not None
    assert torch.allclose(plain.grad, fast.grad, atol=1e-7)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # the compiler's own
def test_the_default_backend_compiles_it_too() -> None:
    b = batch(dtype=torch.float32)
    torch.compiler.reset()
    compiled = torch.compile(lambda policy: loss_of({**b, "policy": policy}, named("grpo")), fullgraph=True)
    assert compiled(b["policy"]).item() == pytest.approx(loss_of(b, named("grpo")).item(), abs=1e-6)


def test_on_policy_the_loss_is_minus_the_mean_advantage_and_its_gradient_is_not_zero() -> None:
    b = batch()
    options = named("grpo", beta=0.0)
    leaf = b["policy"].clone().requires_grad_()
    loss, metrics = grpo_loss(leaf, b["advantages"], b["mask"], options=options)
    loss.backward()
    assert loss.item() == pytest.approx(-b["advantages"].mean().item())
    assert leaf.grad is not None
    assert leaf.grad.abs().sum().item() > 0
    assert metrics["old_kl"].item() == 0.0


def test_wrong_shapes_and_options_are_refused_with_what_to_do() -> None:
    b = batch()
    with pytest.raises(ValueError, match="set beta=0"):
        grpo_loss(b["policy"], b["advantages"], b["mask"])
    with pytest.raises(ValueError, match="mask is"):
        grpo_loss(b["policy"], b["advantages"], b["mask"][:, :2], options=named("grpo", beta=0.0))
    with pytest.raises(ValueError, match="advantages must be"):
        grpo_loss(b["policy"], b["advantages"][:2], b["mask"], options=named("grpo", beta=0.0))
    with pytest.raises(ValueError, match="constant_length"):
        named("dr_grpo")
    with pytest.raises(ValueError, match="delta"):
        named("grpo", delta=1.1)
    with pytest.raises(ValueError, match="unknown loss"):
        named("ppo")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="log_ratio_clamp"):
        named("grpo", log_ratio_clamp=200.0)


def test_the_module_takes_rewards_by_group_and_flat_alike() -> None:
    b = batch()
    rewards = torch.tensor([[1.0, 0.0, 0.5], [0.0, 0.0, 1.0]])
    flat, _ = GRPOLoss(beta=0.04, epsilon=0.2, group_size=3)(b["policy"], b["ref"], b["old"], rewards.flatten(), b["mask"])
    cube = {k: v.reshape(2, 3, -1) for k, v in b.items() if v.dim() == 2}
    grouped, metrics = GRPOLoss(beta=0.04, epsilon=0.2)(cube["policy"], cube["ref"], cube["old"], rewards, cube["mask"])
    assert flat.item() == grouped.item()
    assert metrics["reward_mean"].item() == pytest.approx(2.5 / 6)
    assert metrics["zero_variance"].item() == 0.0


def test_a_completion_with_a_null_reward_might_as_well_not_be_there() -> None:
    b = batch()
    loss_fn = GRPOLoss(beta=0.1, epsilon=0.2)
    rewards = torch.tensor([1.0, 0.0, math.nan, 0.5, 0.0, 1.0])
    rest = [0, 1, 3, 4, 5]
    with_null, metrics = loss_fn(b["policy"], b["ref"], b["old"], rewards, b["mask"])
    without, _ = loss_fn(b["policy"][rest], b["ref"][rest], b["old"][rest], rewards[rest], b["mask"][rest])
    assert with_null.item() == pytest.approx(without.item(), abs=1e-12)
    assert metrics["unscored"].item() == pytest.approx(1 / 6)


def test_a_group_without_spread_leaves_only_the_divergence() -> None:
    b = batch()
    loss, metrics = GRPOLoss(beta=0.0, epsilon=0.2)(b["policy"], None, b["old"], torch.full((6,), 0.7), b["mask"])
    assert loss.item() == 0.0
    assert metrics["zero_variance"].item() == 1.0


def test_the_module_takes_every_option_by_name() -> None:
    module = GRPOLoss(loss="dapo", epsilon_high=0.3, advantages=AdvantageOptions(std="none"))
    assert module.options == named("dapo", epsilon_high=0.3)
    assert GRPOLoss(0.04, 0.2).options == named("grpo")
    assert module.with_options(beta=0.01).options.beta == 0.01
