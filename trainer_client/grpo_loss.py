"""The policy-gradient losses of the GRPO family, in pure PyTorch: no trainer, no distributed state, no hidden reduction.

`grpo_loss` is the function, `GRPOLoss` the module with the signature of the usual tutorial. Conventions:

- Shapes: B completions of T tokens, padded on the right; `mask` (B, T) is true where a token counts. Values under a
  false mask are never read: they may be NaN or infinite, and their gradient is exactly 0 (`where`, never a product).
- A denominator counts what its numerator counts: a row without a single token is no sequence.
- What an optimizer step accumulates is one batch. Give `num_items` (see `count_items`) and the gradient doesn't depend
  on how the batch is cut into micro-batches and ranks; without it the denominator is this call's own.
- Everything is computed in float32 or better, log-probabilities are bounded (`LOGPROB_BOUND`) and so is every exponent
  (`log_ratio_clamp`): the loss and its gradient are finite for any log-probability, infinite ones too, but NaN. A NaN
  under a true mask is the model's failure and shows in the loss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from trainer_client.advantages import AdvantageOptions, group_advantages

Surrogate = Literal["clip", "cispo"]
ImportanceLevel = Literal["token", "sequence"]
Reduction = Literal["sequence_mean", "token_mean", "constant"]
KlEstimator = Literal["k1", "k2", "k3"]
LossName = Literal["grpo", "bnpo", "dapo", "dr_grpo", "gspo", "cispo"]

# A token of this log-probability is impossible for any practical purpose; the bound keeps differences and CISPO's linear
# term finite where a filtered token has -inf.
LOGPROB_BOUND = 1e4


@dataclass(frozen=True)
class LossOptions:
    """What is computed; `LossOptions.named` gives each paper's choice.

    surrogate: `clip` is PPO's min(r A, clip(r, 1 - epsilon_low, 1 + epsilon_high) A); `cispo` is
        stop_gradient(min(r, ratio_cap)) A log pi (MiniMax-M1, arXiv 2506.13585, equations 4 and 5, without a lower bound).
    importance_level: r per token, or one per sequence, exp(mean of the log-ratios) (GSPO, arXiv 2507.18071, equation 7).
    reduction: `sequence_mean` is the mean over sequences of the mean over tokens (GRPO, arXiv 2402.03300, equation 3);
        `token_mean` the mean over all tokens (DAPO, arXiv 2503.14476, equation 8; BNPO); `constant` the sum over
        sequences x constant_length (Dr. GRPO, arXiv 2503.20783).
    delta: upper bound of r where the advantage is negative, which plain clipping leaves unbounded (two-sided clipping,
        INTELLECT-2, arXiv 2505.07291); must be above 1 + epsilon_high.
    beta: weight of the KL divergence to the reference; 0 needs no reference.
    kl_estimator: with d = log pi_ref - log pi: k1 = -d, k2 = d^2 / 2, k3 = exp(d) - d - 1 (Schulman, "Approximating KL
        divergence"). k1's own gradient has expectation 0 on policy: use it with bias correction or the k2 gradient.
    kl_gradient: `own` differentiates the estimator; `k2` keeps its value and takes the gradient of k2, which is the
        unbiased gradient of the reverse KL on policy.
    kl_bias_correction: multiplies the estimator by r, so that it is unbiased off policy (DeepSeek-V3.2; TRL's default).
    log_ratio_clamp: log-ratios are clamped to +-this before exp (k3 overflows float32 from 89 on); beyond it the gradient
        is 0. None: as the formula stands.
    """

    surrogate: Surrogate = "clip"
    importance_level: ImportanceLevel = "token"
    reduction: Reduction = "sequence_mean"
    epsilon_low: float = 0.2
    epsilon_high: float = 0.2
    delta: float | None = None
    ratio_cap: float = 5.0
    constant_length: int | None = None
    beta: float = 0.04
    kl_estimator: KlEstimator = "k3"
    kl_gradient: Literal["own", "k2"] = "own"
    kl_bias_correction: bool = False
    log_ratio_clamp: float | None = 20.0

    def __post_init__(self) -> None:
        if self.epsilon_low < 0 or self.epsilon_high < 0 or self.beta < 0 or self.ratio_cap <= 0:
            raise ValueError("epsilon_low, epsilon_high and beta must be 0 or more, and ratio_cap above 0")
        if self.delta is not None and self.delta <= 1 + self.epsilon_high:
            raise ValueError(f"delta must be above 1 + epsilon_high = {1 + self.epsilon_high}, not {self.delta}")
        if self.reduction == "constant" and (self.constant_length is None or self.constant_length < 1):
            raise ValueError("reduction 'constant' needs constant_length, the maximal completion length in tokens")
        if self.log_ratio_clamp is not None and not 0 < self.log_ratio_clamp <= 80:
            raise ValueError("log_ratio_clamp must be in (0, 80]: float32 overflows at 89")

    @classmethod
    def named(cls, name: LossName, **overrides: Any) -> LossOptions:
        """The options of a paper, with what you change: `LossOptions.named("dapo", epsilon_high=0.3)`."""
        if name not in _NAMED:
            raise ValueError(f"unknown loss {name!r}; known: {', '.join(_NAMED)}")
        return cls(**{**_NAMED[name], **overrides})


_NAMED: dict[str, dict[str, Any]] = {
    "grpo": {},
    "bnpo": {"reduction": "token_mean"},
    "dapo": {"reduction": "token_mean", "epsilon_high": 0.28, "beta": 0.0},
    "dr_grpo": {"reduction": "constant", "beta": 0.0},
    "gspo": {"importance_level": "sequence", "epsilon_low": 3e-4, "epsilon_high": 4e-4, "beta": 0.0},
    "cispo": {"surrogate": "cispo", "reduction": "token_mean", "beta": 0.0},
}


def grpo_loss(
    policy_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    old_logprobs: Tensor | None = None,
    ref_logprobs: Tensor | None = None,
    options: LossOptions | None = None,
    num_items: Tensor | float | None = None,
    world_size: int = 1,
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss to minimise, a scalar, and detached metrics.

    policy_logprobs (B, T): log pi of the sampled tokens, with gradient. old_logprobs (B, T): of the policy that sampled;
        None means on policy, r = 1 with the gradient of log pi. ref_logprobs (B, T): needed where beta > 0.
    advantages: (B,), or (B, T) for per-token ones; finite.
    num_items: the denominator of the whole optimizer step, the sum of `count_items` over its micro-batches and ranks;
        the losses of the micro-batches then add up to the loss of the whole. None: this call's own.
    world_size: pass the number of ranks where the framework averages gradients over them (DDP, FSDP, DeepSpeed) and
        num_items spans them.
    Metrics: loss, policy_loss, kl (as weighted into the loss), ratio_mean, ratio_max, clip_low, clip_high (share of tokens
        whose gradient is cut), old_kl (k3 from the sampling policy), tokens, sequences.
    """
    options = options or LossOptions()
    keep = mask.bool()
    policy = _bounded(policy_logprobs)
    _check_shapes(policy, advantages, keep, old_logprobs, ref_logprobs, options)
    old = policy.detach() if old_logprobs is None else _bounded(old_logprobs).detach()
    spread = _floating(advantages).detach()
    spread = spread.unsqueeze(-1) if spread.dim() == 1 else spread

    log_ratio = _log_ratio(policy, old, keep, options.log_ratio_clamp)
    level = _sequence_mean(log_ratio, keep).unsqueeze(-1) if options.importance_level == "sequence" else log_ratio
    ratio = torch.exp(level)
    policy_term = _surrogate(ratio, spread, policy, keep, options)
    kl = torch.zeros_like(policy)
    if options.beta > 0 and ref_logprobs is not None:
        kl = _kl(policy, _bounded(ref_logprobs).detach(), keep, ratio, options)

    own_items = count_items(keep, options)
    denominator = own_items.clamp(min=1.0) if num_items is None else num_items
    policy_loss = world_size * _total(policy_term, keep, options) / denominator
    loss = policy_loss
    if options.beta > 0:
        loss = loss + options.beta * world_size * _total(kl, keep, options) / denominator
    metrics = _metrics(ratio, spread, log_ratio, kl, keep, options)
    metrics |= {"loss": loss.detach(), "policy_loss": policy_loss.detach()}
    return loss, metrics


def count_items(mask: Tensor, options: LossOptions | None = None) -> Tensor:
    """What `num_items` adds up: non-empty sequences, tokens, or sequences x constant_length, by the reduction. A float scalar.

    Sum it over the micro-batches of the step; with several ranks `torch.distributed.all_reduce` the sum.
    """
    options = options or LossOptions()
    keep = mask.bool()
    if options.reduction == "token_mean":
        return keep.sum().to(torch.float32)
    sequences = keep.any(-1).sum().to(torch.float32)
    return sequences * options.constant_length if options.constant_length and options.reduction == "constant" else sequences


def _floating(values: Tensor) -> Tensor:
    return values if values.dtype == torch.float64 else values.to(torch.float32)


def _bounded(logprobs: Tensor) -> Tensor:
    return _floating(logprobs).clamp(-LOGPROB_BOUND, LOGPROB_BOUND)


def _check_shapes(
    policy: Tensor, advantages: Tensor, keep: Tensor, old: Tensor | None, ref: Tensor | None, options: LossOptions
) -> None:
    if policy.dim() != 2:
        raise ValueError(f"policy_logprobs must be (B, T), not {tuple(policy.shape)}")
    for name, other in (("mask", keep), ("old_logprobs", old), ("ref_logprobs", ref)):
        if other is not None and other.shape != policy.shape:
            raise ValueError(f"{name} is {tuple(other.shape)}, policy_logprobs {tuple(policy.shape)}")
    if advantages.shape not in (policy.shape[:1], policy.shape):
        raise ValueError(f"advantages must be (B,) or (B, T) with B, T = {tuple(policy.shape)}, not {tuple(advantages.shape)}")
    if options.beta > 0 and ref is None:
        raise ValueError("beta > 0 needs ref_logprobs; set beta=0 to train without a reference")


def _log_ratio(numerator: Tensor, denominator: Tensor, keep: Tensor, bound: float | None) -> Tensor:
    ratio = torch.where(keep, numerator - denominator, 0.0)
    return ratio if bound is None else ratio.clamp(-bound, bound)


def _sequence_mean(values: Tensor, keep: Tensor) -> Tensor:
    return torch.where(keep, values, 0.0).sum(-1) / keep.sum(-1).clamp(min=1)


def _surrogate(ratio: Tensor, advantages: Tensor, policy: Tensor, keep: Tensor, options: LossOptions) -> Tensor:
    if options.surrogate == "cispo":
        logprobs = torch.where(keep, policy, 0.0)
        return -ratio.clamp(max=options.ratio_cap).detach() * advantages * logprobs
    clipped = ratio.clamp(1 - options.epsilon_low, 1 + options.epsilon_high)
    bounded = ratio if options.delta is None else ratio.clamp(max=options.delta)
    return -torch.min(bounded * advantages, clipped * advantages).expand_as(policy)


def _kl(policy: Tensor, ref: Tensor, keep: Tensor, ratio: Tensor, options: LossOptions) -> Tensor:
    distance = _log_ratio(ref, policy, keep, options.log_ratio_clamp)
    half_square = distance.square() / 2
    if options.kl_estimator == "k1":
        value = -distance
    elif options.kl_estimator == "k2":
        value = half_square
    else:
        value = torch.expm1(distance) - distance
    if options.kl_gradient == "k2":
        value = value.detach() + half_square - half_square.detach()
    return value * ratio if options.kl_bias_correction else value


def _total(per_token: Tensor, keep: Tensor, options: LossOptions) -> Tensor:
    """The numerator that belongs to `count_items`."""
    if options.reduction == "sequence_mean":
        return _sequence_mean(per_token, keep).sum()
    return torch.where(keep, per_token, 0.0).sum()


def _metrics(
    ratio: Tensor, advantages: Tensor, log_ratio: Tensor, kl: Tensor, keep: Tensor, options: LossOptions
) -> dict[str, Tensor]:
    with torch.no_grad():
        tokens = keep.sum()
        share = tokens.clamp(min=1)
        wide = ratio.expand_as(log_ratio)
        if options.surrogate == "cispo":
            low = torch.zeros_like(keep)
            high = keep & (wide > options.ratio_cap)
        else:
            low = keep & (wide < 1 - options.epsilon_low) & (advantages < 0)
            high = keep & (wide > 1 + options.epsilon_high) & (advantages > 0)
        k3 = torch.expm1(-log_ratio) + log_ratio
        return {
            "kl": torch.where(keep, kl, 0.0).sum() / share,
            "old_kl": torch.where(keep, k3, 0.0).sum() / share,
            "ratio_mean": torch.where(keep, wide, 0.0).sum() / share,
            "ratio_max": torch.where(keep, wide, 0.0).amax() if keep.numel() else log_ratio.new_zeros(()),
            "clip_low": low.sum() / share,
            "clip_high": high.sum() / share,
            "tokens": tokens,
            "sequences": keep.any(-1).sum(),
        }


class GRPOLoss(nn.Module):
    """GRPO as a module: rewards in, loss and metrics out.

        loss_fn = GRPOLoss(beta=0.04, epsilon=0.2)
        loss, metrics = loss_fn(policy_logprobs, ref_logprobs, old_logprobs, rewards, mask)

    forward takes log-probabilities and mask of shape (B, T) or (P, G, T) and rewards of shape (B,) or (P, G), NaN for a
    null reward. Groups: the second dimension of (P, G, T); else `group_size` contiguous rows; else, with neither, the
    whole batch is one prompt's group. Completions with a null reward leave the loss wholly, KL and denominators too.

    Any field of `LossOptions` may be given by name, and `loss` selects a paper's options; `advantages` says how rewards
    are normalised (default: population deviation, epsilon inside the root).
    """

    def __init__(
        self,
        beta: float | None = None,
        epsilon: float | None = None,
        *,
        loss: LossName = "grpo",
        group_size: int | None = None,
        advantages: AdvantageOptions | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if epsilon is not None:
            options = {"epsilon_low": epsilon, "epsilon_high": epsilon} | options
        if beta is not None:
            options["beta"] = beta
        self.options = LossOptions.named(loss, **options)
        self.group_size = group_size
        self.advantage_options = advantages or AdvantageOptions()

    def forward(
        self,
        policy_logprobs: Tensor,
        ref_logprobs: Tensor | None,
        old_logprobs: Tensor | None,
        rewards: Tensor,
        mask: Tensor,
        *,
        group_size: int | None = None,
        num_items: Tensor | float | None = None,
        world_size: int = 1,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """See the class; `num_items` and `world_size` as in `grpo_loss`. Adds the metrics reward_mean, reward_std (mean over
        groups), zero_variance (share of groups without spread) and unscored (share of null rewards)."""
        size = group_size or self.group_size or (rewards.shape[-1] if rewards.dim() == 2 else rewards.numel())
        groups = group_advantages(rewards.reshape(-1), size, options=self.advantage_options)

        def rows(values: Tensor) -> Tensor:
            return values.reshape(-1, values.shape[-1])

        keep = rows(mask).bool() & groups.scored.unsqueeze(-1)
        loss, metrics = grpo_loss(
            rows(policy_logprobs),
            groups.advantages,
            keep,
            old_logprobs=None if old_logprobs is None else rows(old_logprobs),
            ref_logprobs=None if ref_logprobs is None else rows(ref_logprobs),
            options=self.options,
            num_items=num_items,
            world_size=world_size,
        )
        metrics["reward_mean"] = rewards.detach().nanmean()
        metrics["reward_std"] = groups.std.mean()
        metrics["zero_variance"] = groups.zero_variance.float().mean()
        metrics["unscored"] = (~groups.scored).float().mean()
        return loss, metrics

    def with_options(self, **changes: Any) -> GRPOLoss:
        """A copy with some `LossOptions` changed, as for a schedule of beta."""
        copy = GRPOLoss(group_size=self.group_size, advantages=self.advantage_options)
        copy.options = replace(self.options, **changes)
        return copy


__all__ = ["AdvantageOptions", "GRPOLoss", "LossOptions", "count_items", "group_advantages", "grpo_loss"]
