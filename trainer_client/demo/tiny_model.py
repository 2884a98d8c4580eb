"""A model of a few hundred thousand parameters and a tokenizer of its task's characters, both made here and saved to a
folder, so that the trainer loads them like any other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

PAD, BEGIN, END = "<pad>", "<bos>", "<eos>"


def make_tokenizer(texts: Iterable[str], whole: Sequence[str]) -> Any:
    """One token for each character of the texts, and one for each string of `whole`."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    texts = list(texts)
    for string in whole:
        texts = [text.replace(string, "") for text in texts]
    characters = sorted({character for text in texts for character in text})
    vocabulary = {token: number for number, token in enumerate([PAD, BEGIN, END, *whole, *characters])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=PAD))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("[\\s\\S]"), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    # Not special: special tokens are left out when completions are decoded, and these belong to the answer.
    tokenizer.add_tokens([AddedToken(string, special=False, normalized=False) for string in whole])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BEGIN,
        eos_token=END,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def make_model(tokenizer: Any, *, hidden: int, layers: int, positions: int, seed: int, heads: int = 4) -> Any:
    """A Llama with untied embeddings, weights from `seed`."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=positions,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        tie_word_embeddings=False,
    )
    return LlamaForCausalLM(config)


def warm_start(
    model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]], *, steps: int, batch: int, learning_rate: float, seed: int
) -> float:
    """Supervised steps on (prompt, completion) pairs, the loss on completions only. Returns the last ten steps' mean loss.

    It is there so that the first rewards aren't all 0: reinforcement can't begin with what is never sampled.
    """
    rows = [_encode(tokenizer, prompt, completion) for prompt, completion in pairs]
    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([row + [tokenizer.pad_token_id] * (width - len(row)) for row, _ in rows])
    labels = torch.tensor([[-100] * skip + row[skip:] + [-100] * (width - len(row)) for row, skip in rows])
    random = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    model.train()
    losses: list[float] = []
    for _ in range(steps):
        chosen = torch.randint(len(rows), (batch,), generator=random)
        mask = (ids[chosen] != tokenizer.pad_token_id).long()
        loss = model(input_ids=ids[chosen], attention_mask=mask, labels=labels[chosen]).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-10:]) / max(len(losses[-10:]), 1)


def _encode(tokenizer: Any, prompt: str, completion: str) -> tuple[list[int], int]:
    """Token ids of both with the end, and how many belong to the prompt."""
    before = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    after = tokenizer(completion, add_special_tokens=False)["input_ids"]
    return [*before, *after, tokenizer.eos_token_id], len(before)


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
