"""Peak memory of PPO against GRPO, measured on one model at small scale on the CPU, beside the planner's arithmetic.

PPO is a baseline of our own: policy and critic of the same size trained with AdamW, a frozen reference, per-token KL in
the reward, generalised advantages (arXiv 1506.02438) and clipped policy and value losses (arXiv 1707.06347). GRPO is the
same loop without a critic, with the package's loss. Each runs in a process of its own, in float32, on the same prompts
and with the same lengths; what is reported is the highest resident memory above that before the models were made.

    python benchmarks/grpo_vs_ppo_memory.py --tokens 128 --micro-batch 4
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
# Freed blocks go back to the system, so that resident memory follows what is held.
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", "65536")
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", "65536")

ALGORITHMS = ("ppo", "grpo", "grpo-beta0")
# float32 here: weights, gradients and two moments of 4 bytes each for what is trained, weights alone for what is frozen.
STATE_BYTES = {"ppo": 16 + 16 + 4, "grpo": 16 + 4, "grpo-beta0": 16}


class PeakMemory(threading.Thread):
    """Samples this process's resident memory every few milliseconds."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.base = self._resident()
        self.peak = self.base
        self._stop_now = threading.Event()

    def run(self) -> None:
        while not self._stop_now.wait(0.003):
            self.peak = max(self.peak, self._resident())

    def finish(self) -> int:
        self._stop_now.set()
        self.join()
        return max(self.peak, self._resident()) - self.base

    @staticmethod
    def _resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def worker(args: argparse.Namespace) -> None:
    import torch

    torch.manual_seed(0)
    _load_libraries()
    memory = PeakMemory()
    memory.start()
    config = _config(args.vocabulary, args.hidden, args.layers)
    models = _models(config, args.worker)
    policy, critic = models["policy"], models.get("critic")
    trained = [*policy.parameters(), *([] if critic is None else critic.parameters())]
    optimizer = torch.optim.AdamW(trained, lr=1e-5)
    times = []
    for _ in range(args.steps):
        start = time.monotonic()
        train_step(args, models, optimizer)
        times.append(time.monotonic() - start)
    parameters = sum(p.numel() for p in policy.parameters())
    print(json.dumps({"parameters": parameters, "peak_bytes": memory.finish(), "step_s": min(times)}))


def _config(vocabulary: int, hidden: int, layers: int):  # type: ignore[no-untyped-def]
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=8,
        num_key_value_heads=8,
        pad_token_id=0,
        eos_token_id=None,
        bos_token_id=1,
    )


def _load_libraries() -> None:
    """Whatever is loaded on first use is loaded before the count begins."""
    import torch
    from transformers import LlamaForCausalLM

    tiny = LlamaForCausalLM(_config(16, 64, 1))
    optimizer = torch.optim.AdamW(tiny.parameters())
    tiny(input_ids=torch.zeros(1, 4, dtype=torch.long)).logits.sum().backward()
    optimizer.step()
    tiny.generate(torch.zeros(1, 4, dtype=torch.long), max_new_tokens=2, do_sample=True, pad_token_id=0)


def _models(config, algorithm: str):  # type: ignore[no-untyped-def]
    from transformers import LlamaForCausalLM

    models = {"policy": LlamaForCausalLM(config)}
    if algorithm != "grpo-beta0":
        models["reference"] = LlamaForCausalLM(config).eval().requires_grad_(False)
        models["reference"].load_state_dict(models["policy"].state_dict())
    if algorithm == "ppo":
        models["critic"] = make_critic(config)
    return models


def logprobs(model, ids, skip: int):  # type: ignore[no-untyped-def]
    """log pi of the completion tokens, (B, T)."""
    logits = model(input_ids=ids, logits_to_keep=ids.shape[1] - skip + 1).logits[:, :-1]
    return logits.log_softmax(-1).gather(2, ids[:, skip:].unsqueeze(-1)).squeeze(-1)


