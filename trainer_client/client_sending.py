"""Sending one chunk until every slot is filled, the deadline has passed, or it is no use.

Retried: no connection, no answer, 408/425/429/502/503/504, a broken answer or a 500 (a few times), and verdicts that
the service itself left unscored and calls retryable (only those are sent again). Not retried: any other 4xx, which is
raised, and verdicts that are not retryable.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from dataclasses import dataclass, field
from itertools import chain

from trainer_client.answers import Answer, Scored, Unscored
from trainer_client.batching import Chunk, completion_path, encode_chunk, halves, missing_pieces, unscored
from trainer_client.cache import VerdictCache
from trainer_client.client_errors import RequestRefused
from trainer_client.client_metrics import ClientMetrics
from trainer_client.client_progress import Progress
from trainer_client.client_replicas import Replica
from trainer_client.client_settings import ClientSettings
from trainer_client.client_transport import AttemptFailed, Live, post_chunk
from trainer_client.retry import Deadline, attempt_budget_s, full_jitter_s
from verifier_protocol import UnscoredReason

log = logging.getLogger(__name__)

# The service is told to stop this much before the client stops listening.
ANSWER_MARGIN_SHARE = 0.1
ANSWER_MARGIN_CAP_S = 1.0
# With less time than this nothing is asked: silence would be no fault of the service.
SHORTEST_ATTEMPT_S = 0.05


@dataclass(slots=True)
class Sender:
    """Everything that the chunks of one call share."""

    live: Live
    settings: ClientSettings
    metrics: ClientMetrics
    cache: VerdictCache
    deadline: Deadline
    progress: Progress

    async def send(self, chunk: Chunk) -> None:
        """Fill all slots of the chunk, with unscored verdicts where nothing else could be had.

        Raises RequestRefused for a bug of the caller.
        """
        waiting: deque[_Trip] = deque([_Trip(chunk)])
        while waiting:
            waiting.extend(_Trip(part) for part in await self._travel(waiting.popleft()))

    async def _travel(self, trip: _Trip) -> list[Chunk]:
        """Send one chunk to its end. Returns its halves if it was too large for the service."""
        while trip.chunk:
            if trip.attempts:
                self.metrics.retries += 1
            async with self._slot() as held:
                asked = held and self.deadline.remaining_s() > SHORTEST_ATTEMPT_S
                replica = await self.live.replicas.take(self.deadline, trip.avoid) if asked else None
                if replica is None:
                    self._give_up(trip)
                    return []
                trip.attempts += 1
                try:
                    response = await self._attempt(trip, replica)
                except AttemptFailed as failure:
                    if failure.blame == "too_large":
                        return _halves_or_refuse(trip.chunk, failure)
                    trip.note(failure, replica)
                    self._count(failure)
                else:
                    trip.chunk = self._take_in(trip, response)
            if trip.chunk and not await self._pause(trip):
                self._give_up(trip)
                return []
        return []

    def _slot(self) -> _Slot:
        return _Slot(self.live.slots, self.deadline)

    async def _attempt(self, trip: _Trip, replica: Replica) -> Answer:
        replicas, settings = self.live.replicas, self.settings
        budget_s = attempt_budget_s(
            self.deadline.remaining_s(), settings.attempt_share, settings.attempt_floor_s, settings.attempt_cap_s
        )
        margin_s = min(ANSWER_MARGIN_CAP_S, budget_s * ANSWER_MARGIN_SHARE)
        tag = secrets.token_hex(4)
        body = encode_chunk(trip.chunk, max(0.001, budget_s - margin_s), tag)
        try:
            response = await post_chunk(self.live, replica, trip.chunk, tag, body, budget_s, settings, self.metrics)
        except AttemptFailed as failure:
            if failure.blame == "too_large":
                replicas.succeeded(replica)
            elif failure.retry_after_s is not None:
                replicas.held(replica, failure.retry_after_s)
            else:
                replicas.failed(replica, at_once=failure.blame == "silent")
            raise
        except RequestRefused:
            replicas.succeeded(replica)
            raise
        except BaseException:
            replicas.released(replica)
            raise
        replicas.succeeded(replica)
        return response

    def _take_in(self, trip: _Trip, response: Answer) -> Chunk:
        """Fill the slots from a valid answer. Returns what must be asked again."""
        again: Chunk = []
        again_after_fault = False
        for piece, group in zip(trip.chunk, response.groups, strict=True):
            redo = []
            done = 0
            if None not in group.rewards and len(piece.verifiers) == len(piece.job.specs):  # nothing is missing
                for item, verdicts in zip(piece.items, group.verdicts, strict=True):
                    item.verdicts = [*verdicts]
                    done += item.copies
                self.progress.advance(done)
                continue
            for item, row in zip(piece.items, group.verdicts, strict=True):
                for v, verdict in zip(piece.verifiers, row, strict=True):
                    item.verdicts[v] = verdict
                    if not isinstance(verdict, Scored) and self._ask_again(trip, verdict):
                        item.verdicts[v] = None
                        trip.last_unscored[(id(item), v)] = verdict
                        again_after_fault |= verdict.reason is UnscoredReason.INFRASTRUCTURE
                if all(item.verdicts):  # a verdict is true, an empty slot is not
                    done += item.copies
                else:
                    redo.append(item)
            self.progress.advance(done)
            if redo:
                self.metrics.resent_verdicts += sum([item.lacking() for item in redo])
                again += missing_pieces(piece.job, redo)
        self.cache.learn_all(chain.from_iterable(chain.from_iterable(group.verdicts for group in response.groups)))
        trip.failures = 0
        trip.unscored_answers += 1
        trip.infrastructure_answers += again_after_fault
        self.progress.report()
        return again

    def _count(self, failure: AttemptFailed) -> None:
        self.metrics.transport_errors += failure.blame in ("transport", "silent")
        self.metrics.busy_answers += failure.blame == "busy"
        self.metrics.broken_answers += failure.blame == "broken"

    def _ask_again(self, trip: _Trip, verdict: Unscored) -> bool:
        if not verdict.retryable:
            return False
        if verdict.reason is UnscoredReason.INFRASTRUCTURE:
            return trip.infrastructure_answers < self.settings.max_infrastructure_retries
        return not self.deadline.passed

    async def _pause(self, trip: _Trip) -> bool:
        """Wait before the next attempt. False: there is no next one."""
        if trip.broken >= self.settings.max_broken_answers:
            return False
        wait_s = full_jitter_s(trip.failures + trip.unscored_answers, self.settings.backoff_base_s, self.settings.backoff_cap_s)
        if self.deadline.remaining_s() <= wait_s:
            # Too little is left for the wait drawn: one last attempt now, with whatever time there is.
            return self.deadline.remaining_s() > SHORTEST_ATTEMPT_S and trip.spend_last_chance()
        await asyncio.sleep(wait_s)
        return True

    def _give_up(self, trip: _Trip) -> None:
        """Whatever is still empty becomes unscored; a reason that the service gave goes before the client's own."""
        reason = UnscoredReason.INFRASTRUCTURE if trip.trouble else UnscoredReason.DEADLINE
        detail = trip.trouble or "the client's deadline passed before this completion was sent"
        if trip.trouble:
            detail = f"given up after {trip.attempts} attempts: {detail}"
            log.warning("a chunk of completions stays unscored, %s", detail)
        # One verdict for all of a kind: making tens of thousands would take seconds, and the deadline has passed.
        kinds = {piece.job.specs[v].kind for piece in trip.chunk for v in piece.verifiers}
        ours = {kind: unscored(kind, reason, detail) for kind in kinds}
        for piece in trip.chunk:
            for item in piece.items:
                for v in piece.verifiers:
                    if item.verdicts[v] is None:
                        item.verdicts[v] = trip.last_unscored.get((id(item), v)) or ours[piece.job.specs[v].kind]
                self.progress.advance(item.copies)
        self.progress.report()


