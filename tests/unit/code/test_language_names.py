"""What a language may be called, and which blocks and entry points follow from it."""

from __future__ import annotations

import pytest

from verifier_protocol import CodeSpec
from verifier_service.faults import TaskFault
from verifier_service.sandbox.contract import Limits
from verifier_service.verifiers.code.drivers.shapes import shapes_of
from verifier_service.verifiers.code.extract import extract_program
from verifier_service.verifiers.code.naming import language_named
from verifier_service.verifiers.code.task import make_task


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("Python", "python"),
        ("C++", "cpp"),
        ("Node.js", "javascript"),
        ("golang", "go"),
        ("Python 3.11", "python"),
        ("C++23", "c++23"),
    ],
)
def test_a_language_goes_by_its_usual_names_in_any_case(name: str, ours: str) -> None:
    assert language_named(name) == ours


def test_a_near_relatives_block_counts_where_there_is_none_of_its_own() -> None:
    assert extract_program("```js\na\n```", "typescript") == "a\n"
    assert extract_program("```cpp\na\n```\n```\nout\n```", "c") == "a\n"
    assert extract_program("```js\na\n```", "python") is None
    assert extract_program("```python\na\n```<|im_end|>", "python") == "a\n"


def test_shapes_are_what_all_cases_have_in_common() -> None:
    assert shapes_of([[[1, 2], "a"], [[], "b"], [[0.5], "c"]]) == (("[float", "str"),)
    assert shapes_of([[None], [1]]) == ((None,),)


@pytest.mark.parametrize(
    ("language", "word"),
    [("java", "class"), ("javascript", "new"), ("cpp", "operator"), ("go", "func"), ("rust", "match"), ("python", "lambda")],
)
def test_a_reserved_word_as_entry_point_is_the_tasks_fault(language: str, word: str) -> None:
    for style, tests in (
        ("function", {"entry_point": word, "cases": [{"args": [1], "expected": 1}]}),
        ("asserts", {"entry_point": word, "code": "assert True"}),
    ):
        if style == "asserts" and language != "python":
            continue
        spec = CodeSpec.model_validate({"kind": "code", "language": language, "tests": {"style": style, **tests}})
        with pytest.raises(TaskFault, match=word):
            make_task(spec, Limits(), Limits())
