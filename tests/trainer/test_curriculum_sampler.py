from __future__ import annotations

import pytest
from torch.utils.data import DataLoader
from trl.trainer.utils import RepeatSampler

from trainer_client.curriculum import CurriculumSettings, Observation, PassRateTracker, PromptSelector
from trainer_client.curriculum.sampler import CurriculumSampler

IDS = [f"p{i}" for i in range(23)]


def sampler(**changes: int) -> CurriculumSampler:
    layout = {"prompts_per_batch": 5, "group_size": 3, "repeats": 2} | changes
    return CurriculumSampler(IDS, PromptSelector(IDS, PassRateTracker(CurriculumSettings())), **layout)


def test_the_layout_is_that_of_trls_sampler() -> None:
    ours, theirs = sampler(), RepeatSampler(IDS, mini_repeat_count=3, batch_size=5, repeat_count=2, seed=0)
    rows = list(ours)
    assert len(rows) == len(ours) == len(list(theirs)) == len(theirs)
    for block in range(0, len(rows), 30):
        first, second = rows[block : block + 15], rows[block + 15 : block + 30]
        assert first == second
        assert len(set(first)) == 5
        assert all(len(set(first[i : i + 3])) == 1 for i in range(0, 15, 3))


def test_a_block_is_chosen_when_the_loader_asks_so_that_it_knows_the_blocks_before() -> None:
    ours = sampler(repeats=1)
    loader = DataLoader(list(range(len(IDS))), batch_size=15, sampler=ours)  # type: ignore[arg-type]
    iterator = iter(loader)
    first = next(iterator).tolist()
    solved = [Observation(IDS[row], 0, 3, 0.0, 0.0) for row in set(first)]
    ours.selector.tracker.observe(solved, 1)
    assert not set(next(iterator).tolist()) & set(first)
    assert ours.selector.batch == 2


def test_too_small_a_data_set_is_refused_with_what_to_change() -> None:
    with pytest.raises(ValueError, match="generation_batch_size"):
        sampler(prompts_per_batch=24)
