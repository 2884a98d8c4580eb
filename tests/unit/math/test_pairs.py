"""The project's own pairs, both ways where the meaning is the same both ways."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from verifier_service.faults import TaskFault
from verifier_service.verifiers.math.judge import Judgement

Verdict = Callable[..., Judgement]


def test_a_right_answer_in_another_form_is_accepted(verdict: Verdict, equal_pair: tuple[str, str]) -> None:
    gold, answer = equal_pair
    done = verdict(gold, answer)
    assert done.outcome == "correct", done


def test_a_wrong_answer_is_never_accepted(verdict: Verdict, unequal_pair: tuple[str, str]) -> None:
    gold, answer = unequal_pair
    assert verdict(gold, answer).outcome != "correct"


def test_what_is_unequal_is_unequal_the_other_way_round(verdict: Verdict, unequal_pair: tuple[str, str]) -> None:
    answer, gold = unequal_pair
    if (gold, answer) in ONE_WAY:
        assert verdict(gold, answer).outcome == "correct"
        return
    with contextlib.suppress(TaskFault):  # what a wrong answer may be, a gold may not
        assert verdict(gold, answer).outcome != "correct"


ONE_WAY = {
    ("0.25\\%", "0.25"),
    ("1011", "1011_2"),
    ("x=1, x=2", "(1,2)"),
    ("77", "77_8"),
    ("\\sum_{k=1}^{100} k", "5050"),
    ("\\int_0^1 x^2\\,dx", "\\frac13"),
    ("\\sum_{n=1}^\\infty 2^{-n}", "1"),
    ("\\int_0^2 dx", "2"),
    ("\\lim_{x\\to\\infty} 12", "12"),
}
"""A gold may be a sum that the answer works out, and an answer may add the base that a gold leaves out."""


def test_every_gold_of_the_pairs_equals_itself_through_the_grammar(verdict: Verdict, equal_pair: tuple[str, str]) -> None:
    gold, _ = equal_pair
    assert verdict(gold, f"{{{gold}}}").outcome == "correct"
