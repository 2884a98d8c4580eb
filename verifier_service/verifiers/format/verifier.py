"""The format verifier: pure text rules in linear time, so it runs in the event loop and can neither fail nor be slow."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from verifier_protocol import FormatSpec, Outcome, ScoredVerdict, VerifierId
from verifier_service.faults import InfrastructureFault
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.format.grammar import check

VERSION = "2"
EXTRACTED_CHARS = 500
CANARIES = (("<think>two and two</think>\n\\boxed{4}", Outcome.CORRECT), ("<think>two and two</think>\n4", Outcome.NO_ANSWER))


class FormatVerifier:
    """Scores 1 for a completion in the asked-for format, else 0."""

    kind = "format"
    id = VerifierId(name="format", version=VERSION)

    async def start(self) -> None:
        """Nothing to bring up."""

    async def aclose(self) -> None:
        """Nothing to end."""

    def prepare(self, spec: FormatSpec) -> FormatSpec:
        """The spec is the task: every valid one can be graded."""
        return spec

    async def verify(self, task: FormatSpec, completion: str, deadline: Deadline) -> ScoredVerdict:
        """Judge the layout of one completion; linear in its length.

        Raises:
            DeadlineExceeded: the deadline had passed already.
        """
        deadline.check()
        started = time.perf_counter()
        finding = check(completion, task.style, prefilled_think=task.prefilled_think)
        return ScoredVerdict(
            kind=self.kind,
            score=1.0 if finding.outcome is Outcome.CORRECT else 0.0,
            outcome=finding.outcome,
            verifier=self.id,
            extracted=None if finding.answer is None else finding.answer[:EXTRACTED_CHARS],
            detail=finding.detail,
            ms=round((time.perf_counter() - started) * 1000, 3),
        )

    async def canary(self) -> None:
        """A right and a wrong completion through `verify`."""
        for completion, expected in CANARIES:
            verdict = await self.verify(FormatSpec(kind="format"), completion, Deadline.after(1.0))
            if verdict.outcome is not expected:
                raise InfrastructureFault("the format verifier misjudges its canary: reinstall the service")

    def describe(self) -> Mapping[str, Any]:
        """Facts for GET /v1/verifiers."""
        return {
            "kind": self.kind,
            "name": self.id.name,
            "version": self.id.version,
            "styles": ["think_boxed", "think_answer", "think_only"],
            "options": {"prefilled_think": "the chat template already wrote the opening tag"},
        }
