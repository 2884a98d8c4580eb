"""The pool: slots made ahead, lent one submission at a time in the order of asking, and thrown away when in doubt.

`slots` programs run at one time; `spares` more slots stand by, so that throwing one away costs no latency. A slot that
cannot be made is tried again with growing pauses, for as long as the pool lives: an engine that comes back is used
again without a restart. While none can be made, callers are told at once rather than made to wait.

Who waits longest may be sent ahead to busy slots, so that a program begins there as soon as the other has ended, and not
only after the host has heard of that; several behind one another where programs take a millisecond, so that one answer
tells of several. They own nothing before their turn: a slot that is thrown away instead, or takes too long, gives them
back to the queue.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Protocol

from verifier_service.sandbox.contract import SandboxFault, SlotWaitTimeout
from verifier_service.sandbox.link import RunnerLink

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 15.0
UNFITTED = -1  # the memory of a slot that must be fitted before the next program
AHEAD_S = 0.02  # after so long behind one program, those that were sent ahead are free for any slot again
MOST_AHEAD = 5  # behind one program
AHEAD_WORTH_S = 0.012  # and no more than what is done in this time, as programs have lately gone


class Slot(Protocol):
    """One sandbox with its runner said hello."""

    link: RunnerLink
    memory_mb: int  # what it is fitted to now; a slot that needs no fitting keeps 0

    async def fit_memory(self, memory_mb: int) -> None:
        """Make the slot's memory limit this, for the next program. Raises SandboxFault."""
        ...

    def rests_at(self, resting_mb: int) -> None:
        """What its runner and zygotes hold by themselves, on top of which a program has its memory."""
        ...

    async def destroy(self) -> None:
        """Kill and remove it, whatever state it is in. Never raises."""
        ...


class SlotMaker(Protocol):
    """Makes slots of one kind."""

    async def make(self) -> Slot:
        """A slot whose runner is ready. Raises SandboxFault."""
        ...


class PoolEvents(Protocol):
    """Where the pool says what happens, for metrics. Called in the event loop; must not block."""

    def slots(self, profile: str, state: str, count: int) -> None:
        """`count` slots of this profile are in `state` now: busy, idle or starting."""
        ...

    def recycled(self, reason: str) -> None: ...

    def queued(self, wait_s: float) -> None: ...


class NoEvents:
    """Listens to nothing."""

    def slots(self, profile: str, state: str, count: int) -> None:
        del profile, state, count

    def recycled(self, reason: str) -> None:
        del reason

    def queued(self, wait_s: float) -> None:
        del wait_s


@dataclass
class PoolStats:
    """Slots by state, and counts since the start."""

    busy: int = 0
    idle: int = 0
    starting: int = 0
    waiting: int = 0
    runs: int = 0
    recycles: Counter[str] = field(default_factory=Counter)
    failure: str = ""


class Ahead(Protocol):
    """A program that may be sent to a slot before its turn."""

    def post(self, slot: Slot) -> None:
        """Send it, behind the one that runs there. Raises SandboxFault."""
        ...

    def withdraw(self, slot: Slot) -> None:
        """Take it back; what it did there, if it has begun, is void. Never raises."""
        ...


@dataclass(eq=False)
class Waiter:
    """One who waits for a slot; `ahead` while it may be sent ahead."""

    turn: asyncio.Future[Lease]
    memory_mb: int
    ahead: Ahead | None


@dataclass(eq=False)
class Lease:
    """A slot lent out."""

    slot: Slot
    uses: int = 0
    begun: bool = False  # the program of whoever has it was sent
    followers: deque[Waiter] = field(default_factory=deque)  # sent ahead, behind that program, one behind another
    since: float = 0.0  # that program began, or the one before it has ended
    patience: asyncio.TimerHandle | None = None  # of the followers


