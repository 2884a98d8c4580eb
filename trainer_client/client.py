"""The client of the reward service.

    async with VerifierClient("http://127.0.0.1:8000") as client:
        results = await client.score([{"completions": [...], "verifiers": [{"kind": "math", "gold": "42"}]}])

One result per group, one reward and one row of verdicts per completion, always, in the order given. A reward is None
where a verifier left the completion unscored; a failure of the service is never a number. Works from any event loop,
from threads, after a fork and after a pickle (live state stays behind and is made anew at the next call).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from trainer_client.answers import ScoredGroup, Unscored
from trainer_client.batching import (
    Chunk,
    GroupLike,
    Job,
    Piece,
    View,
    answer_views,
    blocks,
    checked_groups,
    cut_chunks,
    fill,
    jobs_of,
    make_views,
    missing_pieces,
    result_of,
)
from trainer_client.cache import VerdictCache, spec_key
from trainer_client.client_errors import RequestRefused, VerifierClientError
from trainer_client.client_metrics import ClientMetrics
from trainer_client.client_portal import Portal
from trainer_client.client_preflight import Preflight, fetch_versions, run_preflight
from trainer_client.client_progress import Progress, ProgressCallback, progress_callback
from trainer_client.client_sending import Sender
from trainer_client.client_settings import ClientSettings
from trainer_client.client_transport import Live, open_live
from trainer_client.retry import Deadline
from verifier_protocol import Group, MathSpec, VerifierSpec

T = TypeVar("T")
TransportFactory = Callable[[], httpx.AsyncBaseTransport]
# A chunk this small is not worth another request, even if a replica stands idle.
SMALLEST_CHUNK_WORK = 64.0
# The first chunk: soon cut, so that the service begins soon.
FIRST_CHUNK_WORK = 512.0
KEEP_AFTER_S = 0.05
VERSION_TIMEOUT_S = 2.0

_clients: weakref.WeakSet[VerifierClient] = weakref.WeakSet()


class VerifierClient:
    """See the module. `urls` are base URLs of replicas; the options are the fields of ClientSettings.

    `transport` makes the HTTP transport (a seam for tests and for calling an app in process); it must be picklable if
    the client is to be pickled.
    """

    def __init__(
        self,
        urls: str | Sequence[str] | None = None,
        *,
        settings: ClientSettings | None = None,
        transport: TransportFactory | None = None,
        **options: Any,
    ) -> None:
        if settings is None:
            settings = ClientSettings(urls=urls, **options)
        elif urls is not None or options:
            raise TypeError("pass either settings, or URLs with options")
        self.settings = settings
        self._transport = transport
        self._begin()

    def _begin(self) -> None:
        self.metrics = ClientMetrics()
        self._cache = VerdictCache(self.settings.cache_entries, self.settings.version_ttl_s)
        self._unkept: list[Job] = []
        self._lock = threading.Lock()
        self._portal: Portal[Live] | None = None
        self._finalizer: Callable[[], Any] | None = None
        _clients.add(self)

    async def score(
        self,
        groups: Iterable[GroupLike],
        *,
        deadline_s: float | None = None,
        progress: bool | ProgressCallback = False,
    ) -> list[ScoredGroup]:
        """Score groups; result i answers group i, verdict j its completion j.

        Args:
            deadline_s: total seconds for this call, retries included (default: the settings'). What is not scored by
                then has a reward of None.
            progress: True for a bar, or a callback `(done, total)` in completions, called on the client's thread.

        Raises:
            RequestRefused: a bug of the caller (a malformed group, an unknown kind, a missing token, a wrong URL).
        """
        return await asyncio.wrap_future(self.submit(groups, deadline_s=deadline_s, progress=progress))

    async def score_completions(
        self,
        completions: Sequence[Any],
        verifiers: Sequence[VerifierSpec | Mapping[str, Any]] | None = None,
        *,
        gold: str | None = None,
        deadline_s: float | None = None,
    ) -> ScoredGroup:
        """Score the completions of one prompt, with `verifiers` or against a `gold` by the math verifier."""
        (result,) = await self.score([one_group(completions, verifiers, gold)], deadline_s=deadline_s)
        return result

    def submit(
        self,
        groups: Iterable[GroupLike],
        *,
        deadline_s: float | None = None,
        progress: bool | ProgressCallback = False,
    ) -> concurrent.futures.Future[list[ScoredGroup]]:
        """As `score`, from any thread: a future at once. Cancelling it cancels the requests."""
        deadline = Deadline.after(self._deadline_s(deadline_s))
        checked = checked_groups(groups)
        return self.run_on_portal(lambda live: self.score_on_portal(live, checked, deadline, progress))

    async def preflight(self, kinds: Iterable[str] = (), *, wait_s: float = 0.0) -> Preflight:
        """Check that some replica is ready to score these kinds (none named: all it has) and speaks our protocol.

        Waits up to `wait_s` for it. Raises ServiceNotReady with what to do.
        """
        return await asyncio.wrap_future(self.submit_preflight(kinds, wait_s=wait_s))

    def submit_preflight(self, kinds: Iterable[str] = (), *, wait_s: float = 0.0) -> concurrent.futures.Future[Preflight]:
        wanted = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        deadline = Deadline.after(wait_s)
        return self.run_on_portal(lambda live: self._preflight(live, wanted, deadline))

    def run_on_portal(self, work: Callable[[Live], Coroutine[Any, Any, T]]) -> concurrent.futures.Future[T]:
        """Run `work(live)` on the client's own loop, from any other thread."""
        return self._open().submit(work)

    def close(self) -> None:
        """Close the connections and end the thread. The client may be used again: a call opens it anew."""
        with self._lock:
            portal, self._portal = self._portal, None
            finalizer, self._finalizer = self._finalizer, None
        if portal is not None and finalizer is not None:
            finalizer()

    async def aclose(self) -> None:
        await asyncio.to_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        await self.aclose()

    def __getstate__(self) -> dict[str, Any]:
        return {"settings": self.settings, "_transport": self._transport}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def _deadline_s(self, deadline_s: float | None) -> float:
        if deadline_s is None:
            return self.settings.deadline_s
        if not 0 < deadline_s < float("inf"):
            raise RequestRefused(f"deadline_s is {deadline_s}; give a positive number of seconds", field="deadline_s")
        return deadline_s

    def _open(self) -> Portal[Live]:
        with self._lock:
            portal = self._portal
            if portal is None or not portal.usable:
                settings, transport = self.settings, self._transport
                portal = Portal(lambda: open_live(settings, transport() if transport is not None else None))
                self._portal = portal
                self._finalizer = weakref.finalize(self, portal.close)
            return portal

    def _after_fork(self) -> None:
        """In a forked child: the lock may be held by a thread that is not here, the portal's thread is not here either.

        The portal itself is kept in memory: collecting it would close sockets that the parent still uses.
        """
        self._lock = threading.Lock()
        if self._portal is not None:
            _left_by_fork.append(self._portal)
        if isinstance(self._finalizer, weakref.finalize):
            self._finalizer.detach()
        self._portal = self._finalizer = None

    async def _preflight(self, live: Live, kinds: tuple[str, ...], deadline: Deadline) -> Preflight:
        report = await run_preflight(live, kinds, deadline)
        for kind, verifier in report.verifiers.items():
            self._cache.learn(kind, verifier)
        return report

    async def score_on_portal(
        self, live: Live, groups: list[Group], deadline: Deadline, progress: bool | ProgressCallback = False
    ) -> list[ScoredGroup]:
        """The whole of a call, on the client's own loop: see `score`."""
        self._keep()
        views = make_views(groups)
        jobs = jobs_of(views)
        total = sum(len(group.completions) for group in groups)
        self.metrics.calls += 1
        self.metrics.completions += total
        with progress_callback(progress, total) as callback:
            reporter = Progress(total, callback)
            await self._confirm_versions(live, jobs, deadline)
            sender = Sender(live, self.settings, self.metrics, self._cache, deadline, reporter)
            await self._send_all(sender, views)
        if self._cache.enabled:
            self._unkept += jobs
            asyncio.get_running_loop().call_later(KEEP_AFTER_S, _keep_of, weakref.ref(self))
        self._answer(jobs)  # what came from the cache alone; the others have their results
        return [view.result or result_of(view) for view in views]  # never fewer: an empty slot would raise

    async def _send_all(self, sender: Sender, views: list[View]) -> None:
        share = sum(sum(view.job.work) * len(view.group.completions) for view in views) / len(sender.live.replicas)
        work = min(self.settings.chunk_work, max(share, SMALLEST_CHUNK_WORK))
        pieces = self._missing(views, sender.progress)
        try:
            async with asyncio.TaskGroup() as tasks:
                for chunk in cut_chunks(pieces, self.settings.chunk_bytes, work, first_work=FIRST_CHUNK_WORK):
                    tasks.create_task(self._send(sender, chunk))
                    await asyncio.sleep(0)  # this chunk is sent while the next is encoded
        except BaseExceptionGroup as group:
            raise _first_cause(group) from None

    def _missing(self, views: list[View], progress: Progress) -> Iterator[Piece]:
        """What must be asked of the service. The completions are gone through a block at a time, as chunks are cut: the first
        chunk is on its way before the last completion has been looked at."""
        for block in blocks(views):
            new, answered = fill(block)
            self.metrics.deduplicated += sum(len(view.items) for view in block) - sum(len(piece.items) for piece in new)
            progress.advance(answered)
            self._look_up(new, progress)
            for piece in new:
                yield from missing_pieces(piece.job, piece.items)

    async def _send(self, sender: Sender, chunk: Chunk) -> None:
        await sender.send(chunk)
        self._answer([piece.job for piece in chunk])

    def _answer(self, jobs: Iterable[Job]) -> None:
        """Build the results that can be built, and count them."""
        for job in jobs:
            for view in answer_views(job):
                self._count(view)

    async def _confirm_versions(self, live: Live, jobs: list[Job], deadline: Deadline) -> None:
        """Ask for the verifiers' versions where the cache might be used and they were not confirmed lately."""
        if not len(self._cache):
            return
        kinds = {spec.kind for job in jobs for spec in job.specs}
        if any(self._cache.knows(kind) and not self._cache.fresh(kind) for kind in kinds):
            versions = await fetch_versions(live, min(VERSION_TIMEOUT_S, deadline.remaining_s() / 4))
            for kind, verifier in versions.items():
                self._cache.learn(kind, verifier)

    def _look_up(self, pieces: list[Piece], progress: Progress) -> None:
        """Fill slots from the cache."""
        if not len(self._cache):
            return
        for piece in pieces:
            job = piece.job
            job.keys = job.keys or [spec_key(spec) for spec in job.specs]
            known = [v for v, spec in enumerate(job.specs) if self._cache.may_have(spec.kind, job.keys[v])]
            if not known:
                self.metrics.cache_misses += len(piece.items) * len(job.specs)
                continue
            for item in piece.items:
                for v in known:
                    item.verdicts[v] = self._cache.get(job.specs[v].kind, job.keys[v], item.text)
                hits = len(item.verdicts) - item.lacking()
                self.metrics.cache_hits += hits
                self.metrics.cache_misses += len(item.verdicts) - hits
                if hits == len(item.verdicts):
                    progress.advance(item.copies)
        progress.report()

    def _keep(self) -> None:
        """Put into the cache what calls have brought: before the next call looks there, and not while the caller of the last
        one waits for the interpreter."""
        jobs, self._unkept = self._unkept, []
        for job in jobs:
            for v, key in enumerate(job.keys or [spec_key(spec) for spec in job.specs]):
                self._cache.put_all(key, [(item.text, item.verdicts[v]) for item in job.items.values()])

    def _count(self, view: View) -> None:
        if view.result is None:
            return
        if view.result.stats.unscored == 0:
            self.metrics.scored += len(view.items) * len(view.job.specs)
            return
        for verdict in chain.from_iterable(item.verdicts for item in view.items):
            if isinstance(verdict, Unscored):
                self.metrics.unscored[verdict.reason.value] += 1
            else:
                self.metrics.scored += 1


def one_group(
    completions: Sequence[Any], verifiers: Sequence[VerifierSpec | Mapping[str, Any]] | None, gold: str | None
) -> dict[str, Any]:
    """A group from its parts. Raises RequestRefused unless there is exactly one of `verifiers` and `gold`."""
    if (verifiers is None) == (gold is None):
        raise RequestRefused("pass either verifiers or gold", field="verifiers")
    specs = [MathSpec(kind="math", gold=gold)] if gold is not None else list(verifiers or ())
    return {"completions": list(completions), "verifiers": specs}


def _keep_of(client: weakref.ref[VerifierClient]) -> None:
    """A timer that held the client itself would keep it from being dropped."""
    if (alive := client()) is not None:
        alive._keep()


def _first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that the caller can act on, else the first one."""
    leaves: list[BaseException] = []
    pending: list[BaseException] = [group]
    while pending:
        error = pending.pop(0)
        if isinstance(error, BaseExceptionGroup):
            pending = [*error.exceptions, *pending]
        else:
            leaves.append(error)
    return next((error for error in leaves if isinstance(error, VerifierClientError)), leaves[0])


_left_by_fork: list[Portal[Live]] = []


def _reset_clients_after_fork() -> None:
    for client in list(_clients):
        client._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_clients_after_fork)
