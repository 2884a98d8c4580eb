"""Where an answer is found, and where none is."""

from __future__ import annotations

import pytest

from verifier_service.verifiers.math.extract import extract, gold_text

EVERY = ("boxed", "hash", "final_answer", "last_line")


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("\\boxed{7}", "7"),
        ("<think>so \\boxed{8}</think>\\boxed{7}", "7"),
        ("a</think>b</think>\\boxed{7}", "7"),
        ("First \\boxed{3}, no wait. Recomputing everything gives another value, namely \\boxed{7}.", "7"),
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("\\boxed{\\boxed{7}}", "7"),
        ("\\fbox{7}", "7"),
        ("\\boxed 7", "7"),
        ("\\\\boxed{7}", "7"),
        ("$$\\boxed{ 7 }$$", "7"),
        ("\\boxed{1} and \\boxed{2}", "1, 2"),
        ("\\boxed{1}, \\boxed{2}", "1, 2"),
        ("\\boxed{1} \\boxed{2}", "1, 2"),
        ("\\boxed{3} or maybe \\boxed{4}", "3, 4"),
        ("\\boxed{3} chickens and \\boxed{4} rabbits", "3, 4"),
        ("\\boxed{7}\n\n\\boxed{7}", "7"),
        ("\\boxed{7} is right and the box \\boxed{} stays empty", "7"),
        ("\\boxed{\\{1,2\\}}", "\\{1,2\\}"),
        ("\\boxed{5\\%} is the rate", "5\\%"),
        ("About 50% of it: \\boxed{7}", "7"),
        ("\\boxed{8}}{9}", "8"),
        ("\\boxed{\\frac{1}{2}", "\\frac{1}{2"),
    ],
)
def test_the_last_brace_matched_box_after_the_thinking_is_the_answer(completion: str, answer: str) -> None:
    assert extract(completion, ("boxed",)).answer == answer


@pytest.mark.parametrize(
    "between",
    [
        " / ", " | ", " -- ", " & ", " = ", " \\\\ ", "\\newline", "}{", "? ", "! ", "\u200b", " <br> ", " <!-- ", " " * 5000,
        " or\n" + "\n" * 300, "\\hspace{-1em}", "\\color{white}", "~~~", " (b) ", "\n2. ", "\n- ", ", y = ", " and/or ",
        " but maybe ", " (or ", "\n\n---\n\n", "\nOption 2: ", "\nAnother answer: ", " and the second is ",
        ". Alternatively, it could be ", " 或 ", " oder ",
    ],
)  # fmt: skip
def test_boxes_with_no_sentence_between_them_are_one_list(between: str) -> None:
    assert extract(f"\\boxed{{3}}{between}\\boxed{{4}}", ("boxed",)).answer == "3, 4"


@pytest.mark.parametrize(
    "between",
    [
        " was wrong. The answer is ", ". So the answer is ", " is a half of it, so we double: ", "</thinking>", " so ",
        " $3 \\cdot 2 = 6$, $6 - 2 = 4$ ", " or rather, after checking the sign again, ",
    ],
)  # fmt: skip
def test_a_box_after_text_of_its_own_replaces_the_one_before(between: str) -> None:
    assert extract(f"\\boxed{{3}}{between}\\boxed{{4}}", ("boxed",)).answer == "4"


@pytest.mark.parametrize(
    "unseen",
    ["\\newcommand{\\x}{\\boxed{7}}", "\\renewcommand\\x[1]{\\boxed{7}}", "\\def\\x#1{\\boxed{7}}",
     "\\phantom{" + "{" * 12 + "\\boxed{7}" + "}" * 13],
)  # fmt: skip
def test_a_box_in_a_definition_or_deep_in_a_phantom_is_not_seen(unseen: str) -> None:
    assert extract(unseen, ("boxed",)).answer is None
    assert extract("\\boxed{3}" + unseen, ("boxed",)).answer == "3"


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("#### 4\n#### 5", "4, 5"),
        ("#### 4\nNo, once more.\n#### 5", "5"),
        ("<answer>4</answer><answer>5</answer>", "4, 5"),
        ("<answer>4</answer> No, I forgot one. <answer>5</answer>", "5"),
        ("So it is 4 or it is 5.", "it is 4 or it is 5"),
        ("The answer is 4, or maybe it is 5.", "4, or maybe it is 5"),
        ("Therefore, x = 5.", "x = 5"),
    ],
)
def test_answers_in_prose_one_beside_the_other_are_all_meant(completion: str, answer: str) -> None:
    assert extract(completion, EVERY).answer == answer


@pytest.mark.parametrize(
    "completion",
    [
        "",
        "   ",
        "The answer is 7.",
        "\\boxed{}",
        "\\boxed{ }",
        "\\boxed{7",
        "<think>\\boxed{7}",
        "<think>\\boxed{7}</think> I am not sure.",
        "done</think><think>\\boxed{7}",
        "% \\boxed{7}",
        "text\n  % the answer is \\boxed{7}",
        "<!-- \\boxed{7} -->",
        "\\phantom{\\boxed{7}}",
        "\\hphantom{\\boxed{7}}",
        "\\iffalse \\boxed{7} \\fi",
        "\\begin{comment}\\boxed{7}\\end{comment}",
        "~~\\boxed{7}~~",
        "\\boxedx{7}",
        "{" * 1000 + "\\boxed{7",
    ],
)
def test_no_answer_is_made_up(completion: str) -> None:
    assert extract(completion, ("boxed",)).answer is None


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("so\n#### -3", "-3"),
        ("#### 1,234\n", "1,234"),
        ("The answer is 42 because geometry proves it", "42"),
        ("Final Answer: The final answer is $2$. I hope it is correct.", "2"),
        ("**Answer:** 4.", "4"),
        ("Answer: \\frac{1}{2}", "\\frac{1}{2}"),
        ("We add.\nA: 18", "18"),
        ("<answer>7</answer>", "7"),
        ("<answer>\\boxed{7}</answer>", "7"),
        ("The temperature is -3", "-3"),
        ("First compute 6*7.\n42", "42"),
        ("Final Answer: the largest n is 34.", "34"),
        ("The final answer is $9$. \\boxed{7}", "7"),
    ],
)
def test_prose_is_read_only_where_the_options_ask_for_it(completion: str, answer: str) -> None:
    assert extract(completion, EVERY).answer == answer
    if "\\boxed" not in completion:
        assert extract(completion, ("boxed",)).answer is None


def test_a_gold_may_be_a_whole_solution() -> None:
    assert gold_text("16 - 3 = <<16-3=13>>13 eggs.\n#### 13") == "13"
    assert gold_text("Thus the sum is $\\boxed{\\frac{1}{2}}$.") == "\\frac{1}{2}"
    assert gold_text(" x+1 ") == "x+1"
