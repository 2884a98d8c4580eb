"""The pool of math workers, as the service sees it: items in, answers out, deadlines kept from here.

Each worker gets a chunk at a time, bounded in count and bytes, and answers item by item. The parent owns each item's
time from dispatch: an item over its CPU budget costs its worker's life (SIGKILL through the fork server, then a new
fork) and its own verdict; the items behind it go back to the queue. A worker that dies otherwise has its current item
tried once more elsewhere, alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from verifier_service.faults import DeadlineExceeded, InfrastructureFault, TaskFault
from verifier_service.verifiers.math.forking import ForkServer, Worker
from verifier_service.verifiers.math.options import MEMORY_EXIT, RETIRED_EXIT

CHUNK_ITEMS = 128
CHUNK_CHARS = 400_000
TICK_S = 0.05
STEAL_AFTER_S = 0.2
"""A worker this long on one item loses the items behind it to the others."""
WALL_FACTOR = 5.0
"""An item that has not had its CPU budget after this many times as much wall time is retried: the host is saturated."""


@dataclass(slots=True, eq=False)
class Item:
    """One completion on its way. `answer` resolves to the worker's row."""

    task: tuple[str, str]  # gold, options as JSON
    completion: str
    deadline_at: float
    answer: asyncio.Future[list[Any]]
    tries: int = 0


@dataclass(slots=True, eq=False)
class _Seat:
    """A worker with what it is doing."""

    worker: Worker
    pending: dict[int, Item] = field(default_factory=dict)  # in order
    phase: str = "answer"
    progress_at: float = 0.0
    cpu_at: float = 0.0
    stolen: bool = False
    doomed: str | None = None  # why we killed it


