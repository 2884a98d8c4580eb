"""Dynamic sampling as in DAPO (arXiv 2503.14476, section 3.2) through TRL's `rollout_func`: groups without spread are
replaced by other prompts' groups, up to a number of rounds, before they cost a gradient step.

TRL fixes the number of rows of a batch, so a replaced group takes its rows over: prompt tokens, completion and reward
come from here, and `prompt_id` says whose they are. The reward is computed here too and handed to TRL through
`rollout_reward`, so `reward_from_rollout` is the trainer's reward function. Every rank does the same number of
generations of the same size, since generation under FSDP, ZeRO-3 and vLLM is collective.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from accelerate.utils import gather_object

from trainer_client.curriculum.tracker import observations_of
from trainer_client.curriculum.trl_trainer import ID_COLUMN

RewardFunction = Callable[..., Sequence[float | None] | Awaitable[Sequence[float | None]]]
REWARD_COLUMN = "rollout_reward"
# What TRL passes to reward functions by other names.
NOT_COLUMNS = ("prompt", "completion", "completion_ids")


def reward_from_rollout(completions: list[Any], **columns: Any) -> list[float | None]:
    """The trainer's reward function: what the rollout has computed."""
    rewards = columns.get(REWARD_COLUMN)
    if rewards is None or len(rewards) != len(completions):
        raise ValueError("reward_from_rollout only works together with ResamplingRollout as rollout_func")
    return list(rewards)


@dataclass
class _Group:
    row: dict[str, Any]
    prompt_ids: list[list[int]]
    completion_ids: list[list[int]]
    logprobs: list[list[float]] | None
    rewards: list[float | None]

    @property
    def informative(self) -> bool:
        scored = [r for r in self.rewards if r is not None and not math.isnan(r)]
        return bool(scored) and max(scored) > min(scored)


class ResamplingRollout:
    """A `rollout_func`. rows: the train data set's rows (each with `prompt` and `prompt_id`); reward: a TRL reward function,
    plain or async; max_rounds: generations at most, the first one included."""

    def __init__(self, rows: Sequence[dict[str, Any]], reward: RewardFunction, max_rounds: int = 3) -> None:
        if max_rounds < 1:
            raise ValueError("max_rounds must be 1 or more")
        self.reward = reward
        self.max_rounds = max_rounds
        self._by_prompt = {_key(row["prompt"]): row for row in rows}
        self._running_loop: asyncio.AbstractEventLoop | None = None
        self._rows = {str(row[ID_COLUMN]): row for row in rows}

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        if not trainer.model.training:
            return self._answer(self._generate(prompts, trainer, trainer.num_generations_eval))
        size = trainer.num_generations
        if len(prompts) % size:
            raise ValueError(
                f"resampling needs whole groups on each rank: {len(prompts)} rows are no multiple of num_generations = {size}; "
                "make per_device_train_batch_size x steps_per_generation one"
            )
        groups = self._generate(prompts, trainer, size)
        dropped: list[_Group] = []
        rounds = 1
        while rounds < self.max_rounds:
            dull = [index for index, group in enumerate(groups) if not group.informative]
            wanted = max(gather_object([len(dull)]))
            if wanted == 0:
                break
            spare = self._generate(self._others(groups, wanted, size, trainer), trainer, size)
            useful = [group for group in spare if group.informative][: len(dull)]
            for index, group in zip(dull, useful, strict=False):
                groups[index], group = group, groups[index]
                dropped.append(group)
            dropped += [group for group in spare if not group.informative]
            rounds += 1
        self._learn_from(dropped, trainer)
        trainer._metrics["train"]["curriculum/resampling_rounds"].append(rounds)
        return self._answer(groups)

    def _learn_from(self, dropped: list[_Group], trainer: Any) -> None:
        """What was generated and not trained on is still an observation of its prompt, on every rank alike."""
        seen = gather_object([(str(g.row[ID_COLUMN]), r) for g in dropped for r in g.rewards])
        rewards = [reward for _, reward in seen]
        observations = observations_of([prompt_id for prompt_id, _ in seen], rewards, trainer.pass_reward)
        trainer.tracker.observe(observations, trainer.selector.batch)

    def _others(self, groups: list[_Group], count: int, size: int, trainer: Any) -> list[Any]:
        """Prompts of `count` groups that no rank has in this batch, different ones on each rank."""
        used = set(gather_object([str(group.row[ID_COLUMN]) for group in groups]))
        index, ranks = trainer.accelerator.process_index, trainer.accelerator.num_processes
        choice = trainer.selector.choose(min(count * ranks + len(used), len(self._rows)))
        fresh = [p for p in choice.prompt_ids if p not in used] or choice.prompt_ids
        mine = [fresh[(index * count + i) % len(fresh)] for i in range(count)]
        return [self._rows[prompt_id]["prompt"] for prompt_id in mine for _ in range(size)]

    def _generate(self, prompts: list[Any], trainer: Any, size: int) -> list[_Group]:
        prompt_ids, images, fields = trainer._tokenize_prompts(prompts)
        completion_ids, logprobs = trainer._generate_single_turn(prompt_ids, images, fields, size)
        texts = trainer.processing_class.batch_decode(completion_ids, skip_special_tokens=True)
        chat = isinstance(prompts[0], list)
        completions = [[{"role": "assistant", "content": text}] for text in texts] if chat else texts
        rows = [self._by_prompt[_key(prompt)] for prompt in prompts]
        rewards = self._score(prompts, completions, completion_ids, rows, trainer)
        return [
            _Group(
                rows[at],
                [list(ids) for ids in prompt_ids[at : at + size]],
                completion_ids[at : at + size],
                None if logprobs is None else logprobs[at : at + size],
                rewards[at : at + size],
            )
            for at in range(0, len(prompts), size)
        ]

    def _score(
        self, prompts: list[Any], completions: list[Any], ids: list[list[int]], rows: list[dict[str, Any]], trainer: Any
    ) -> list[float | None]:
        columns: dict[str, Any] = {key: [row[key] for row in rows] for key in rows[0] if key not in NOT_COLUMNS}
        hooks = {"log_extra": lambda *_: None, "log_metric": trainer._log_metric, "trainer_state": trainer.state}
        answer = self.reward(prompts=prompts, completions=completions, completion_ids=ids, **columns, **hooks)
        if inspect.isawaitable(answer):
            answer = asyncio.run_coroutine_threadsafe(_await(answer), self._loop()).result()
        return list(answer)

    def _loop(self) -> asyncio.AbstractEventLoop:
        """One loop for the run: an HTTP client belongs to the loop that opened it."""
        if self._running_loop is None:
            self._running_loop = asyncio.new_event_loop()
            threading.Thread(target=self._running_loop.run_forever, name="rollout-rewards", daemon=True).start()
        return self._running_loop

    def _answer(self, groups: list[_Group]) -> dict[str, Any]:
        logprobs = None if groups[0].logprobs is None else [row for group in groups for row in group.logprobs or []]
        return {
            "prompt_ids": [row for group in groups for row in group.prompt_ids],
            "completion_ids": [row for group in groups for row in group.completion_ids],
            "logprobs": logprobs,
            REWARD_COLUMN: [reward for group in groups for reward in group.rewards],
            ID_COLUMN: [str(group.row[ID_COLUMN]) for group in groups for _ in group.rewards],
        }


async def _await(answer: Awaitable[Sequence[float | None]]) -> Sequence[float | None]:
    return await answer


def _key(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True, ensure_ascii=False)
