"""A line now and then while the demo trains."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from transformers import TrainerCallback


class ProgressLine(TrainerCallback):
    def __init__(self, console: Console, every: int = 10) -> None:
        self.console = console
        self.every = every

    def on_log(self, _args: Any, state: Any, _control: Any, logs: Any = None, **_: Any) -> None:
        if logs and "reward" in logs and (state.global_step % self.every == 0 or state.global_step == 1):
            self.console.print(
                f"step {state.global_step:4}/{state.max_steps}  reward {logs['reward']:.3f}  "
                f"solved {logs.get('curriculum/pass_rate', 0.0):.2f}  "
                f"groups that teach {logs.get('curriculum/informative_share', 0.0):.2f}",
                markup=False,
                highlight=False,
            )
