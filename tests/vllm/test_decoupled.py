"""Rollouts on a vLLM server of its own, weights synced through a folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from trainer_client.demo.tiny_model import make_model, make_tokenizer, save
from trainer_client.train.folder_rollout import FolderRollout

pytestmark = [
    pytest.mark.trainer,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]
START_TIMEOUT_S = 600.0
ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_SERVER_DEV_MODE": "1", "VLLM_LOGGING_LEVEL": "WARNING"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    path = tmp_path_factory.mktemp("served") / "model"
    tokenizer = make_tokenizer(["0123456789+="], ())
    save(make_model(tokenizer, hidden=128, layers=2, positions=64, seed=0, heads=2), tokenizer, path)
    return path


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder.with_name("server.log")
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", folder, "--host", "127.0.0.1"]
    command += ["--port", str(port), "--max-model-len", "64", "--dtype", "float32", "--enforce-eager"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, env={**os.environ, **ENVIRONMENT}, stdout=output, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url, process, log)
            yield url
        finally:
            process.terminate()
            process.wait(60)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        if process.poll() is not None:
            pytest.fail(f"vLLM's server ended: {log.read_text(errors='replace')[-3000:]}")
        try:
            if httpx.get(f"{url}/health", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(1)
    pytest.fail(f"vLLM's server didn't start: {log.read_text(errors='replace')[-3000:]}")


def logprobs(model: Any, ids: list[int]) -> list[float]:
    with torch.no_grad():
        rows = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return [rows[at, token].item() for at, token in enumerate(ids[1:])]


def test_after_a_sync_the_servers_logprobs_are_the_trainers(folder: Path, server: str) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = [3, 5, 7, 4, 9, 11, 6]
    with closing(FolderRollout(server, folder)) as rollout:
        assert rollout.prompt_logprobs(ids) == pytest.approx(logprobs(model, ids), abs=1e-3)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.05 * torch.randn_like(parameter))
        changed = logprobs(model, ids)
        assert rollout.prompt_logprobs(ids) != pytest.approx(changed, abs=1e-2)
        rollout.sync(model)
        assert rollout.prompt_logprobs(ids) == pytest.approx(changed, abs=1e-3)


def test_trl_trains_on_its_rollouts_and_the_reward_rises(folder: Path, server: str, tmp_path: Path) -> None:
    """The reward is the share of the digit 7, which sampling alone gives one token in fifteen."""
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

    def sevens(completions: list[str], **_: Any) -> list[float]:
        return [text.count("7") / 8 for text in completions]

    rollout = FolderRollout(server, folder)
    trainer = GRPOTrainer(
        model=str(folder),
        reward_funcs=[sevens],
        args=GRPOConfig(
            output_dir=str(tmp_path),
            use_cpu=True,
            bf16=False,
            report_to="none",
            num_generations=8,
            per_device_train_batch_size=32,
            max_completion_length=8,
            max_steps=12,
            learning_rate=2e-3,
            logging_steps=1,
            save_strategy="no",
            gradient_checkpointing=False,
            num_train_epochs=10,
        ),
        train_dataset=Dataset.from_list([{"prompt": f"{n}+1="} for n in range(9)]),
        processing_class=AutoTokenizer.from_pretrained(folder, padding_side="left"),
        rollout_func=rollout,
    )
    with closing(rollout):
        trainer.train()
    rewards = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    assert sum(rewards[-3:]) / 3 > 2 * sum(rewards[:3]) / 3
