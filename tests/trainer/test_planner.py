from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from trainer_client.planner import (
    GIB,
    PlanRequest,
    compare,
    gpus_needed,
    kv_bytes_per_token,
    plan,
    shape_of,
    state_bytes_per_param,
)

SEVEN = PlanRequest(shape_of(7e9))


def test_states_per_parameter_are_the_known_sums() -> None:
    assert state_bytes_per_param(replace(SEVEN, algorithm="ppo")) == 34
    assert state_bytes_per_param(replace(SEVEN, algorithm="ppo", reward_model=True)) == 36
    assert state_bytes_per_param(SEVEN) == 18
    assert state_bytes_per_param(replace(SEVEN, beta=0.0)) == 16
    assert state_bytes_per_param(replace(SEVEN, algorithm="dpo")) == 18


@pytest.mark.parametrize("algorithm", ["ppo", "grpo", "dpo"])
def test_the_parts_on_one_gpu_add_up_to_the_states(algorithm: str) -> None:
    request = replace(SEVEN, algorithm=algorithm)  # type: ignore[arg-type]
    states = sum(p.gib for p in plan(request).parts if p.name in ("weights", "gradients", "optimizer", "frozen models"))
    assert states * GIB / 7e9 == pytest.approx(state_bytes_per_param(request))


def test_each_stage_of_zero_divides_one_more_part() -> None:
    totals = [plan(replace(SEVEN, gpus=8, sharding=s)).total_gib for s in ("none", "zero1", "zero2", "zero3")]
    saved = [(a - b) * GIB / 7e9 for a, b in itertools.pairwise(totals)]
    assert saved == pytest.approx([12 * 7 / 8, 2 * 7 / 8, 4 * 7 / 8])
    assert plan(replace(SEVEN, gpus=8, sharding="fsdp")).total_gib == totals[-1]


def test_an_adapter_trains_little_and_needs_no_second_reference() -> None:
    request = replace(SEVEN, lora_params=40e6)
    names = [part.name for part in plan(request).parts]
    assert "frozen models" not in names
    assert plan(request).total_gib < plan(SEVEN).total_gib / 3


def test_the_kv_cache_is_two_tensors_a_layer() -> None:
    shape = shape_of(70e9)
    assert kv_bytes_per_token(shape) == 2 * 80 * 8 * 128 * 2 == 327_680


def test_logits_and_activations_grow_with_the_micro_batch_and_checkpointing_helps() -> None:
    one, four = plan(SEVEN), plan(replace(SEVEN, micro_batch=4))
    by_name = [{part.name: part.gib for part in p.parts} for p in (one, four)]
    for name in ("activations", "logits"):
        assert by_name[1][name] == pytest.approx(4 * by_name[0][name])
    assert plan(replace(SEVEN, gradient_checkpointing=False)).total_gib > one.total_gib


def test_rollouts_live_where_they_are_asked_to() -> None:
    def rollouts(**changes: object) -> float:
        return next(p.gib for p in plan(replace(SEVEN, **changes)).parts if p.name == "rollouts")  # type: ignore[arg-type]

    assert rollouts(rollouts="server") == 0.0
    assert rollouts(rollouts="colocate", vllm_share=0.25) == 20.0
    assert rollouts(sequences=4096) > rollouts(sequences=512) > 0


def test_the_table_saves_half_of_ppos_states_and_less_of_its_total() -> None:
    for row in compare([shape_of(7e9), shape_of(32e9), shape_of(70e9)], SEVEN):
        assert row["GRPO"].state_bytes_per_param / row["PPO"].state_bytes_per_param == pytest.approx(18 / 34)
        assert 18 / 34 < row["GRPO"].total_gib / row["PPO"].total_gib < 1


def test_more_gpus_are_advised_for_larger_models() -> None:
    request = replace(SEVEN, rollouts="server")
    needed = [gpus_needed(replace(request, shape=shape_of(size))) for size in (7e9, 32e9, 70e9)]
    assert needed == sorted(n for n in needed if n is not None)
    assert gpus_needed(replace(request, shape=shape_of(70e9)), most=2) is None


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="7e9"):
        shape_of(7)
    with pytest.raises(ValueError, match="gpus"):
        replace(SEVEN, gpus=0)
    with pytest.raises(ValueError, match="vllm_share"):
        replace(SEVEN, vllm_share=30.0)
