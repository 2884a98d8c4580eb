"""How much memory a run needs, by arithmetic; no torch, no model, no GPU.

Every figure is an estimate of the peak on one device, in GiB, of mixed-precision training (bfloat16 weights and
gradients, float32 master weights and AdamW moments) with flash attention. What is assumed is in `Plan.assumptions`.
States are exact; activations, logits and the KV cache are the usual closed forms (Korthikanti et al., arXiv 2205.05198).
Fragmentation and the runtime's own memory are one flat allowance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

Algorithm = Literal["grpo", "ppo", "dpo"]
Sharding = Literal["none", "zero1", "zero2", "zero3", "fsdp"]
Rollouts = Literal["off", "colocate", "server"]

GIB = float(1 << 30)
WEIGHT_BYTES = 2  # bfloat16
GRADIENT_BYTES = 2  # bfloat16
OPTIMIZER_BYTES = 12  # float32 master weights, and AdamW's two moments
TRAINED_BYTES = WEIGHT_BYTES + GRADIENT_BYTES + OPTIMIZER_BYTES
# Of one logit at the peak of the backward pass: bfloat16 value, float32 copy and its gradient.
LOGIT_BYTES = 2 + 4 + 4
# Of one layer, per token and hidden unit, in bfloat16 with flash attention and nothing recomputed (arXiv 2205.05198, eq. 1
# without the attention matrix).
LAYER_ACTIVATION_BYTES = 34
ALLOWANCE_GIB = 3.0


@dataclass(frozen=True)
class Shape:
    """What of a transformer decides its memory."""

    params: float
    layers: int
    hidden: int
    kv_heads: int
    head_dim: int
    vocabulary: int


# Layers, width, key-value heads, head size and vocabulary of the usual dense models of about these sizes.
KNOWN_SHAPES = (
    Shape(0.5e9, 24, 896, 2, 64, 151_936),
    Shape(1.5e9, 28, 1536, 2, 128, 151_936),
    Shape(3e9, 36, 2048, 2, 128, 151_936),
    Shape(7e9, 28, 3584, 4, 128, 152_064),
    Shape(14e9, 48, 5120, 8, 128, 152_064),
    Shape(32e9, 64, 5120, 8, 128, 152_064),
    Shape(70e9, 80, 8192, 8, 128, 128_256),
)


def shape_of(params: float) -> Shape:
    """The shape of the nearest usual size, its width scaled to the parameters asked for."""
    if not (math.isfinite(params) and params >= 1e5):
        raise ValueError(f"model parameters must be at least 1e5, not {params:g}; write 7e9 for seven billion")
    nearest = min(KNOWN_SHAPES, key=lambda shape: abs(math.log(shape.params / params)))
    factor = params / nearest.params
    if 0.7 < factor < 1.4:
        return replace(nearest, params=params)
    return replace(
        nearest,
        params=params,
        hidden=max(64, round(nearest.hidden * factor ** (1 / 3) / 64) * 64),
        layers=max(2, round(nearest.layers * factor ** (1 / 3))),
    )


@dataclass(frozen=True)
class PlanRequest:
    """beta: 0 drops GRPO's reference model. reward_model: PPO's learned reward of the policy's size (a verifier needs none).
    lora_params: trained parameters of an adapter; 0 trains all. sequences: completions that the whole run generates at one
    time, all devices together. micro_batch: completions in one forward and backward pass of one device."""

    shape: Shape
    algorithm: Algorithm = "grpo"
    beta: float = 0.04
    gpus: int = 1
    gpu_gib: float = 80.0
    sharding: Sharding = "none"
    rollouts: Rollouts = "off"
    prompt_tokens: int = 512
    completion_tokens: int = 2048
    micro_batch: int = 1
    sequences: int = 64
    gradient_checkpointing: bool = True
    lora_params: float = 0.0
    reward_model: bool = False
    vllm_share: float = 0.3
    tensor_parallel: int = 1

    def __post_init__(self) -> None:
        for name in ("gpus", "gpu_gib", "tensor_parallel", "prompt_tokens", "completion_tokens", "micro_batch", "sequences"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")
        if not 0 < self.vllm_share < 1:
            raise ValueError(f"vllm_share is a share of the GPU between 0 and 1, not {self.vllm_share}")


@dataclass(frozen=True)
class Part:
    """One line of the plan: GiB on each device at its peak."""

    name: str
    gib: float
    note: str


@dataclass(frozen=True)
class Plan:
    request: PlanRequest
    parts: list[Part]
    state_bytes_per_param: float
    assumptions: list[str] = field(default_factory=list)

    @property
    def total_gib(self) -> float:
        return sum(part.gib for part in self.parts)

    @property
    def fits(self) -> bool:
        return self.total_gib <= self.request.gpu_gib and self.rollouts_fit

    @property
    def rollouts_fit(self) -> bool:
        """Colocated, vLLM's share must hold its copy of the weights and at least one sequence."""
        return self.request.rollouts != "colocate" or self.request.algorithm == "dpo" or colocated_sequences(self.request) >= 1