class Pool:
    """See the module."""

    def __init__(
        self,
        maker: SlotMaker,
        *,
        slots: int,
        spares: int,
        recycle_after: int,
        events: PoolEvents | None = None,
        profile: str = "python",
    ) -> None:
        self._maker = maker
        self._slots = slots
        self._target = slots + spares
        self._recycle_after = recycle_after
        self.events: PoolEvents = events or NoEvents()
        self.profile = profile
        self._idle: deque[Lease] = deque()
        self._waiters: deque[Waiter] = deque()
        self._busy: set[Lease] = set()
        self._making: set[asyncio.Task[None]] = set()
        self._removing: set[asyncio.Task[None]] = set()
        self._starting = 0
        self._pace_s = AHEAD_WORTH_S  # what a program takes, lately
        self._closed = False
        self.stats = PoolStats()
        self.warm: Callable[[Slot], None] = lambda _: None  # told of each slot made, before it is lent

    @property
    def slots(self) -> int:
        return self._slots

    # --- life

    async def start(self) -> None:
        """Make the first slot, so that trouble shows now; the others follow. Raises SandboxFault."""
        self._closed = False
        self._idle.append(Lease(await self._maker.make()))
        self._refill()

    async def aclose(self) -> None:
        """Stop making slots and remove all there are. Safe to call twice."""
        self._closed = True
        self._fail_all("the sandbox pool is closing")
        for task in list(self._making):
            task.cancel()
        await asyncio.gather(*self._making, return_exceptions=True)
        leases = [*self._idle, *self._busy]
        self._idle.clear()
        await asyncio.gather(*self._removing, *(lease.slot.destroy() for lease in leases), return_exceptions=True)

    def snapshot(self) -> PoolStats:
        self.stats.busy = len(self._busy)
        self.stats.idle = len(self._idle)
        self.stats.starting = self._starting
        self.stats.waiting = len(self._waiters) + sum(len(lease.followers) for lease in self._busy)
        return self.stats

    def _tell(self) -> None:
        self.events.slots(self.profile, "busy", len(self._busy))
        self.events.slots(self.profile, "idle", len(self._idle))
        self.events.slots(self.profile, "starting", self._starting)

    # --- lending

    async def acquire(self, deadline_s: float | None, memory_mb: int = 0, ahead: Ahead | None = None) -> Lease:
        """The next slot, first come first served; of several idle ones, one that is fitted to this memory.

        The lease has `begun` if `ahead` was posted to its slot, and runs there. Raises SlotWaitTimeout, SandboxFault.
        """
        if self._closed:
            raise SandboxFault("the sandbox pool is closed")
        began = time.monotonic()
        self._drop_dead()
        if self._idle and not self._waiters and len(self._busy) < self._slots:
            lease = next((lease for lease in self._idle if lease.slot.memory_mb == memory_mb), self._idle[0])
            self._idle.remove(lease)
            self._busy.add(lease)
        else:
            lease = await self._queue(deadline_s, memory_mb, ahead)
        self.events.queued(time.monotonic() - began)
        self._tell()
        return lease

    async def _queue(self, deadline_s: float | None, memory_mb: int, ahead: Ahead | None) -> Lease:
        self._complain_if_hopeless()
        waiter = Waiter(asyncio.get_running_loop().create_future(), memory_mb, ahead)
        self._waiters.append(waiter)
        self._match()
        try:
            async with asyncio.timeout(deadline_s):
                return await waiter.turn
        except (TimeoutError, asyncio.CancelledError) as error:
            self._forget(waiter)
            if isinstance(error, TimeoutError):
                raise SlotWaitTimeout(f"no sandbox slot came free within {deadline_s} s") from None
            raise

    def _forget(self, waiter: Waiter) -> None:
        """Of one who no longer wants a slot."""
        if waiter.turn.done() and not waiter.turn.cancelled() and waiter.turn.exception() is None:
            self._hand_back(waiter.turn.result())
        elif waiter in self._waiters:
            self._waiters.remove(waiter)
        else:
            for lease in self._busy:
                if waiter in lease.followers:
                    self._unpost(lease)
            self._match()

    def _hand_back(self, lease: Lease) -> None:
        """A slot that was lent to someone who no longer wants it; gone, if that one's program already runs there."""
        if lease.begun:
            self.release(lease, discard="abandoned")
            return
        self._busy.discard(lease)
        self._idle.append(lease)
        self._match()

    def release(self, lease: Lease, *, discard: str = "") -> None:
        """Give a slot back; `discard` says why it must be thrown away, if it must."""
        lease.uses += 1
        self.stats.runs += 1
        if lease.begun:
            self._pace_s += (time.monotonic() - lease.since - self._pace_s) / 8
        if not discard and lease.uses >= self._recycle_after:
            discard = "worn"
        if not discard and not lease.slot.link.alive:
            discard = "died"
        if not discard and lease.followers and lease.followers[0].turn.done():
            discard = "abandoned"  # that one's program runs there already
        if discard or self._closed or not self._pass_on(lease):
            self._unpost(lease)
            lease.begun = False
            self._busy.discard(lease)
            if discard or self._closed:
                self._throw_away(lease, discard or "closing")
            else:
                self._idle.appendleft(lease)
        self._match()
        self._tell()

    # --- sending ahead

    def begun(self, lease: Lease) -> None:
        """To be told when a lease's program was sent: from then on others may be sent behind it."""
        lease.begun = True
        lease.since = time.monotonic()
        self._post_ahead()

    def _post_ahead(self) -> None:
        """Send those who wait longest to slots that are fitted to them, behind as few others as can be."""
        most = max(1, min(MOST_AHEAD, int(AHEAD_WORTH_S / max(self._pace_s, 1e-6)))) if self._waiters else 0
        for depth in range(most):
            for lease in self._busy:
                if not self._waiters:
                    return
                if len(lease.followers) == depth and self._may_follow(lease, self._waiters[0]):
                    self._post(lease, self._waiters.popleft())

    def _may_follow(self, lease: Lease, waiter: Waiter) -> bool:
        return (
            waiter.ahead is not None
            and lease.begun
            and lease.slot.link.alive
            and lease.slot.memory_mb in (0, waiter.memory_mb)
            and lease.uses + 1 + len(lease.followers) < self._recycle_after
        )

    def _post(self, lease: Lease, waiter: Waiter) -> None:
        assert waiter.ahead is not None
        waiter.ahead.post(lease.slot)
        lease.followers.append(waiter)
        if lease.patience is None:
            self._have_patience(lease)

    def _have_patience(self, lease: Lease) -> None:
        lease.patience = asyncio.get_running_loop().call_later(AHEAD_S, self._lose_patience, lease)

    def _pass_on(self, lease: Lease) -> bool:
        """Lend a slot to whoever was sent to it ahead, if somebody was."""
        if not lease.followers:
            return False
        lease.since = time.monotonic()
        lease.followers.popleft().turn.set_result(lease)
        self._stop_timer(lease)
        if lease.followers:
            self._have_patience(lease)
        return True

    @staticmethod
    def _stop_timer(lease: Lease) -> None:
        if lease.patience is not None:
            lease.patience.cancel()
            lease.patience = None

    def _unpost(self, lease: Lease) -> None:
        """Take back all who were sent behind this lease's program; those who still want a slot are the next again."""
        self._stop_timer(lease)
        while lease.followers:
            waiter = lease.followers.pop()
            if waiter.ahead is not None:
                waiter.ahead.withdraw(lease.slot)
            if not waiter.turn.done():
                self._waiters.appendleft(waiter)

    def _lose_patience(self, lease: Lease) -> None:
        followers = list(lease.followers)
        self._unpost(lease)
        for waiter in followers:
            waiter.ahead = None
        self._match()

    def _throw_away(self, lease: Lease, reason: str) -> None:
        self.stats.recycles[reason] += 1
        self.events.recycled(reason)
        self._spawn(lease.slot.destroy(), self._removing)
        self._refill()

    def _drop_dead(self) -> None:
        for lease in [lease for lease in self._idle if not lease.slot.link.alive]:
            self._idle.remove(lease)
            self._throw_away(lease, "died")

    def _match(self) -> None:
        """Lend idle slots to those who wait, oldest first."""
        self._drop_dead()
        while self._waiters and self._idle and len(self._busy) < self._slots:
            waiter = self._waiters.popleft()
            if waiter.turn.done():
                continue
            lease = self._idle.popleft()
            self._busy.add(lease)
            waiter.turn.set_result(lease)
        self._post_ahead()

    # --- making

    @staticmethod
    def _spawn(work: Coroutine[object, object, None], kept: set[asyncio.Task[None]]) -> None:
        task = asyncio.create_task(work)
        kept.add(task)
        task.add_done_callback(kept.discard)

    def _refill(self) -> None:
        while not self._closed and len(self._idle) + len(self._busy) + self._starting < self._target:
            self._starting += 1
            self._spawn(self._make_one(), self._making)

    async def _make_one(self) -> None:
        """Make one slot, with pauses that grow while it fails."""
        pause_s = FIRST_PAUSE_S
        try:
            while True:
                try:
                    slot = await self._maker.make()
                    break
                except SandboxFault as fault:
                    self.stats.failure = str(fault)
                    self._fail_waiters()
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        finally:
            self._starting -= 1
        self.stats.failure = ""
        self.warm(slot)
        self._idle.append(Lease(slot))
        self._match()
        self._tell()

    def _hopeless(self) -> bool:
        return bool(self.stats.failure) and not self._idle and not self._busy

    def _complain_if_hopeless(self) -> None:
        if self._hopeless():
            raise SandboxFault(f"no sandbox can be made: {self.stats.failure}")

    def _fail_waiters(self) -> None:
        if self._hopeless():
            self._fail_all(f"no sandbox can be made: {self.stats.failure}")

    def _fail_all(self, why: str) -> None:
        for lease in self._busy:
            self._unpost(lease)
        for waiter in self._waiters:
            if not waiter.turn.done():
                waiter.turn.set_exception(SandboxFault(why))
        self._waiters.clear()
