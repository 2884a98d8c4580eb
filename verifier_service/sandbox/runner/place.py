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

STAYS_S = 0.05  # before the kernel chooses anew
LONG_S = 0.012
_CPU_FIELD = 36  # of /proc/PID/stat, counted from the state


class Place:
    """Where a slot's processes run."""

    def __init__(self) -> None:
        self._user = os.geteuid()
        self._everywhere = os.sched_getaffinity(0)
        self._stat = os.open("/proc/self/stat", os.O_RDONLY | os.O_CLOEXEC)
        self._here = False
        self._until = 0.0
        self._long = False  # the last run was

    def settle(self, own: Iterable[int]) -> None:
        """At the start of a run: what is forked from now on stays on the CPU of `own`, the slot's processes."""
        if self._long:  # and so may be this one
            self._long = False
            if self._here:
                self._leave(own)
            return
        now = time.monotonic()
        if now < self._until or len(self._everywhere) < 2:
            return
        if self._here:  # at its next wake-up, the runner is where the kernel has put it
            self._leave([0])
            return
        cpu = int(os.pread(self._stat, 1024, 0).rpartition(b")")[2].split()[_CPU_FIELD])
        for pid in own:
            _move(pid, {cpu})
        self._here = True
        self._until = now + STAYS_S

    def _leave(self, own: Iterable[int]) -> None:
        self._here = False
        self._until = 0.0
        for pid in own:
            _move(pid, self._everywhere)

    def let_go(self, pids: set[int], uids: set[int]) -> None:
        """Once in a run that takes long, its processes: none but their own users may move them, so this one becomes such a
        user for a moment. That gives them nothing: to be killed, traced or moved itself takes the runner's other two
        identities, too, and the capabilities that it is allowed to take back."""
        self._long = True
        for uid in uids if self._here else ():
            with suppress(OSError):
                os.seteuid(uid)
            for pid in pids:
                with suppress(OSError):
                    for task in os.listdir(f"/proc/{pid}/task"):
                        _move(int(task), self._everywhere)
            os.seteuid(self._user)


def _move(pid: int, cpus: set[int]) -> None:
    with suppress(OSError):
        os.sched_setaffinity(pid, cpus)