class WorkerPool:
    """Start it once; `judge` may be called thousands of times at once."""

    def __init__(self, workers: int, item_cpu_s: float, memory_mb: int) -> None:
        self._count = workers
        self._item_cpu_s = item_cpu_s
        self._server = ForkServer(memory_mb, self._died)
        self._queue: deque[Item] = deque()
        self._seats: list[_Seat] = []
        self._seq = 0
        self._pump_due = False
        self._ticker: asyncio.Task[None] | None = None
        self._revivals: set[asyncio.Task[None]] = set()
        self._closing = False
        self.deaths = 0

    async def start(self) -> None:
        """Raises InfrastructureFault where no worker can be started."""
        self._closing = False
        await self._server.start()
        for _ in range(self._count):
            await self._seat_worker()
        self._ticker = asyncio.create_task(self._watch())

    async def aclose(self) -> None:
        self._closing = True
        if self._ticker:
            self._ticker.cancel()
            self._ticker = None
        revivals = list(self._revivals)
        for task in revivals:
            task.cancel()
        await asyncio.gather(*revivals, return_exceptions=True)
        for item in [*self._queue, *(i for s in self._seats for i in s.pending.values())]:
            _fail(item, InfrastructureFault("the math verifier is shutting down"))
        self._queue.clear()
        for seat in self._seats:
            seat.worker.close()
        self._seats.clear()
        await self._server.aclose()

    def pids(self) -> list[int]:
        return [seat.worker.pid for seat in self._seats]

    def submit(self, task: tuple[str, str], completion: str, deadline_at: float) -> asyncio.Future[list[Any]]:
        """Queue a completion; the future gets the row, or a fault."""
        if self._ticker is None:
            raise InfrastructureFault("the math verifier's workers are not running")
        future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._queue.append(Item(task, completion, deadline_at, future))
        self._pump_soon()
        return future

    # --- dispatch

    def _pump_soon(self) -> None:
        if not self._pump_due:
            self._pump_due = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._pump_due = False
        now = time.monotonic()
        for seat in self._seats:
            if not self._queue:
                return
            if not seat.pending and seat.doomed is None:
                self._give_chunk(seat, now)

    def _give_chunk(self, seat: _Seat, now: float) -> None:
        share = max(1, min(CHUNK_ITEMS, len(self._queue) // (2 * len(self._seats))))
        tasks: dict[tuple[str, str], int] = {}
        rows: list[tuple[int, int, str]] = []
        chars = 0
        while self._queue and len(rows) < share and chars < CHUNK_CHARS:
            item = self._queue[0]
            if item.tries and rows:
                break
            self._queue.popleft()
            if item.answer.done():
                continue
            if item.deadline_at <= now:
                _fail(item, DeadlineExceeded("the request's deadline passed before this completion was verified"))
                continue
            self._seq += 1
            seat.pending[self._seq] = item
            rows.append((self._seq, tasks.setdefault(item.task, len(tasks)), item.completion))
            chars += len(item.completion) + 64
            if item.tries:
                break  # a suspect goes alone
        if rows:
            seat.phase, seat.progress_at, seat.stolen = "answer", now, False
            heads = ",".join(f"[{json.dumps(gold)},{options}]" for gold, options in tasks)
            seat.worker.send(f'{{"tasks":[{heads}],"items":{json.dumps(rows)}}}'.encode("ascii"))

    # --- answers

    def _answered(self, seat: _Seat, cpu_s: float, rows: list[list[Any]]) -> None:
        seat.progress_at, seat.cpu_at = time.monotonic(), cpu_s
        for row in rows:
            if len(row) == 2:
                seat.phase = row[1]
                continue
            item = seat.pending.pop(row[0], None)
            seat.phase = "answer"
            if item is not None and not item.answer.done():
                item.answer.set_result(row)
        if not seat.pending and self._queue:
            self._give_chunk(seat, seat.progress_at)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            for seat in self._seats:
                if seat.pending and seat.doomed is None:
                    self._check(seat, now)
            self._expire(now)
            if self._queue:
                self._pump_soon()

    def _check(self, seat: _Seat, now: float) -> None:
        wall_s = now - seat.progress_at
        if wall_s > STEAL_AFTER_S and not seat.stolen and len(seat.pending) > 1:
            seat.stolen = True
            behind = list(seat.pending)[1:]
            self._queue.extendleft(reversed([seat.pending.pop(seq) for seq in behind]))
            self._pump_soon()
        if wall_s <= self._item_cpu_s:
            return
        used_s = seat.worker.cpu_s()
        if used_s is None or used_s - seat.cpu_at > self._item_cpu_s:
            self._doom(seat, "time")
        elif wall_s > self._item_cpu_s * WALL_FACTOR:
            self._doom(seat, "stall")

    def _doom(self, seat: _Seat, why: str) -> None:
        seat.doomed = why
        self._server.kill(seat.worker.pid)

    def _expire(self, now: float) -> None:
        late = [i for s in self._seats for i in s.pending.values() if i.deadline_at <= now]
        if any(item.deadline_at <= now for item in self._queue):
            late += [item for item in self._queue if item.deadline_at <= now]
            self._queue = deque(item for item in self._queue if item.deadline_at > now)
        for item in late:
            _fail(item, DeadlineExceeded("the request's deadline passed while this completion waited for a math worker"))

    # --- deaths

    def _died(self, pid: int, status: int) -> None:
        """The fork server says that a worker ended. A `pid` of 0 means the fork server itself."""
        if self._closing:
            return
        gone = [seat for seat in self._seats if pid in (0, seat.worker.pid)]
        for seat in gone:
            self._seats.remove(seat)
            seat.worker.close()
            self.deaths += 1
            self._settle(seat, status)
        if gone:
            self._revive_soon(len(gone), restart=pid == 0)

    def _settle(self, seat: _Seat, status: int) -> None:
        items = list(seat.pending.values())
        if not items:
            return
        current, behind = items[0], items[1:]
        self._queue.extendleft(reversed(behind))
        exited = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        memory = exited == MEMORY_EXIT
        own_doing = memory or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (6, 7, 8, 11))
        if seat.doomed == "time" or memory:
            what = "memory" if memory else f"{self._item_cpu_s:g} s of CPU"
            if seat.phase == "gold":
                _fail(current, TaskFault(f"the gold needs more than the {what} that one item may take"))
            elif not current.answer.done():
                current.answer.set_result([0, "answer_too_complex", "limits", f"it took more than its {what}", None, "", 0])
        elif exited == RETIRED_EXIT:
            self._queue.appendleft(current)
        elif current.tries == 0:
            current.tries = 1
            self._queue.appendleft(current)
        elif own_doing and not current.answer.done():
            current.answer.set_result([0, "answer_too_complex", "limits", "it crashed two workers", None, "", 0])
        else:
            _fail(current, InfrastructureFault("a math worker died twice on this completion; see the service's log"))

    def _revive_soon(self, count: int, restart: bool) -> None:
        task = asyncio.create_task(self._revive(count, restart))
        self._revivals.add(task)
        task.add_done_callback(self._revivals.discard)

    async def _revive(self, count: int, restart: bool) -> None:
        try:
            if restart:
                await self._server.start()
            for _ in range(count):
                await self._seat_worker()
        except InfrastructureFault as fault:
            if not self._seats:
                for item in self._queue:
                    _fail(item, fault)
                self._queue.clear()
                await asyncio.sleep(1.0)
            if not self._closing:
                self._revive_soon(count, restart=not self._server.alive)

    async def _seat_worker(self) -> None:
        seat: _Seat | None = None

        def received(cpu_s: float, rows: list[list[Any]]) -> None:
            if seat is not None:
                self._answered(seat, cpu_s, rows)

        seat = _Seat(await self._server.fork(received))
        self._seats.append(seat)
        self._pump_soon()


def _fail(item: Item, fault: Exception) -> None:
    if not item.answer.done():
        item.answer.set_exception(fault)


def default_worker_count() -> int:
    """One a core that this process may use."""
    return len(os.sched_getaffinity(0))
