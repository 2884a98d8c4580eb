"""One CPU for all of a slot's processes while runs are short.

Runner, zygote and child wait for one another, so a second CPU wins them nothing, and each wake-up across CPUs costs more
than what is woken does. Which CPU it is, is the kernel's choice, and made anew every few runs: so slots that met on one
CPU part again. A run that takes longer is let go.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress

from . import procs

STAYS_S = 0.05
_CPU_FIELD = 36  # of /proc/PID/stat, counted from the state


class Place:
    """Where a slot's processes run."""

    def __init__(self) -> None:
        self._everywhere = os.sched_getaffinity(0)
        self._stat = os.open("/proc/self/stat", os.O_RDONLY | os.O_CLOEXEC)
        self._here = False
        self._until = 0.0

    def settle(self, own: Iterable[int]) -> None:
        """At the start of a run: what is forked from now on stays on the CPU of `own`, the slot's processes."""
        now = time.monotonic()
        if now < self._until or len(self._everywhere) < 2:
            return
        if self._here:  # and at its next wake-up, the runner is where the kernel has put it
            self._here = False
            _move(0, self._everywhere)
            return
        cpu = int(os.pread(self._stat, 1024, 0).rpartition(b")")[2].split()[_CPU_FIELD])
        for pid in own:
            _move(pid, {cpu})
        self._here = True
        self._until = now + STAYS_S

    def let_go(self, uid: int) -> None:
        """Of all processes of this uid; by a helper of that uid, as nobody else may."""
        helper = os.fork()
        if helper == 0:
            try:
                os.setresuid(uid, uid, uid)
                for pid in procs.pids():
                    with suppress(OSError):
                        for task in os.listdir(f"/proc/{pid}/task"):
                            _move(int(task), self._everywhere)
            finally:
                os._exit(0)
        os.waitpid(helper, 0)


def _move(pid: int, cpus: set[int]) -> None:
    with suppress(OSError):
        os.sched_setaffinity(pid, cpus)
