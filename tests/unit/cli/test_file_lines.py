"""A line of an input file becomes a group, or a reason that never quotes it."""

from __future__ import annotations

import json

import pytest

from verifier_protocol import FormatSpec, MathSpec
from verifier_service.cli.file_scoring.lines import BadLine, Line, needs_sandbox, parse_line


def parse(value: object) -> Line | BadLine:
    return parse_line(7, value if isinstance(value, bytes) else json.dumps(value).encode())


def good(value: object) -> Line:
    line = parse(value)
    assert isinstance(line, Line), line
    return line


def bad(value: object) -> str:
    line = parse(value)
    assert isinstance(line, BadLine), line
    assert line.number == 7
    return line.reason


def test_a_group_of_the_wire_contract_is_taken_as_it_is() -> None:
    line = good({"id": "p1", "completions": ["a", "b"], "verifiers": [{"kind": "format"}]})
    assert line.number == 7
    assert line.group.id == "p1"
    assert line.group.completions == ["a", "b"]
    assert isinstance(line.group.verifiers[0], FormatSpec)


def test_a_gold_alone_means_the_math_verifier_with_its_options() -> None:
    line = good({"completions": ["a"], "gold": "42", "options": {"extract": ["hash"]}})
    spec = line.group.verifiers[0]
    assert isinstance(spec, MathSpec)
    assert spec.gold == "42"
    assert spec.options.extract == ["hash"]


def test_a_single_completion_is_a_group_of_one() -> None:
    assert good({"completion": "a", "gold": "1"}).group.completions == ["a"]


def test_a_chat_completion_is_taken() -> None:
    line = good({"completion": [{"role": "assistant", "content": "x"}], "gold": "1"})
    assert len(line.group.completions) == 1


def test_a_numeric_id_is_kept_as_text() -> None:
    assert good({"id": 17, "completion": "a", "gold": "1"}).group.id == "17"


def test_labels_belong_to_completions_one_by_one() -> None:
    assert good({"completions": ["a", "b"], "gold": "1", "labels": [True, None]}).labels == (True, None)
    assert good({"completion": "a", "gold": "1", "label": False}).labels == (False,)
    assert "as many as completions" in bad({"completions": ["a", "b"], "gold": "1", "labels": [True]})


def test_meta_is_ignored_and_any_other_unknown_field_is_refused_by_name() -> None:
    good({"completion": "a", "gold": "1", "meta": {"source": ["x"]}})
    assert bad({"completion": "a", "gold": "1", "lables": [True]}).startswith("lables: unknown field")


@pytest.mark.parametrize(
    "line",
    [
        {"gold": "1"},
        {"completion": "a"},
        {"completion": "a", "completions": ["a"], "gold": "1"},
        {"completion": "a", "gold": "1", "verifiers": [{"kind": "format"}]},
        {"completions": [], "gold": "1"},
        {"completion": "a", "verifiers": []},
        {"completion": "a", "options": {}, "verifiers": [{"kind": "format"}]},
        {"completion": 3, "gold": "1"},
        {"completion": "a", "gold": 1},
        [],
        "text",
        None,
        b"{",
        b"\xff\xfe",
        b'{"completion": "\\ud800", "gold": "1"}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_group_is_a_bad_line_with_a_reason(line: object) -> None:
    assert bad(line)


def test_a_reason_never_quotes_the_line() -> None:
    assert "hunter2" not in bad({"completion": "a", "verifiers": [{"kind": "math", "gold": ["hunter2"]}]})
    assert "hunter2" not in bad(b'{"completion": hunter2}')


def test_reasons_name_the_field_as_it_is_written_and_say_what_to_do() -> None:
    verifiers = {"completion": "a", "verifiers": [{"kind": "maths", "gold": "42"}]}
    assert bad(verifiers).startswith("verifiers.0.kind: unknown kind; the built-in ones are math")
    assert bad({"completion": "a", "gold": 7}) == 'gold: a gold is text: write it as a string, such as "7"'
    assert bad({"completion": "a", "verifiers": [{"kind": "math", "gold": 7}]}).startswith("verifiers.0.gold: a gold is text")
    tests = {"style": "stdin", "cases": [{"stdin": 1, "expected_stdout": ""}]}
    assert bad({"completion": "a", "verifiers": [{"kind": "code", "tests": tests}]}).startswith(
        "verifiers.0.tests.cases.0.stdin:"
    )


def test_only_a_line_with_the_code_verifier_needs_a_sandbox() -> None:
    code = {"completion": "a", "verifiers": [{"kind": "code", "tests": {"style": "asserts", "code": "assert f"}}]}
    assert needs_sandbox(json.dumps(code).encode())
    assert needs_sandbox(json.dumps(code).replace('"code"', '"\\u0063ode"', 1).encode())
    assert not needs_sandbox(json.dumps({"completion": "the code is \\boxed{1}", "gold": "1"}).encode())
    assert not needs_sandbox(b"{code")


def test_an_edited_line_has_another_digest() -> None:
    first, second = good({"completion": "a", "gold": "1"}), good({"completion": "b", "gold": "1"})
    assert first.digest != second.digest
    assert first.digest == good({"completion": "a", "gold": "1"}).digest
