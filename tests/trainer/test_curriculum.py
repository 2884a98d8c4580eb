from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer_client.curriculum import (
    CurriculumSettings,
    Observation,
    PassRateTracker,
    Pool,
    PromptSelector,
    advise_group_size,
    merge,
    observations_of,
    tabulate,
    zero_variance_probability,
)

IDS = [f"p{i}" for i in range(40)]


def seen(prompt_id: str, passed: int, scored: int = 8) -> Observation:
    return Observation(prompt_id, passed, scored, 0.0 if passed < scored else 1.0, 1.0 if passed else 0.0)


def selector_with(rates: dict[str, int], ids: list[str] = IDS, **changes: float) -> PromptSelector:
    tracker = PassRateTracker(CurriculumSettings(**changes))  # type: ignore[arg-type]
    tracker.observe([seen(prompt_id, passed) for prompt_id, passed in rates.items()], 0)
    return PromptSelector(ids, tracker, seed=1)


def test_observations_count_completions_by_prompt_and_leave_out_nulls() -> None:
    got = observations_of(["a", "b", "a", "a", "c"], [1.0, 0.0, None, 0.5, math.nan], pass_reward=1.0)
    assert got == [Observation("a", 1, 2, 0.5, 1.0), Observation("b", 0, 1, 0.0, 0.0)]


def test_parts_of_a_group_on_several_ranks_become_one_observation() -> None:
    parts = [Observation("a", 2, 2, 1.0, 1.0), Observation("b", 0, 2, 0.0, 0.0), Observation("a", 0, 2, 0.0, 0.0)]
    assert merge(parts) == [Observation("a", 2, 4, 0.0, 1.0), Observation("b", 0, 2, 0.0, 0.0)]
    assert all(part.zero_variance for part in parts)
    assert not merge(parts)[0].zero_variance


def test_zero_variance_is_max_equal_to_min_not_all_passed_or_failed() -> None:
    partial = observations_of(["a", "a"], [0.5, 0.25], pass_reward=1.0)[0]
    assert partial.passed == 0
    assert not partial.zero_variance


def test_the_report_says_how_many_groups_could_teach() -> None:
    report = PassRateTracker().observe([seen("a", 8), seen("b", 0), seen("c", 4), seen("d", 1)], 1)
    assert (report.informative_share, report.all_solved_share, report.all_failed_share) == (0.5, 0.25, 0.25)
    assert (report.in_band_share, report.prompts) == (0.25, 4)
    assert report.pass_rate == pytest.approx((1 + 0 + 0.5 + 0.125) / 4)


def test_old_evidence_fades() -> None:
    tracker = PassRateTracker(CurriculumSettings(decay=0.5))
    tracker.observe([seen("a", 0)], 1)
    assert tracker.pass_rate("a") == pytest.approx(0.1)
    tracker.observe([seen("a", 8)], 2)
    assert tracker.pass_rate("a") == pytest.approx(9 / 14)


def test_pools_follow_the_band() -> None:
    tracker = PassRateTracker()
    tracker.observe([seen("hard", 0), seen("mid", 4), seen("easy", 8)], 1)
    assert [tracker.pool(p) for p in ("hard", "mid", "easy", "new")] == [Pool.HARD, Pool.TARGET, Pool.EASY, Pool.UNSEEN]


def test_a_prompt_always_solved_retires_and_comes_back_when_it_fails_again() -> None:
    tracker = PassRateTracker(CurriculumSettings(retire_after=2))
    assert tracker.observe([seen("a", 8)], 1).retired == 0
    assert tracker.observe([seen("a", 8)], 2).retired == 1
    assert tracker.pool("a") == Pool.RETIRED
    assert tracker.observe([seen("a", 5)], 3).revived == 1
    assert tracker.pool("a") != Pool.RETIRED


def test_a_retired_prompt_is_looked_at_again_when_it_is_due() -> None:
    selector = selector_with(dict.fromkeys(IDS, 4), retest_share=0.25, retest_after=5, retire_after=1)
    selector.tracker.observe([seen("p0", 8)], 0)
    drawn = []
    for batch in range(1, 9):
        choice = selector.choose(8).prompt_ids
        drawn.append("p0" in choice)
        selector.tracker.observe([seen(p, 4) for p in choice if p != "p0"], batch)
    assert not any(drawn[:5])
    assert any(drawn[5:])


def test_batches_come_from_the_band() -> None:
    rates = {p: (0 if i < 15 else 8 if i < 30 else 4) for i, p in enumerate(IDS)}
    selector = selector_with(rates, explore_share=0.0, retest_share=0.0)
    choice = selector.choose(8)
    assert choice.pools == {"target": 8}
    assert 0.2 <= choice.expected_pass_rate <= 0.8


def test_unseen_prompts_are_explored_in_their_share() -> None:
    selector = selector_with(dict.fromkeys(IDS[:20], 4), explore_share=0.25)
    assert selector.choose(8).pools == {"target": 6, "unseen": 2}