def state_bytes_per_param(request: PlanRequest) -> float:
    """Unsharded bytes per policy parameter: GRPO 18, without a reference 16; PPO 34, with a reward model 36; DPO 18."""
    trained_models, frozen_models = _models(request)
    if request.lora_params:
        share = request.lora_params / request.shape.params
        critics = trained_models - 1
        return WEIGHT_BYTES * (1 + request.reward_model) + TRAINED_BYTES * share * trained_models + WEIGHT_BYTES * critics
    return TRAINED_BYTES * trained_models + WEIGHT_BYTES * frozen_models


def _models(request: PlanRequest) -> tuple[int, int]:
    """How many models of the policy's size are trained, and how many only run."""
    if request.algorithm == "ppo":
        return 2, 1 + request.reward_model
    if request.algorithm == "grpo":
        return 1, int(request.beta > 0)
    return 1, 1


def plan(request: PlanRequest) -> Plan:
    """The peak of one device. Raises ValueError for a request that contradicts itself."""
    shape, assumptions = request.shape, ["bfloat16 weights and gradients, float32 AdamW", "flash attention"]
    parts = _states(request)
    parts.append(_activations(request))
    parts.append(_logits(request))
    if request.algorithm != "dpo":
        parts.append(_generation(request))
        assumptions.append(f"{request.sequences} completions generated at one time over {request.gpus} GPU(s)")
    parts.append(Part("allowance", ALLOWANCE_GIB, "runtime, fragmentation, communication buffers"))
    assumptions.append(
        f"shape: {shape.layers} layers of {shape.hidden}, {shape.kv_heads} key-value heads of {shape.head_dim}, "
        f"vocabulary {shape.vocabulary}"
    )
    return Plan(request, parts, state_bytes_per_param(request), assumptions)


def _states(request: PlanRequest) -> list[Part]:
    params = request.shape.params
    trained, frozen = _models(request)
    sharded_by = {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3}[request.sharding]
    weights = request.gpus if sharded_by >= 3 else 1
    gradients = request.gpus if sharded_by >= 2 else 1
    optimizer = request.gpus if sharded_by >= 1 else 1
    learned = request.lora_params or params
    parts = [
        Part("weights", trained * params * WEIGHT_BYTES / weights / GIB, "policy and critic" if trained == 2 else "policy"),
        Part("gradients", trained * learned * GRADIENT_BYTES / gradients / GIB, "of what is trained"),
        Part("optimizer", trained * learned * OPTIMIZER_BYTES / optimizer / GIB, "master weights and two moments"),
    ]
    if request.lora_params:
        frozen = int(request.reward_model)  # the reference is the base with its adapter switched off
    if frozen:
        note = "reference and reward model" if frozen == 2 else "reward model" if request.lora_params else "reference"
        parts.append(Part("frozen models", frozen * params * WEIGHT_BYTES / weights / GIB, note))
    return parts


