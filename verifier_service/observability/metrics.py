"""Prometheus metrics of one service process, in a registry of their own so that two apps in one process don't mix.

No label ever holds text that a client chose, but the verifier kind, which the registry knows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from verifier_protocol import ScoredVerdict, UnscoredVerdict

STAGE_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)

Instrument = TypeVar("Instrument", Counter, Gauge, Histogram)


@lru_cache(maxsize=1024)
def _child(instrument: Instrument, *labels: str) -> Instrument:
    """The instrument with its labels; looking it up afresh is a large part of a small program's cost."""
    return instrument.labels(*labels)


class Metrics:
    """All the service counts; every method is cheap and never raises."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        r = self.registry
        self._verdicts = Counter("verifier_verdicts", "Scored verdicts.", ["kind", "outcome"], registry=r)
        self._unscored = Counter(
            "verifier_unscored", "Completions that a verifier left unscored.", ["kind", "reason"], registry=r
        )
        self._tamper = Counter("verifier_tamper", "Verdicts with a sign of an attack on the grader.", ["kind"], registry=r)
        self._retries = Counter(
            "verifier_retries", "Verifications run a second time after a fault of ours.", ["kind"], registry=r
        )
        self._reused = Counter(
            "verifier_reused", "Verdicts that needed no run.", ["source"], registry=r
        )  # group: twin in its group; cache: earlier request; flight: same work under way
        self._plain_runs = Counter(
            "verifier_plain_runs", "Plain runs of compatibility routes, by how they were answered.", ["source"], registry=r
        )  # real: in a slot; cache: an earlier run; flight: the same run under way
        self._stage = Histogram(
            "verifier_stage_seconds",
            "Time by stage of a request or of one verification.",
            ["stage"],
            registry=r,
            buckets=STAGE_BUCKETS_S,
        )
        self._requests = Counter("verifier_http_requests", "HTTP answers.", ["route", "status"], registry=r)
        self._refused = Counter("verifier_refused", "Requests refused at admission.", registry=r)
        self.inflight = Gauge("verifier_inflight_completions", "Completions admitted and not answered yet.", registry=r)
        self.ready = Gauge("verifier_ready", "1 where the last canary of a verifier passed.", ["kind"], registry=r)
        self._slots = Gauge("verifier_sandbox_slots", "Sandbox slots by profile and state.", ["profile", "state"], registry=r)
        self._recycles = Counter("verifier_sandbox_recycles", "Sandboxes thrown away, by reason.", ["reason"], registry=r)
        self._queue = Histogram("verifier_sandbox_queue_seconds", "Wait for a slot.", registry=r, buckets=STAGE_BUCKETS_S)

    def scored(self, verdict: ScoredVerdict) -> None:
        _child(self._verdicts, verdict.kind, verdict.outcome.value).inc()
        if verdict.tamper:
            self._tamper.labels(verdict.kind).inc()

    def unscored(self, verdict: UnscoredVerdict) -> None:
        self._unscored.labels(verdict.kind, verdict.reason.value).inc()

    def retried(self, kind: str) -> None:
        self._retries.labels(kind).inc()

    def reused(self, source: str, count: int = 1) -> None:
        self._reused.labels(source).inc(count)

    def plain_run(self, source: str) -> None:
        self._plain_runs.labels(source).inc()

    def stage(self, stage: str, seconds: float) -> None:
        _child(self._stage, stage).observe(seconds)

    def request(self, route: str, status: int) -> None:
        self._requests.labels(route, str(status)).inc()

    def refused(self) -> None:
        self._refused.inc()

    # the sandbox pool's events
    def slots(self, profile: str, state: str, count: int) -> None:
        _child(self._slots, profile, state).set(count)

    def recycled(self, reason: str) -> None:
        self._recycles.labels(reason).inc()

    def queued(self, wait_s: float) -> None:
        self._queue.observe(wait_s)

    def text(self) -> bytes:
        """The exposition format of GET /metrics."""
        return generate_latest(self.registry)
