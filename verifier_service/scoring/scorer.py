"""Scoring one batch, as a straight line: admit, prepare, fan out, wait until the deadline, put together in order.

This is one of the two places that catch everything: whatever goes wrong with one completion makes that completion
unscored and nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from verifier_protocol import (
    Group,
    GroupResult,
    ScoredVerdict,
    ScoreResponse,
    Timing,
    UnscoredReason,
    UnscoredVerdict,
    Verdict,
    VerifierSpec,
    completion_text,
)
from verifier_service.faults import DeadlineExceeded, InfrastructureFault, TaskFault
from verifier_service.observability.metrics import Metrics
from verifier_service.scoring.admission import Admission
from verifier_service.scoring.cache import VerdictCache, task_key, verdict_key
from verifier_service.scoring.rewards import group_result
from verifier_service.settings import MIB, Settings
from verifier_service.verifiers.base import Deadline, SpecRefused, Verifier

log = structlog.get_logger(__name__)


class UnknownKind(SpecRefused):
    """No verifier of that kind is installed."""


@dataclass(slots=True)
class _Job:
    """One verifier over one group: its prepared task, and a verdict for each distinct completion."""

    verifier: Verifier
    task: Any
    key: bytes
    verdicts: dict[str, Verdict] = field(default_factory=dict)


class Scorer:
    """Used from one event loop. The verifiers are started and closed by whoever made them."""

    def __init__(self, verifiers: Mapping[str, Verifier], settings: Settings, metrics: Metrics) -> None:
        self.verifiers = verifiers
        self._settings = settings
        self._metrics = metrics
        self._admission = Admission(settings.max_inflight_completions, settings.max_inflight_bytes)
        self._cache = VerdictCache(settings.cache_mb * MIB)
        self._flights: dict[bytes, asyncio.Future[ScoredVerdict | None]] = {}

    async def score(self, groups: Sequence[Group], deadline_s: float | None = None, size_bytes: int = 0) -> ScoreResponse:
        """Verdicts for all completions of all groups, in their order.

        Args:
            deadline_s: seconds from now; what has not run by then is unscored. None: the service's default.
            size_bytes: of the request, for admission.

        Raises:
            Overloaded: no room at all; nothing was run.
            SpecRefused: a spec that this deployment refuses; its `field` is the path from the groups' list.
        """
        start = time.monotonic()
        count = sum(len(g.completions) for g in groups)
        deadline = Deadline.after(min(deadline_s or self._settings.deadline_s, self._settings.max_deadline_s))
        with self._admission.admit(count, size_bytes):
            self._metrics.inflight.inc(count)
            try:
                texts = [[completion_text(c) for c in g.completions] for g in groups]
                jobs = [self._prepare(i, g) for i, g in enumerate(groups)]
                await self._run(jobs, texts, deadline)
                results = [self._collect(g, row, t) for g, row, t in zip(groups, jobs, texts, strict=True)]
            finally:
                self._metrics.inflight.dec(count)
        total_s = time.monotonic() - start
        self._metrics.stage("score", total_s)
        return ScoreResponse(groups=results, timing=Timing(total_ms=round(total_s * 1000, 3)))

    def _prepare(self, index: int, group: Group) -> list[_Job]:
        return [self._job(f"groups[{index}].verifiers[{n}]", spec, group) for n, spec in enumerate(group.verifiers)]

    def _job(self, path: str, spec: VerifierSpec, group: Group) -> _Job:
        verifier = self.verifiers.get(spec.kind)
        if verifier is None:
            raise UnknownKind(f"{path}.kind", f"no verifier of this kind; this service has {', '.join(sorted(self.verifiers))}")
        try:
            task = verifier.prepare(spec)
        except SpecRefused as e:
            raise SpecRefused(f"{path}.{e.field}", str(e)) from None
        except TaskFault as e:
            verdict = _unscored(verifier, UnscoredReason.BAD_TASK, str(e))
            return _Job(verifier, None, b"", {completion_text(c): verdict for c in group.completions})
        return _Job(
            verifier, task, task_key(verifier.id, spec.model_dump_json(exclude={"weight"}).encode("utf-8", "surrogatepass"))
        )

    async def _run(self, jobs: list[list[_Job]], texts: list[list[str]], deadline: Deadline) -> None:
        tasks = []
        for row, completions in zip(jobs, texts, strict=True):
            distinct = dict.fromkeys(completions)
            self._metrics.reused("group", (len(completions) - len(distinct)) * len(row))
            for job in row:
                if not job.verdicts:
                    tasks += [asyncio.create_task(self._fill(job, text, deadline)) for text in distinct]
        if not tasks:
            return
        try:
            await asyncio.wait(tasks, timeout=max(0.0, deadline.remaining_s()))
        finally:
            late = [t for t in tasks if not t.done()]
            for t in late:
                t.cancel()
            if late:  # their slots must be free again before the room is given to others
                await asyncio.gather(*late, return_exceptions=True)

    async def _fill(self, job: _Job, text: str, deadline: Deadline) -> None:
        job.verdicts[text] = await self._verdict(job, text, deadline)

    async def _verdict(self, job: _Job, text: str, deadline: Deadline) -> Verdict:
        key = verdict_key(job.key, text)
        while True:
            if (known := self._cache.get(key)) is not None:
                self._metrics.reused("cache")
                return known.model_copy(update={"cached": True})
            flight = self._flights.get(key)
            if flight is None:
                break
            shared = await asyncio.shield(flight)  # the same work is under way for another request
            if shared is not None:
                self._metrics.reused("flight")
                return shared.model_copy(update={"cached": True})
        flight = self._flights[key] = asyncio.get_running_loop().create_future()
        verdict: Verdict | None = None
        try:
            verdict = await self._contained(job, text, deadline)
        finally:
            del self._flights[key]
            flight.set_result(verdict if isinstance(verdict, ScoredVerdict) else None)
        if isinstance(verdict, ScoredVerdict):
            self._cache.put(key, verdict)
        return verdict

    async def _contained(self, job: _Job, text: str, deadline: Deadline) -> Verdict:
        """A verdict whatever happens; what our side broke is tried once more."""
        start = time.monotonic()
        kind = job.verifier.kind
        reason, detail = UnscoredReason.INFRASTRUCTURE, ""
        for attempt in (1, 2):
            try:
                verdict = await job.verifier.verify(job.task, text, deadline)
                self._metrics.stage(kind, time.monotonic() - start)
                return verdict
            except TaskFault as e:
                reason, detail = UnscoredReason.BAD_TASK, str(e)
                break
            except DeadlineExceeded as e:
                reason, detail = UnscoredReason.DEADLINE, str(e)
                break
            except InfrastructureFault as e:
                detail = str(e)
                log.warning("verification failed", kind=kind, attempt=attempt, why=detail)
            except Exception as e:
                detail = "an internal error of the verifier; the service's log has more"
                log.error("verifier raised", kind=kind, attempt=attempt, error=type(e).__name__, exc_info=e)
            if attempt == 1:
                self._metrics.retried(kind)
        return _unscored(job.verifier, reason, detail, (time.monotonic() - start) * 1000)

    def _collect(self, group: Group, row: list[_Job], texts: list[str]) -> GroupResult:
        verdicts = [[self._of(job, text) for job in row] for text in texts]
        return group_result(group.id, verdicts, [spec.weight for spec in group.verifiers])

    def _of(self, job: _Job, text: str) -> Verdict:
        verdict = job.verdicts.get(text)
        if verdict is None:
            verdict = _unscored(job.verifier, UnscoredReason.DEADLINE, "the deadline passed before this completion was verified")
        if isinstance(verdict, ScoredVerdict):
            self._metrics.scored(verdict)
        else:
            self._metrics.unscored(verdict)
        return verdict


def _unscored(verifier: Verifier, reason: UnscoredReason, detail: str, ms: float = 0.0) -> UnscoredVerdict:
    return UnscoredVerdict(
        kind=verifier.kind,
        reason=reason,
        retryable=reason is not UnscoredReason.BAD_TASK,
        verifier=verifier.id,
        detail=detail,
        ms=round(ms, 3),
    )
