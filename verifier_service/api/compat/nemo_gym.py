"""A NeMo Gym resources server for maths and code rows: `POST /verify` and the small routes around it.

The protocol wants the whole request back with the reward in it, the row's own fields among it. What was not judged is a
503: the collector raises, and no reward stands in the rollouts.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from verifier_protocol import (
    CodeSpec,
    FunctionCase,
    FunctionTests,
    Group,
    MathSpec,
    Outcome,
    ScoredVerdict,
    StdinCase,
    StdinTests,
    VerifierSpec,
)
from verifier_service.api.body import parse_json, read_body
from verifier_service.api.compat.bodies import Lenient, check_count, check_length, json_answer, read_as, validated
from verifier_service.api.compat.grading import Unscored, grade
from verifier_service.api.compat.labels import specs_of
from verifier_service.api.problems import RequestRefused
from verifier_service.settings import Settings

router = APIRouter(tags=["NeMo Gym"])

TASK_INDEX = "_ng_task_index"


class UnitTests(Lenient):
    """LiveCodeBench's form: with `fn_name`, an input is one JSON argument a line, and an output is JSON."""

    inputs: list[str]
    outputs: list[str]
    fn_name: str | None = None


class VerifierMetadata(Lenient):
    unit_tests: UnitTests | None = None


class VerifyRequest(Lenient):
    """The fields that decide."""

    responses_create_params: dict[str, Any]
    response: dict[str, Any]
    verifier_metadata: VerifierMetadata | None = None
    expected_answer: Any = None
    verifiers: list[Any] | None = None


class AggregateRequest(Lenient):
    verify_responses: list[dict[str, Any]]


@router.post("/seed_session", summary="Begin a rollout (NeMo Gym): nothing to prepare")
async def seed_session() -> dict[str, Any]:
    return {}


@router.get("/reverify_mode", summary="Whether rollouts can be verified again (NeMo Gym)")
async def reverify_mode() -> str:
    return "stateless"


@router.post("/verify", summary="The reward of one rollout (NeMo Gym)")
async def verify(request: Request) -> Response:
    """The request with `reward`, and what was extracted. The row says how it is graded: `verifiers` (specs of this
    service), `verifier_metadata.unit_tests` (code) or `expected_answer` (maths)."""
    settings: Settings = request.app.state.settings
    body = await read_body(request, settings)
    row = parse_json(body)
    asked = validated(row, VerifyRequest)
    text = output_text(asked.response)
    check_length(text, "response", settings)
    group = Group(completions=[text], verifiers=specs_of_row(asked, settings))
    try:
        (result,) = await grade(request, [group], settings.deadline_s, len(body))
    except Unscored as e:
        return e.as_problem(503)
    verdicts = [v for v in result.verdicts[0] if isinstance(v, ScoredVerdict)]
    return json_answer(row | {"reward": result.rewards[0]} | _extras(verdicts))


def _extras(verdicts: list[ScoredVerdict]) -> dict[str, Any]:
    """What NeMo Gym's own servers for code and maths add."""
    extras: dict[str, Any] = {}
    for verdict in verdicts:
        if verdict.kind == "code":
            extras["extracted_model_code"] = verdict.extracted
            extras["result"] = [test.outcome is Outcome.CORRECT for test in verdict.tests or []]
            extras["unit_tests_time_taken"] = sum(test.wall_s for test in verdict.tests or [])
        elif verdict.kind == "math":
            extras["extracted_answer"] = verdict.extracted
            extras["library_reward"] = verdict.score
    return extras


def output_text(response: dict[str, Any]) -> str:
    """All output texts of a Responses object's messages, joined.

    Raises:
        RequestRefused: 422; it isn't such an object.
    """
    output = response.get("output")
    if not isinstance(output, list):
        raise RequestRefused(422, "response.output must be the list of a Responses object", "response.output")
    texts: list[str] = []
    for item in output:
        if not isinstance(item, dict) or item.get("type", "message") != "message":
            continue
        content = item.get("content")
        if isinstance(content, str):
            texts.append(content)
            continue
        parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
        texts += [p["text"] for p in parts if p.get("type") == "output_text" and isinstance(p.get("text"), str)]
    return "".join(texts)


