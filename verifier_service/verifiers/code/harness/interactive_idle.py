"""Whether the submission waits: seen from the judge's process, by what /proc tells to anybody.

Two programs that wait for one another would wait up to their time limit, and block a slot for as long. A program all of
whose threads and children sleep, and use no CPU, while the interactor waits for it, has stopped: what it waits for could
only come from the interactor. A program that is refused the CPU by a busy machine is not asleep, but ready to run.
"""

from __future__ import annotations

import time
from pathlib import Path

PROC = Path("/proc")
ASLEEP = (b"S", b"T", b"t")
ENDED_STATES = (b"Z", b"X")
STATE, PARENT, USER_TICKS, SYSTEM_TICKS = 0, 1, 11, 12  # in /proc/PID/stat, from the state on


class Watch:
    """Looks at one process and its children, when asked to."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ticks: int | None = None
        self.since = 0.0

    def begin(self) -> None:
        """Forget the looks so far: a new wait begins."""
        self.ticks = None

    def idle_s(self) -> float:
        """For how long, at the looks of this wait, all have slept without using CPU; 0 when one is awake, or can't be seen."""
        ticks, now = self._ticks_asleep(), time.monotonic()
        if ticks is None or ticks != self.ticks:
            self.ticks, self.since = ticks, now
        return now - self.since if ticks is not None else 0.0

    def _ticks_asleep(self) -> int | None:
        """Clock ticks that the process and its children have used; None when one is awake, or the process has ended."""
        total = 0
        family = self._family()
        for pid in family:
            for thread in _numbered(PROC / str(pid) / "task"):
                fields = _stat(thread)
                if fields is None or fields[STATE] in ENDED_STATES:
                    continue
                if fields[STATE] not in ASLEEP:
                    return None
                total += int(fields[USER_TICKS]) + int(fields[SYSTEM_TICKS])
        return total if family else None

    def _family(self) -> set[int]:
        """The process and those that descend from it; empty once it has ended."""
        parents: dict[int, int] = {}
        for place in _numbered(PROC):
            fields = _stat(place)
            if fields is not None and fields[STATE] not in ENDED_STATES:
                parents[int(place.name)] = int(fields[PARENT])
        family = {self.pid} & parents.keys()
        while more := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= more
        return family


def _numbered(folder: Path) -> list[Path]:
    try:
        return [entry for entry in folder.iterdir() if entry.name.isdigit()]
    except OSError:
        return []


def _stat(place: Path) -> list[bytes] | None:
    """The fields from the state on; the name before them may hold anything. None if it is gone."""
    try:
        text = (place / "stat").read_bytes()
    except OSError:
        return None
    return text[text.rindex(b")") + 2 :].split()
