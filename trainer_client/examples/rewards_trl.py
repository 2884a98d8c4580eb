"""A first GRPO run with verified rewards. Start the service (`verifier-service serve`), then `python rewards_trl.py`.

Needs the `trainer` extra, and time: a model of half a billion parameters on a GPU. The reward lines are the point.
"""

from __future__ import annotations

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from trainer_client.trl_reward import make_reward_function

SYSTEM = "Think inside <think></think>, then give the answer in \\boxed{}."
SERVICE = "http://127.0.0.1:8000"


def sums(count: int = 256) -> Dataset:
    """Prompts with their golds: the column `answer` is what the reward function reads."""
    rows = []
    for n in range(count):
        a, b = n * 37 % 100, n * 53 % 100
        question = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"What is {a} + {b}?"}]
        rows.append({"prompt": question, "answer": str(a + b), "prompt_id": f"sum-{n}"})
    return Dataset.from_list(rows)


def main() -> None:
    reward = make_reward_function(SERVICE, verifiers=["math", {"kind": "format", "style": "think_boxed", "weight": 0.5}])
    trainer = GRPOTrainer(
        model="Qwen/Qwen2.5-0.5B-Instruct",
        reward_funcs=reward,
        args=GRPOConfig(output_dir="out/sums", num_generations=8, max_completion_length=256),
        train_dataset=sums(),
    )
    trainer.train()


if __name__ == "__main__":
    main()
