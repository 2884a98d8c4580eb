"""Group-relative advantages and reward shaping, in PyTorch.

Rule of this module: a null reward (NaN) is absent, never a number. It leaves its group's mean and deviation alone and
gets the advantage 0. A group without spread is told by max == min, not by a small deviation: rounding of the mean
leaves a deviation of about 1e-8 in a group of equal rewards, and dividing by it turns noise into an advantage of 0.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

StdKind = Literal["population", "unbiased", "none"]
EpsilonPlace = Literal["inside_root", "outside_root"]


@dataclass(frozen=True)
class AdvantageOptions:
    """How a group's rewards become advantages, A_i = (r_i - mean) / scale.

    std: `population` divides the squared deviations by n (the formula of the GRPO paper, arXiv 2402.03300 section 4.1.2,
        as usually written), `unbiased` by n - 1 (what `torch.std` does; larger by sqrt(n / (n - 1))), `none` subtracts
        the mean only (Dr. GRPO, arXiv 2503.20783).
    epsilon, epsilon_place: scale = sqrt(var + epsilon) with `inside_root`, sqrt(var) + epsilon with `outside_root`.

    Frameworks: TRL is unbiased, outside, 1e-4; verl is unbiased, outside, 1e-6; open-instruct is population, outside, 1e-8.
    """

    std: StdKind = "population"
    epsilon: float = 1e-8
    epsilon_place: EpsilonPlace = "inside_root"

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon must be 0 or more, not {self.epsilon}")


TRL_ADVANTAGES = AdvantageOptions(std="unbiased", epsilon=1e-4, epsilon_place="outside_root")
VERL_ADVANTAGES = AdvantageOptions(std="unbiased", epsilon=1e-6, epsilon_place="outside_root")
OPEN_INSTRUCT_ADVANTAGES = AdvantageOptions(std="population", epsilon=1e-8, epsilon_place="outside_root")
MEAN_ONLY = AdvantageOptions(std="none")


@dataclass(frozen=True)
class GroupAdvantages:
    """advantages, scored: shape (N,), in the order of the rewards; mean, spread, count: shape (groups,).

    `zero_variance` (groups,) is true where all scored rewards of a group are equal, or none is scored.
    """

    advantages: Tensor
    scored: Tensor
    mean: Tensor
    std: Tensor
    count: Tensor
    zero_variance: Tensor


def group_advantages(
    rewards: Tensor,
    group_size: int | None = None,
    *,
    group_index: Tensor | None = None,
    options: AdvantageOptions | None = None,
) -> GroupAdvantages:
    """Advantages relative to each prompt's group.

    rewards: (N,) with `group_size` (groups contiguous) or `group_index` (N,) of ints 0..groups-1 in any order;
        or (groups, G) without either. NaN stands for a null reward.
    Returns float advantages in the rewards' dtype (at least float32). The statistics are computed in float64 where the
    device has it: centring rewards that differ in the seventh digit is otherwise noise.
    Raises ValueError for a length that is no multiple of the group size, or an infinite reward.
    """
    options = options or AdvantageOptions()
    flat, index = _flatten(rewards, group_size, group_index)
    if bool(torch.isinf(flat).any()):
        raise ValueError("a reward is infinite; use NaN for a completion that has no reward")
    groups = int(index.max().item()) + 1 if index.numel() else 0
    work = flat.to(torch.float32 if flat.device.type == "mps" else torch.float64)
    scored = ~torch.isnan(work)
    present = torch.where(scored, work, 0.0)

    count = _sum(scored.to(work.dtype), index, groups)
    mean = _sum(present, index, groups) / count.clamp(min=1.0)
    centred = torch.where(scored, work - mean[index], 0.0)
    squares = _sum(centred.square(), index, groups)
    highest = _extreme(torch.where(scored, work, -torch.inf), index, groups, "amax")
    lowest = _extreme(torch.where(scored, work, torch.inf), index, groups, "amin")
    zero_variance = highest <= lowest

    freedom = count - 1.0 if options.std == "unbiased" else count
    variance = squares / freedom.clamp(min=1.0)
    advantages = torch.where(zero_variance[index], 0.0, centred / _scale(variance, options)[index])
    dtype = rewards.dtype if rewards.dtype in (torch.float32, torch.float64) else torch.float32
    std = torch.where(zero_variance, 0.0, variance.sqrt())
    return GroupAdvantages(advantages.to(dtype), scored, mean, std, count, zero_variance)


def _flatten(rewards: Tensor, group_size: int | None, group_index: Tensor | None) -> tuple[Tensor, Tensor]:
    if group_size is not None and group_index is not None:
        raise ValueError("give group_size or group_index, not both")
    if group_index is not None:
        if group_index.shape != rewards.shape or rewards.dim() != 1:
            raise ValueError("group_index needs the rewards' shape (N,)")
        return rewards, group_index.to(torch.long)
    if group_size is None:
        if rewards.dim() != 2:
            raise ValueError("rewards of shape (N,) need group_size or group_index")
        group_size = rewards.shape[1]
    flat = rewards.reshape(-1)
    if group_size < 1 or flat.numel() % group_size:
        raise ValueError(f"{flat.numel()} rewards are no multiple of the group size {group_size}")
    return flat, torch.arange(flat.numel(), device=flat.device) // group_size


def _sum(values: Tensor, index: Tensor, groups: int) -> Tensor:
    return values.new_zeros(groups).index_add(0, index, values)


def _extreme(values: Tensor, index: Tensor, groups: int, reduce: Literal["amax", "amin"]) -> Tensor:
    start = -torch.inf if reduce == "amax" else torch.inf
    return values.new_full((groups,), start).scatter_reduce(0, index, values, reduce)


def _scale(variance: Tensor, options: AdvantageOptions) -> Tensor:
    if options.std == "none":
        return torch.ones_like(variance)
    if options.epsilon_place == "inside_root":
        return (variance + options.epsilon).sqrt()
    return variance.sqrt() + options.epsilon


def mask_overlong(mask: Tensor, truncated: Tensor) -> Tensor:
    """The mask (B, T) without the rows that ran into the length limit, `truncated` (B,) of bool (DAPO, arXiv 2503.14476,
    section 3.4, "overlong filtering"): such a row's reward says nothing about its reasoning."""
    return mask.bool() & ~truncated.bool().unsqueeze(-1)


def soft_overlong_penalty(lengths: Tensor, max_length: int, cache_length: int) -> Tensor:
    """A reward in [-1, 0] to add for each completion's length (B,) in tokens; equation 13 of DAPO, arXiv 2503.14476.

    0 up to max_length - cache_length, then falling linearly to -1 at max_length, and -1 beyond.
    """
    if not 0 < cache_length <= max_length:
        raise ValueError(f"cache_length must be in 1..max_length, not {cache_length}")
    over = lengths.to(torch.float32) - (max_length - cache_length)
    return -(over / cache_length).clamp(0.0, 1.0)