def specs_of_row(asked: VerifyRequest, settings: Settings) -> list[VerifierSpec]:
    """Raises RequestRefused: 413 or 422."""
    if asked.verifiers is not None:
        return specs_of(asked.verifiers, "verifiers", settings)
    tests = asked.verifier_metadata.unit_tests if asked.verifier_metadata is not None else None
    if tests is not None:
        return [_code_spec(tests, settings)]
    if asked.expected_answer is None:
        detail = "the row has neither verifier_metadata.unit_tests (code) nor expected_answer (maths) nor verifiers"
        raise RequestRefused(422, detail, "expected_answer")
    gold = asked.expected_answer
    if isinstance(gold, bool) or not isinstance(gold, (str, int, float)) or not str(gold).strip():
        raise RequestRefused(422, "expected_answer must be a text or a number", "expected_answer")
    if len(str(gold)) > settings.max_gold_chars:
        raise RequestRefused(413, f"expected_answer is longer than {settings.max_gold_chars} characters", "expected_answer")
    return [MathSpec(kind="math", gold=str(gold))]


def _code_spec(tests: UnitTests, settings: Settings) -> CodeSpec:
    where = "verifier_metadata.unit_tests"
    check_count(len(tests.inputs), settings.max_test_cases, f"{where}.inputs")
    if not tests.inputs or len(tests.inputs) != len(tests.outputs):
        raise RequestRefused(422, f"{where}: as many outputs as inputs, and at least one", where)
    pairs = list(zip(tests.inputs, tests.outputs, strict=True))
    if not tests.fn_name:
        cases = [StdinCase(stdin=stdin, expected_stdout=stdout) for stdin, stdout in pairs]
        return CodeSpec(kind="code", tests=StdinTests(style="stdin", cases=cases))
    calls = []
    for n, (given, wanted) in enumerate(pairs):
        try:
            arguments, expected = [parse_json(line.encode()) for line in given.split("\n")], parse_json(wanted.encode())
        except RequestRefused:
            field = f"{where}.inputs[{n}]"
            raise RequestRefused(422, f"{field}: with fn_name, one JSON value a line, and a JSON output", field) from None
        calls.append(validated({"args": arguments, "expected": expected}, FunctionCase))
    return CodeSpec(
        kind="code", tests=validated({"style": "function", "entry_point": tests.fn_name, "cases": calls}, FunctionTests)
    )


@router.post("/aggregate_metrics", summary="Statistics over verified rollouts (NeMo Gym)")
async def aggregate_metrics(request: Request) -> Response:
    """Mean, maximum, minimum, median and standard deviation of every number, over all and for each task."""
    settings: Settings = request.app.state.settings
    asked, _ = await read_as(request, AggregateRequest)
    check_count(len(asked.verify_responses), settings.max_completions, "verify_responses")
    tasks: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in asked.verify_responses:
        index = row.get(TASK_INDEX, 0)
        tasks[index if isinstance(index, int) else 0].append(row)
    overall = _statistics(asked.verify_responses)
    return json_answer(
        {
            "group_level_metrics": [_statistics(rows) | {TASK_INDEX: index} for index, rows in sorted(tasks.items())],
            "agent_metrics": overall,
            "key_metrics": {name: value for name, value in overall.items() if name.startswith("mean/")},
        }
    )


def _statistics(rows: list[dict[str, Any]]) -> dict[str, float]:
    columns: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        response = row.get("response")
        usage = response.get("usage") if isinstance(response, dict) else None
        for name, value in [*(usage.items() if isinstance(usage, dict) else ()), *row.items()]:
            if isinstance(value, (int, float)) and not name.startswith("_ng_"):
                columns[name].append(float(value))
    found: dict[str, float] = {}
    for name, values in columns.items():
        found |= {
            f"mean/{name}": statistics.fmean(values),
            f"max/{name}": max(values),
            f"min/{name}": min(values),
            f"median/{name}": statistics.median(values),
            f"std/{name}": statistics.stdev(values) if len(values) > 1 else 0.0,
        }
    return found
