"""TRL's GRPOTrainer with the curriculum's sampler.

Rewards are observed where TRL has gathered them over the ranks, on the main thread, so that every rank takes in the
same numbers and draws the same next batch; the reward function itself knows nothing of it. TRL splits groups across
ranks, hence the prompt's id travels with each row, in the data set's column `prompt_id`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor
from transformers import TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, get_last_checkpoint
from trl import GRPOTrainer

from trainer_client.curriculum.advice import tabulate
from trainer_client.curriculum.sampler import CurriculumSampler
from trainer_client.curriculum.selection import Choice, PromptSelector
from trainer_client.curriculum.tracker import CurriculumSettings, PassRateTracker, observations_of

ID_COLUMN = "prompt_id"
STATE_FILE = "curriculum.json"


class _SaveState(TrainerCallback):
    """Writes the curriculum beside every checkpoint, from the main process."""

    def __init__(self, selector: PromptSelector) -> None:
        self.selector = selector

    def on_save(self, args: Any, state: Any, _control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            folder = Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"
            (folder / STATE_FILE).write_text(json.dumps(self.selector.state_dict()))


class CurriculumGRPOTrainer(GRPOTrainer):
    """curriculum: settings, or None to sample as TRL does (rewards are then still tracked and reported).
    pass_reward: the total reward from which a completion counts as solved.

    The train data set needs a column `prompt_id` of unique strings.
    """

    def __init__(self, *args: Any, curriculum: CurriculumSettings | None, pass_reward: float, **kwargs: Any) -> None:
        self.tracker = PassRateTracker(curriculum)
        self.pass_reward = pass_reward
        self.uses_curriculum = curriculum is not None
        self._observed_batches = 0
        super().__init__(*args, **kwargs)
        if ID_COLUMN not in self.train_dataset.column_names:
            raise ValueError(f"the train data set needs a column {ID_COLUMN!r} of unique strings")
        self._prompt_ids = [str(prompt_id) for prompt_id in self.train_dataset[ID_COLUMN]]
        self.selector = PromptSelector(self._prompt_ids, self.tracker, seed=self.args.seed)
        if self.uses_curriculum:
            self.args.ignore_data_skip = True  # a resumed run draws anew from the restored state, it has nothing to skip
            self.add_callback(_SaveState(self.selector))

    def _get_train_sampler(self, dataset: Any = None) -> Any:
        if not self.uses_curriculum:
            return super()._get_train_sampler(dataset)
        return CurriculumSampler(
            self._prompt_ids,
            self.selector,
            prompts_per_batch=self.args.generation_batch_size // self.num_generations,
            group_size=self.num_generations,
            repeats=self.num_iterations * self.args.steps_per_generation,
            on_choice=self._log_choice,
        )

    def _log_choice(self, choice: Choice) -> None:
        metrics = self._metrics["train"]
        metrics["curriculum/expected_pass_rate"].append(choice.expected_pass_rate)
        for pool, count in choice.pools.items():
            metrics[f"curriculum/from_{pool}"].append(count / len(choice.prompt_ids))

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any) -> Tensor:
        rewards_per_func: Tensor = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        if self.model.training:
            self._observe(gather_object([str(row[ID_COLUMN]) for row in inputs]), self._totals(rewards_per_func))
        return rewards_per_func

    def _totals(self, rewards_per_func: Tensor) -> list[float]:
        """As TRL adds them up: weighted, a null of one function counts nothing, a row of nulls is null."""
        totals = (rewards_per_func * self.reward_weights.to(rewards_per_func.device)).nansum(dim=1)
        totals[torch.isnan(rewards_per_func).all(dim=1)] = torch.nan
        return [float(total) for total in totals.tolist()]

    def _observe(self, prompt_ids: list[str], totals: list[float]) -> None:
        self._observed_batches += 1
        batch = self.selector.batch if self.uses_curriculum else self._observed_batches
        observations = observations_of(prompt_ids, totals, self.pass_reward)
        report = self.tracker.observe(observations, batch)
        metrics = self._metrics["train"]
        if report.prompts:
            metrics["curriculum/pass_rate"].append(report.pass_rate)
            metrics["curriculum/informative_share"].append(report.informative_share)
            metrics["curriculum/all_solved_share"].append(report.all_solved_share)
            metrics["curriculum/all_failed_share"].append(report.all_failed_share)
            metrics["curriculum/in_band_share"].append(report.in_band_share)
            rates = [self.tracker.pass_rate(o.prompt_id) for o in observations]
            for row in tabulate(rates, (self.num_generations, 2 * self.num_generations)):
                metrics[f"curriculum/informative_expected_g{row.group_size}"].append(row.informative_share)
        metrics["curriculum/retired"].append(sum(r.retired for r in self.tracker.records.values()))
        metrics["curriculum/unseen"].append(len(self._prompt_ids) - len(self.tracker.records))

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        folder = get_last_checkpoint(self.args.output_dir) if resume_from_checkpoint is True else resume_from_checkpoint
        if folder and self.uses_curriculum:
            state = Path(folder) / STATE_FILE
            if not state.exists():
                raise ValueError(f"{folder} has no {STATE_FILE}: it was saved without a curriculum; resume it without one")
            self.selector.load_state_dict(json.loads(state.read_text()))
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)
