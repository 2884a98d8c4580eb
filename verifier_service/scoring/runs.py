"""Plain runs of programs for the compatibility routes: each distinct run is done once, and nobody is turned away.

Trainers that speak to a code sandbox send one request per test case, so that a group of rollouts becomes hundreds of
requests for the same few programs, many of them equal. Hence:

1. Identical runs (language, source, stdin, arguments, files, limits) are computed once, concurrent ones too, and the
   ending of a run is kept for a while when the same input must bring it again (a limit that was hit depends on load, the
   compiler's too). That a program does not compile is known for all its inputs at once.
2. Runs of one program that wait at the same time go to the sandbox in one exchange; programs take turns. Each profile of
   images has a lane of its own: compilers whose sandboxes are still being prepared, or fail, hold up no Python program.
3. Whoever comes is queued. A caller waits until its own deadline and no longer, but the run keeps its place in the queue
   for a while after that, so that a client that asks again finds it done, or further ahead.
4. A sandbox that fails is tried again for a minute, so that an engine's restart costs nothing but time; a program under
   which it failed twice while running alone is given up. What the program did is never told from such a failure.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from functools import partial

import structlog
from cachetools import TTLCache

from verifier_service.faults import DeadlineExceeded, InfrastructureFault
from verifier_service.observability.metrics import Metrics
from verifier_service.sandbox.contract import (
    Ending,
    Execution,
    Limits,
    Program,
    ProgramRefused,
    SandboxBackend,
    SandboxFault,
    SlotWaitTimeout,
    Termination,
)
from verifier_service.sandbox.runner.languages import LANGUAGES
from verifier_service.scoring.flights import Answer, Flight, Lane, Queue, Run
from verifier_service.settings import MIB, Settings
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.host import SecondChance

log = structlog.get_logger(__name__)

SLOT_WAIT_S = 30.0
MOST_RUNS_IN_ONE_EXCHANGE = 32
EXCHANGES_PER_SLOT = 2  # one runs, one waits: a slot that comes free finds work at once
MOST_FAULTS = 2
PATIENCE_S = 60.0
SHORTEST_BACKOFF_S, LONGEST_BACKOFF_S = 0.25, 5.0
FIXED_BYTES = 700  # of a kept termination without its texts
REPEATABLE = frozenset({Ending.EXITED, Ending.SIGNALLED})
TIME_LIMITS = frozenset({Ending.CPU_TIME, Ending.WALL_TIME})


class BringsSandboxDown(InfrastructureFault):
    """The sandbox failed again and again under this program and no other: asking once more will hardly help."""


class Runs:
    """Used from one event loop. The backend is started and closed by whoever made it.

    Args:
        backend: None when this machine has no sandbox; every run is then an InfrastructureFault with `unavailable`.
    """

    def __init__(
        self,
        backend: SandboxBackend | None,
        settings: Settings,
        metrics: Metrics,
        *,
        unavailable: str = "",
        second_chance: SecondChance | None = None,
    ) -> None:
        self._backend = backend
        self.unavailable = unavailable or "no sandbox is available for running code; see `verifier-service doctor`"
        self._metrics = metrics
        self._second_chance = second_chance or SecondChance()
        self._max_bytes = settings.max_inflight_bytes
        self._bytes = 0
        self._wanting_room: deque[asyncio.Future[None]] = deque()
        self._flights: dict[bytes, Flight] = {}
        self._lanes: dict[str, Lane] = {}  # by profile
        self._closed = False
        max_bytes = settings.compat_runs_cache_mb * MIB
        self._cache: TTLCache[bytes, Termination] | None = (
            TTLCache(max_bytes, settings.compat_runs_cache_s, getsizeof=_size_of) if max_bytes else None
        )

    def languages(self) -> tuple[str, ...]:
        """What can be run here; empty without a sandbox."""
        return self._backend.info().languages if self._backend is not None else ()

    def version(self, language: str) -> str:
        """The version of a language's compiler or interpreter; empty where the backend doesn't say."""
        if self._backend is None:
            return ""
        info = self._backend.info()
        return info.versions.get(language) or info.details.get(language, "")

    def slots(self) -> int:
        return self._backend.info().slots if self._backend is not None else 0

    def waiting(self) -> int:
        """Runs asked for and not answered yet."""
        return len(self._flights)

    async def run(self, run: Run, deadline: Deadline) -> Termination:
        """What the program did.

        Raises:
            DeadlineExceeded: the caller's deadline passed first; the run stays in the queue for `flights.LINGER_S`.
            InfrastructureFault: no sandbox, or it failed again and again under this program.
            ProgramRefused: larger than the sandbox takes.
        """
        if self._backend is None:
            raise InfrastructureFault(self.unavailable)
        program_key = run.program_key()
        key = run.key(program_key)
        if (known := self._known(key) or self._known(program_key)) is not None:
            self._metrics.plain_run("cache")
            return known
        try:
            async with asyncio.timeout(max(0.0, deadline.remaining_s())):
                return await self._fly(run, program_key, key, deadline)
        except TimeoutError:
            raise DeadlineExceeded("the program had not ended when the time for an answer was up") from None

    async def aclose(self) -> None:
        """Stop all; whoever still waits gets an InfrastructureFault. Safe to call twice."""
        self._closed = True
        workers = [worker for lane in self._lanes.values() for worker in lane.workers]
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        for flight in list(self._flights.values()):
            self._settle(flight, InfrastructureFault("the service is stopping"))
        self._lanes.clear()

    async def _fly(self, run: Run, program_key: bytes, key: bytes, deadline: Deadline) -> Termination:
        flight = self._flights.get(key)
        if flight is None:
            await self._make_room(run.size_bytes())
            flight = self._flights.get(key)  # another may have been quicker
        if flight is None:
            flight = self._enqueue(run, program_key, key, deadline)
        else:
            self._metrics.plain_run("flight")
            flight.deadline = max(flight.deadline, deadline, key=lambda d: d.at)
        flight.waiters += 1
        try:
            answer = await asyncio.shield(flight.answer)
        finally:
            flight.waiters -= 1
            flight.left_at = time.monotonic()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _make_room(self, size_bytes: int) -> None:
        """Wait until the inputs that are held leave room; a run is always let in when none is held."""
        while self._bytes and self._bytes + size_bytes > self._max_bytes:
            room = asyncio.get_running_loop().create_future()
            self._wanting_room.append(room)
            await room

    def _enqueue(self, run: Run, program_key: bytes, key: bytes, deadline: Deadline) -> Flight:
        if self._closed:
            raise InfrastructureFault("the service is stopping")
        self._metrics.plain_run("real")
        lane = self._lanes.setdefault(_profile_of(run.language), Lane())
        queue = lane.queues.get(program_key)
        if queue is None:
            queue = lane.queues[program_key] = Queue(run)
        size = run.size_bytes()
        flight = Flight(key, program_key, run.stdin, size, asyncio.get_running_loop().create_future(), deadline)
        self._bytes += size
        self._flights[key] = flight
        queue.flights.append(flight)
        lane.queued += 1
        self._hire(lane)
        return flight

    def _hire(self, lane: Lane) -> None:
        """One worker more, if a program waits and the slots can use it."""
        if lane.queues and not self._closed and len(lane.workers) < max(1, self.slots()) * EXCHANGES_PER_SLOT:
            worker = asyncio.create_task(self._work(lane))
            lane.workers.add(worker)
            worker.add_done_callback(partial(self._dismiss, lane))

    def _dismiss(self, lane: Lane, worker: asyncio.Task[None]) -> None:
        lane.workers.discard(worker)
        if not worker.cancelled() and (error := worker.exception()) is not None:
            log.error("a worker of the plain runs failed", error=type(error).__name__, exc_info=error)
            self._hire(lane)

    async def _work(self, lane: Lane) -> None:
        """Take programs in turn until none waits."""
        while lane.queues:
            key, queue = lane.queues.popitem(last=False)
            batch = self._take(lane, queue)
            if queue.flights:
                lane.queues[key] = queue  # behind all others
            if not batch:
                continue
            try:
                left = await self._exchange(lane, queue.run, batch)
                batch = []
            finally:
                for flight in batch:  # cancelled, or a bug of ours: nobody may wait for ever
                    self._settle(flight, InfrastructureFault("the run was broken off by the service"))
            if left:
                lane.queues.setdefault(key, Queue(queue.run)).flights.extend(left)
                lane.queued += len(left)

    def _take(self, lane: Lane, queue: Queue) -> list[Flight]:
        """The next runs of a program for one exchange: their share of a slot, so that no slot idles beside a long one.

        Those that nobody wants any more are dropped.
        """
        share = min(MOST_RUNS_IN_ONE_EXCHANGE, -(-lane.queued // max(1, self.slots())))
        batch: list[Flight] = []
        while queue.flights and len(batch) < share:
            flight = queue.flights[0]
            if flight.alone and batch:
                break
            queue.flights.popleft()
            lane.queued -= 1
            if flight.abandoned():
                self._settle(flight, DeadlineExceeded("nobody waited for this run any more"))
                continue
            batch.append(flight)
            if flight.alone:
                break
        return batch

    async def _exchange(self, lane: Lane, run: Run, batch: list[Flight]) -> list[Flight]:
        """Run one program on the inputs of `batch`; those that must be run again are returned."""
        assert self._backend is not None
        stdins = tuple(flight.stdin for flight in batch)
        program = Program(run.language, run.source, stdins, run.args, run.files, files_are_data=run.files_are_data)
        waiting = deque(batch)
        running = False
        try:
            async with self._backend.run(program, run.limits, deadline_s=SLOT_WAIT_S) as execution:
                running = True
                await self._settle_in_order(execution, waiting, run.limits)
            lane.consecutive_faults = 0
        except SlotWaitTimeout:
            pass  # back into the queue
        except ProgramRefused as refused:
            for flight in waiting:
                self._settle(flight, ProgramRefused(str(refused)))
            waiting.clear()
        except SandboxFault as fault:
            await self._after_fault(lane, fault, waiting, running)
        return list(waiting)

    async def _settle_in_order(self, execution: Execution, waiting: deque[Flight], limits: Limits) -> None:
        """Answer each run as soon as it has ended. Leaves early after a time limit, so that others get their turn."""
        async for termination in execution:
            flight = waiting[0]
            if not flight.had_second_chance and self._second_chance.is_due(termination, limits, flight.deadline):
                flight.had_second_chance = True
                waiting.rotate(-1)  # last of what is run again
                return
            waiting.popleft()
            self._remember(flight, termination)
            self._settle(flight, termination)
            if termination.ending in TIME_LIMITS:
                return
        if waiting:
            raise SandboxFault("the sandbox ended before it had run all inputs")

    async def _after_fault(self, lane: Lane, fault: SandboxFault, waiting: deque[Flight], running: bool) -> None:
        """Give up the one that brought the sandbox down twice, let the others be run again, after a pause."""
        log.warning("a plain run failed", why=str(fault), running=running)
        if running and len(waiting) == 1 and waiting[0].alone:
            waiting[0].faults += 1
            if waiting[0].faults >= MOST_FAULTS:
                self._settle(waiting.popleft(), BringsSandboxDown(f"the sandbox failed twice under this program: {fault}"))
        now = time.monotonic()
        for flight in list(waiting):
            flight.alone = flight.alone or running
            if flight.first_fault_at is None:
                flight.first_fault_at = now
            elif now - flight.first_fault_at > PATIENCE_S:
                waiting.remove(flight)
                self._settle(flight, InfrastructureFault(str(fault)))
        lane.consecutive_faults += 1
        await asyncio.sleep(min(LONGEST_BACKOFF_S, SHORTEST_BACKOFF_S * 2 ** min(lane.consecutive_faults - 1, 10)))

    def _known(self, key: bytes) -> Termination | None:
        return self._cache.get(key) if self._cache is not None else None

    def _remember(self, flight: Flight, termination: Termination) -> None:
        if self._cache is None:
            return
        if termination.ending is Ending.COMPILE_ERROR and termination.exit_code is not None:
            key = flight.program_key
        elif termination.ending in REPEATABLE:
            key = flight.key
        else:
            return
        with suppress(ValueError):  # larger than the whole cache
            self._cache[key] = termination

    def _settle(self, flight: Flight, answer: Answer) -> None:
        if self._flights.pop(flight.key, None) is None:
            return
        flight.answer.set_result(answer)
        self._bytes -= flight.size_bytes
        while self._wanting_room:
            room = self._wanting_room.popleft()
            if not room.done():
                room.set_result(None)


def _profile_of(language: str) -> str:
    row = LANGUAGES.get(language)
    return row.profile if row is not None else ""


def _size_of(termination: Termination) -> int:
    return FIXED_BYTES + len(termination.stdout) + len(termination.stderr)
