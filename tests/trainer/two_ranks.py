"""Run by `torchrun` on two processes: trains with groups that are split between them, writes what each knows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import AutoTokenizer
from trl import GRPOConfig

from trainer_client.curriculum import CurriculumSettings
from trainer_client.curriculum.trl_trainer import CurriculumGRPOTrainer


def half_right(completions: list[str], **_: Any) -> list[float | None]:
    """Each rank calls with its own six rows: three right, two wrong, one without a reward."""
    return [1.0, 1.0, 1.0, 0.0, 0.0, None]


def main(model: Path, out: Path) -> None:
    trainer = CurriculumGRPOTrainer(
        model=str(model),
        reward_funcs=[half_right],
        args=GRPOConfig(
            output_dir=str(out / "run"),
            use_cpu=True,
            bf16=False,
            report_to="none",
            num_generations=4,
            per_device_train_batch_size=6,
            max_completion_length=3,
            max_steps=4,
            save_strategy="no",
            gradient_checkpointing=False,
            num_train_epochs=5,
        ),
        train_dataset=Dataset.from_list([{"prompt": f"{n:02}=", "prompt_id": str(n)} for n in range(24)]),
        processing_class=AutoTokenizer.from_pretrained(model, padding_side="left"),
        curriculum=CurriculumSettings(decay=1.0),
        pass_reward=1.0,
    )
    trainer.train()
    rank = trainer.accelerator.process_index
    (out / f"rank{rank}.json").write_text(json.dumps(trainer.selector.state_dict()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
