"""For people: why an answer got its verdict, and whether the golds of a data set can be verified.

Unlike a verdict on the wire, an explanation shows the gold. Both run in the calling process, without
workers or time limits.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

from verifier_protocol import MathOptions
from verifier_service.faults import TaskFault
from verifier_service.verifiers.math.compare import compare
from verifier_service.verifiers.math.extract import extract
from verifier_service.verifiers.math.judge import judge_answer, prepare_gold
from verifier_service.verifiers.math.limits import TooComplex
from verifier_service.verifiers.math.options import Options
from verifier_service.verifiers.math.show import show

_FRAMES = 3000


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was found in the completion, how both sides were read, which stage decided, and why."""

    outcome: str
    score: float
    extracted: str | None
    place: str
    gold_form: str
    answer_form: str
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class GoldReport:
    """Whether a gold can be verified. `text_only`: only an answer of the same text can be right."""

    status: Literal["verifiable", "text_only", "unusable"]
    form: str
    kind: str
    reason: str = ""

    @property
    def ok(self) -> bool:
        return self.status == "verifiable"


def explain(gold: str, completion: str, options: MathOptions | None = None) -> Explanation:
    """Judge one completion and say why.

    Raises:
        TaskFault: the gold can't be graded; the message says why.
    """
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))
    chosen = Options.of(options or MathOptions())
    prepared = prepare_gold(gold)
    found = extract(completion, chosen.extract)
    if found.answer is None:
        return Explanation("no_answer", 0.0, None, "", _gold_form(gold), "", "extraction", found.reason)
    done = judge_answer(prepared, found.answer, chosen)
    score = 1.0 if done.outcome == "correct" else 0.0
    gold_form = done.gold_form or _gold_form(gold)
    return Explanation(done.outcome, score, done.extracted, found.place, gold_form, done.answer_form, done.stage, done.reason)


def _gold_form(gold: str) -> str:
    report = check_gold(gold)
    return report.form or report.reason


def check_gold(gold: str) -> GoldReport:
    """Read a gold and compare it with itself; never raises for what a gold may hold."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))
    try:
        prepared = prepare_gold(gold)
    except TaskFault as fault:
        return GoldReport("unusable", "", "", str(fault))
    try:
        shape = prepared.read()
    except TaskFault as fault:
        return GoldReport("text_only", prepared.key[:200], "", str(fault))
    try:
        same = compare(shape, shape, Options()).equal
    except (TooComplex, RecursionError) as error:
        return GoldReport("text_only", show(shape), shape.kind, f"too complex to compare ({error})")
    if not same:
        return GoldReport("text_only", show(shape), shape.kind, "it does not equal itself: it holds an undefined value")
    return GoldReport("verifiable", show(shape), shape.kind)
