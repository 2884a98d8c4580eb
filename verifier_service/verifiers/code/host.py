"""Whether a wall-clock time-out can be believed: on a saturated host a program may simply not have been given a CPU."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

from verifier_service.sandbox.contract import Ending, Limits, Termination
from verifier_service.verifiers.base import Deadline

SATURATED_LOAD_PER_CORE = 1.5
LITTLE_CPU_SHARE = 0.5  # of the CPU that the limits grant: a program starved of CPU has used less
FAIR_SHARE = 0.2  # of an equal share of a core: a program that was given less did not want more, it slept
SLACK_S = 5.0  # a re-run must fit before the deadline with this to spare


def out_of_time_compiling(termination: Termination) -> bool:
    """Whether a limit of time ended the compiler, see `Termination`."""
    by_limit = termination.ending is Ending.COMPILE_ERROR and termination.exit_code is None
    return by_limit and termination.signal == signal.SIGXCPU


def load_per_core() -> float:
    """Mean number of runnable processes per core over the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


class SecondChance:
    """Re-runs of starved programs: one at a time, so that a re-run isn't starved by the others.

    A program that sleeps through its time is no such program, nor is one whose re-run would have to wait for another's
    or would not end before the deadline: its first time-out counts, else sleeping would be a way not to be scored.

    Args:
        load: runnable processes per core, replaced by tests.
    """

    def __init__(self, load: Callable[[], float] = load_per_core) -> None:
        self.alone = asyncio.Lock()
        self._load = load

    def is_due(self, termination: Termination, limits: Limits, deadline: Deadline) -> bool:
        """True for a wall-clock time-out of a program that wanted CPU and got little, while the host was saturated.

        A compiler's counts, too; its limits are its own, half as much CPU time as time by the clock.
        """
        granted_s, wall_time_s = min(limits.cpu_time_s, limits.wall_time_s), limits.wall_time_s
        if out_of_time_compiling(termination):
            granted_s, wall_time_s = termination.wall_s / 2, termination.wall_s
        elif termination.ending is not Ending.WALL_TIME:
            return False
        if self.alone.locked() or deadline.remaining_s() < wall_time_s + SLACK_S:
            return False
        load = self._load()
        wanted_cpu = termination.cpu_s * load >= FAIR_SHARE * termination.wall_s
        return load > SATURATED_LOAD_PER_CORE and wanted_cpu and termination.cpu_s < LITTLE_CPU_SHARE * granted_s
