"""The planner's request for a run: the model's shape from its configuration, the rest from the YAML file."""

from __future__ import annotations

from typing import Any

from trainer_client.planner import PlanRequest, Shape, Sharding, shape_of
from trainer_client.train.checks import batches_of
from trainer_client.train.config import ConfigError, TrainConfig

SHARDING: dict[str, Sharding] = {"none": "none", "ddp": "none", "zero2": "zero2", "zero3": "zero3", "fsdp": "fsdp"}


def plan_request(config: TrainConfig) -> PlanRequest:
    """Raises ConfigError where neither the model's configuration nor `model_params` tells its size."""
    batches = batches_of(config)
    shape = shape_of(config.model_params) if config.model_params is not None else _shape_of_model(config.model)
    adapter = _adapter_params(shape, config.lora.r) if config.lora is not None else 0.0
    return PlanRequest(
        shape=shape,
        algorithm="grpo",
        beta=config.grpo_number("beta", 0.0),
        gpus=config.distributed.gpus,
        gpu_gib=config.distributed.gpu_memory_gib,
        sharding=SHARDING[config.distributed.strategy],
        rollouts=config.vllm.mode,
        prompt_tokens=_prompt_tokens(config),
        completion_tokens=int(config.grpo_number("max_completion_length", 256)),
        micro_batch=batches.per_device,
        sequences=batches.generation_batch,
        gradient_checkpointing=config.grpo.get("gradient_checkpointing", True) is True,
        lora_params=adapter,
        vllm_share=config.vllm.gpu_memory_utilization,
        tensor_parallel=config.vllm.tensor_parallel_size,
    )


def _prompt_tokens(config: TrainConfig) -> int:
    if config.vllm.max_model_length is not None:
        return max(1, config.vllm.max_model_length - int(config.grpo_number("max_completion_length", 256)))
    return 512


def _shape_of_model(model: str) -> Shape:
    from transformers import AutoConfig

    try:
        found = AutoConfig.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"model: the configuration of {model} can't be read ({str(error).splitlines()[0]:.200}); "
            "check the name or folder, or set model_params for the memory plan"
        ) from None
    text = found.get_text_config()
    heads = text.num_attention_heads
    head_dim = getattr(text, "head_dim", None) or text.hidden_size // heads
    kv_heads = getattr(text, "num_key_value_heads", None) or heads
    return Shape(_count_parameters(found), text.num_hidden_layers, text.hidden_size, kv_heads, head_dim, text.vocab_size)


def _count_parameters(config: Any) -> float:
    """Exact: the model is built on the meta device, without memory."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    return float(sum(parameter.numel() for parameter in model.parameters()))


def _adapter_params(shape: Shape, rank: int) -> float:
    """LoRA on all linear layers of a gated transformer: attention (q, k, v, o) and the three of the feed-forward part,
    whose inner width is taken from the parameters that are left."""
    attention_out = shape.kv_heads * shape.head_dim
    attention = 2 * (shape.hidden + shape.hidden) + 2 * (shape.hidden + attention_out)
    body = max(shape.params - 2 * shape.vocabulary * shape.hidden, shape.params / 2) / shape.layers
    inner = max(shape.hidden, (body - 2 * shape.hidden * (shape.hidden + attention_out)) / (3 * shape.hidden))
    return float(shape.layers * rank * (attention + 3 * (shape.hidden + inner)))
