"""What is wrong or unusual about a run, told before a model is loaded. No torch here, but for the count of GPUs."""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from trainer_client.train.config import ConfigError, TrainConfig

USUAL_BETA = (0.02, 0.08)
# Names that older TRL configurations use, and what to write today.
REMOVED = {
    "max_prompt_length": "TRL no longer truncates prompts: drop long ones from the data set, and set vllm.max_model_length",
    "warmup_ratio": "write warmup_steps with a value below 1, which is the ratio now",
    "logging_dir": "set the environment variable TENSORBOARD_LOGGING_DIR, or leave it: logs go to output_dir/runs",
}
# Fields of GRPOConfig that follow from other sections of our file.
OURS = {
    "output_dir": "output_dir",
    "seed": "seed",
    "report_to": "report_to",
    "resume_from_checkpoint": "resume",
    "use_vllm": "vllm.mode",
    "vllm_mode": "vllm.mode",
    "vllm_gpu_memory_utilization": "vllm.gpu_memory_utilization",
    "vllm_tensor_parallel_size": "vllm.tensor_parallel_size",
    "vllm_max_model_length": "vllm.max_model_length",
    "vllm_enable_sleep_mode": "vllm.enable_sleep_mode",
    "vllm_server_base_url": "vllm.server_url",
}


Level = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """An `error` stops the run before it begins, a `warning` is printed."""

    level: Level
    message: str


@dataclass(frozen=True)
class Batches:
    """How the completions of a generation batch are cut, all GPUs together."""

    per_device: int
    gpus: int
    accumulation: int
    steps_per_generation: int
    group_size: int
    iterations: int

    @property
    def generation_batch(self) -> int:
        return self.per_device * self.gpus * self.steps_per_generation

    @property
    def prompts(self) -> int:
        return self.generation_batch // self.group_size

    @property
    def optimizer_batch(self) -> int:
        return self.per_device * self.gpus * self.accumulation


