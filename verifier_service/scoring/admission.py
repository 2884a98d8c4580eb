"""How much work may be inside the service at one time; what is beyond is refused whole, at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from verifier_service.faults import Overloaded

LONGEST_RETRY_AFTER_S = 30.0


class Admission:
    """Counts completions and bytes that are inside. Used from one event loop."""

    def __init__(self, max_completions: int, max_bytes: int) -> None:
        self._max_completions = max_completions
        self._max_bytes = max_bytes
        self.completions = 0
        self.bytes = 0
        self._rate = 100.0  # completions a second, smoothed: what Retry-After is told from

    @contextmanager
    def admit(self, completions: int, size_bytes: int) -> Iterator[None]:
        """Hold room for a request while it runs. A request is always let in when nothing else is inside.

        Raises:
            Overloaded: no room; says when there may be some.
        """
        busy = self.completions > 0
        if busy and (self.completions + completions > self._max_completions or self.bytes + size_bytes > self._max_bytes):
            wait_s = min(LONGEST_RETRY_AFTER_S, max(1.0, self.completions / self._rate))
            raise Overloaded(f"{self.completions} completions are being verified and there is no room for more", wait_s)
        self.completions += completions
        self.bytes += size_bytes
        start = time.monotonic()
        try:
            yield
        finally:
            self.completions -= completions
            self.bytes -= size_bytes
            seen = completions / max(1e-3, time.monotonic() - start)
            self._rate += 0.2 * (seen - self._rate)
