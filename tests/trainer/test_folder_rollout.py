from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from trainer_client.demo.tiny_model import make_model, make_tokenizer
from trainer_client.train.folder_rollout import FolderRollout, FolderSyncError

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


def rollout(folder: Path, calls: list[str], status: int = 200) -> FolderRollout:
    def answer(request: httpx.Request) -> httpx.Response:
        calls.append(request.url.path)
        if request.url.path != "/v1/completions":
            return httpx.Response(status, text="")
        choices = [{"index": i, "token_ids": [i, 2], "logprobs": {"token_logprobs": [-0.1 * i, -0.5]}} for i in (3, 1, 0, 2)]
        return httpx.Response(200, json={"choices": choices})

    found = FolderRollout("http://vllm", folder)
    found._http = httpx.Client(base_url="http://vllm", transport=httpx.MockTransport(answer))
    return found


def trainer(model: Any, step: int = 0, processes: int = 1) -> Any:
    return SimpleNamespace(
        accelerator=SimpleNamespace(num_processes=processes, unwrap_model=lambda m: m),
        state=SimpleNamespace(global_step=step),
        num_generations=2,
        model=model,
        args=SimpleNamespace(max_completion_length=4, temperature=1.0, top_p=1.0, seed=0),
        _tokenize_prompts=lambda prompts: ([[5] for _ in prompts], None, {}),
    )


def test_weights_are_synced_once_a_step_and_completions_keep_their_order(tmp_path: Path) -> None:
    model = make_model(make_tokenizer(["01="], ()), hidden=32, layers=1, positions=16, seed=0)
    calls: list[str] = []
    folder = tmp_path / "served"
    folder.mkdir()
    func = rollout(folder, calls)
    for _ in range(2):
        answer = func(["a", "a", "b", "b"], trainer(model))
    assert calls == ["/collective_rpc", "/reset_prefix_cache", "/v1/completions", "/v1/completions"]
    assert answer["completion_ids"] == [[0, 2], [1, 2], [2, 2], [3, 2]]
    assert answer["logprobs"][3] == pytest.approx([-0.3, -0.5])
    assert (folder / "model.safetensors").is_file()
    func(["a", "a", "b", "b"], trainer(model, step=1))
    assert calls.count("/collective_rpc") == 2


def test_what_would_go_wrong_silently_is_refused(tmp_path: Path) -> None:
    model = make_model(make_tokenizer(["01="], ()), hidden=32, layers=1, positions=16, seed=0)
    with pytest.raises(FolderSyncError, match="DEV_MODE"):
        rollout(tmp_path, [], status=404).sync(model)
    with pytest.raises(FolderSyncError, match="one training process"):
        rollout(tmp_path, [])(["a"], trainer(model, processes=2))
    model.config.tie_word_embeddings = True
    with pytest.raises(FolderSyncError, match="ties its embeddings"):
        rollout(tmp_path, []).sync(model)
