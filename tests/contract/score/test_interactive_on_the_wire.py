"""Tests of the style `interactive` on the wire: what is taken, what is refused and how, and what is told of them."""

from __future__ import annotations

from typing import Any

import pytest

SECRET = "sesame-open"
TESTS = {
    "style": "interactive",
    "interactor": {"language": "python", "source": f"# {SECRET}\nraise SystemExit(input() != 'hello')"},
    "cases": [{"stdin": SECRET, "expected_stdout": SECRET}, {}],
}


def body(**changes: Any) -> dict[str, Any]:
    return {"completion": "```python\nprint('hello')\n```", "verifiers": [{"kind": "code", "tests": {**TESTS, **changes}}]}


def test_the_style_is_taken_and_unscored_where_nothing_can_run(live: Any) -> None:
    reply = live.http.post("/score", json=body())
    assert reply.status_code == 200, reply.text
    (verdict,) = reply.json()["groups"][0]["verdicts"][0]
    assert (verdict["status"], verdict["reason"]) == ("unscored", "infrastructure")
    assert SECRET not in reply.text


@pytest.mark.parametrize("changes", [{"cases": []}, {"interactor": {"source": " "}}])
def test_a_task_that_grades_nothing_is_a_bad_task(live: Any, changes: dict[str, Any]) -> None:
    (verdict,) = live.http.post("/score", json=body(**changes)).json()["groups"][0]["verdicts"][0]
    assert (verdict["status"], verdict["reason"], verdict["retryable"]) == ("unscored", "bad_task", False)


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"interactor": {}}, 422, "interactor.source"),
        ({"interactor": SECRET}, 422, "interactor"),
        ({"interactor": {"source": SECRET, "args": []}}, 422, "interactor.args"),
        ({"interactor": {"source": SECRET, "language": "cobol"}}, 422, "interactor.language"),
        ({"cases": [{"stdin": 5}]}, 422, "cases[0].stdin"),
        ({"cases": [{"expected": SECRET}]}, 422, "cases[0].expected"),
        ({"compare": {"mode": "exact"}}, 422, "compare"),
        ({"cases": [{}] * 11}, 413, "cases"),
    ],
)
def test_a_refusal_names_the_field_and_repeats_nothing(live: Any, changes: dict[str, Any], status: int, field: str) -> None:
    reply = live.http.post("/score", json=body(**changes))
    assert reply.status_code == status, reply.text
    assert reply.json()["field"].endswith(f"verifiers[0].tests.{field}")
    assert SECRET not in reply.text


def test_the_style_is_announced_and_described(live: Any) -> None:
    assert live.http.get("/v1/verifiers").json()["verifiers"]["code"]["styles"] == ["stdin", "function", "asserts", "interactive"]
    schemas = live.http.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["InteractiveTests"]["properties"]["style"]["const"] == "interactive"
    assert "exit status 0 accepts" in schemas["Interactor"]["description"]
