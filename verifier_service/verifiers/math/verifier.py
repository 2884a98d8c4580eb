"""The math verifier: one gold, one completion, one verdict; see docs/math.md for what counts as equal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verifier_protocol import MathSpec, Outcome, ScoredVerdict, VerifierId
from verifier_service.faults import InfrastructureFault, TaskFault
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.math.extract import gold_text
from verifier_service.verifiers.math.model_judge import ModelJudge
from verifier_service.verifiers.math.options import BAD_TASK, Options
from verifier_service.verifiers.math.workers import WorkerPool, default_worker_count

ID = VerifierId(name="math", version="1.1.0")


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
        self._judge: ModelJudge | None = None

    async def start(self) -> None:
        await self._pool.start()
        s = self._settings
        if s.math_judge_url and self._judge is None:
            self._judge = ModelJudge(
                s.math_judge_url,
                s.math_judge_model,
                timeout_s=s.math_judge_timeout_s,
                concurrency=s.math_judge_concurrency,
                key_file=s.math_judge_key_file,
            )

    async def aclose(self) -> None:
        await self._pool.aclose()
        judge, self._judge = self._judge, None
        if judge is not None:
            await judge.aclose()

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
        extra: dict[str, Any] | None = None
        if self._judge is not None and outcome in ("incorrect", "malformed_answer") and extracted:
            correct, extra = await self._second_opinion(self._judge, task.gold, extracted, deadline)
            outcome = "correct" if correct else outcome
        detail = f"{stage}: {reason}; read as {form}" if form else f"{stage}: {reason}"
        if extra and correct:
            detail = f"model judge: accepted by the model, against the rules ({detail})"
        return ScoredVerdict(
            kind="math",
            score=1.0 if correct else 0.0,
            outcome=Outcome(outcome),
            verifier=ID,
            extracted=extracted,
            detail=detail,
            ms=micros / 1000,
            extra=extra,
        )

    @staticmethod
    async def _second_opinion(judge: ModelJudge, gold: str, answer: str, deadline: Deadline) -> tuple[bool, dict[str, Any]]:
        """Whether the model overrules the rules, and the mark that the verdict bears either way."""
        try:
            async with asyncio.timeout(max(0.0, deadline.remaining_s())):
                opinion = await judge.opinion(gold_text(gold), answer)
        except TimeoutError:
            opinion = None
        mark = {
            "model": judge.model,
            "votes": list(opinion.votes) if opinion else None,
            "overruled": bool(opinion and opinion.equal),
        }
        return bool(opinion and opinion.equal), {"model_judge": mark}

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
