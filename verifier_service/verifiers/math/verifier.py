"""The math verifier: one gold, one completion, one verdict; see docs/math.md for what counts as equal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verifier_protocol import MathSpec, Outcome, ScoredVerdict, VerifierId
from verifier_service.faults import InfrastructureFault, TaskFault
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.math.options import BAD_TASK, Options
from verifier_service.verifiers.math.workers import WorkerPool, default_worker_count

ID = VerifierId(name="math", version="1.0.0")


@dataclass(frozen=True, slots=True)
class MathTask:
    """What a worker needs of a spec, ready to be sent."""

    gold: str
    options_json: str


class MathVerifier:
    """See verifiers.base.Verifier."""

    kind = "math"
    id = ID

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._workers = settings.math_workers or default_worker_count()
        self._pool = WorkerPool(self._workers, settings.math_item_cpu_s, settings.math_worker_memory_mb)

    async def start(self) -> None:
        await self._pool.start()

    async def aclose(self) -> None:
        await self._pool.aclose()

    def prepare(self, spec: MathSpec) -> MathTask:
        if not spec.gold.strip():
            raise TaskFault("the gold is empty: give the answer, or a solution that ends in \\boxed{answer} or #### answer")
        return MathTask(spec.gold, json.dumps(Options.of(spec.options).to_list()))

    async def verify(self, task: MathTask, completion: str, deadline: Deadline) -> ScoredVerdict:
        row = await self._pool.submit((task.gold, task.options_json), completion, deadline.at)
        _, outcome, stage, reason, extracted, form, micros = row
        if outcome == BAD_TASK:
            raise TaskFault(reason)
        correct = outcome == "correct"
        detail = f"{stage}: {reason}; read as {form}" if form else f"{stage}: {reason}"
        # model_construct: every field is of our own making, and validation would cost more than most verdicts do
        return ScoredVerdict.model_construct(
            kind="math",
            score=1.0 if correct else 0.0,
            outcome=Outcome(outcome),
            verifier=ID,
            extracted=extracted,
            detail=detail,
            ms=micros / 1000,
        )

    async def canary(self) -> None:
        """A right and a wrong answer through a worker."""
        task = self.prepare(MathSpec(kind="math", gold="\\frac{\\sqrt{8}}{4}"))
        for completion, expected in (("\\boxed{\\frac{1}{\\sqrt2}}", 1.0), ("\\boxed{\\frac{1}{\\sqrt3}}", 0.0)):
            verdict = await self.verify(task, completion, Deadline.after(10.0))
            if verdict.score != expected:
                raise InfrastructureFault("the math verifier misjudged its own canary; restart the service")

    def describe(self) -> Mapping[str, Any]:
        return {
            "name": ID.name,
            "version": ID.version,
            "options": MathSpec.model_fields["options"].annotation.model_json_schema()["properties"],  # type: ignore[union-attr]
            "limits": {
                "item_cpu_s": self._settings.math_item_cpu_s,
                "worker_memory_mb": self._settings.math_worker_memory_mb,
                "workers": self._workers,
            },
        }
