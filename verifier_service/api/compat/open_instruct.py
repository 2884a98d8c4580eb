"""open-instruct's code API: `POST /test_program` (asserts), `POST /test_program_stdio`, `GET /health`.

Its client takes every failed request for a score of 0 and asks only once: there is no way to tell it that something was
not judged. So the service tries until shortly before the client's time-out, and only then answers 500.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field

from verifier_protocol import (
    AssertTests,
    CodeLimits,
    CodeSpec,
    Compare,
    Group,
    Outcome,
    ScoredVerdict,
    StdinCase,
    StdinTests,
    TestResult,
)
from verifier_protocol.request import CodeTests
from verifier_service.api.body import parse_json
from verifier_service.api.compat.bodies import Lenient, check_count, check_length, json_answer, read_as
from verifier_service.api.compat.grading import Unscored, grade
from verifier_service.api.compat.packed_tests import unpack_tests
from verifier_service.api.problems import RequestRefused
from verifier_service.settings import Settings

router = APIRouter(tags=["open-instruct"])

CLIENT_SLACK_S = 5.0
SHORTEST_CLIENT_S, LONGEST_CLIENT_S, CLIENT_PER_TEST = 30.0, 300.0, 10.0


class ProgramRequest(Lenient):
    program: str
    tests: Any = None
    max_execution_time: Annotated[float, Field(gt=0, le=86_400)] = 1.0


@router.get("/health", summary="Liveness, as open-instruct's and open-r1's clients probe it")
async def health() -> dict[str, str]:
    return {"status": "healthy"}


@router.post("/test_program", summary="Assert tests of a program (open-instruct)")
async def test_program(request: Request) -> Response:
    """Each test is a text of assert statements, judged on its own."""
    settings: Settings = request.app.state.settings
    asked, size = await read_as(request, ProgramRequest)
    tests = tests_of(asked, settings)
    specs = []
    for i, test in enumerate(tests):
        if not isinstance(test, str):
            raise RequestRefused(422, f"tests[{i}] must be a text of assert statements", f"tests[{i}]")
        specs.append(_spec(AssertTests(style="asserts", code=test), asked, settings))
    return await _answer(request, asked, specs, size)


@router.post("/test_program_stdio", summary="Input-output tests of a program (open-instruct)")
async def test_program_stdio(request: Request) -> Response:
    """Outputs are compared by tokens, numbers by their value."""
    settings: Settings = request.app.state.settings
    asked, size = await read_as(request, ProgramRequest)
    cases = []
    for i, test in enumerate(tests_of(asked, settings)):
        if not isinstance(test, dict) or not isinstance(test.get("input"), str) or not isinstance(test.get("output"), str):
            raise RequestRefused(422, f"tests[{i}] must have the texts `input` and `output`", f"tests[{i}]")
        cases.append(StdinCase(stdin=test["input"], expected_stdout=test["output"]))
    specs = [_spec(StdinTests(style="stdin", cases=cases, compare=Compare(mode="float")), asked, settings)] if cases else []
    return await _answer(request, asked, specs, size)


def tests_of(asked: ProgramRequest, settings: Settings) -> list[Any]:
    """The list of tests, whichever way it was packed.

    Raises:
        RequestRefused: 413 or 422.
    """
    check_length(asked.program, "program", settings)
    tests = asked.tests
    if isinstance(tests, str) and tests:
        try:
            tests = parse_json(tests.encode())
        except RequestRefused:
            tests = unpack_tests(asked.tests)
    tests = tests or []
    if not isinstance(tests, list):
        raise RequestRefused(422, "tests must be a list, as it is, as JSON text, or packed", "tests")
    if not tests:
        raise RequestRefused(422, "tests is empty: nothing would be verified", "tests")
    check_count(len(tests), settings.max_test_cases, "tests")
    return tests


def _spec(tests: CodeTests, asked: ProgramRequest, settings: Settings) -> CodeSpec:
    seconds = asked.max_execution_time
    limits = CodeLimits(
        cpu_time_s=min(seconds, settings.code_cpu_time_ceiling_s), wall_time_s=min(seconds, settings.code_wall_time_ceiling_s)
    )
    return CodeSpec(kind="code", tests=tests, limits=limits, extract="whole", scoring="fraction", stop_on_failure=False)


async def _answer(request: Request, asked: ProgramRequest, specs: list[CodeSpec], size_bytes: int) -> Response:
    settings: Settings = request.app.state.settings
    client_s = max(SHORTEST_CLIENT_S, min(LONGEST_CLIENT_S, CLIENT_PER_TEST * asked.max_execution_time))
    groups = [Group(completions=[asked.program], verifiers=[spec]) for spec in specs]
    try:
        wait_s = min(client_s - CLIENT_SLACK_S, settings.max_deadline_s)
        results = await grade(request, groups, wait_s, size_bytes, patience_s=wait_s)
    except Unscored as e:
        return json_answer({"detail": str(e)}, 500)
    tests: list[TestResult] = []
    for spec, result in zip(specs, results, strict=True):
        verdict = result.verdicts[0][0]
        assert isinstance(verdict, ScoredVerdict)
        tests += _results(spec, verdict)
    passed = [test.outcome is Outcome.CORRECT for test in tests]
    runtimes = [test.wall_s if good else -1.0 for test, good in zip(tests, passed, strict=True)]
    return json_answer({"results": [int(good) for good in passed], "runtimes": runtimes})


def _results(spec: CodeSpec, verdict: ScoredVerdict) -> list[TestResult]:
    """One result for each test asked for. A text of asserts is one test, whatever it holds."""
    if isinstance(spec.tests, StdinTests):
        found = list(verdict.tests or [])
        missing = TestResult(outcome=verdict.outcome if verdict.outcome is not Outcome.CORRECT else Outcome.INCORRECT)
        return found + [missing] * (len(spec.tests.cases) - len(found))
    seconds = sum(test.wall_s for test in verdict.tests or [])
    return [TestResult(outcome=Outcome.CORRECT if verdict.score == 1.0 else Outcome.INCORRECT, wall_s=seconds)]
