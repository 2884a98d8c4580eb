"""The contract of a verifier.

A verifier judges one completion at a time and returns a `ScoredVerdict` whatever the completion did. It raises only
the faults of `verifier_service.faults`, and then the scorer makes the unscored verdict. It is started once per process
and is called concurrently from one event loop; work that needs a CPU for long leaves the loop for a process that can
be killed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from verifier_protocol import ScoredVerdict, VerifierId
from verifier_service.faults import DeadlineExceeded


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock by which an item must have run."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    def remaining_s(self) -> float:
        return self.at - time.monotonic()

    def check(self) -> None:
        if self.remaining_s() <= 0:
            raise DeadlineExceeded("the request's deadline passed before this completion was verified")


class Verifier(Protocol):
    """What the scorer needs of a verifier. `Task` is whatever `prepare` makes of a spec, opaque to everybody else."""

    kind: str
    id: VerifierId

    async def start(self) -> None:
        """Bring up workers or slots. Raises InfrastructureFault when that can't be done; the service then runs on
        without this kind, and its completions are unscored."""
        ...

    async def aclose(self) -> None:
        """Drain and leave nothing running. Safe to call twice and without start."""
        ...

    def prepare(self, spec: Any) -> Any:
        """Check a validated spec against this verifier's settings, once per group; cheap, in the event loop.

        Raises:
            TaskFault: it can be seen at once that the task can't be graded.
            SpecRefused: this deployment refuses it, such as a limit above its ceiling (the API answers 422).
        """
        ...

    async def verify(self, task: Any, completion: str, deadline: Deadline) -> ScoredVerdict:
        """Judge one completion.

        Raises:
            TaskFault, InfrastructureFault, DeadlineExceeded: see verifier_service.faults.
        """
        ...

    async def canary(self) -> None:
        """Prove that this verifier works now, on a right and a wrong answer, by the very path that completions take.

        Raises InfrastructureFault otherwise.
        """
        ...

    def describe(self) -> Mapping[str, Any]:
        """Facts for GET /v1/verifiers: name, version, options or languages, limits."""
        ...


class SpecRefused(ValueError):
    """A valid request that this deployment refuses (an unknown language, a limit above its ceiling): a 422.

    `field` is the path below the spec, such as `limits.memory_mb`; the message names what is allowed.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
