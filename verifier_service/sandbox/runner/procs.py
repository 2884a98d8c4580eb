"""The processes inside the sandbox, from /proc: who is left, what a tree uses, and killing all of a uid."""

from __future__ import annotations

import os
import signal
import time
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Usage(NamedTuple):
    """What a set of processes uses now; CPU time includes that of children they have waited for."""

    tasks: int
    cpu_s: float
    memory_bytes: int


def pids() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def _stat(pid: int) -> list[bytes] | None:
    """Fields of /proc/PID/stat from the state on, None if it is gone. The name before them may hold anything."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        text = os.read(fd, 4096)
    except OSError:
        return None
    finally:
        os.close(fd)
    return text[text.rindex(b")") + 2 :].split()


def alive(candidates: set[int]) -> set[int]:
    """Those that are no zombies."""
    running = set()
    for pid in candidates:
        fields = _stat(pid)
        if fields is not None and fields[0] not in (b"Z", b"X"):
            running.add(pid)
    return running


def own_memory(pid: int) -> int:
    """Bytes that are neither a file's nor shared memory: what statm calls resident without what it calls shared."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            fields = file.read().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE if len(fields) > 2 else 0


def usage_of(candidates: set[int], uid: int | None, inherited_bytes: int) -> Usage:
    """Sum over the candidates of this uid (None: over all), each without what it inherited from its zygote."""
    tasks, ticks, memory = 0, 0, 0
    for pid in candidates:
        if uid is not None and uid_of(pid) != uid:
            continue
        fields = _stat(pid)
        if fields is None:
            continue
        tasks += int(fields[17])
        ticks += sum(int(field) for field in fields[11:15])
        memory += max(0, own_memory(pid) - inherited_bytes)
    return Usage(tasks, ticks / _TICKS, memory)


def uid_of(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            for line in file:
                if line.startswith(b"Uid:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return None


def kill_uid(uid: int) -> None:
    """SIGKILL every process of this uid at once: from a helper of that uid, so that no fork can slip through."""
    helper = os.fork()
    if helper == 0:
        try:
            os.setresuid(uid, uid, uid)
            os.kill(-1, signal.SIGKILL)
        except OSError:
            pass
        finally:
            os._exit(0)
    os.waitpid(helper, 0)


def kill_each(targets: set[int]) -> None:
    """The same where all share one uid: stop them all first, so that none forks while the others are killed."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in targets:
            try:
                os.kill(pid, number)
            except OSError:
                continue


def wake(targets: set[int]) -> None:
    """SIGCONT, to whoever is stopped."""
    for pid in targets - {1, os.getpid()}:
        try:
            os.kill(pid, signal.SIGCONT)
        except OSError:
            continue


def all_well(own: set[int]) -> bool:
    """Where all share one uid: whether our own processes live, whatever signals they got. Stopped ones go on."""
    wake(own)
    return own <= alive(own)


def reap() -> float:
    """Collect orphans that came to this process; the CPU seconds they had used."""
    cpu_s = 0.0
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return cpu_s
        if pid == 0:
            return cpu_s
        cpu_s += usage.ru_utime + usage.ru_stime


def wait_gone(own: set[int], seconds: float) -> tuple[set[int], float]:
    """Wait until only `own` processes are left; those that are still there, and the CPU seconds of the reaped."""
    deadline = time.monotonic() + seconds
    cpu_s = 0.0
    while True:
        cpu_s += reap()
        left = pids() - own
        if not left or time.monotonic() >= deadline:
            return left, cpu_s
        time.sleep(0.002)
