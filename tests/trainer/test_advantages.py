from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer_client.advantages import (
    MEAN_ONLY,
    OPEN_INSTRUCT_ADVANTAGES,
    TRL_ADVANTAGES,
    VERL_ADVANTAGES,
    AdvantageOptions,
    group_advantages,
    mask_overlong,
    soft_overlong_penalty,
)

REWARDS = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5, math.nan]), min_size=2, max_size=8)
EVERY_OPTION = [AdvantageOptions(), TRL_ADVANTAGES, VERL_ADVANTAGES, OPEN_INSTRUCT_ADVANTAGES, MEAN_ONLY]


def test_the_default_is_the_written_formula_with_population_deviation_and_epsilon_in_the_root() -> None:
    got = group_advantages(torch.tensor([[1.0, 0.0, 0.0, 0.0]])).advantages
    root = math.sqrt(3 / 16 + 1e-8)
    assert got.tolist() == pytest.approx([0.75 / root, -0.25 / root, -0.25 / root, -0.25 / root], abs=1e-6)


def test_the_unbiased_deviation_is_larger_by_the_root_of_n_over_n_minus_one() -> None:
    rewards = torch.tensor([[1.0, 0.0, 0.5, 0.0]])
    plain = AdvantageOptions(epsilon=0.0)
    unbiased = AdvantageOptions(std="unbiased", epsilon=0.0)
    ratio = group_advantages(rewards, options=plain).advantages / group_advantages(rewards, options=unbiased).advantages
    assert ratio.tolist() == pytest.approx([[math.sqrt(4 / 3)] * 4][0])


def test_mean_only_advantages_are_the_deviations() -> None:
    got = group_advantages(torch.tensor([[6.0, 3.0], [9.0, 12.0]]), options=MEAN_ONLY)
    assert got.advantages.tolist() == [1.5, -1.5, -1.5, 1.5]


def test_a_near_tie_is_no_tie() -> None:
    got = group_advantages(torch.tensor([1.0, 1.00001]), 2, options=VERL_ADVANTAGES)
    assert got.advantages.tolist() == pytest.approx([-0.6196, 0.6196], abs=1e-4)
    assert not got.zero_variance.item()


@pytest.mark.parametrize("options", EVERY_OPTION)
@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7, 1e6])
def test_equal_rewards_have_the_advantage_zero_exactly(options: AdvantageOptions, value: float) -> None:
    got = group_advantages(torch.full((7,), value), 7, options=options)
    assert got.advantages.tolist() == [0.0] * 7
    assert got.zero_variance.tolist() == [True]


def test_a_null_reward_leaves_the_statistics_and_has_no_advantage() -> None:
    got = group_advantages(torch.tensor([[1.0, math.nan, 0.0, math.nan]]))
    without = group_advantages(torch.tensor([[1.0, 0.0]]))
    assert got.advantages[[0, 2]].tolist() == without.advantages.tolist()
    assert got.advantages[[1, 3]].tolist() == [0.0, 0.0]
    assert (got.mean.item(), got.count.item()) == (0.5, 2.0)


def test_a_group_with_one_or_no_scored_completion_teaches_nothing() -> None:
    got = group_advantages(torch.tensor([[1.0, math.nan], [math.nan, math.nan]]), options=TRL_ADVANTAGES)
    assert got.advantages.tolist() == [0.0] * 4
    assert got.zero_variance.tolist() == [True, True]


def test_groups_may_be_scattered_when_an_index_says_whose_is_which() -> None:
    together = group_advantages(torch.tensor([1.0, 0.0, 3.0, 5.0]), 2).advantages
    scattered = group_advantages(torch.tensor([3.0, 1.0, 5.0, 0.0]), group_index=torch.tensor([1, 0, 1, 0])).advantages
    assert scattered[[1, 3, 0, 2]].tolist() == together.tolist()


def test_bad_shapes_and_infinities_are_refused() -> None:
    with pytest.raises(ValueError, match="no multiple"):
        group_advantages(torch.zeros(5), 2)
    with pytest.raises(ValueError, match="group_size or group_index"):
        group_advantages(torch.zeros(4))
    with pytest.raises(ValueError, match="not both"):
        group_advantages(torch.zeros(4), 2, group_index=torch.zeros(4))
    with pytest.raises(ValueError, match="infinite"):
        group_advantages(torch.tensor([[0.0, math.inf]]))
    with pytest.raises(ValueError, match="epsilon"):
        AdvantageOptions(epsilon=-1.0)


@pytest.mark.parametrize("options", EVERY_OPTION)
@given(rewards=REWARDS, shift=st.sampled_from([-2.0, 0.5, 8.0]))
@settings(max_examples=60, deadline=None)
def test_a_shift_of_all_rewards_changes_nothing(options: AdvantageOptions, rewards: list[float], shift: float) -> None:
    plain = group_advantages(torch.tensor([rewards]), options=options).advantages
    moved = group_advantages(torch.tensor([rewards]) + shift, options=options).advantages
    assert torch.allclose(plain, moved, atol=1e-5)


@given(rewards=REWARDS, scale=st.sampled_from([0.5, 2.0, 16.0]))
@settings(max_examples=60, deadline=None)
def test_a_positive_scale_changes_nothing_where_the_deviation_divides(rewards: list[float], scale: float) -> None:
    options = AdvantageOptions(epsilon=0.0)
    plain = group_advantages(torch.tensor([rewards]), options=options).advantages
    assert torch.allclose(plain, group_advantages(torch.tensor([rewards]) * scale, options=options).advantages, atol=1e-5)


@pytest.mark.parametrize("options", EVERY_OPTION)
@given(rewards=REWARDS, data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_permutation_permutes_and_the_sum_is_zero(options: AdvantageOptions, rewards: list[float], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(rewards))))
    plain = group_advantages(torch.tensor([rewards]), options=options).advantages
    mixed = group_advantages(torch.tensor([[rewards[i] for i in order]]), options=options).advantages
    assert torch.allclose(plain[order], mixed, atol=1e-6)
    assert plain.isfinite().all()
    assert plain.sum().item() == pytest.approx(0.0, abs=1e-4)


def test_the_soft_overlong_penalty_falls_linearly_over_the_cache() -> None:
    got = soft_overlong_penalty(torch.tensor([10, 80, 90, 100, 150]), max_length=100, cache_length=20)
    assert got.tolist() == [0.0, 0.0, -0.5, -1.0, -1.0]
    with pytest.raises(ValueError, match="cache_length"):
        soft_overlong_penalty(torch.tensor([1]), max_length=10, cache_length=0)


def test_overlong_rows_leave_the_mask() -> None:
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]])
    assert mask_overlong(mask, torch.tensor([True, False])).tolist() == [[False] * 3, [True, True, False]]
