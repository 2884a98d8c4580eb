from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainer_client.planner import plan
from trainer_client.train.checks import batches_of, check, check_fields
from trainer_client.train.config import PRESETS, ConfigError, TrainConfig, load_config, preset_names
from trainer_client.train.launch import launch_command, needs_launcher
from trainer_client.train.memory import plan_request

MINIMAL: dict[str, Any] = {"model": "m", "output_dir": "o", "data": {"path": "d.jsonl"}, "report_to": []}


def config(**changes: Any) -> TrainConfig:
    return TrainConfig.model_validate(MINIMAL | changes)


def said(config: TrainConfig, level: str) -> str:
    return "\n".join(finding.message for finding in check(config) if finding.level == level)


def test_a_minimal_file_is_enough(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(MINIMAL))
    loaded = load_config(str(file), ["grpo.learning_rate=2e-6", "seed=7", "curriculum.enabled=false"])
    assert loaded.seed == 7
    assert loaded.curriculum.settings() is None
    assert loaded.grpo_number("beta", 0.0) == 0.0


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_loads_fits_its_gpus_and_has_no_fault_but_a_missing_vllm(name: str) -> None:
    loaded = load_config(name)
    faults = [finding.message for finding in check(loaded) if finding.level == "error" and "needs vLLM" not in finding.message]
    assert faults == []
    assert plan(plan_request(loaded)).fits
    assert 0.02 <= loaded.grpo_number("beta", 0.0) <= 0.08


@pytest.mark.parametrize("written", ["off", "'off'", "OFF"])
def test_the_word_off_is_no_boolean(tmp_path: Path, written: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(MINIMAL) + f"vllm:\n  mode: {written}\n")
    assert load_config(str(file)).vllm.mode == "off"
    assert load_config(str(file), ["vllm.mode=off"]).vllm.mode == "off"


def test_a_missing_vllm_stops_a_run_and_is_told_by_a_dry_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(MINIMAL | {"vllm": {"mode": "colocate"}}))
    loaded = load_config(str(file))
    for dry_run, level in ((False, "error"), (True, "warning")):
        assert [f.level for f in check(loaded, dry_run=dry_run) if "needs vLLM" in f.message] == [level]


@pytest.mark.parametrize("name", preset_names())
def test_trl_knows_every_field_of_every_preset(name: str) -> None:
    from trainer_client.train.arguments import known_fields

    assert check_fields(load_config(name), known_fields()) == []


def test_there_are_presets_for_7b_and_14b_on_one_to_eight_gpus() -> None:
    sizes = {(name.split("-")[0], load_config(name).distributed.gpus) for name in preset_names() if name[0].isdigit()}
    assert sizes == {(size, gpus) for size in ("7b", "14b") for gpus in (1, 2, 4, 8)}


@pytest.mark.parametrize("strategy", ["ddp", "zero2", "zero3", "fsdp"])
def test_each_strategy_ships_a_config_that_accelerate_reads(strategy: str) -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    read = load_config_from_file(str(PRESETS / "accelerate" / f"{strategy}.yaml"))
    kinds = {"ddp": "MULTI_GPU", "zero2": "DEEPSPEED", "zero3": "DEEPSPEED", "fsdp": "FSDP"}
    assert str(read.distributed_type).endswith(kinds[strategy])
    assert read.mixed_precision == "bf16"


