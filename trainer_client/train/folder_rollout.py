"""Rollouts on a vLLM server of its own, with weights synced through a folder: a `rollout_func` for TRL.

For machines without NCCL (TRL's own server mode needs it), such as CPUs. The server must be started on the folder, in
development mode, since reloading weights is one of its development routes:

    VLLM_SERVER_DEV_MODE=1 python -m vllm.entrypoints.openai.api_server --model FOLDER

Before the first generation after an optimizer step the trainer's weights are written to FOLDER, the server reads them
anew and drops its prefix cache. Models with tied embeddings are refused: vLLM's reload then silently gives wrong logits.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import httpx

REQUEST_TIMEOUT_S = 600.0


class FolderSyncError(RuntimeError):
    """The server didn't do as told; the message says what it said."""


class FolderRollout:
    """server_url: of vLLM's OpenAI server; folder: the model folder that it serves (and nobody else writes to)."""

    def __init__(self, server_url: str, folder: Path, *, timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self.folder = folder
        self._http = httpx.Client(base_url=server_url.rstrip("/"), timeout=timeout_s, trust_env=False)
        self._synced_step: int | None = None

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        if trainer.accelerator.num_processes != 1:
            raise FolderSyncError("weights are synced through a folder by one training process only; use vllm.mode server")
        if self._synced_step != trainer.state.global_step:
            self.sync(trainer.accelerator.unwrap_model(trainer.model))
            self._synced_step = trainer.state.global_step
        size = trainer.num_generations if trainer.model.training else trainer.num_generations_eval
        prompt_ids, _, _ = trainer._tokenize_prompts(prompts)
        completion_ids: list[list[int]] = []
        logprobs: list[list[float]] = []
        for choice in self._sample(prompt_ids[::size], size, trainer.args):
            completion_ids.append(choice["token_ids"])
            logprobs.append(choice["logprobs"]["token_logprobs"])
        return {"prompt_ids": prompt_ids, "completion_ids": completion_ids, "logprobs": logprobs}

    def close(self) -> None:
        """Close the connections. It can't be called after that."""
        self._http.close()

    def sync(self, model: Any) -> None:
        """Write the weights, let the server read them. Raises FolderSyncError."""
        if model.config.get_text_config().tie_word_embeddings:
            raise FolderSyncError(
                "the model ties its embeddings, which vLLM's reload gets wrong; set tie_word_embeddings to false"
            )
        fresh = self.folder.with_name(self.folder.name + ".writing")
        model.save_pretrained(fresh)
        for file in fresh.glob("*.safetensors*"):
            os.replace(file, self.folder / file.name)  # noqa: PTH105 - the server must never read half a file
        self._post("/collective_rpc", {"method": "reload_weights"})
        self._post("/reset_prefix_cache", None)

    def prompt_logprobs(self, ids: list[int]) -> list[float]:
        """log pi of each token but the first, given those before it, as the server computes them."""
        body = {"prompt": ids, "max_tokens": 1, "temperature": 1.0, "prompt_logprobs": 0, **self._model()}
        found = self._post("/v1/completions", body)["choices"][0]["prompt_logprobs"]
        return [float(entry[str(token)]["logprob"]) for token, entry in zip(ids[1:], found[1:], strict=True)]

    def _sample(self, prompts: list[list[int]], size: int, args: Any) -> list[Any]:
        body = {
            "prompt": prompts,
            "n": size,
            "max_tokens": args.max_completion_length,
            "temperature": args.temperature,
            "top_p": args.top_p,
            "logprobs": 0,
            "return_token_ids": True,
            "seed": args.seed + (self._synced_step or 0),
            **self._model(),
        }
        choices = sorted(self._post("/v1/completions", body)["choices"], key=lambda choice: choice["index"])
        if len(choices) != len(prompts) * size:
            raise FolderSyncError(f"vLLM returned {len(choices)} completions for {len(prompts)} prompts of {size}")
        return choices

    def _model(self) -> dict[str, str]:
        return {"model": str(self.folder)}

    def _post(self, path: str, body: Any) -> Any:
        try:
            answer = self._http.post(path, json=body)
        except httpx.TransportError as error:
            raise FolderSyncError(f"vLLM's server doesn't answer {path}: {type(error).__name__}") from None
        if answer.status_code == 404:
            raise FolderSyncError(f"vLLM's server has no {path}; start it with VLLM_SERVER_DEV_MODE=1")
        if answer.status_code >= 400:
            raise FolderSyncError(f"vLLM's server answers {path} with {answer.status_code}: {answer.text[:300]}")
        return answer.json() if answer.content.strip() else None
