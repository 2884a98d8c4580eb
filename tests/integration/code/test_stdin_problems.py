"""Honest problems through real sandboxes: right solutions pass, wrong, slow, large and crashing ones don't."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from verifier_protocol import CodeSpec, Outcome, ScoredVerdict
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.verifier import CodeVerifier

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="session")]

PROBLEMS: dict[str, dict[str, Any]] = {
    problem["name"]: problem
    for problem in tomllib.loads(Path(__file__).with_name("problems.toml").read_text(encoding="utf-8"))["problem"]
}


def case(given: dict[str, Any]) -> dict[str, str]:
    """A case as sent; long texts are written short in the file."""
    stdin = given["stdin"]
    if "stdin_then" in given:
        text, times = given["stdin_then"]
        stdin += text * times + "\n"
    expected = given.get("expected_stdout")
    return {"stdin": stdin, "expected_stdout": expected or "".join(f"{n}\n" for n in range(given["lines_up_to"]))}


async def verdict(verifier: CodeVerifier, problem: dict[str, Any], source: str, **more: Any) -> ScoredVerdict:
    tests = {"style": "stdin", "cases": [case(given) for given in problem["cases"]]}
    if "compare" in problem:
        tests["compare"] = problem["compare"]
    spec = CodeSpec.model_validate({"kind": "code", "tests": tests, "limits": problem.get("limits", {}), **more})
    return await verifier.verify(verifier.prepare(spec), f"So:\n```python\n{source}```\n", Deadline.after(110))


@pytest.mark.parametrize("name", PROBLEMS)
async def test_a_right_solution_passes(verifier: CodeVerifier, name: str) -> None:
    problem = PROBLEMS[name]
    found = await verdict(verifier, problem, problem["right"])
    assert (found.score, found.outcome, found.passed) == (1.0, Outcome.CORRECT, len(problem["cases"])), found
    assert found.tamper == []


@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name, problem in PROBLEMS.items() for number in range(len(problem["wrong"]))]
)
async def test_a_wrong_solution_fails(verifier: CodeVerifier, name: str, number: int) -> None:
    problem = PROBLEMS[name]
    found = await verdict(verifier, problem, problem["wrong"][number])
    assert found.score == 0.0, found
    assert found.outcome not in (Outcome.CORRECT, Outcome.NO_ANSWER)


async def test_each_way_of_failing_has_its_outcome(verifier: CodeVerifier) -> None:
    outcomes = {
        ("crashes", 0): Outcome.RUNTIME_ERROR,
        ("crashes", 1): Outcome.RUNTIME_ERROR,
        ("too slow", 0): Outcome.TIME_LIMIT_EXCEEDED,
        ("too slow", 1): Outcome.TIME_LIMIT_EXCEEDED,
        ("too large", 0): Outcome.MEMORY_LIMIT_EXCEEDED,
    }
    for (name, number), outcome in outcomes.items():
        found = await verdict(verifier, PROBLEMS[name], PROBLEMS[name]["wrong"][number])
        assert found.outcome is outcome, found


async def test_every_test_says_what_it_took_and_what_it_printed(verifier: CodeVerifier) -> None:
    source = "import sys\nx = sum(range(10 ** 6))\nprint('out')\nprint('err', file=sys.stderr)\n"
    found = await verdict(verifier, {"cases": [{"stdin": "", "expected_stdout": "nothing like it\n"}]}, source)
    assert found.tests is not None
    (test,) = found.tests
    assert (test.stdout_tail, test.stderr_tail) == ("out\n", "err\n")
    assert 0 < test.cpu_s < 10
    assert 0 < test.wall_s < 20
    assert test.memory_mb > 0


async def test_a_syntax_error_is_scored_and_shown(verifier: CodeVerifier) -> None:
    found = await verdict(verifier, PROBLEMS["crashes"], "print(\n")
    assert found.outcome in (Outcome.COMPILE_ERROR, Outcome.RUNTIME_ERROR)
    assert found.tests is not None
    assert "SyntaxError" in found.tests[0].stderr_tail


async def test_fraction_scoring_counts_the_cases_that_pass(verifier: CodeVerifier) -> None:
    problem = PROBLEMS["greatest common divisor"]
    found = await verdict(verifier, problem, problem["wrong"][0], scoring="fraction")
    assert found.outcome is Outcome.INCORRECT
    assert found.passed == 0
    found = await verdict(verifier, problem, "a, b = map(int, input().split())\nprint(a // 2 if b else a)\n", scoring="fraction")
    assert (found.score, found.outcome) == (pytest.approx(1 / 3), Outcome.PARTIAL)


async def test_the_canary_sings(verifier: CodeVerifier) -> None:
    await verifier.canary()