@dataclass(slots=True)
class _Trip:
    """A chunk under way, and what befell it."""

    chunk: Chunk
    attempts: int = 0
    failures: int = 0
    broken: int = 0
    unscored_answers: int = 0
    infrastructure_answers: int = 0
    trouble: str = ""
    avoid: Replica | None = None
    last_chance_spent: bool = False
    last_unscored: dict[tuple[int, int], Unscored] = field(default_factory=dict)

    def note(self, failure: AttemptFailed, replica: Replica) -> None:
        self.failures += 1
        self.broken += failure.blame == "broken"
        self.trouble = str(failure)
        self.avoid = replica

    def spend_last_chance(self) -> bool:
        spent, self.last_chance_spent = self.last_chance_spent, True
        return not spent


class _Slot:
    """A place among the requests in flight, waited for until the deadline. Yields whether it was got."""

    def __init__(self, slots: asyncio.Semaphore, deadline: Deadline) -> None:
        self._slots = slots
        self._deadline = deadline
        self._held = False

    async def __aenter__(self) -> bool:
        try:
            async with asyncio.timeout(self._deadline.remaining_s()):
                await self._slots.acquire()
        except TimeoutError:
            return False
        self._held = True
        return True

    async def __aexit__(self, *_: object) -> None:
        if self._held:
            self._slots.release()


def _halves_or_refuse(chunk: Chunk, failure: AttemptFailed) -> list[Chunk]:
    parts = halves(chunk)
    if parts is None:
        where = completion_path(chunk[0].items[0])
        raise RequestRefused(f"{failure} ({where} alone is too large)", status=413, field=where)
    return parts
