"""Whether a wall-clock time-out can be believed: on a saturated host a program may simply not have been given a CPU."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from verifier_service.sandbox.contract import Ending, Limits, Termination

SATURATED_LOAD_PER_CORE = 1.5
LITTLE_CPU_SHARE = 0.5  # of the CPU that the limits grant: a program starved of CPU has used less


def load_per_core() -> float:
    """Mean number of runnable processes per core over the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


class SecondChance:
    """Re-runs of starved programs: one at a time, so that a re-run isn't starved by the others.

    Args:
        load: runnable processes per core, replaced by tests.
    """

    def __init__(self, load: Callable[[], float] = load_per_core) -> None:
        self.alone = asyncio.Lock()
        self._load = load

    def is_due(self, termination: Termination, limits: Limits) -> bool:
        """True for a wall-clock time-out that used little CPU while the host was saturated."""
        if termination.ending is not Ending.WALL_TIME:
            return False
        granted_s = min(limits.cpu_time_s, limits.wall_time_s)
        return termination.cpu_s < LITTLE_CPU_SHARE * granted_s and self._load() > SATURATED_LOAD_PER_CORE
