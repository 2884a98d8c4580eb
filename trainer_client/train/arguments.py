"""From our configuration to TRL's GRPOConfig, and what the run is compared with before it begins."""

from __future__ import annotations

import dataclasses
from typing import Any

from trainer_client.train.checks import Finding, check_fields
from trainer_client.train.config import ConfigError, TrainConfig


def known_fields() -> set[str]:
    from trl import GRPOConfig

    return {field.name for field in dataclasses.fields(GRPOConfig)}


def grpo_arguments(config: TrainConfig) -> Any:
    """A GRPOConfig. Raises ConfigError where TRL refuses a value, with its reason.

    Without a GPU: `use_cpu` and no bfloat16, unless the file says otherwise.
    """
    import torch
    from trl import GRPOConfig

    arguments: dict[str, Any] = {"logging_steps": 1, **config.grpo}
    if not torch.cuda.is_available():
        arguments = {"use_cpu": True, "bf16": False, "dataloader_pin_memory": False, **arguments}
    arguments |= {"output_dir": config.output_dir, "seed": config.seed, "report_to": list(config.report_to) or "none"}
    if config.vllm.mode != "off":
        arguments |= {
            "use_vllm": True,
            "vllm_mode": config.vllm.mode,
            "vllm_gpu_memory_utilization": config.vllm.gpu_memory_utilization,
            "vllm_tensor_parallel_size": config.vllm.tensor_parallel_size,
            "vllm_enable_sleep_mode": config.vllm.enable_sleep_mode,
        }
        if config.vllm.max_model_length is not None:
            arguments["vllm_max_model_length"] = config.vllm.max_model_length
        if config.vllm.server_url is not None:
            arguments["vllm_server_base_url"] = config.vllm.server_url
    try:
        return GRPOConfig(**arguments)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"TRL refuses these settings: {error}") from None


def check_against_trl(config: TrainConfig) -> list[Finding]:
    return check_fields(config, known_fields())


def peft_config(config: TrainConfig) -> Any:
    """None without a `lora` section."""
    if config.lora is None:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=config.lora.r,
        lora_alpha=config.lora.alpha,
        lora_dropout=config.lora.dropout,
        target_modules=config.lora.target_modules,
        task_type="CAUSAL_LM",
    )
