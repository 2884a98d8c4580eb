"""How large a group to sample: in closed form, P(zero variance) = p^G + (1 - p)^G for a binary reward.

It holds for completions that pass independently with probability p; rewards with more than two values are at least as
informative, so that it is an upper bound of the share of wasted groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

USUAL_SIZES = (2, 4, 8, 16, 32, 64)


def zero_variance_probability(pass_rate: float, group_size: int) -> float:
    """Probability that all of a group's completions pass, or all fail."""
    if not 0 <= pass_rate <= 1 or group_size < 1:
        raise ValueError(f"pass_rate must be in [0, 1] and group_size 1 or more, not {pass_rate} and {group_size}")
    return float(pass_rate**group_size + (1 - pass_rate) ** group_size)


@dataclass(frozen=True)
class SizeAdvice:
    """informative_share: expected share of groups with spread; per_1000_completions: such groups that 1000 completions buy."""

    group_size: int
    informative_share: float
    per_1000_completions: float


def tabulate(pass_rates: Sequence[float], sizes: Sequence[int] = USUAL_SIZES) -> list[SizeAdvice]:
    """The trade for each size: larger groups waste fewer prompts, smaller ones see more of them."""
    if not pass_rates:
        raise ValueError("no pass rates to advise from: run a batch first")
    rows = []
    for size in sizes:
        share = 1 - sum(zero_variance_probability(p, size) for p in pass_rates) / len(pass_rates)
        rows.append(SizeAdvice(size, share, 1000 * share / size))
    return rows


def advise_group_size(
    pass_rates: Sequence[float], wanted_informative_share: float = 0.8, sizes: Sequence[int] = USUAL_SIZES
) -> SizeAdvice:
    """The smallest size with the wanted expected share of informative groups, or the largest if none has."""
    rows = tabulate(pass_rates, sorted(sizes))
    return next((row for row in rows if row.informative_share >= wanted_informative_share), rows[-1])
