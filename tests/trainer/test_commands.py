from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from trainer_client.demo.tiny_model import make_model, make_tokenizer, save
from trainer_client.train.commands import app

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
run = CliRunner().invoke
# Port 9 is discard: nobody listens there.
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def run_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "200")
    tokenizer = make_tokenizer(["0123456789+="], ())
    save(make_model(tokenizer, hidden=32, layers=1, positions=64, seed=0), tokenizer, tmp_path / "model")
    (tmp_path / "train.jsonl").write_text(
        "".join(json.dumps({"prompt": f"{n}+1=", "answer": str(n + 1)}) + "\n" for n in range(9))
    )
    config = {
        "model": str(tmp_path / "model"),
        "output_dir": str(tmp_path / "out"),
        "report_to": [],
        "data": {"path": str(tmp_path / "train.jsonl"), "chat": False},
        "reward": {"url": NOWHERE, "ready_wait_s": 0, "verifiers": ["math", {"kind": "format", "weight": 0.2}]},
        "grpo": {"beta": 0.04, "num_generations": 4, "per_device_train_batch_size": 8, "max_completion_length": 8},
    }
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(config))
    return file


def test_a_dry_run_prints_the_plan_and_trains_nothing(run_file: Path) -> None:
    result = run(app, ["train", "--config", str(run_file), "--dry-run"])
    assert result.exit_code == 0, result.output
    for part in ("Memory of one GPU", "Batches", "8 completions of 2 prompts", "9 prompts: 4 generation batches", "Dry run"):
        assert part in result.output
    assert "no verifier service is ready" in result.output
    assert not (run_file.parent / "out").exists()


def test_without_a_service_a_run_ends_before_the_model_is_loaded(run_file: Path) -> None:
    result = run(app, ["train", "--config", str(run_file)])
    assert result.exit_code == 2
    assert "no verifier service is ready" in result.output
    assert "verifier-service serve" in result.output


def test_all_errors_of_a_file_are_told_at_one_time(run_file: Path) -> None:
    changes = ["--set", "grpo.num_generations=3", "--set", "grpo.warmup_ratio=0.1", "--set", "grpo.learning_rat=1.0"]
    result = run(app, ["train", "--config", str(run_file), *changes])
    assert result.exit_code == 2
    for part in ("is no multiple of num_generations 3", "warmup_ratio is gone", "did you mean learning_rate"):
        assert part in result.output


def test_too_few_prompts_and_a_missing_chat_template_are_errors(run_file: Path) -> None:
    result = run(app, ["train", "--config", str(run_file), "--set", "grpo.per_device_train_batch_size=64"])
    assert result.exit_code == 2
    assert "16 different prompts, but the data set has 9" in result.output


def test_the_planner_prints_the_comparison() -> None:
    result = run(app, ["plan", "--model-params", "7e9", "--algorithm", "ppo", "--gpus", "8"])
    assert result.exit_code == 0
    assert "34 bytes per parameter" in " ".join(result.output.split())
    for size in ("7B", "32B", "70B"):
        assert size in result.output


@pytest.mark.parametrize("arguments", [["--algorithm", "sarsa"], ["--model-params", "7"], ["--gpus", "0"]])
def test_the_planner_refuses_nonsense(arguments: list[str]) -> None:
    result = run(app, ["plan", *arguments])
    assert result.exit_code == 2
    assert "error:" in result.output


def test_presets_are_listed_and_printed() -> None:
    listed = run(app, ["presets"])
    assert "7b-8gpu" in listed.output
    printed = run(app, ["presets", "production"])
    assert yaml.safe_load(printed.output)["grpo"]["loss_type"] == "grpo"
    assert run(app, ["presets", "none"]).exit_code == 2
