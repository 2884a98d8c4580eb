"""From a data set's columns to specs, from completions in any form to text, from rows to groups."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import pytest

from trainer_client.batching import checked_groups
from trainer_client.client_errors import RequestRefused
from trainer_client.rewards import RewardRecipe, as_tests, label_row, message_text, rows_to_groups
from verifier_protocol import FormatSpec


@pytest.mark.parametrize("column", ["gold", "answer", "solution", "ground_truth", "final_answer"])
def test_a_gold_in_any_usual_column_means_math(column):
    assert RewardRecipe.make().specs({column: 42, "level": 3}) == [{"kind": "math", "gold": "42"}]


def test_tests_mean_code_even_beside_a_reference_solution():
    row = {"tests": {"style": "asserts", "code": "assert f()"}, "solution": "def f(): return 1"}
    assert RewardRecipe.make().specs(row) == [{"kind": "code", "tests": row["tests"]}]


def test_a_rows_own_verifiers_go_before_the_recipe():
    own = [{"kind": "format", "style": "think_only"}]
    for value in (own, json.dumps(own), own[0]):
        assert RewardRecipe.make(["math"]).specs({"verifiers": value, "gold": "1"}) == own


def test_kinds_specs_and_models_may_be_mixed_in_a_recipe():
    recipe = RewardRecipe.make(["math", {"kind": "code", "scoring": "fraction"}, FormatSpec(kind="format", weight=0.5)])
    assert recipe.specs({"answer": "7", "tests": None}) == [{"kind": "math", "gold": "7"}, {"kind": "format", "weight": 0.5}]
    tests = {"style": "stdin", "cases": [{"stdin": "", "expected_stdout": "1"}]}
    assert [spec["kind"] for spec in recipe.specs({"answer": None, "tests": tests})] == ["code", "format"]


def test_a_fixed_gold_in_the_recipe_needs_no_column():
    assert RewardRecipe.make({"kind": "math", "gold": "42"}).specs({}) == [{"kind": "math", "gold": "42"}]


@pytest.mark.parametrize("verifiers", [None, ["math"], ["math", "format"], ["code", "math"]])
def test_a_row_without_an_answer_to_check_is_refused_and_not_scored_on_format_alone(verifiers):
    with pytest.raises(RequestRefused, match="it has level"):
        RewardRecipe.make(verifiers).specs({"level": 3, "answer": None})


def test_format_alone_may_be_asked_for():
    assert RewardRecipe.make("format").specs({}) == [{"kind": "format"}]


def test_the_gold_column_may_be_named():
    recipe = RewardRecipe.make("math", gold_column="target")
    assert recipe.specs({"answer": "no", "target": "yes"})[0]["gold"] == "yes"


def test_what_arrow_fills_in_is_taken_out_and_expected_nulls_stay():
    spec = {
        "kind": "code",
        "gold": None,
        "style": None,
        "tests": {
            "style": "function",
            "entry_point": "f",
            "code": None,
            "cases": [{"args": [None], "kwargs": None, "expected": None}],
        },
        "limits": {"cpu_time_s": 2.0, "memory_mb": None},
    }
    (clean,) = RewardRecipe.make().specs({"verifiers": [spec]})
    assert clean["tests"]["cases"] == [{"args": [None], "expected": None}]
    assert clean["limits"] == {"cpu_time_s": 2.0}
    checked_groups([{"completions": ["x"], "verifiers": [clean]}])


@pytest.mark.parametrize(
    ("value", "style"),
    [
        ({"style": "stdin", "cases": [{"stdin": "1", "expected_stdout": "2"}]}, "stdin"),
        (
            {
                "style": "interactive",
                "interactor": {"language": None, "source": "input()"},
                "cases": [{"stdin": "1", "expected_stdout": None}],
                "compare": None,
            },
            "interactive",
        ),
        (["assert f(1) == 2", "assert f(2) == 3"], "asserts"),
        ("assert f(1) == 2", "asserts"),
        ({"inputs": ["1\n"], "outputs": ["2\n"]}, "stdin"),
        ({"inputs": [["1", "2"]], "outputs": [["3"]]}, "stdin"),
        ([{"input": "1", "output": "2"}], "stdin"),
        ({"inputs": [[1, [2]]], "outputs": [3], "fn_name": "f"}, "function"),
    ],
)
def test_tests_are_read_in_the_forms_that_data_sets_use(value, style):
    for form in (value, json.dumps(value) if not isinstance(value, str) else value):
        tests = as_tests(form)
        assert tests["style"] == style
        checked_groups([{"completions": ["x"], "verifiers": [{"kind": "code", "tests": tests}]}])


@pytest.mark.parametrize("value", [[], {}, 7, {"inputs": ["1"], "outputs": []}, [1, 2]])
def test_tests_in_no_known_form_are_refused(value):
    with pytest.raises(RequestRefused, match="tests"):
        as_tests(value)


@pytest.mark.parametrize(
    ("label", "row"),
    [
        ("42", {"gold": "42"}),
        (42, {"gold": 42}),
        ("[1, 2]", {"gold": "[1, 2]"}),
        ("{1, 2}", {"gold": "{1, 2}"}),
        ('{"a": 1}', {"gold": '{"a": 1}'}),
        ('{"kind": "math", "gold": "1"}', {"verifiers": [{"kind": "math", "gold": "1"}]}),
        ('[{"kind": "format"}]', {"verifiers": [{"kind": "format"}]}),
        ('{"tests": ["assert 1"]}', {"tests": ["assert 1"]}),
        ('{"gold": "7"}', {"gold": "7"}),
        ({"inputs": ["1"], "outputs": ["2"]}, {"tests": {"inputs": ["1"], "outputs": ["2"]}}),
    ],
)
def test_a_label_is_a_gold_unless_it_says_how_to_verify(label, row):
    assert label_row(label) == row


def test_text_of_completions():
    assert message_text("plain") == "plain"
    assert message_text([{"role": "assistant", "content": "a"}, {"role": "tool", "content": "b"}]) == "a"
    assert message_text([{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}]) == "a"
    assert message_text([{"role": "assistant", "content": None}]) == ""
    assert message_text([]) == ""
    assert message_text({"role": "assistant", "content": "a"}) == "a"
    assert message_text([{"role": "assistant", "content": [{"type": "text", "text": None}]}]) == ""
    calls = [{"role": "assistant", "content": None, "tool_calls": [{}]}, {"role": "tool", "content": "b"}]
    assert message_text([*calls, {"role": "assistant", "content": "c"}]) == "c"


def test_neighbours_with_the_same_prompt_and_answer_are_one_group():
    groups = rows_to_groups(
        ["p", "p", "q", "q", "p"],
        ["1", "2", "3", "4", "5"],
        {"answer": ["a", "a", "a", "b", "a"], "prompt_id": [1, 1, 2, 2, 1], "trainer_state": object()},
        RewardRecipe.make(),
    )
    assert [group["completions"] for group in groups] == [["1", "2"], ["3"], ["4"], ["5"]]
    assert [group["id"] for group in groups] == ["1", "2", "2", "1"]
    assert [group["verifiers"][0]["gold"] for group in groups] == ["a", "a", "b", "a"]


def test_no_rows_are_no_groups():
    assert rows_to_groups([], [], {}, RewardRecipe.make()) == []


@pytest.mark.parametrize("bad", [[], [{"gold": "x"}]])
def test_a_recipe_without_a_kind_is_refused(bad):
    with pytest.raises(ValueError, match=r"kind|empty"):
        RewardRecipe.make(bad)


@pytest.mark.parametrize(
    "bad", [None, 4, b"x", [1, 2, 3], ["x"], [{"content": "x"}], [{"role": "assistant", "content": 4}], [None]], ids=str
)
def test_a_completion_that_is_none_is_refused_with_its_row_and_not_read_as_an_empty_answer(bad):
    with pytest.raises(RequestRefused, match=r"row 1: .* is text or a list of"):
        rows_to_groups(["p", "p"], ["x", bad], {"answer": ["4", "4"]}, RewardRecipe.make())


@pytest.mark.parametrize("missing", [None, float("nan"), Decimal("NaN")], ids=str)
def test_a_missing_gold_is_named_with_its_row_and_not_taken_for_an_answer(missing):
    with pytest.raises(RequestRefused, match=r"row 1: .*it has answer, level|row 1: .*it has level"):
        rows_to_groups(None, ["x", "x"], {"answer": ["4", missing], "level": [1, 2]}, RewardRecipe.make("math"))


@pytest.mark.parametrize("bad", [["4"], {"a": 4}, b"4", object()], ids=["list", "object", "bytes", "other"])
def test_a_gold_that_is_neither_text_nor_a_number_is_refused(bad):
    with pytest.raises(RequestRefused, match="answer: a gold is text or a number") as caught:
        rows_to_groups(None, ["x"], {"answer": [bad]}, RewardRecipe.make())
    assert caught.value.field == "answer"


@pytest.mark.parametrize(("given", "gold"), [(4, "4"), (4.5, "4.5"), (Fraction(1, 3), "1/3"), ("", "")])
def test_numbers_are_golds(given, gold):
    (group,) = rows_to_groups(None, ["x"], {"answer": (given,)}, RewardRecipe.make())
    assert group["verifiers"] == [{"kind": "math", "gold": gold}]


def test_a_column_or_prompts_of_another_length_are_named():
    with pytest.raises(RequestRefused, match="answer: 1 values for 2 completions"):
        rows_to_groups(None, ["x", "y"], {"answer": ["4"]}, RewardRecipe.make())
    with pytest.raises(RequestRefused, match="prompts: 1 values for 2 completions"):
        rows_to_groups(["p"], ["x", "y"], {"answer": ["4", "4"]}, RewardRecipe.make())
