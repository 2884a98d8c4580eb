"""ScaleBox's `POST /common_evaluate_batch`: all tests of a completion in one request, graded here.

`custom_extract_logic` is refused: upstream runs that text in the server. Expected outputs come back in no answer, so
`test_info` holds a test's number only. What was not judged is a 504, which its verl integration asks for again.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field, JsonValue

from verifier_protocol import (
    AssertTests,
    CodeLimits,
    CodeSpec,
    Compare,
    FunctionCase,
    FunctionTests,
    Group,
    Outcome,
    ScoredVerdict,
    StdinCase,
    StdinTests,
    TestResult,
)
from verifier_service.api.body import parse_json
from verifier_service.api.compat.bodies import Lenient, check_count, check_length, json_answer, read_as, validated
from verifier_service.api.compat.grading import Unscored, grade
from verifier_service.api.compat.languages import COMPILED
from verifier_service.api.compat.sandbox_fusion import KILLED, plain_language_of, response, step, step_of
from verifier_service.api.compat.special_judge import judge_all
from verifier_service.api.compat.stages import COMPILED_WELL
from verifier_service.api.problems import RequestRefused
from verifier_service.faults import DeadlineExceeded, InfrastructureFault
from verifier_service.sandbox.contract import ProgramRefused
from verifier_service.sandbox.ranges import defaults
from verifier_service.scoring.flights import Run
from verifier_service.scoring.runs import Runs
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.extract import extract_program
from verifier_service.verifiers.code.limits import resolve

router = APIRouter(tags=["ScaleBox"])

CLIENT_SLACK_S = 5.0  # its verl integration waits compile + run + 10 s
USUAL_TIMEOUT_S = 30.0
FLOAT_TOLERANCE = 1e-5  # as upstream compares numbers

Seconds = Annotated[float, Field(gt=0, le=86_400)]


class TestCases(Lenient):
    __test__ = False  # not a pytest class

    type: Literal["stdin_stdout", "function_call", "assert"] | None = None
    input: list[JsonValue] = Field(default_factory=list)
    output: list[JsonValue] = Field(default_factory=list)
    fn_name: str | None = None
    json_input: bool = False
    test: str | None = None  # HumanEval's check(candidate)
    tests: str | None = None
    entry_point: str | None = None


class ProvidedData(Lenient):
    test_cases: TestCases


class Extra(Lenient):
    run_all_cases: bool = False
    special_judge_program: str | None = None
    special_judge_language: str | None = None  # null from its own client where there is no judge


class Config(Lenient):
    language: str
    compile_timeout: Seconds | None = None
    run_timeout: Seconds | None = None
    memory_limit_mb: int | None = None
    custom_extract_logic: str | None = None
    provided_data: ProvidedData
    extra: Extra = Extra()


class EvaluateRequest(Lenient):
    id: int | str = 0
    completion: str
    config: Config


@router.post("/common_evaluate_batch", summary="Grade a completion on its tests (ScaleBox)")
async def common_evaluate_batch(request: Request) -> Response:
    """`accepted` when all tests passed; `tests` in the order sent, fewer when the first failure ended them."""
    settings: Settings = request.app.state.settings
    asked, size = await read_as(request, EvaluateRequest)
    config = asked.config
    if config.custom_extract_logic:
        field = "config.custom_extract_logic"
        raise RequestRefused(422, f"{field}: code that runs in the service is refused; fence the program instead", field)
    check_length(asked.completion, "completion", settings)
    spec = CodeSpec(
        kind="code",
        language=plain_language_of(config.language, request.app.state.parts.runs.languages(), "config.language"),
        tests=tests_of(config, settings),
        limits=limits_of(config, settings),
        scoring="fraction",
        stop_on_failure=not config.extra.run_all_cases,
    )
    wait_s = (config.compile_timeout or USUAL_TIMEOUT_S) + (config.run_timeout or USUAL_TIMEOUT_S) + CLIENT_SLACK_S
    wait_s = min(wait_s, settings.max_deadline_s)
    try:
        if config.extra.special_judge_program and isinstance(spec.tests, StdinTests):
            code, tests = await _specially_judged(request, asked, spec, spec.tests, wait_s)
        else:
            code, tests = await _graded(request, asked, spec, wait_s, size)
    except Unscored as e:
        return e.as_problem(504)
    except (DeadlineExceeded, InfrastructureFault) as e:
        return Unscored(str(e), retryable=True).as_problem(504)
    except ProgramRefused as refused:
        raise RequestRefused(413, str(refused)) from None
    return json_answer(evaluation(asked.id, code, tests, spec.language))


async def _graded(
    request: Request, asked: EvaluateRequest, spec: CodeSpec, wait_s: float, size_bytes: int
) -> tuple[str, list[TestResult]]:
    """The program and its tests' results; where nothing ran (no code block) one failed test, since clients divide by them."""
    (result,) = await grade(request, [Group(completions=[asked.completion], verifiers=[spec])], wait_s, size_bytes)
    verdict = result.verdicts[0][0]
    assert isinstance(verdict, ScoredVerdict)
    nothing = [TestResult(outcome=verdict.outcome, stderr_tail=verdict.detail)]
    return verdict.extracted or "", verdict.tests or nothing


