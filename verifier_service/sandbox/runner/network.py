"""Whether anything went over the sandbox's network, which has nothing but a loopback.

What did leaves traces in the kernel that nobody can wipe: a closed connection keeps its port for a minute, counters stay.
"""

from __future__ import annotations

import os

DEVICES = "/proc/net/dev"


class Loopback:
    """The packet counters of all devices, as text: any difference will do."""

    def __init__(self) -> None:
        try:
            self._fd = os.open(DEVICES, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # a kernel without a network
            self._fd = -1
        self._seen = self._read()

    def _read(self) -> bytes:
        return os.pread(self._fd, 1 << 16, 0) if self._fd >= 0 else b""

    def used(self) -> bool:
        """Whether something went over it since the last question."""
        before, self._seen = self._seen, self._read()
        return self._seen != before
