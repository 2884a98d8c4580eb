"""One answer against one gold, in stages from cheapest to dearest; each stage decides or passes on, and fails closed.

A completion can't make this raise: what can't be read is `malformed_answer`, what costs too much `answer_too_complex`.
What is wrong with the gold raises `TaskFault`. Verdict texts show the answer and never the gold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from verifier_service.faults import TaskFault
from verifier_service.verifiers.math.clean import MAX_ANSWER_CHARS, forbidden, mended, text_key, to_grammar
from verifier_service.verifiers.math.compare import compare
from verifier_service.verifiers.math.equal import Comparison
from verifier_service.verifiers.math.extract import extract, gold_text
from verifier_service.verifiers.math.limits import TooComplex
from verifier_service.verifiers.math.numbers import Number, equal_numbers, plain_number
from verifier_service.verifiers.math.options import Options
from verifier_service.verifiers.math.shapes import Shape, interpret
from verifier_service.verifiers.math.show import show
from verifier_service.verifiers.math.tokens import Unparsed

SHOWN_CHARS = 200
"""Characters of the extracted answer in a verdict."""

Outcome = Literal["correct", "incorrect", "no_answer", "malformed_answer", "answer_too_complex"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of one completion. `answer_form` and `gold_form` are normal forms; only `explain` shows the gold's."""

    outcome: Outcome
    stage: str
    reason: str
    extracted: str | None = None
    answer_form: str = ""
    gold_form: str = ""

    @property
    def detail(self) -> str:
        form = f"; read as {_cut(self.answer_form)}" if self.answer_form else ""
        return f"{self.stage}: {self.reason}{form}"


@dataclass(slots=True)
class Gold:
    """A gold, normalised once. `shape` is filled when the first answer needs it."""

    raw: str
    text: str
    key: str
    number: Number | None
    shape: Shape | None = None
    fault: str | None = None
    memo: dict[str, Any] = field(default_factory=dict)

    def read(self) -> Shape:
        """The parsed gold. Raises TaskFault where it can't be parsed."""
        if self.fault is not None:
            raise TaskFault(self.fault)
        if self.shape is None:
            try:
                self.shape = _parse(self.text)
            except Unparsed as error:
                self.fault = f"the gold can't be read as mathematics ({error}): an answer can only match its text"
                raise TaskFault(self.fault) from error
            except TooComplex as error:
                self.fault = f"the gold is too complex to verify ({error})"
                raise TaskFault(self.fault) from error
        return self.shape


def _quietly(_: str) -> None:
    """Nobody is to be told."""


def prepare_gold(raw: str) -> Gold:
    """Normalise a gold. Raises TaskFault where there is nothing to compare with."""
    text = mended(gold_text(raw))
    if not text.strip():
        raise TaskFault("the gold is empty: give the answer, or a solution that ends in \\boxed{answer} or #### answer")
    if forbidden(text):
        raise TaskFault("the gold holds control characters or lone surrogates")
    return Gold(raw, text, text_key(text), plain_number(text))


def _parse(text: str) -> Shape:
    if len(text) > MAX_ANSWER_CHARS:
        raise TooComplex(f"longer than {MAX_ANSWER_CHARS} characters")
    return interpret(to_grammar(text))


def judge(gold: Gold, completion: str, options: Options, dear: Callable[[str], None] = _quietly) -> Judgement:
    """Judge a completion. `dear` is called with "gold" or "answer" before work that may take long."""
    found = extract(completion, options.extract)
    if found.answer is None:
        return Judgement("no_answer", "extraction", found.reason)
    return judge_answer(gold, found.answer, options, dear)


def judge_answer(gold: Gold, answer: str, options: Options, dear: Callable[[str], None] = _quietly) -> Judgement:
    """Judge an extracted answer."""
    shown = _cut(answer)
    number = plain_number(answer)
    if number is not None and gold.number is not None:
        same = equal_numbers(gold.number, number, options.precision, options.rel_tol)
        reason = "the numbers are equal" if same else "the numbers differ"
        return Judgement(
            "correct" if same else "incorrect", "exact number", reason, shown, _number_text(number), _number_text(gold.number)
        )
    answer = mended(answer)
    if forbidden(answer):
        return Judgement("malformed_answer", "characters", "control, direction or surrogate characters in it", _escape(shown))
    if answer == gold.text or text_key(answer) == gold.key:
        return Judgement("correct", "text", "the texts are equal", shown, text_key(answer), gold.key)
    if len(answer) > MAX_ANSWER_CHARS:
        return Judgement("answer_too_complex", "length", f"longer than {MAX_ANSWER_CHARS} characters", shown)
    dear("gold")
    gold_shape = gold.read()
    dear("answer")
    try:
        shape = _parse(answer)
    except Unparsed as error:
        return Judgement("malformed_answer", "grammar", str(error), shown)
    except TooComplex as error:
        return Judgement("answer_too_complex", "grammar", str(error), shown)
    try:
        verdict: Comparison = _compared(gold_shape, shape, options)
    except TooComplex as error:
        return Judgement("answer_too_complex", "comparison", str(error), shown, show(shape), show(gold_shape))
    outcome: Outcome = "correct" if verdict.equal else "incorrect"
    return Judgement(outcome, verdict.stage, verdict.reason, shown, show(shape), show(gold_shape))


def _compared(gold: Shape, answer: Shape, options: Options) -> Comparison:
    """Compare; where a kind of value meets a rule that can't take it, the answer is at fault if the gold equals itself."""
    try:
        return compare(gold, answer, options)
    except (ArithmeticError, TypeError, ValueError, LookupError, AttributeError):
        if not compare(gold, gold, options).equal:
            raise
        return Comparison(False, "comparison", "the two could not be compared")


def _number_text(number: Number) -> str:
    return _cut(str(number.value)) if number.value.denominator.bit_length() < 2000 else "a long number"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"


def _escape(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode("ascii")