def test_outside_the_band_hard_and_easy_are_mixed_towards_the_target() -> None:
    rates = {p: (0 if i % 2 else 8) for i, p in enumerate(IDS)}
    choice = selector_with(rates).choose(8)
    assert choice.pools == {"hard": 4, "easy": 4}
    assert choice.expected_pass_rate == pytest.approx(0.5)


@pytest.mark.parametrize("target", [0.3, 0.7])
def test_the_target_pulls_the_batches_within_the_band(target: float) -> None:
    rates = {p: 2 + i % 5 for i, p in enumerate(IDS)}
    selector = selector_with(rates, target=target, explore_share=0.0)
    mean = sum(selector.choose(6).expected_pass_rate for _ in range(60)) / 60
    assert (mean < 0.5) == (target < 0.5)


def test_no_prompt_is_drawn_twice_in_a_row_while_others_are_left() -> None:
    selector = selector_with(dict.fromkeys(IDS, 4))
    before: set[str] = set()
    for _ in range(10):
        now = set(selector.choose(16).prompt_ids)
        assert not now & before
        before = now


def test_a_prompt_whose_rewards_were_all_null_stays_unseen() -> None:
    selector = PromptSelector(IDS[:4], PassRateTracker())
    for _ in range(6):
        assert selector.choose(2).pools == {"unseen": 2}


@given(st.lists(st.integers(-1, 8), min_size=12, max_size=40), st.integers(1, 12), st.integers(0, 1000))
@settings(max_examples=100, deadline=None)
def test_a_batch_is_always_full_of_distinct_known_prompts(passes: list[int], count: int, seed: int) -> None:
    ids = [f"q{i}" for i in range(len(passes))]
    tracker = PassRateTracker(CurriculumSettings(retire_after=1, retest_after=2))
    tracker.observe([seen(p, k) for p, k in zip(ids, passes, strict=True) if k >= 0], 0)
    selector = PromptSelector(ids, tracker, seed=seed)
    for batch in range(1, 5):
        choice = selector.choose(count).prompt_ids
        assert len(choice) == len(set(choice)) == count
        assert set(choice) <= set(ids)
        tracker.observe([seen(p, batch % 9) for p in choice], batch)


def test_two_ranks_with_the_same_observations_draw_the_same_batches() -> None:
    ranks = [PromptSelector(IDS, PassRateTracker(), seed=5) for _ in range(2)]
    outcome = random.Random(3)
    for batch in range(1, 12):
        choices = [rank.choose(8).prompt_ids for rank in ranks]
        assert choices[0] == choices[1]
        observations = [seen(p, outcome.randint(0, 8)) for p in choices[0]]
        for rank in ranks:
            rank.tracker.observe(observations, batch)


def test_a_restored_curriculum_draws_what_the_saved_one_would_have() -> None:
    first = selector_with({p: i % 9 for i, p in enumerate(IDS[:30])})
    first.choose(8)
    state = json.loads(json.dumps(first.state_dict()))
    second = PromptSelector(IDS, PassRateTracker(), seed=99)
    second.load_state_dict(state)
    assert [first.choose(8) for _ in range(5)] == [second.choose(8) for _ in range(5)]


def test_a_restored_curriculum_survives_a_changed_data_set() -> None:
    first = selector_with(dict.fromkeys(IDS[:30], 4))
    first.choose(8)
    second = PromptSelector([*IDS[20:], "new"], PassRateTracker(CurriculumSettings(explore_share=0.75)))
    second.load_state_dict(first.state_dict())
    drawn = {p for _ in range(12) for p in second.choose(4).prompt_ids}
    assert drawn <= {*IDS[20:], "new"}
    assert "new" in drawn


def test_bad_settings_and_data_are_refused() -> None:
    with pytest.raises(ValueError, match="band_low"):
        CurriculumSettings(band_low=0.9)
    with pytest.raises(ValueError, match="outside the band"):
        CurriculumSettings(target=0.95)
    with pytest.raises(ValueError, match="unique"):
        PromptSelector(["a", "a"], PassRateTracker())
    with pytest.raises(ValueError, match="at least as many"):
        PromptSelector(["a"], PassRateTracker()).choose(2)
    with pytest.raises(ValueError, match="version"):
        PassRateTracker().load_state_dict({"version": 99, "records": {}})


def test_the_chance_of_zero_variance_is_the_closed_form_and_what_sampling_finds() -> None:
    assert zero_variance_probability(0.5, 4) == 0.125
    assert zero_variance_probability(0.0, 8) == 1.0
    rng = random.Random(0)
    groups = [{rng.random() < 0.3 for _ in range(6)} for _ in range(20000)]
    assert sum(len(group) == 1 for group in groups) / 20000 == pytest.approx(zero_variance_probability(0.3, 6), abs=0.01)


def test_the_advice_is_the_smallest_group_that_is_informative_often_enough() -> None:
    assert advise_group_size([0.5], 0.8).group_size == 4
    assert advise_group_size([0.05], 0.8).group_size == 32
    assert advise_group_size([0.0], 0.8).group_size == 64
    rows = tabulate([0.1, 0.5, 0.9])
    assert [row.informative_share for row in rows] == sorted(row.informative_share for row in rows)
