"""TRL's trainer with vLLM in its process, on the CPU: weights are synced before each generation, rewards rise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TIMEOUT_S = 1740.0  # 80 s of CPU; a machine that others load gives them slowly
pytestmark = [pytest.mark.trainer, pytest.mark.slow, pytest.mark.timeout(TIMEOUT_S + 60)]
ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_LOGGING_LEVEL": "WARNING"}


def test_the_demo_learns_with_colocated_rollouts(tmp_path: Path) -> None:
    """In a process of its own: vLLM keeps what it starts until its process ends."""
    command = [sys.executable, "-m", "trainer_client.cli", "demo", "--rollouts", "colocate", "--steps", "16", "--out", tmp_path]
    finished = subprocess.run(
        command,
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout.decode(errors="replace")[-3000:]
    history = json.loads((tmp_path / "arithmetic" / "history.json").read_text())
    rewards = [entry["reward"] for entry in history if "reward" in entry]
    assert len(rewards) == 16
    assert sum(rewards[-4:]) / 4 > sum(rewards[:4]) / 4
    # What vLLM samples from is what is trained: the mean gap of log-probabilities is bfloat16's rounding, and doesn't grow.
    gaps = [entry["sampling/sampling_logp_difference/mean"] for entry in history if "reward" in entry]
    assert max(gaps) < 0.005
