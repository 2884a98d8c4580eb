"""code-judge: `/judge`, `/run`, their batches, `GET /ping`, `GET /status`.

A submission that was not judged in time has the reason `queue_timeout`: its client sends it again, and never takes it
for a failure of the program.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field

from verifier_protocol import Group, MathSpec
from verifier_service.api.compat.bodies import Lenient, check_count, check_length, json_answer, read_as, text_of
from verifier_service.api.compat.grading import Unscored, grade
from verifier_service.api.compat.languages import language_of
from verifier_service.api.compat.sandbox_fusion import exit_status
from verifier_service.api.compat.stages import TIMED_OUT
from verifier_service.api.problems import RequestRefused, problem_response
from verifier_service.faults import DeadlineExceeded, InfrastructureFault
from verifier_service.sandbox.contract import Ending, ProgramRefused
from verifier_service.sandbox.ranges import defaults
from verifier_service.scoring.flights import Run
from verifier_service.scoring.runs import BringsSandboxDown, Runs
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline

router = APIRouter(tags=["code-judge"])

OUTPUT_CHARS = 1000


class Submission(Lenient):
    sub_id: str | None = Field(None, max_length=1000)
    type: Literal["python", "cpp", "math"]
    solution: str
    input: str | None = None
    expected_output: str | None = None


class BatchSubmission(Lenient):
    sub_id: str | None = Field(None, max_length=1000)
    submissions: list[Submission] = Field(min_length=1)


@router.get("/ping", summary="Liveness (code-judge)")
async def ping() -> str:
    return "pong"


@router.get("/status", summary="Queue and workers (code-judge)")
async def status(request: Request) -> dict[str, int]:
    runs: Runs = request.app.state.parts.runs
    return {"queue": runs.waiting(), "num_workers": runs.slots()}


@router.post("/judge", summary="Judge a submission (code-judge)")
async def judge(request: Request) -> Response:
    return await _one(request, with_output=False)


@router.post("/run", summary="Judge a submission and show its output (code-judge)")
async def run(request: Request) -> Response:
    return await _one(request, with_output=True)


@router.post("/judge/batch", summary="Judge submissions (code-judge)")
async def judge_batch(request: Request) -> Response:
    return await _batch(request, with_output=False, long=False)


@router.post("/run/batch", summary="Judge submissions and show their output (code-judge)")
async def run_batch(request: Request) -> Response:
    return await _batch(request, with_output=True, long=False)


@router.post("/judge/long-batch", summary="Judge many submissions (code-judge)")
async def judge_long_batch(request: Request) -> Response:
    return await _batch(request, with_output=False, long=True)


@router.post("/run/long-batch", summary="Judge many submissions and show their output (code-judge)")
async def run_long_batch(request: Request) -> Response:
    return await _batch(request, with_output=True, long=True)


async def _one(request: Request, *, with_output: bool) -> Response:
    settings: Settings = request.app.state.settings
    submission, _ = await read_as(request, Submission)
    if (missing := _lack(request, [submission])) is not None:
        return missing
    return json_answer(await _judged(request, submission, "solution", settings.deadline_s, with_output))


async def _batch(request: Request, *, with_output: bool, long: bool) -> Response:
    settings: Settings = request.app.state.settings
    asked, _ = await read_as(request, BatchSubmission)
    check_count(len(asked.submissions), settings.max_completions, "submissions")
    if (missing := _lack(request, asked.submissions)) is not None:
        return missing
    deadline_s = settings.max_deadline_s if long else settings.deadline_s
    work = [_judged(request, s, f"submissions[{i}].solution", deadline_s, with_output) for i, s in enumerate(asked.submissions)]
    return json_answer({"sub_id": asked.sub_id or str(uuid4()), "results": await asyncio.gather(*work)})


def _lack(request: Request, submissions: list[Submission]) -> Response | None:
    """Without any sandbox a `queue_timeout` would be asked for again for ever; a 503 stops the client."""
    runs: Runs = request.app.state.parts.runs
    for submission in submissions:
        if submission.type != "math":
            if not runs.languages():
                return problem_response(503, runs.unavailable)
            language_of(submission.type, runs.languages(), "type")
    return None


async def _judged(request: Request, submission: Submission, field: str, deadline_s: float, with_output: bool) -> dict[str, Any]:
    check_length(submission.solution, field, request.app.state.settings)
    start = time.monotonic()
    try:
        if submission.type == "math":
            result = await _math(request, submission, deadline_s)
        else:
            result = await _program(request, submission, deadline_s)
    except BringsSandboxDown:
        result = _failure("internal_error")
    except (DeadlineExceeded, InfrastructureFault):
        result = _failure("queue_timeout")
    except Unscored as e:
        result = _failure("queue_timeout" if e.retryable else "invalid_input")
    except ProgramRefused:
        result = _failure("invalid_input")
    result = {"sub_id": submission.sub_id or str(uuid4()), "cost": time.monotonic() - start} | result
    if not with_output:
        result.pop("stdout", None)
        result.pop("stderr", None)
    return result


def _failure(reason: str) -> dict[str, Any]:
    return {"success": False, "run_success": False, "stdout": None, "stderr": None, "reason": reason}


async def _program(request: Request, submission: Submission, deadline_s: float) -> dict[str, Any]:
    runs: Runs = request.app.state.parts.runs
    limits = defaults(request.app.state.settings)
    stdin = (submission.input or "").encode()
    ended = await runs.run(Run(submission.type, submission.solution, limits, stdin), Deadline.after(deadline_s))
    ran = ended.ending is Ending.EXITED and exit_status(ended)[0] == 0
    stdout = text_of(ended.stdout)
    right = submission.expected_output is None or stdout.strip() == submission.expected_output.strip()
    timed_out = ended.ending in TIMED_OUT
    return {
        "success": ran and right,
        "run_success": ran,
        "cost": ended.wall_s,
        "stdout": stdout[:OUTPUT_CHARS],
        "stderr": text_of(ended.stderr)[:OUTPUT_CHARS],
        "reason": "worker_timeout" if timed_out else "",
    }


async def _math(request: Request, submission: Submission, deadline_s: float) -> dict[str, Any]:
    settings: Settings = request.app.state.settings
    gold = submission.expected_output or ""
    if not gold.strip() or len(gold) > settings.max_gold_chars:
        raise RequestRefused(422, f"expected_output: a gold of at most {settings.max_gold_chars} characters", "expected_output")
    group = Group(completions=[submission.solution], verifiers=[MathSpec(kind="math", gold=gold)])
    (result,) = await grade(request, [group], deadline_s)
    return {"success": result.rewards[0] == 1.0, "run_success": True, "stdout": None, "stderr": None, "reason": ""}