def _activations(request: PlanRequest) -> Part:
    tokens = (request.prompt_tokens + request.completion_tokens) * request.micro_batch
    pairs = 2 if request.algorithm == "dpo" else 1  # chosen and rejected run together
    layer = pairs * tokens * request.shape.hidden * LAYER_ACTIVATION_BYTES
    if request.gradient_checkpointing:
        kept = pairs * tokens * request.shape.hidden * WEIGHT_BYTES * request.shape.layers
        return Part("activations", (kept + layer) / GIB, "one layer recomputed at a time, the others' inputs kept")
    return Part("activations", layer * request.shape.layers / GIB, "of all layers (gradient checkpointing is off)")


def _logits(request: PlanRequest) -> Part:
    """Of the completion only. PPO's critic has a head of one output, whose logits don't count."""
    pairs = 2 if request.algorithm == "dpo" else 1
    logits = pairs * request.micro_batch * request.completion_tokens * request.shape.vocabulary
    return Part("logits", logits * LOGIT_BYTES / GIB, "completion tokens x vocabulary; a fused loss (Liger) avoids most of it")


def kv_bytes_per_token(shape: Shape) -> int:
    """Keys and values of all layers, bfloat16."""
    return 2 * shape.layers * shape.kv_heads * shape.head_dim * WEIGHT_BYTES


def colocated_sequences(request: PlanRequest) -> int:
    """Sequences of full length whose keys and values fit beside the weights in vLLM's share; negative where these don't fit."""
    weights = request.shape.params * WEIGHT_BYTES / request.tensor_parallel
    room = request.vllm_share * request.gpu_gib * GIB - weights
    tokens = request.prompt_tokens + request.completion_tokens
    return math.floor(room / (tokens * kv_bytes_per_token(request.shape) / request.tensor_parallel))


def _generation(request: PlanRequest) -> Part:
    if request.rollouts == "server":
        return Part("rollouts", 0.0, "on vLLM's own GPUs")
    if request.rollouts == "colocate":
        share = request.vllm_share * request.gpu_gib
        weights = request.shape.params * WEIGHT_BYTES / request.tensor_parallel / GIB
        return Part(
            "rollouts",
            share,
            f"vLLM's share: {weights:.1f} GiB weights, KV cache of {colocated_sequences(request)} sequences at a time",
        )
    sequences = math.ceil(request.sequences / request.gpus)
    tokens = sequences * (request.prompt_tokens + request.completion_tokens)
    cache = tokens * kv_bytes_per_token(request.shape) / GIB
    # Generation and the backward pass take turns: only what the cache needs beyond activations and logits adds to the peak.
    extra = max(0.0, cache - _activations(request).gib - _logits(request).gib)
    return Part("rollouts", extra, f"KV cache of {sequences} sequences is {cache:.1f} GiB, in turns with the backward pass")


def compare(shapes: list[Shape], base: PlanRequest) -> list[dict[str, Plan]]:
    """The same run as PPO (critic of the policy's size, no reward model), GRPO, GRPO without a reference, and DPO."""
    return [
        {
            "PPO": plan(replace(base, shape=shape, algorithm="ppo")),
            "GRPO": plan(replace(base, shape=shape, algorithm="grpo", beta=base.beta or 0.04)),
            "GRPO, beta 0": plan(replace(base, shape=shape, algorithm="grpo", beta=0.0)),
            "DPO": plan(replace(base, shape=shape, algorithm="dpo")),
        }
        for shape in shapes
    ]


def gpus_needed(request: PlanRequest, most: int = 1024) -> int | None:
    """The smallest power of two of GPUs, all states sharded, on which the request fits; None beyond `most`."""
    gpus = 1
    while gpus <= most:
        if plan(replace(request, gpus=gpus, sharding="zero3" if gpus > 1 else request.sharding)).fits:
            return gpus
        gpus *= 2
    return None
