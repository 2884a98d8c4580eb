"""Counters of a client. They are written on the client's own thread only; reading them elsewhere is safe."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

COUNTERS = (
    *("calls", "completions", "deduplicated", "requests", "retries", "transport_errors", "busy_answers", "broken_answers"),
    *("resent_verdicts", "cache_hits", "cache_misses", "scored", "bytes_sent", "bytes_received", "service_ms"),
)


@dataclass(slots=True)
class ClientMetrics:
    """Totals since the client was made."""

    calls: int = 0
    completions: int = 0
    deduplicated: int = 0
    requests: int = 0
    retries: int = 0
    transport_errors: int = 0
    busy_answers: int = 0
    broken_answers: int = 0
    resent_verdicts: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    scored: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    bytes_sent: int = 0
    bytes_received: int = 0
    service_ms: float = 0.0
    _latencies_s: deque[float] = field(default_factory=lambda: deque(maxlen=1024))

    def observe_latency(self, seconds: float) -> None:
        self._latencies_s.append(seconds)

    def latency_s(self, quantile: float) -> float | None:
        """A quantile of the last 1,024 requests' latencies, None before the first."""
        ordered = sorted(self._latencies_s)
        if not ordered:
            return None
        return ordered[min(len(ordered) - 1, int(quantile * len(ordered)))]

    def snapshot(self) -> dict[str, float]:
        """All as flat numbers, ready for a logger."""
        flat: dict[str, float] = {name: getattr(self, name) for name in COUNTERS}
        flat["unscored"] = self.unscored.total()
        flat.update({f"unscored_{reason}": count for reason, count in dict(self.unscored).items()})
        for name, quantile in (("latency_p50_s", 0.5), ("latency_p99_s", 0.99)):
            value = self.latency_s(quantile)
            if value is not None:
                flat[name] = value
        return flat
