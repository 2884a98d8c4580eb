"""Which replica to ask next: health, a circuit breaker for each, and holds from Retry-After.

    closed --failures in a row--> open --time passes--> half-open --/healthz answers--> closed, on probation
                                    ^------------------ it doesn't (stays open twice as long)

The probe is a look at /healthz, never work: work would be lost with it, and all other work would wait for its end. On
probation one more failure opens the circuit again; a success ends it. Everything here runs on the client's own thread.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from trainer_client.client_settings import ClientSettings
from trainer_client.retry import Deadline

# A half-open circuit has one probe out; the others look again this soon.
PROBE_POLL_S = 0.05


@dataclass(slots=True, eq=False)
class Replica:
    """One base URL and what is known of its health."""

    url: str
    inflight: int = 0
    failures: int = 0
    times_opened: int = 0
    open_until: float | None = None
    held_until: float = 0.0
    probing: bool = False
    last_used: int = 0

    def state(self, now: float) -> Literal["closed", "open", "half_open"]:
        if self.open_until is None:
            return "closed"
        return "open" if now < self.open_until else "half_open"

    def wait_s(self, now: float) -> float:
        """Seconds until it may be asked; 0 when it may be asked now."""
        held = max(0.0, self.held_until - now)
        if self.open_until is None:
            return held
        if now < self.open_until:
            return max(held, self.open_until - now)
        return max(held, PROBE_POLL_S)


class ReplicaSet:
    """`is_alive(url)` looks at a replica's health; it is called on the client's loop and never raises."""

    def __init__(self, settings: ClientSettings, is_alive: Callable[[str], Awaitable[bool]]) -> None:
        self._settings = settings
        self._is_alive = is_alive
        self._probes: set[asyncio.Task[None]] = set()
        self.replicas = [Replica(url) for url in settings.urls]
        self._ticks: Iterator[int] = itertools.count(1)

    def __len__(self) -> int:
        return len(self.replicas)

    async def take(self, deadline: Deadline, avoid: Replica | None = None) -> Replica | None:
        """The healthiest, least busy replica, counted as in flight; waits for one, None if none can be had in time.

        `avoid`: the one that just failed is taken only if no other can be asked now.
        """
        while True:
            now = time.monotonic()
            for replica in self.replicas:
                if replica.state(now) == "half_open" and not replica.probing:
                    self._start_probe(replica)
            ready = [replica for replica in self.replicas if replica.wait_s(now) <= 0]
            if ready:
                chosen = min(ready, key=lambda r: (r is avoid, r.inflight, r.last_used))
                chosen.inflight += 1
                chosen.last_used = next(self._ticks)
                return chosen
            wait_s = min(replica.wait_s(now) for replica in self.replicas)
            if wait_s >= deadline.remaining_s():
                return None
            await asyncio.sleep(wait_s)

    def _start_probe(self, replica: Replica) -> None:
        replica.probing = True
        task = asyncio.create_task(self._probe(replica))
        self._probes.add(task)
        task.add_done_callback(self._probes.discard)

    async def _probe(self, replica: Replica) -> None:
        try:
            alive = await self._is_alive(replica.url)
        finally:
            replica.probing = False
        if alive:
            replica.open_until = None
            replica.failures = self._settings.breaker_failures - 1
        else:
            self._open(replica)

    def released(self, replica: Replica) -> None:
        """It was taken and not used up: nothing is learned of its health (a cancelled attempt)."""
        replica.inflight -= 1

    def succeeded(self, replica: Replica) -> None:
        self.released(replica)
        replica.failures = replica.times_opened = 0
        replica.open_until = None

    def held(self, replica: Replica, seconds: float) -> None:
        """It is alive but busy and said when to come back."""
        self.released(replica)
        replica.held_until = max(replica.held_until, time.monotonic() + seconds)

    def failed(self, replica: Replica, *, at_once: bool = False) -> None:
        """`at_once` opens the circuit on the first failure: waiting for an answer in vain is the dearest one."""
        self.released(replica)
        replica.failures += 1
        # Requests sent before a circuit opened come home one by one; they are the same failure.
        if replica.open_until is None and (at_once or replica.failures >= self._settings.breaker_failures):
            self._open(replica)

    def _open(self, replica: Replica) -> None:
        open_s = self._settings.breaker_open_s * 2.0 ** min(replica.times_opened, 20)
        replica.open_until = time.monotonic() + min(open_s, self._settings.breaker_open_cap_s)
        replica.times_opened += 1
