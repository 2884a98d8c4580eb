"""The curriculum inside TRL's own trainer, on a tiny model, with reward functions that need no service."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from trl import GRPOConfig

from trainer_client.curriculum import CurriculumSettings
from trainer_client.curriculum.resampling import ResamplingRollout, reward_from_rollout
from trainer_client.curriculum.trl_trainer import STATE_FILE, CurriculumGRPOTrainer
from trainer_client.demo.tiny_model import make_model, make_tokenizer, save

pytestmark = [
    pytest.mark.timeout(300),
    # What transformers and TRL say of themselves and of torch.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]
PROMPTS = [f"{number:02}=" for number in range(24)]


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = make_tokenizer([*PROMPTS, "0123456789"], ())
    save(make_model(tokenizer, hidden=32, layers=1, positions=32, seed=0), tokenizer, folder)
    return folder


Maker = Callable[..., CurriculumGRPOTrainer]


@pytest.fixture
def make_trainer(tiny_model: Path, tmp_path: Path) -> Maker:
    from transformers import AutoTokenizer

    def make(reward: Any, *, curriculum: CurriculumSettings | None = None, rollout: Any = None, **changes: Any) -> Any:
        arguments: dict[str, Any] = {
            "output_dir": str(tmp_path / "run"),
            "use_cpu": True,
            "bf16": False,
            "dataloader_pin_memory": False,
            "report_to": "none",
            "num_generations": 4,
            "per_device_train_batch_size": 16,
            "max_completion_length": 4,
            "max_steps": 4,
            "save_strategy": "no",
            "beta": 0.0,
            "disable_tqdm": True,
            "gradient_checkpointing": False,
            "learning_rate": 1e-4,
            "logging_steps": 1,
        }
        rows = [{"prompt": prompt, "prompt_id": f"id-{prompt}"} for prompt in PROMPTS]
        return CurriculumGRPOTrainer(
            model=str(tiny_model),
            reward_funcs=[reward],
            args=GRPOConfig(**(arguments | changes)),
            train_dataset=Dataset.from_list(rows),
            processing_class=AutoTokenizer.from_pretrained(tiny_model, padding_side="left"),
            rollout_func=rollout,
            curriculum=curriculum,
            pass_reward=1.0,
        )

    return make


def solved_by_number(prompts: list[str], completions: list[str], **_: Any) -> list[float | None]:
    """The first eight prompts are always solved, the next eight never, of the rest every other completion."""
    kinds = [int(prompt[:2]) // 8 for prompt in prompts]
    return [[1.0, 0.0, float(i % 2)][kind] for i, kind in enumerate(kinds)]


def series(trainer: Any, key: str) -> list[float]:
    return [entry[key] for entry in trainer.state.log_history if key in entry]


def test_the_curriculum_finds_the_prompts_that_teach(make_trainer: Maker) -> None:
    trainer = make_trainer(
        solved_by_number, curriculum=CurriculumSettings(explore_share=0.25, retire_after=1), max_steps=14, num_train_epochs=20
    )
    trainer.train()
    informative = series(trainer, "curriculum/informative_share")
    assert len(informative) == 14
    assert sum(informative[-4:]) / 4 > sum(informative[:6]) / 6
    assert informative[-1] == 1.0
    assert series(trainer, "curriculum/retired")[-1] == 8
    assert series(trainer, "curriculum/unseen")[-1] == 0
    for record_id, record in trainer.tracker.records.items():
        assert record.retired == (int(record_id[3:5]) < 8)


def test_without_a_curriculum_rewards_are_still_reported(make_trainer: Maker) -> None:
    trainer = make_trainer(solved_by_number)
    trainer.train()
    assert len(series(trainer, "curriculum/pass_rate")) == 4
    assert "curriculum/from_unseen" not in trainer.state.log_history[0]


def test_null_rewards_are_no_observations(make_trainer: Maker) -> None:
    def half_null(prompts: list[str], completions: list[str], **_: Any) -> list[float | None]:
        return [None if int(prompt[:2]) % 2 else 1.0 for prompt in prompts]

    trainer = make_trainer(half_null, curriculum=CurriculumSettings())
    trainer.train()
    assert trainer.tracker.records
    assert all(int(record_id[3:5]) % 2 == 0 for record_id in trainer.tracker.records)


def test_several_optimizer_steps_for_one_generation_keep_the_layout(make_trainer: Maker) -> None:
    calls: list[list[str]] = []

    def reward(prompts: list[str], completions: list[str], **_: Any) -> list[float]:
        calls.append(prompts)
        return [float(i % 2) for i in range(len(prompts))]

    trainer = make_trainer(
        reward, curriculum=CurriculumSettings(), per_device_train_batch_size=4, steps_per_generation=2, num_iterations=2
    )
    trainer.train()
    assert len(calls) == 1
    assert calls[0][:4] == [calls[0][0]] * 4
    assert len(set(calls[0])) == 2


def test_a_resumed_run_goes_on_with_the_curriculum_it_had(make_trainer: Maker, tmp_path: Path) -> None:
    settings = CurriculumSettings(explore_share=0.25)
    first = make_trainer(solved_by_number, curriculum=settings, save_strategy="steps", save_steps=2)
    first.train()
    state = json.loads((tmp_path / "run" / "checkpoint-2" / STATE_FILE).read_text())
    assert state["tracker"]["records"]

    second = make_trainer(solved_by_number, curriculum=settings, max_steps=6, num_train_epochs=3)
    second.train(resume_from_checkpoint=True)
    assert second.state.global_step == 6
    assert second.selector.batch > first.selector.batch
    assert set(first.tracker.records) <= set(second.tracker.records)


def test_a_checkpoint_without_a_curriculum_is_refused_with_what_to_do(make_trainer: Maker, tmp_path: Path) -> None:
    make_trainer(solved_by_number, save_strategy="steps", save_steps=2, max_steps=2).train()
    with pytest.raises(ValueError, match="resume it without one"):
        make_trainer(solved_by_number, curriculum=CurriculumSettings()).train(resume_from_checkpoint=True)


def test_a_data_set_without_prompt_ids_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="prompt_id"):
        CurriculumGRPOTrainer(
            model=str(tiny_model),
            reward_funcs=[solved_by_number],
            args=GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, report_to="none"),
            train_dataset=Dataset.from_list([{"prompt": "1="}]),
            curriculum=None,
            pass_reward=1.0,
        )


def test_resampling_replaces_groups_without_spread(make_trainer: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    rows = [{"prompt": prompt, "prompt_id": f"id-{prompt}"} for prompt in PROMPTS]
    asked: list[str] = []

    async def reward(prompts: list[str], completions: list[str], **columns: Any) -> list[float | None]:
        asked.extend(prompts)
        assert columns["prompt_id"] == [f"id-{prompt}" for prompt in prompts]
        return solved_by_number(prompts, completions)

    with_it = make_trainer(
        reward_from_rollout,
        curriculum=CurriculumSettings(),
        rollout=ResamplingRollout(rows, reward, max_rounds=4),
        per_device_train_batch_size=8,
    )
    with_it.train()
    assert sum(series(with_it, "curriculum/informative_share")) / 4 > 0.8
    assert max(series(with_it, "curriculum/resampling_rounds")) > 1
    assert len(asked) > 4 * 8
    # What was generated and dropped is known to the curriculum too.
    assert {int(record_id[3:5]) // 8 for record_id in with_it.tracker.records} == {0, 1, 2}


def test_resampling_refuses_batches_that_split_groups(make_trainer: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    rollout = ResamplingRollout([{"prompt": "1", "prompt_id": "a"}], solved_by_number)
    trainer = type("T", (), {"num_generations": 4, "model": type("M", (), {"training": True})})()
    with pytest.raises(ValueError, match="whole groups on each rank"):
        rollout(["1"] * 6, trainer)
    with pytest.raises(ValueError, match="together with ResamplingRollout"):
        reward_from_rollout(["x"])
