"""All ranks go on, or all ranks stop.

One rank that raises while the others wait in a collective hangs the run until the NCCL time-out. So what may stop a run
is summed over the ranks first, and every rank decides on the same sums. Without torch, or without a process group, this
process is alone. torch is never imported here: where it is not loaded there is no process group.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any


def sum_over_ranks(values: Sequence[float]) -> list[float]:
    """The elementwise sum over all ranks, the same on each. Every rank must call it equally often."""
    torch: Any = sys.modules.get("torch")
    distributed: Any = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return list(values)
    if distributed.get_world_size() == 1:
        return list(values)
    tensor = torch.tensor(list(values), dtype=torch.float64, device=_device(torch, distributed))
    distributed.all_reduce(tensor)
    return [float(value) for value in tensor.tolist()]


def _device(torch: Any, distributed: Any) -> Any:
    """Where the default group's backend wants its tensors.

    The current device can't be asked for: it belongs to a thread, and reward functions run on one of the trainer's.
    """
    backend = str(distributed.get_backend())
    if "gloo" in backend or "mpi" in backend:
        return torch.device("cpu")
    return torch.device("cuda" if "nccl" in backend else _accelerator(torch), int(os.environ.get("LOCAL_RANK", "0")))


def _accelerator(torch: Any) -> str:
    accelerator = getattr(torch, "accelerator", None)
    current = accelerator.current_accelerator() if accelerator is not None else None
    return current.type if current is not None else "cpu"
