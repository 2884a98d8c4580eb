"""Counters of the container's own cgroup, version 1 or 2, read through descriptors kept open.

Where there is none (bubblewrap), every counter is None and the process list takes its place. gVisor has some that count
and hold nobody: of those, one is used.
"""

from __future__ import annotations

import os

_V1 = {
    "oom": "/sys/fs/cgroup/memory/memory.oom_control",
    "memory": "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    "cpu": "/sys/fs/cgroup/cpuacct/cpuacct.usage",
    "pids_peak": "/sys/fs/cgroup/pids/pids.peak",
    "pids": "/sys/fs/cgroup/pids/pids.current",
    "split": "/sys/fs/cgroup/memory/memory.stat",
}
_V2 = {
    "oom": "/sys/fs/cgroup/memory.events",
    "memory": "/sys/fs/cgroup/memory.current",
    "cpu": "/sys/fs/cgroup/cpu.stat",
    "pids_peak": "/sys/fs/cgroup/pids.peak",
    "pids": "/sys/fs/cgroup/pids.current",
    "split": "/sys/fs/cgroup/memory.stat",
}


GVISOR = os.path.exists("/proc/sentry-meminfo")  # a file that no other kernel has


class Cgroup:
    """The counters; a missing one reads as None."""

    def __init__(self, *, trusted: bool) -> None:
        """`trusted`: the cgroup mounted here is this sandbox's own and not the whole host's."""
        self._fds: dict[str, int] = {}
        files = _V2 if os.path.exists(_V2["memory"]) else _V1
        if not trusted:
            files = {"counted": _V1["memory"]} if GVISOR else {}
        for name, path in files.items():
            try:
                self._fds[name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue

    def _text(self, name: str) -> bytes | None:
        fd = self._fds.get(name)
        if fd is None:
            return None
        try:
            return os.pread(fd, 4096, 0)
        except OSError:
            return None

    def _number(self, name: str) -> int | None:
        text = self._text(name)
        return int(text) if text is not None and text.strip().isdigit() else None

    def _field(self, name: str, key: bytes) -> int | None:
        text = self._text(name)
        for line in (text or b"").splitlines():
            parts = line.split()
            if len(parts) == 2 and parts[0] == key:
                return int(parts[1])
        return None

    def oom_kills(self) -> int | None:
        return self._field("oom", b"oom_kill")

    def memory_bytes(self) -> int | None:
        return self._number("memory")

    def own_memory_bytes(self) -> int | None:
        """What processes hold of their own: neither files' pages nor the kernel's."""
        rss = self._field("split", b"rss")
        return rss if rss is not None else self._field("split", b"anon")

    def counted_bytes(self) -> int | None:
        """Bytes in use in the sandbox, where they are counted and not held. What was freed a moment ago may be among them."""
        return self._number("counted")

    def cpu_s(self) -> float | None:
        whole = self._number("cpu")
        if whole is not None:
            return whole / 1e9
        micros = self._field("cpu", b"usage_usec")
        return None if micros is None else micros / 1e6

    def tasks(self) -> int | None:
        return self._number("pids")

    def tasks_peak(self) -> int | None:
        return self._number("pids_peak")
