"""Deadlines, back-off and the reading of Retry-After.

One total deadline bounds everything that a call does; waits are drawn with full jitter (uniform between zero and an
exponentially growing ceiling), so that ranks that fail together don't come back together.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# Answers that say "later", not "wrong".
BUSY_STATUSES = frozenset({408, 425, 429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    def remaining_s(self) -> float:
        return max(0.0, self.at - time.monotonic())

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self.at


def full_jitter_s(attempt: int, base_s: float, cap_s: float) -> float:
    """Seconds to wait before attempt number `attempt` (1 is the first retry): uniform in [0, min(cap, base * 2^attempt)]."""
    ceiling = min(cap_s, base_s * 2.0 ** min(attempt, 30))
    return random.uniform(0.0, ceiling)  # noqa: S311  spreads load, guards nothing


def retry_after_s(value: str | None, cap_s: float) -> float | None:
    """Seconds that a Retry-After header asks for (delta seconds or an HTTP date), None if absent or unreadable."""
    if value is None:
        return None
    text = value.strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            when = parsedate_to_datetime(text)
        except ValueError:
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        seconds = (when - datetime.now(UTC)).total_seconds()
    if not seconds >= 0:  # negative, or not a number
        return 0.0
    return min(seconds, cap_s)


def attempt_budget_s(remaining_s: float, share: float, floor_s: float, cap_s: float) -> float:
    """Seconds that one attempt may take: a share of what is left, so that a hung replica leaves time for another.

    What the service has not scored by then comes back unscored and is asked for again, so little work is lost.
    """
    return min(remaining_s, max(min(remaining_s * share, cap_s), floor_s))