def batches_of(config: TrainConfig) -> Batches:
    """TRL's arithmetic: steps_per_generation is what is given, or follows from generation_batch_size, or the accumulation."""
    per_device = int(config.grpo_number("per_device_train_batch_size", 8))
    accumulation = int(config.grpo_number("gradient_accumulation_steps", 1))
    gpus = config.distributed.gpus
    steps = accumulation
    if config.grpo.get("generation_batch_size") is not None:
        steps = max(1, int(config.grpo_number("generation_batch_size", 0)) // max(1, per_device * gpus))
    if config.grpo.get("steps_per_generation") is not None:
        steps = int(config.grpo_number("steps_per_generation", 0))
    group = int(config.grpo_number("num_generations", 8))
    iterations = int(config.grpo_number("num_iterations", 1))
    for name, value in {
        "per_device_train_batch_size": per_device,
        "gradient_accumulation_steps": accumulation,
        "steps_per_generation": steps,
        "num_generations": group,
        "num_iterations": iterations,
    }.items():
        if value < 1:
            raise ConfigError(f"grpo.{name} must be 1 or more, not {value}")
    return Batches(per_device, gpus, accumulation, steps, group, iterations)


def check(config: TrainConfig, *, dry_run: bool = False) -> list[Finding]:
    """Everything that can be said from the file alone. A dry run may be where nothing can be generated."""
    vllm = _vllm(config, "warning" if dry_run else "error")
    return [*_names(config), *_beta(config), *_batches(config), *vllm, *_reports(config.report_to), *_numbers(config)]


def check_fields(config: TrainConfig, known: Iterable[str]) -> list[Finding]:
    """Fields under `grpo` that this TRL doesn't know; `known` are those of its GRPOConfig."""
    known = sorted(known)
    findings = []
    for name in config.grpo:
        if name not in known and name not in REMOVED:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            findings.append(Finding("error", f"grpo.{name}: TRL's GRPOConfig has no such field{hint}"))
    return findings


def _names(config: TrainConfig) -> list[Finding]:
    findings = [Finding("error", f"grpo.{name} is gone from TRL: {REMOVED[name]}") for name in config.grpo if name in REMOVED]
    findings += [Finding("error", f"grpo.{name}: write {OURS[name]} instead") for name in config.grpo if name in OURS]
    return findings


def _beta(config: TrainConfig) -> list[Finding]:
    beta = config.grpo_number("beta", 0.0)
    low, high = USUAL_BETA
    if beta < 0:
        return [Finding("error", f"grpo.beta is {beta}: a negative weight would reward leaving the reference")]
    if low <= beta <= high:
        return []
    usual = "DeepSeek-R1 used 0.001 and DAPO 0" if beta < low else "a strong pull to the reference slows learning"
    return [Finding("warning", f"grpo.beta is {beta}, outside {low} to {high}: {usual}")]


def _batches(config: TrainConfig) -> list[Finding]:
    b = batches_of(config)
    findings = []
    if b.group_size < 2:
        findings.append(Finding("error", "grpo.num_generations must be 2 or more: an advantage needs something to compare with"))
    elif b.generation_batch % b.group_size:
        findings.append(Finding("error", _suggest_batches(b)))
    given = config.grpo.get("generation_batch_size")
    if given is not None and int(config.grpo_number("generation_batch_size", 0)) % (b.per_device * b.gpus):
        each = b.per_device * b.gpus
        near = max(1, round(int(config.grpo_number("generation_batch_size", 0)) / each)) * each
        findings.append(
            Finding("error", f"grpo.generation_batch_size {given} is no multiple of {each} (per device x GPUs); take {near}")
        )
    if given is not None and config.grpo.get("steps_per_generation") is not None:
        findings.append(Finding("error", "give grpo.generation_batch_size or grpo.steps_per_generation, not both"))
    local = b.per_device * b.steps_per_generation
    if config.curriculum.resampling_rounds > 1 and b.group_size > 1 and local % b.group_size:
        findings.append(
            Finding(
                "error",
                f"curriculum.resampling_rounds needs whole groups on each GPU: {local} completions are no multiple of "
                f"num_generations {b.group_size}",
            )
        )
    if config.curriculum.resampling_rounds > 1 and not config.curriculum.enabled:
        findings.append(Finding("error", "curriculum.resampling_rounds needs curriculum.enabled: it draws its prompts there"))
    return findings


def _suggest_batches(b: Batches) -> str:
    unit = b.per_device * b.gpus
    steps = next(s for s in range(b.steps_per_generation, b.steps_per_generation + b.group_size) if unit * s % b.group_size == 0)
    options = [f"gradient_accumulation_steps {steps} (a generation batch of {unit * steps})"]
    sizes = [size for size in range(2, b.generation_batch + 1) if b.generation_batch % size == 0]
    if sizes:
        options.append(f"num_generations {min(sizes, key=lambda size: abs(size - b.group_size))}")
    return (
        f"a generation batch of {b.per_device} per device x {b.gpus} GPUs x {b.steps_per_generation} steps = "
        f"{b.generation_batch} completions is no multiple of num_generations {b.group_size}; take {' or '.join(options)}"
    )


def _vllm(config: TrainConfig, missing: Level) -> list[Finding]:
    findings = []
    if config.vllm.mode != "off" and importlib.util.find_spec("vllm") is None:
        findings.append(
            Finding(missing, f"vllm.mode {config.vllm.mode} needs vLLM: pip install -e '/path/to/the/clone[trainer,vllm]'")
        )
    if config.vllm.mode == "colocate" and config.distributed.gpus % config.vllm.tensor_parallel_size:
        findings.append(
            Finding(
                "error",
                f"vllm.tensor_parallel_size {config.vllm.tensor_parallel_size} must divide distributed.gpus "
                f"{config.distributed.gpus}",
            )
        )
    if config.vllm.mode == "off" and config.distributed.gpus > 1:
        findings.append(Finding("warning", "vllm.mode is off: generation with transformers is many times slower than vLLM"))
    return findings


def _reports(report_to: list[Literal["tensorboard", "trackio", "wandb"]]) -> list[Finding]:
    return [
        Finding("error", f"report_to names {name}, which is not installed: pip install {name}")
        for name in report_to
        if importlib.util.find_spec(name) is None and not (name == "tensorboard" and importlib.util.find_spec("tensorboardX"))
    ]


def _numbers(config: TrainConfig) -> list[Finding]:
    findings = []
    if config.vllm.max_model_length is not None:
        longest = int(config.grpo_number("max_completion_length", 256))
        if longest >= config.vllm.max_model_length:
            findings.append(
                Finding(
                    "error",
                    f"vllm.max_model_length {config.vllm.max_model_length} leaves no room for a prompt beside "
                    f"grpo.max_completion_length {longest}",
                )
            )
    if config.reward.deadline_s >= 600 and config.distributed.gpus > 1:
        findings.append(
            Finding("warning", f"reward.deadline_s {config.reward.deadline_s:g} reaches NCCL's time-out of 600 s; stay below it")
        )
    return findings