def train_step(args: argparse.Namespace, models, optimizer) -> None:  # type: ignore[no-untyped-def]
    """Rollouts with the policy, a reward for even tokens, and one optimizer step over micro-batches."""
    import torch

    from trainer_client.advantages import group_advantages
    from trainer_client.grpo_loss import LossOptions, grpo_loss

    policy, reference, critic = models["policy"], models.get("reference"), models.get("critic")
    skip, size = args.prompt_tokens, args.micro_batch
    prompts = torch.randint(2, args.vocabulary, (args.batch // args.group, skip)).repeat_interleave(args.group, 0)
    with torch.no_grad():
        ids = policy.generate(prompts, max_new_tokens=args.tokens, min_new_tokens=args.tokens, do_sample=True, pad_token_id=0)
        rewards = (ids[:, skip:] % 2 == 0).float().mean(1)
        pieces = ids.split(size)
        old = [logprobs(policy, piece, skip) for piece in pieces]
        ref = [None if reference is None else logprobs(reference, piece, skip) for piece in pieces]
    advantages = group_advantages(rewards, args.group).advantages.split(size)
    optimizer.zero_grad()
    for at, piece in enumerate(pieces):
        if critic is not None:
            share = rewards.split(size)[at]
            ppo_backward(policy, critic, piece, old[at], ref[at], share, skip, scale=1 / len(pieces))
            continue
        new = logprobs(policy, piece, skip)
        options = LossOptions(beta=0.0 if reference is None else 0.04)
        mask = torch.ones_like(new)
        loss, _ = grpo_loss(
            new, advantages[at], mask, old_logprobs=old[at], ref_logprobs=ref[at], options=options, num_items=args.batch
        )
        loss.backward()
        del loss, new
    optimizer.step()


def ppo_backward(policy, critic, ids, old, ref, rewards, skip, *, scale, clip=0.2, gamma=1.0, lam=0.95, kl=0.04):  # type: ignore[no-untyped-def]
    """Clipped policy and value losses of one micro-batch, (B, T) tensors; the reward comes at the last token.

    The two are differentiated one after the other, so that only one model's activations are held at a time.
    """
    import torch

    with torch.no_grad():
        values = critic(ids)[:, skip - 1 : -1]
        per_token = -kl * (old - ref)
        per_token[:, -1] += rewards
        advantages = torch.zeros_like(per_token)
        following, running = torch.zeros(len(ids)), torch.zeros(len(ids))
        for t in reversed(range(per_token.shape[1])):
            delta = per_token[:, t] + gamma * following - values[:, t]
            running = delta + gamma * lam * running
            advantages[:, t] = running
            following = values[:, t]
        returns = advantages + values
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratio = (logprobs(policy, ids, skip) - old).exp()
    (-scale * torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()).backward()
    del ratio
    new = critic(ids)[:, skip - 1 : -1]
    clipped = values + (new - values).clamp(-clip, clip)
    (scale * torch.max((new - returns) ** 2, (clipped - returns) ** 2).mean() / 2).backward()


def make_critic(config):  # type: ignore[no-untyped-def]
    """The policy's body with a head of one output."""
    import torch
    from transformers import LlamaModel

    class ValueModel(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = LlamaModel(config)
            self.head = torch.nn.Linear(config.hidden_size, 1)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.head(self.body(input_ids=ids).last_hidden_state).squeeze(-1)

    return ValueModel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--prompt-tokens", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--group", type=int, default=4)
    parser.add_argument("--micro-batch", type=int, default=1)
    parser.add_argument("--steps", type=int, default=2, help="2 or more: AdamW has no moments before its first step")
    parser.add_argument("--worker", choices=ALGORITHMS)
    args = parser.parse_args()
    if args.worker is not None:
        worker(args)
        return
    first = 0
    for algorithm in ALGORITHMS:
        finished = subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--worker", algorithm], stdout=subprocess.PIPE, check=True, text=True
        )
        row = json.loads(finished.stdout.splitlines()[-1])
        peak, size = row["peak_bytes"], row["parameters"]
        if not first:
            first = peak
            lengths = f"T = {args.prompt_tokens} + {args.tokens}, micro-batch {args.micro_batch}"
            print(f"{size / 1e6:.1f}M parameters, {lengths}, float32, CPU")
            print(f"{'':12}{'peak MiB':>10}{'vs PPO':>9}{'states MiB':>12}{'states vs PPO':>15}{'s/step':>9}")
        states = STATE_BYTES[algorithm]
        print(
            f"{algorithm:12}{peak / 2**20:10.0f}{peak / first - 1:9.0%}{states * size / 2**20:12.0f}"
            f"{states / STATE_BYTES['ppo'] - 1:15.0%}{row['step_s']:9.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
