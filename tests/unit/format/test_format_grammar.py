"""What each format accepts, and that no text makes the check slow or raise."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from verifier_protocol import Outcome
from verifier_service.verifiers.format.grammar import BLANKS, check

WORK = "<think>\nThree fives.\n</think>"


def outcome(text: str, style: str = "think_boxed", *, prefilled: bool = False) -> Outcome:
    return check(text, style, prefilled_think=prefilled).outcome


@pytest.mark.parametrize(
    "text",
    [
        WORK + "\\boxed{15}",
        WORK + "\r\n\t \\boxed{15}\r\n",
        WORK + "\\boxed{\\frac{a}{b}}",
        WORK + "\\boxed{\\{1, 2\\}}",
        WORK + "\\boxed{\\left\\{ x : x > 0 \\right\\}}",
        WORK + "\\boxed{a\\\\}",
        WORK + "\\boxed{多い}",
        "<think>a draft \\boxed{3}, </thinking>, <b> and < / think></think>\\boxed{15}",
        "<think></think</think>\\boxed{15}",
    ],
)
def test_a_boxed_answer_right_after_the_thinking_is_correct(text: str) -> None:
    assert outcome(text) is Outcome.CORRECT


@pytest.mark.parametrize(
    "text",
    [
        " " + WORK + "\\boxed{15}",
        "\ufeff" + WORK + "\\boxed{15}",
        "Well: " + WORK + "\\boxed{15}",
        "no tags, \\boxed{15}",
        "thinking</think>\\boxed{15}",
        "<think>a<think>b</think></think>\\boxed{15}",
        "<think>a</think></think>\\boxed{15}",
        "</think>a<think>\\boxed{15}",
        "<Think>a</Think>\\boxed{15}",
        "<think >a</think >\\boxed{15}",
        "<think></think>\\boxed{15}",
        "<think> \n\u200b</think>\\boxed{15}",
        WORK + "so \\boxed{15}",
        WORK + "\\boxed{15}.",
        WORK + "\\boxed{15}\x00",
        WORK + "\\boxed{15}\u00a0",
        WORK + "\\boxed{15}\\boxed{15}",
        WORK + "\\boxed{\\boxed{15}}",
        WORK + "\\boxed{15",
        WORK + "\\boxed{15\\}",
        WORK + "\\boxed{{15}",
        WORK + "\\boxed{15}}",
        WORK + "$\\boxed{15}$",
        WORK + "\\boxed{15}<|im_end|>",
    ],
)
def test_what_breaks_the_layout_is_malformed(text: str) -> None:
    assert outcome(text) is Outcome.MALFORMED_ANSWER


@pytest.mark.parametrize(
    "text", ["", " \n", "<think>", WORK, WORK + "15", WORK + "\\boxed{}", WORK + "\\boxed{ {} }", "<think>\\boxed{15}"]
)
def test_a_missing_answer_is_no_answer(text: str) -> None:
    assert outcome(text) is Outcome.NO_ANSWER


@pytest.mark.parametrize("blank", ["\\ ", "\\,\\;", "~", "\\quad", "\\qquad\\!", "\\text{}", "\\text{ }", "$ $", "\\mathrm{~}"])
def test_a_box_that_shows_nothing_is_blank(blank: str) -> None:
    assert outcome(WORK + f"\\boxed{{{blank}}}") is Outcome.NO_ANSWER
    assert outcome(WORK + f"\\boxed{{{blank}15}}") is Outcome.CORRECT


def test_the_answer_style_wants_one_pair_of_answer_tags() -> None:
    assert outcome(WORK + "\n<answer> 15 </answer>\n", "think_answer") is Outcome.CORRECT
    assert check(WORK + "<answer> 15 </answer>", "think_answer", prefilled_think=False).answer == "15"
    assert outcome(WORK + "<answer>15", "think_answer") is Outcome.MALFORMED_ANSWER
    assert outcome(WORK + "<answer>1</answer><answer>2</answer>", "think_answer") is Outcome.MALFORMED_ANSWER
    assert outcome("<think><answer>1</answer></think><answer>2</answer>", "think_answer") is Outcome.MALFORMED_ANSWER
    assert outcome(WORK + "It is <answer>15</answer>", "think_answer") is Outcome.MALFORMED_ANSWER
    assert outcome(WORK + "<answer>15</answer>!", "think_answer") is Outcome.MALFORMED_ANSWER
    assert outcome(WORK + "</answer><answer>15", "think_answer") is Outcome.MALFORMED_ANSWER
    assert outcome(WORK + "<answer>\n</answer>", "think_answer") is Outcome.NO_ANSWER
    assert outcome(WORK + "\\boxed{15}", "think_answer") is Outcome.NO_ANSWER


def test_the_thinking_style_leaves_the_rest_free_but_not_its_tags() -> None:
    assert outcome(WORK + "whatever \\boxed{1} \\boxed{2}", "think_only") is Outcome.CORRECT
    assert outcome(WORK, "think_only") is Outcome.CORRECT
    assert outcome(WORK + "</think>", "think_only") is Outcome.MALFORMED_ANSWER


def test_a_prefilled_opening_tag_is_neither_wanted_nor_allowed() -> None:
    assert outcome("Three fives.</think>\\boxed{15}", prefilled=True) is Outcome.CORRECT
    assert outcome(WORK + "\\boxed{15}", prefilled=True) is Outcome.MALFORMED_ANSWER
    assert outcome("</think>\\boxed{15}", prefilled=True) is Outcome.MALFORMED_ANSWER
    assert outcome("Three fives. \\boxed{15}", prefilled=True) is Outcome.NO_ANSWER


def test_the_detail_says_where() -> None:
    assert "at line 3, column 19" in check("<think>\nx\n</think>\\boxed{1} or two", "think_boxed", prefilled_think=False).detail


PIECES = st.sampled_from(
    [
        "<think>",
        "</think>",
        "\\boxed{",
        "\\boxed",
        "{",
        "}",
        "\\",
        "\\}",
        "x",
        " ",
        "\n",
        "é",
        "😀",
        "\ud800",
        "<answer>",
        "</answer>",
    ]
)


@given(
    st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=60),
    st.sampled_from(["think_boxed", "think_answer", "think_only"]),
    st.booleans(),
)
@example("<think>x</think>\\boxed{\ud800}", "think_boxed", False)
def test_any_text_gets_the_same_finding_twice_and_a_detail(text: str, style: str, prefilled: bool) -> None:
    finding = check(text, style, prefilled_think=prefilled)
    assert finding == check(text, style, prefilled_think=prefilled)
    assert finding.detail
    assert finding.outcome in (Outcome.CORRECT, Outcome.MALFORMED_ANSWER, Outcome.NO_ANSWER)


@given(
    st.recursive(
        st.text("ab{}\\ ", max_size=0) | st.sampled_from(["a", "\\{", "\\}", "\\\\", "é"]),
        lambda inner: st.lists(inner, max_size=4).map(lambda xs: "{" + "".join(xs) + "}"),
    )
)
def test_every_balanced_box_with_content_is_correct(content: str) -> None:
    finding = check(f"{WORK}\\boxed{{x{content}}}", "think_boxed", prefilled_think=False)
    assert finding.outcome is Outcome.CORRECT
    assert finding.answer == "x" + content


@given(st.text(max_size=40), st.text(BLANKS, max_size=4), st.text(BLANKS, max_size=4))
def test_only_plain_white_space_may_surround_the_box(thinking: str, before: str, after: str) -> None:
    thinking = "x" + thinking.replace("<", "")
    assert outcome(f"<think>{thinking}</think>{before}\\boxed{{15}}{after}") is Outcome.CORRECT


@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 300_000,
        "<think>x</think>" + "\\boxed{" * 200_000,
        "<think>x</think>\\boxed{" + "{" * 1_000_000,
        "<think>x</think>\\boxed{" + "{" * 500_000 + "x" + "}" * 500_000 + "}",
        "<think>x</think>\\boxed{" + "\\" * 1_000_000 + "}",
        "<think>" + "</think" * 200_000 + "</think>\\boxed{15}",
        "<think>x</think>" + "\n" * 1_000_000 + "x",
        "<think>x</think>" + "<answer>" * 200_000,
    ],
    ids=lambda text: f"{text[:24]!r} and so on",
)
def test_a_megabyte_of_anything_is_judged_in_a_moment(text: str) -> None:
    started = time.perf_counter()
    for style in ("think_boxed", "think_answer", "think_only"):
        check(text, style, prefilled_think=False)
    assert time.perf_counter() - started < 1.0