def test_a_misspelt_field_is_named_with_what_was_meant(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(MINIMAL | {"reward": {"ulr": "http://x"}}))
    with pytest.raises(ConfigError, match=r"reward\.ulr: no such field; did you mean url"):
        load_config(str(file))


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [", "no valid YAML"), ("- 1", "must hold a mapping"), ("model: m", "output_dir: Field required")],
)
def test_a_broken_file_says_what_is_broken(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(str(file))


def test_an_unknown_preset_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean the preset 7b-8gpu"):
        load_config("7b-8gpus")


@pytest.mark.parametrize("change", ["grpo", "=3", "model.x=1", "seed=["])
def test_a_broken_change_is_refused(tmp_path: Path, change: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(MINIMAL))
    with pytest.raises(ConfigError, match="--set"):
        load_config(str(file), [change])


@pytest.mark.parametrize("beta", [0.0, 0.001, 0.1])
def test_beta_outside_the_usual_range_is_a_warning_not_an_error(beta: float) -> None:
    found = config(grpo={"beta": beta})
    assert "outside 0.02 to 0.08" in said(found, "warning")
    assert said(found, "error") == ""


@pytest.mark.parametrize("beta", [0.02, 0.04, 0.08])
def test_beta_within_the_usual_range_passes_silently(beta: float) -> None:
    assert check(config(grpo={"beta": beta})) == []


def test_a_negative_beta_is_an_error() -> None:
    assert "negative" in said(config(grpo={"beta": -0.1}), "error")


def test_a_generation_batch_that_splits_groups_is_refused_with_what_would_fit() -> None:
    found = config(grpo={"beta": 0.04, "per_device_train_batch_size": 6, "num_generations": 8, "gradient_accumulation_steps": 2})
    message = said(found, "error")
    assert "12 completions is no multiple of num_generations 8" in message
    assert "gradient_accumulation_steps 4 (a generation batch of 24)" in message
    assert "num_generations 6" in message


def test_what_is_suggested_fits() -> None:
    fixed = config(grpo={"beta": 0.04, "per_device_train_batch_size": 6, "num_generations": 8, "gradient_accumulation_steps": 4})
    assert check(fixed) == []
    assert batches_of(fixed).prompts == 3


def test_fields_that_trl_has_dropped_say_what_to_write_today() -> None:
    old = config(grpo={"beta": 0.04, "max_prompt_length": 512, "warmup_ratio": 0.1, "logging_dir": "x"})
    message = said(old, "error")
    for part in ("max_prompt_length is gone", "warmup_steps with a value below 1", "TENSORBOARD_LOGGING_DIR"):
        assert part in message


def test_fields_that_follow_from_other_sections_are_sent_there() -> None:
    assert "write vllm.mode instead" in said(config(grpo={"beta": 0.04, "use_vllm": True}), "error")


def test_unknown_grpo_fields_are_named_with_the_nearest() -> None:
    found = check_fields(config(grpo={"learning_rat": 1e-6}), ["learning_rate", "beta"])
    assert [f.message for f in found] == ["grpo.learning_rat: TRL's GRPOConfig has no such field; did you mean learning_rate?"]


def test_resampling_needs_whole_groups_on_a_gpu_and_the_curriculum() -> None:
    split = config(
        distributed={"gpus": 2, "strategy": "ddp"},
        curriculum={"resampling_rounds": 3},
        grpo={"beta": 0.04, "per_device_train_batch_size": 4, "num_generations": 8},
    )
    assert "whole groups on each GPU" in said(split, "error")
    off = config(curriculum={"resampling_rounds": 3, "enabled": False}, grpo={"beta": 0.04})
    assert "needs curriculum.enabled" in said(off, "error")


def test_vllm_faults_are_told_before_the_start() -> None:
    found = config(
        vllm={"mode": "colocate", "tensor_parallel_size": 3, "max_model_length": 512},
        distributed={"gpus": 4, "strategy": "zero3"},
        grpo={"beta": 0.04, "max_completion_length": 512},
    )
    message = said(found, "error")
    assert "must divide distributed.gpus" in message
    assert "leaves no room for a prompt" in message
    with pytest.raises(ValueError, match="server_url"):
        config(vllm={"mode": "server"})


def test_several_gpus_need_a_strategy_and_are_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="need a strategy"):
        config(distributed={"gpus": 2})
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    monkeypatch.delenv("ACCELERATE_MIXED_PRECISION", raising=False)
    several = config(distributed={"gpus": 4, "strategy": "zero3"})
    assert needs_launcher(several)
    command = launch_command(several, ["--config", "f.yaml"])
    assert Path(command[command.index("--config_file") + 1]).is_file()
    assert command[command.index("--num_processes") + 1] == "4"
    assert command[-5:] == ["-m", "trainer_client.cli", "train", "--config", "f.yaml"]
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert not needs_launcher(several)


def test_a_contradictory_curriculum_is_refused() -> None:
    with pytest.raises(ValueError, match="outside the band"):
        config(curriculum={"target": 0.9})


def test_a_package_that_a_report_needs_is_asked_for_by_name() -> None:
    assert "pip install wandb" in said(config(report_to=["wandb"], grpo={"beta": 0.04}), "error")


def test_the_shape_of_a_local_model_is_read_and_its_parameters_counted(tmp_path: Path) -> None:
    model = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 100,
        "tie_word_embeddings": False,
    }
    (tmp_path / "config.json").write_text(json.dumps(model))
    shape = plan_request(config(model=str(tmp_path), grpo={"beta": 0.04})).shape
    attention, feed_forward, norms = 2 * 64 * 64 + 2 * 64 * 32, 3 * 64 * 128, 2 * 64
    assert shape.params == 2 * (attention + feed_forward + norms) + 64 + 2 * 100 * 64
    assert (shape.layers, shape.kv_heads, shape.head_dim) == (2, 2, 16)


def test_a_model_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set model_params"):
        plan_request(config(model=str(tmp_path / "none"), grpo={"beta": 0.04}))
