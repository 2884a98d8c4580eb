"""Options, golds, and what verdicts say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifier_service.faults import TaskFault
from verifier_service.verifiers.math.explain import check_gold, explain
from verifier_service.verifiers.math.judge import Judgement, prepare_gold

Verdict = Callable[..., Judgement]


def test_rounding_is_refused_when_the_task_wants_exactness(verdict: Verdict) -> None:
    assert verdict("\\pi", "3.14159265").outcome == "correct"
    assert verdict("\\pi", "3.14159265", precision="exact").outcome == "incorrect"
    assert verdict("\\frac13", "0.333333", precision="exact").outcome == "incorrect"
    assert verdict("\\frac12", "0.5", precision="exact").outcome == "correct"


def test_a_relative_tolerance_is_off_until_asked_for(verdict: Verdict) -> None:
    assert verdict("100", "101").outcome == "incorrect"
    assert verdict("100", "101", rel_tol=0.02).outcome == "correct"
    assert verdict("100", "103", rel_tol=0.02).outcome == "incorrect"
    assert verdict("\\sqrt{2}", "1.41", rel_tol=0.01).outcome == "correct"


def test_percent_strict_is_division_by_a_hundred(verdict: Verdict) -> None:
    assert verdict("50", "50\\%").outcome == "correct"
    assert verdict("50", "50\\%", percent="strict").outcome == "incorrect"
    assert verdict("0.5", "50\\%", percent="strict").outcome == "correct"


def test_a_missing_unit_is_forgiven_only_when_units_are_lenient(verdict: Verdict) -> None:
    assert verdict("5\\text{ cm}", "5").outcome == "correct"
    assert verdict("5\\text{ cm}", "5", units="strict").outcome == "incorrect"
    assert verdict("5\\text{ cm}", "0.05\\text{ m}", units="strict").outcome == "correct"


def test_bare_lists_are_sets_until_order_matters(verdict: Verdict) -> None:
    assert verdict("1, 2", "2, 1").outcome == "correct"
    assert verdict("1, 2", "2, 1", order_matters=True).outcome == "incorrect"
    assert verdict("1, 2", "1, 2", order_matters=True).outcome == "correct"


def test_an_unevaluated_sum_counts_only_where_the_task_allows_it(verdict: Verdict) -> None:
    assert verdict("5050", "\\sum_{k=1}^{100} k").outcome == "incorrect"
    assert verdict("5050", "\\sum_{k=1}^{100} k", allow_unevaluated=True).outcome == "correct"
    assert verdict("\\frac13", "\\int_0^1 x^2\\,dx", allow_unevaluated=True).outcome == "correct"


@pytest.mark.parametrize("gold", ["", "   ", "\\boxed{}", "####", "\x00"])
def test_a_gold_with_nothing_in_it_is_a_broken_task(gold: str) -> None:
    with pytest.raises(TaskFault):
        prepare_gold(gold)


def test_a_gold_that_cannot_be_parsed_matches_by_text_or_is_a_broken_task(verdict: Verdict) -> None:
    gold = "\\unknowncommand{5}"
    assert verdict(gold, gold).outcome == "correct"
    with pytest.raises(TaskFault):
        verdict(gold, "5")


def test_a_gold_too_complex_is_the_tasks_fault_not_the_answers(verdict: Verdict) -> None:
    with pytest.raises(TaskFault):
        verdict("(" * 500 + "1" + ")" * 500, "2")


def test_a_verdict_never_shows_the_gold(verdict: Verdict) -> None:
    done = verdict("\\sqrt{7919}+104729", "x+1")
    assert "7919" not in done.detail
    assert "104729" not in done.detail
    assert "x + 1" in done.detail


def test_the_extracted_answer_is_cut_for_reading(verdict: Verdict) -> None:
    done = verdict("1", "1+" * 1000 + "1")
    assert done.extracted is not None
    assert len(done.extracted) <= 200


def test_an_explanation_shows_both_normal_forms_the_stage_and_the_reason() -> None:
    told = explain("\\frac{\\sqrt8}{2}", "so \\boxed{\\sqrt{2}}")
    assert (told.outcome, told.score, told.extracted, told.place) == ("correct", 1.0, "\\sqrt{2}", "boxed")
    assert told.gold_form == "sqrt(8)/2"
    assert told.answer_form == "sqrt(2)"
    assert told.stage == "value"
    assert told.reason
    assert explain("7", "no idea").outcome == "no_answer"


def test_golds_are_reported_as_verifiable_text_only_or_unusable() -> None:
    assert check_gold("\\frac{1}{2}").ok
    assert check_gold("Evelyn").ok
    assert check_gold("so it is #### 5").ok
    assert check_gold("\\unknowncommand{5}").status == "text_only"
    assert check_gold("\\frac{0}{0}").status == "text_only"
    assert check_gold(" ").status == "unusable"
