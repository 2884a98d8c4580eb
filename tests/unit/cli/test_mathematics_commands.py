"""`explain` and `check-golds` show a person what the math verifier sees, and nothing hangs them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from verifier_service.cli import app
from verifier_service.cli.killable import Killable, TookTooLong


def run(*command: str) -> Result:
    return CliRunner().invoke(app, list(command), env={"COLUMNS": "160"})


@pytest.fixture
def data_set(write_lines: Callable[..., Path]) -> Callable[..., Path]:
    return write_lines


def test_an_explanation_names_what_was_found_and_what_decided() -> None:
    done = run("explain", "--gold", "0.5", "--completion", "<think>.</think>\\boxed{\\frac{1}{2}}")
    assert done.exit_code == 0, done.output
    assert "\\frac{1}{2}" in done.output
    assert "correct" in done.output


def test_a_wrong_answer_and_a_missing_one_have_the_status_of_wrong() -> None:
    assert run("explain", "--gold", "0.5", "--completion", "\\boxed{2}").exit_code == 1
    done = run("explain", "--gold", "0.5", "--completion", "no box")
    assert done.exit_code == 1
    assert "no_answer" in done.output


def test_a_gold_that_cannot_be_used_is_told_apart() -> None:
    done = run("explain", "--gold", " ", "--completion", "\\boxed{2}")
    assert done.exit_code == 2
    assert "bad_task" in done.output


def test_options_are_those_of_the_wire() -> None:
    options = '{"extract": ["hash"]}'
    assert run("explain", "--gold", "2", "--completion", "so #### 2", "--options", options).exit_code == 0
    unknown = run("explain", "--gold", "2", "--completion", "2", "--options", '{"extrakt": []}')
    assert unknown.exit_code == 2
    assert "no option extrakt; there are precision, rel_tol" in unknown.output
    broken = run("explain", "--gold", "2", "--completion", "2", "--options", "{extract}")
    assert broken.exit_code == 2
    assert "--options: no JSON" in broken.output


def test_control_characters_of_a_completion_never_reach_the_terminal() -> None:
    done = run("explain", "--gold", "2", "--completion", "\\boxed{\x1b[31m2}")
    assert "\x1b[31m" not in done.output


def test_golds_that_cannot_be_verified_are_listed_with_their_lines(data_set: Callable[..., Path]) -> None:
    path = data_set({"a": {"b": "42"}}, {"a": {"b": "so #### 7"}}, {"a": {"b": ""}}, {"a": 3}, "{", {"a": {"b": 5}})
    done = run("check-golds", str(path), "--gold-field", "a.b")
    assert done.exit_code == 1
    assert "6 golds: 3 unusable, 2 verifiable, 1 missing" in done.output
    assert "the line is no JSON" in done.output
    assert "write it as a string" in done.output


def test_words_are_verifiable_and_what_can_only_match_as_text_is_told_apart(data_set: Callable[..., Path]) -> None:
    done = run("check-golds", str(data_set({"gold": "Paris"}, {"gold": "1 2 3"})))
    assert "1 verifiable, 1 text_only" in done.output


def test_a_sound_data_set_has_status_zero(data_set: Callable[..., Path], tmp_path: Path) -> None:
    assert run("check-golds", str(data_set({"gold": "42"}, {"gold": "\\frac{1}{2}"}))).exit_code == 0
    listed = tmp_path / "list.json"
    listed.write_text('[{"gold": "1"}, {"gold": "x^2"}]', encoding="utf-8")
    done = run("check-golds", str(listed))
    assert done.exit_code == 0
    assert "2 golds: 2 verifiable" in done.output


def test_a_call_that_takes_too_long_is_killed_and_the_next_one_is_answered() -> None:
    with Killable(0.3) as child:
        assert child.call(len, "abc") == 3
        start = time.monotonic()
        with pytest.raises(TookTooLong):
            child.call(time.sleep, 60)
        assert time.monotonic() - start < 30
        with pytest.raises(TookTooLong):
            child.call(os._exit, 3)
        assert child.call(len, "abcd") == 4


def test_a_call_that_raises_says_so_without_its_arguments() -> None:
    with Killable(5) as child, pytest.raises(ValueError, match="ValueError while judging"):
        child.call(int, "hunter2")
