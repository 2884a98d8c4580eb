"""Test code of many kinds, beside submissions that solve the task and submissions that only pretend to."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

CASES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("submissions_and_tests.toml").read_text())


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["passes"]])
def test_an_honest_submission_passes_and_shows_no_sign(pair: Any, name: str) -> None:
    case = CASES[name]
    judged = pair.asserts(case["submission"], case["tests"], entry_point=case.get("entry_point"))
    assert judged.passed, judged
    assert judged.signs == []


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case["passes"]])
def test_a_submission_that_pretends_or_is_wrong_fails_and_the_task_is_not_blamed(pair: Any, name: str) -> None:
    case = CASES[name]
    judged = pair.asserts(case["submission"], case["tests"], entry_point=case.get("entry_point"))
    assert not judged.passed, judged
    assert not judged.of("bad_task"), judged
