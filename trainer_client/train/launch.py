"""One process per GPU: with several, the command starts itself anew under `accelerate launch` with a shipped config."""

from __future__ import annotations

import os
import sys

from trainer_client.train.config import PRESETS, TrainConfig

# Set by accelerate and torchrun in every worker.
WORKER_VARIABLES = ("LOCAL_RANK", "ACCELERATE_MIXED_PRECISION")


def needs_launcher(config: TrainConfig) -> bool:
    return config.distributed.gpus > 1 and not any(name in os.environ for name in WORKER_VARIABLES)


def launch_command(config: TrainConfig, arguments: list[str]) -> list[str]:
    """`arguments`: those of `trainer-client train`, to be given to every worker."""
    accelerate_config = PRESETS / "accelerate" / f"{config.distributed.strategy}.yaml"
    return [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--config_file",
        str(accelerate_config),
        "--num_processes",
        str(config.distributed.gpus),
        "-m",
        "trainer_client.cli",
        "train",
        *arguments,
    ]


def replace_process(command: list[str]) -> None:
    """Doesn't return: signals and the exit status are the launcher's."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], command)  # noqa: S606 - a list of our own, no shell
