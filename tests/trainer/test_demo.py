"""Real training against the real service, in short form: the rewards must rise."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from trainer_client.demo.run import run_demo
from trainer_client.demo.service import DemoError, running_service
from trainer_client.demo.tasks import OPERATIONS, TASKS, arithmetic, code

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(540),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]
QUIET = Console(quiet=True)


def docker_answers() -> bool:
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=30, check=False).returncode == 0
    except OSError:
        return False


def test_a_tiny_model_learns_arithmetic_from_the_running_service(tmp_path: Path) -> None:
    result = run_demo("arithmetic", tmp_path, QUIET, steps=40)
    assert len(result.rewards) == 40
    assert result.last > result.first + 0.1
    assert result.plot.stat().st_size > 10_000
    assert (tmp_path / "arithmetic" / "run" / "model.safetensors").is_file()


@pytest.mark.docker
@pytest.mark.skipif(
    not docker_answers() and os.environ.get("VERIFIER_REQUIRE_DOCKER") != "1", reason="no Docker engine to run programs in"
)
def test_a_tiny_model_learns_to_write_programs_from_the_running_service(tmp_path: Path) -> None:
    result = run_demo("code", tmp_path, QUIET, steps=36)
    assert result.last > result.first + 0.05


def test_a_service_that_ends_at_once_is_told_with_its_log(tmp_path: Path) -> None:
    with (
        pytest.raises(DemoError, match="ended with status"),
        running_service(tmp_path / "log", {"VERIFIER_MAX_BODY_BYTES": "none"}),
    ):
        pass


@pytest.mark.parametrize("name", sorted(TASKS))
def test_the_tasks_are_the_same_for_a_seed_and_others_for_another(name: str) -> None:
    assert TASKS[name](3) == TASKS[name](3)
    assert TASKS[name](3).pairs != TASKS[name](4).pairs


def test_the_warm_start_does_not_give_the_task_away() -> None:
    """Less than four of ten sums are right in answer and format, and hardly a tenth of the programs solves its prompt."""
    sums = arithmetic(0)
    answers = {row["prompt"]: row["answer"] for row in sums.rows}
    right = sum(text == f"<think>{prompt[:-1]}</think>\\boxed{{{answers[prompt]}}}" for prompt, text in sums.pairs)
    assert 0.1 < right / len(sums.pairs) < 0.4
    programs = code(0)
    solving = sum(f"print({OPERATIONS[prompt[0]]}+{prompt[2]})" in text for prompt, text in programs.pairs)
    assert 0.01 < solving / len(programs.pairs) < 0.12
