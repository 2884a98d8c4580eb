"""A run from beginning to end: checks, data, the service's readiness, then the model. Errors cost no GPU time."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from trainer_client.client_errors import VerifierClientError
from trainer_client.client_sync import SyncVerifierClient
from trainer_client.planner import plan
from trainer_client.train.arguments import check_against_trl, grpo_arguments, peft_config
from trainer_client.train.checks import Finding, batches_of, check
from trainer_client.train.config import ConfigError, TrainConfig
from trainer_client.train.cpu_sync import sync_through_reload
from trainer_client.train.data import kinds_and_full_marks, load_rows
from trainer_client.train.memory import plan_request
from trainer_client.train.report import print_batches, print_findings, print_plan
from trainer_client.trl_reward import Tolerance, make_reward_function

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prepared:
    """All that is known before the model is loaded."""

    config: TrainConfig
    rows: Any
    arguments: Any
    pass_reward: float
    verifiers: dict[str, str]


def prepare(config: TrainConfig, console: Console, *, dry_run: bool = False) -> Prepared:
    """Raises ConfigError with everything that must be mended; prints warnings and the plan.

    A dry run doesn't need the service to be there: that it isn't is then a warning.
    """
    findings = [*check(config, dry_run=dry_run), *check_against_trl(config), *_check_gpus(config, dry_run)]
    _stop_on_errors(findings)
    arguments = grpo_arguments(config)
    rows = load_rows(config)
    findings += _check_data(config, len(rows))
    kinds, full_marks = kinds_and_full_marks(config, rows)
    _stop_on_errors(findings)
    verifiers = _preflight(config, kinds, findings, dry_run)
    if arguments.process_index == 0:
        print_findings(console, findings)
        print_batches(console, batches_of(config), len(rows), float(config.grpo_number("num_train_epochs", 3)))
        try:
            print_plan(console, plan(plan_request(config)))
        except ConfigError as error:
            console.print(f"No memory plan: {error}", markup=False)
        _print_route(console, config, verifiers)
    pass_reward = full_marks if config.reward.pass_reward is None else config.reward.pass_reward
    return Prepared(config, rows, arguments, pass_reward, verifiers)


def train(prepared: Prepared, callbacks: list[Any] | None = None, *, quiet: bool = False) -> Any:
    """Trains, saves the model to output_dir and returns the trainer. Loads the model, so torch and TRL too.

    quiet: leave it to the callbacks to say how it goes.
    """
    from transformers.trainer_callback import PrinterCallback, ProgressCallback

    trainer = build_trainer(prepared, callbacks)
    if quiet:
        trainer.remove_callback(PrinterCallback)
        trainer.remove_callback(ProgressCallback)
    checkpoint = _checkpoint(prepared.config)
    if checkpoint is not None:
        log.warning("resuming from %s", checkpoint)
    trainer.train(resume_from_checkpoint=checkpoint)
    trainer.save_model(prepared.config.output_dir)
    if trainer.accelerator.is_main_process:
        trainer.processing_class.save_pretrained(prepared.config.output_dir)
    return trainer


def build_trainer(prepared: Prepared, callbacks: list[Any] | None = None) -> Any:
    from transformers import AutoTokenizer

    from trainer_client.curriculum.resampling import ResamplingRollout, reward_from_rollout
    from trainer_client.curriculum.trl_trainer import CurriculumGRPOTrainer

    config = prepared.config
    tokenizer = AutoTokenizer.from_pretrained(config.model, padding_side="left")
    if config.data.chat and tokenizer.chat_template is None:
        raise ConfigError(f"model: the tokenizer of {config.model} has no chat template; set data.chat to false")
    reward: Any = make_reward_function(
        config.reward.url,
        config.reward.verifiers,
        gold_column=config.reward.gold_column,
        deadline_s=config.reward.deadline_s,
        tolerance=Tolerance(config.reward.max_unscored_share, config.reward.max_bad_task_share),
        ready_wait_s=config.reward.ready_wait_s,
    )
    rollout = None
    if config.curriculum.resampling_rounds > 1:
        os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # rollout_func is used on purpose
        rollout = ResamplingRollout(list(prepared.rows), reward, config.curriculum.resampling_rounds)
        reward = reward_from_rollout
    trainer = CurriculumGRPOTrainer(
        model=config.model,
        reward_funcs=[reward],
        args=prepared.arguments,
        train_dataset=prepared.rows,
        processing_class=tokenizer,
        peft_config=peft_config(config),
        rollout_func=rollout,
        callbacks=callbacks,
        curriculum=config.curriculum.settings(),
        pass_reward=prepared.pass_reward,
    )
    if config.vllm.mode == "colocate" and prepared.arguments.device.type == "cpu":
        sync_through_reload(trainer)
    return trainer


def _stop_on_errors(findings: list[Finding]) -> None:
    errors = [finding.message for finding in findings if finding.level == "error"]
    if errors:
        raise ConfigError("\n".join(errors))


def _check_gpus(config: TrainConfig, dry_run: bool) -> list[Finding]:
    import torch

    wanted, here = config.distributed.gpus, torch.cuda.device_count()
    if wanted > 1 and here < wanted:
        level: Any = "warning" if dry_run else "error"
        return [Finding(level, f"distributed.gpus is {wanted}, but this machine shows {here}; set CUDA_VISIBLE_DEVICES or gpus")]
    if here == 0:
        return [Finding("warning", "no GPU here: training on the CPU")]
    return []


def _check_data(config: TrainConfig, rows: int) -> list[Finding]:
    prompts = batches_of(config).prompts
    if rows >= prompts:
        return []
    return [
        Finding("error", f"a generation batch asks {prompts} different prompts, but the data set has {rows}; lower the batch")
    ]


def _preflight(config: TrainConfig, kinds: set[str], findings: list[Finding], dry_run: bool) -> dict[str, str]:
    """The verifiers' versions by kind; without a ready service ConfigError, or for a dry run a warning."""
    wait_s = 0.0 if dry_run else config.reward.ready_wait_s
    try:
        with SyncVerifierClient(config.reward.url) as client:
            report = client.preflight(kinds, wait_s=wait_s)
    except (VerifierClientError, ValueError) as error:
        if not dry_run:
            raise ConfigError(f"reward.url: {error}") from None
        findings.append(Finding("warning", f"reward.url: {error}"))
        return {}
    findings += [Finding("warning", f"reward.url: {warning}") for warning in report.warnings]
    return {kind: f"{report.verifiers[kind].name} {report.verifiers[kind].version}" for kind in sorted(kinds)}


def _print_route(console: Console, config: TrainConfig, verifiers: dict[str, str]) -> None:
    urls = [config.reward.url] if isinstance(config.reward.url, str) else config.reward.url
    known = ", ".join(f"{kind} by {name}" for kind, name in verifiers.items()) or "not ready"
    console.print(f"Reward: {', '.join(urls)} ({known}), within {config.reward.deadline_s:g} s a step", markup=False)
    sampling = "curriculum" if config.curriculum.enabled else "uniform"
    rounds = config.curriculum.resampling_rounds
    console.print(
        f"Prompts: {sampling}{f', groups without spread anew up to {rounds} rounds' if rounds > 1 else ''}", markup=False
    )
    console.print(f"Rollouts: {'transformers' if config.vllm.mode == 'off' else 'vLLM, ' + config.vllm.mode}", markup=False)


def _checkpoint(config: TrainConfig) -> str | None:
    from transformers.trainer_utils import get_last_checkpoint

    if isinstance(config.resume, str):
        if not Path(config.resume).is_dir():
            raise ConfigError(f"resume: there is no folder {config.resume}")
        return config.resume
    if not config.resume or not Path(config.output_dir).is_dir():
        return None
    found: str | None = get_last_checkpoint(config.output_dir)
    return found