async def _specially_judged(
    request: Request, asked: EvaluateRequest, spec: CodeSpec, tests: StdinTests, wait_s: float
) -> tuple[str, list[TestResult]]:
    settings: Settings = request.app.state.settings
    runs: Runs = request.app.state.parts.runs
    extra = asked.config.extra
    source = extract_program(asked.completion, spec.language)
    if source is None:
        return "", [TestResult(outcome=Outcome.NO_ANSWER, stderr_tail="the reply has no code block")]
    check_length(extra.special_judge_program or "", "config.extra.special_judge_program", settings)
    judge_language = plain_language_of(
        extra.special_judge_language or "python", runs.languages(), "config.extra.special_judge_language"
    )
    results = await judge_all(
        runs,
        Run(spec.language, source, resolve(spec.limits, settings)),
        [(case.stdin.encode(), case.expected_stdout.encode()) for case in tests.cases],
        Run(judge_language, extra.special_judge_program or "", defaults(settings)),
        tests.compare,
        Deadline.after(wait_s),
        run_all=extra.run_all_cases,
    )
    return source, results


def evaluation(number: int | str, code: str, tests: list[TestResult], language: str) -> dict[str, Any]:
    return {
        "id": number,
        "accepted": all(test.outcome is Outcome.CORRECT for test in tests),
        "extracted_code": code,
        "full_code": None,
        "test_code": None,
        "tests": [_test(i, test, language) for i, test in enumerate(tests)],
        "extracted_type": None,
        "extra": None,
    }


def _test(index: int, test: TestResult, language: str) -> dict[str, Any]:
    ran = {Outcome.CORRECT: ("Success", 0), Outcome.INCORRECT: ("Success", 0), Outcome.RUNTIME_ERROR: ("Failed", 1)}
    status, code = ran.get(test.outcome, ("Failed", KILLED))
    out, err = test.stdout_tail.encode(), test.stderr_tail.encode()
    compiled = step_of(COMPILED_WELL) if language in COMPILED and test.outcome is not Outcome.NO_ANSWER else None
    if test.outcome is Outcome.COMPILE_ERROR:
        failed = step("Finished", test.wall_s, 1, out, err)
        info = response("Failed", "", failed, None) if language in COMPILED else response("Failed", "", None, failed)
    elif test.outcome is Outcome.TIME_LIMIT_EXCEEDED:
        info = response("Failed", "", compiled, step("TimeLimitExceeded", test.wall_s, None, out, err))
    else:
        info = response(status, "", compiled, step("Finished", test.wall_s, code, out, err))
    return {"passed": test.outcome is Outcome.CORRECT, "exec_info": info, "test_info": {"index": index}}


def limits_of(config: Config, settings: Settings) -> CodeLimits:
    """What is asked for, at most the service's ceilings."""
    limits: dict[str, Any] = {}
    if config.run_timeout is not None:
        limits["wall_time_s"] = min(config.run_timeout, settings.code_wall_time_ceiling_s)
        limits["cpu_time_s"] = min(config.run_timeout, settings.code_cpu_time_ceiling_s)
    if config.memory_limit_mb is not None and config.memory_limit_mb > 0:
        limits["memory_mb"] = min(config.memory_limit_mb, settings.code_memory_ceiling_mb)
    return CodeLimits(**limits)


def tests_of(config: Config, settings: Settings) -> StdinTests | FunctionTests | AssertTests:
    """The tests in our own terms.

    Raises:
        RequestRefused: 413 or 422.
    """
    cases, where = config.provided_data.test_cases, "config.provided_data.test_cases"
    kind = cases.type or ("function_call" if cases.fn_name else "stdin_stdout")
    if kind == "assert":
        code = cases.test or cases.tests
        if not code:
            raise RequestRefused(422, f"{where}: assert tests need `test` or `tests`", where)
        document = {"style": "asserts", "code": code, "entry_point": cases.entry_point}
        return validated({k: v for k, v in document.items() if v is not None}, AssertTests)
    check_count(len(cases.input), settings.max_test_cases, f"{where}.input")
    if not cases.input or len(cases.input) != len(cases.output):
        raise RequestRefused(422, f"{where}: as many outputs as inputs, and at least one", where)
    if kind == "stdin_stdout":
        return _stdin_tests(cases, where)
    if not cases.fn_name:
        raise RequestRefused(422, f"{where}.fn_name is missing", f"{where}.fn_name")
    return validated(
        {
            "style": "function",
            "entry_point": cases.fn_name,
            "cases": [
                _function_case(i, o, cases.json_input, f"{where}.input[{n}]")
                for n, (i, o) in enumerate(zip(cases.input, cases.output, strict=True))
            ],
        },
        FunctionTests,
    )


def _stdin_tests(cases: TestCases, where: str) -> StdinTests:
    pairs = []
    for n, (stdin, stdout) in enumerate(zip(cases.input, cases.output, strict=True)):
        if not isinstance(stdin, str) or not isinstance(stdout, str):
            raise RequestRefused(422, f"{where}: input[{n}] and output[{n}] must be texts", where)
        pairs.append(StdinCase(stdin=stdin, expected_stdout=stdout))
    return StdinTests(style="stdin", cases=pairs, compare=Compare(mode="float", rel_tol=FLOAT_TOLERANCE))


def _function_case(given: JsonValue, wanted: JsonValue, as_json: bool, field: str) -> FunctionCase:
    """A list of arguments and a list of one result; with `json_input`, texts with one JSON value a line."""
    if as_json and isinstance(given, str) and isinstance(wanted, str):
        try:
            given, wanted = [parse_json(line.encode()) for line in given.split("\n")], [parse_json(wanted.encode())]
        except RequestRefused:
            raise RequestRefused(422, f"{field}: json_input is set, but this is not one JSON value a line", field) from None
    if not isinstance(given, list) or not isinstance(wanted, list) or len(wanted) != 1:
        raise RequestRefused(422, f"{field}: a list of arguments, and for its output a list of one value", field)
    return validated({"args": given, "expected": wanted[0]}, FunctionCase)
