"""The demo: the same path as `trainer-client train`, with a data set, a model and a service made for it."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from trainer_client.demo.plot import plot_rewards
from trainer_client.demo.service import DemoError, running_service
from trainer_client.demo.tasks import TASKS, Task
from trainer_client.train.config import TrainConfig

__all__ = ["DemoError", "DemoResult", "run_demo"]

SHARES = {
    "math right": "verifier/math/score",
    "format right": "verifier/format/score",
    "programs right": "verifier/code/score",
    "groups that teach": "curriculum/informative_share",
    "unscored": "verifier/unscored_share",
}


@dataclass(frozen=True)
class DemoResult:
    """Mean reward over the first and the last fifth of the steps, all of them, and where the plot is."""

    first: float
    last: float
    rewards: list[float]
    plot: Path


def run_demo(
    name: str,
    out: Path,
    console: Console,
    *,
    url: str | None = None,
    steps: int | None = None,
    seed: int = 0,
    rollouts: Literal["off", "colocate"] = "off",
) -> DemoResult:
    """rollouts: `colocate` generates with vLLM. Raises DemoError where the service can't be started."""
    task = TASKS[name](seed)
    if rollouts == "colocate":
        task = replace(task, hidden=128, heads=2)  # vLLM's attention kernels want heads of 64
    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with _service(url, folder, task) as address:
        console.print(f"Reward service: {address}", markup=False)
        start = time.monotonic()
        _make_model(task, folder, console, seed)
        trainer = _train(_config(task, folder, address, steps or task.train_steps, seed, rollouts), console)
        seconds = time.monotonic() - start
    return _conclude(trainer, task, folder, console, seconds)


@contextlib.contextmanager
def _service(url: str | None, folder: Path, task: Task) -> Iterator[str]:
    if url is not None:
        yield url
        return
    with running_service(folder / "service.log", task.environment) as address:
        yield address


def _make_model(task: Task, folder: Path, console: Console, seed: int) -> None:
    import torch

    from trainer_client.demo.tiny_model import make_model, make_tokenizer, save, warm_start

    # So small a model gains nothing from more threads, and they would wait for one another on a busy machine.
    torch.set_num_threads(1)
    tokenizer = make_tokenizer([text for pair in task.pairs for text in pair], task.whole)
    longest = max(len(tokenizer(row["prompt"])["input_ids"]) for row in task.rows)
    positions = max(64, longest + task.completion_tokens)
    model = make_model(tokenizer, hidden=task.hidden, layers=task.layers, positions=positions, seed=seed, heads=task.heads)
    loss = warm_start(model, tokenizer, task.pairs, steps=task.warm_steps, batch=64, learning_rate=2e-3, seed=seed)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    console.print(
        f"A model of {parameters:,} parameters, warmed up on {len(task.pairs)} examples spoiled on purpose (loss {loss:.2f}).",
        markup=False,
    )
    save(model, tokenizer, folder / "warm")
    with (folder / "train.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in task.rows)


def _config(task: Task, folder: Path, url: str, steps: int, seed: int, rollouts: str) -> TrainConfig:
    batch = task.prompts_per_batch * task.group_size
    return TrainConfig.model_validate(
        {
            "model": str(folder / "warm"),
            "output_dir": str(folder / "run"),
            "seed": seed,
            "resume": False,
            "report_to": [],
            "data": {"path": str(folder / "train.jsonl"), "chat": False},
            "reward": {"url": url, "verifiers": task.verifiers, "max_unscored_share": 0.1},
            # Uniform sampling, so that the curve shows the policy and not the choice of prompts.
            "curriculum": {"enabled": task.curriculum},
            "distributed": {"gpu_memory_gib": 16},
            "vllm": {"mode": rollouts, "max_model_length": 64},
            "grpo": {
                "loss_type": "grpo",
                "beta": task.beta,
                "use_bias_correction_kl": False,
                "num_generations": task.group_size,
                "per_device_train_batch_size": batch,
                "max_completion_length": task.completion_tokens,
                "learning_rate": task.learning_rate,
                "lr_scheduler_type": "constant_with_warmup",
                "warmup_steps": 5,
                "max_steps": steps,
                "num_train_epochs": 1000,
                "save_strategy": "no",
                "gradient_checkpointing": False,
                "disable_tqdm": True,
            },
        }
    )


def _train(config: TrainConfig, console: Console) -> Any:
    from trainer_client.demo.progress import ProgressLine
    from trainer_client.train.run import prepare, train

    return train(prepare(config, console), callbacks=[ProgressLine(console)], quiet=True)


def _conclude(trainer: Any, task: Task, folder: Path, console: Console, seconds: float) -> DemoResult:
    history = trainer.state.log_history
    rewards = _series(history, "reward")
    fifth = max(1, len(rewards) // 5)
    first, last = (sum(part) / len(part) for part in (rewards[:fifth], rewards[-fifth:]))
    shares = {name: series for name, key in SHARES.items() if (series := _series(history, key))}
    plot = folder / "rewards.png"
    plot_rewards(rewards, shares, f"GRPO on a CPU, {task.name}: rewards of the running service", plot)
    (folder / "history.json").write_text(json.dumps(history))
    for name, series in shares.items():
        begin, end = (sum(part) / len(part) for part in (series[:fifth], series[-fifth:]))
        console.print(f"  {name}: {begin:.3f} -> {end:.3f}", markup=False, highlight=False)
    console.print(
        f"Mean reward {first:.3f} over the first fifth, {last:.3f} over the last, {len(rewards)} steps in {seconds:.0f} s; "
        f"plot: {plot}",
        markup=False,
        highlight=False,
    )
    return DemoResult(first, last, rewards, plot)


def _series(history: list[dict[str, Any]], key: str) -> list[float]:
    values = [entry.get(key) for entry in history]
    return [float(value) for value in values if value is not None and not math.isnan(value)]
