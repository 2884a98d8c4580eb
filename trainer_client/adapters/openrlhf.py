"""OpenRLHF: a `reward_func` for `--reward.remote_url FILE.py`. The file has two lines:

    from trainer_client.adapters.openrlhf import make_reward_func
    reward_func = make_reward_func("http://127.0.0.1:8000", verifiers=["math", "format"])

OpenRLHF gives the whole query, decoded with its special tokens: the prompt and the chat markers are taken off here.
An unscored completion raises; OpenRLHF then logs it and leaves that sample without a reward.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from trainer_client.adapters.endpoint import Verifiers, endpoint, unscored_error, why_unscored
from verifier_protocol import ScoredVerdict

# What chat templates write where the assistant's turn begins, and what ends it.
TURN_STARTS = (
    "<|im_start|>assistant\n",
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "<start_of_turn>model\n",
    "<｜Assistant｜>",
    "<|assistant|>\n",
    "[/INST]",
)
TURN_ENDS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
    "<|end|>",
    "</s>",
    "<eos>",
    "<pad>",
    "<|finetune_right_pad_id|>",
)
# A tokenizer may put a token or two of its own before the prompt.
LONGEST_PREFIX_CHARS = 200


def make_reward_func(
    url: str | Sequence[str] | None = None, verifiers: Verifiers | None = None, *, deadline_s: float | None = None
) -> Callable[..., dict[str, Any]]:
    """`reward_func(queries, prompts, labels)`; labels are golds, or verifier specs or tests as JSON text.

    Returns `rewards`, `scores` (1.0 for full marks of every verifier, for dynamic filtering) and `extra_logs`, each with
    one value per query; as tensors where torch is loaded, as OpenRLHF's own example does.
    """

    def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **_: Any) -> dict[str, Any]:
        at = endpoint(url, verifiers, deadline_s)
        texts = [response_text(query, prompt) for query, prompt in zip(queries, prompts, strict=True)]
        groups = [at.group([text], label) for text, label in zip(texts, labels, strict=True)]
        futures = [at.coalescer.submit(group) for group in groups]
        rewards: list[float] = []
        passed: list[float] = []
        for future in futures:
            result = future.result()
            reward = result.rewards[0]
            if reward is None:
                raise unscored_error("OpenRLHF", why_unscored(result))
            rewards.append(reward)
            passed.append(float(all(isinstance(v, ScoredVerdict) and v.score == 1.0 for v in result.verdicts[0])))
        return {"rewards": _tensor(rewards), "scores": _tensor(passed), "extra_logs": {"pass_rate": _tensor(passed)}}

    return reward_func


def response_text(query: str, prompt: str) -> str:
    """The response alone: without the prompt before it, without the markers that end it."""
    start = query.find(prompt, 0, LONGEST_PREFIX_CHARS + len(prompt)) if prompt else -1
    if start >= 0:
        text = query[start + len(prompt) :]
    else:
        begin = max((query.rfind(marker) + len(marker) for marker in TURN_STARTS if marker in query), default=0)
        text = query[begin:]
    stripped = True
    while stripped:
        stripped = False
        for marker in TURN_ENDS:
            if text.rstrip().endswith(marker):
                text = text.rstrip().removesuffix(marker)
                stripped = True
    return text


def _tensor(values: list[float]) -> Any:
    torch: Any = sys.modules.get("torch")
    return values if torch is None else torch.tensor(values)
