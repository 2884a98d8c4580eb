"""SandboxFusion's `POST /run_code` and `GET /v1/ping`: verl, ROLL, SkyRL and many recipes.

Its clients send one test case a request and compare the output themselves. The status of the HTTP answer decides more
than its body: verl asks again after 504 alone and counts every other failure as a wrong answer, so whatever is not the
program's doing (no slot in time, a sandbox that failed) is a 504, sent before verl's own time-out.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field

from verifier_service.api.compat import fetching, pytest_runs
from verifier_service.api.compat.bodies import (
    MAX_FILES,
    Lenient,
    check_count,
    check_length,
    checked_name,
    decoded,
    json_answer,
    read_as,
    text_of,
)
from verifier_service.api.compat.languages import COMPILED, language_of
from verifier_service.api.compat.stages import TIMED_OUT, stages_of
from verifier_service.api.problems import RequestRefused, problem_response
from verifier_service.faults import DeadlineExceeded, InfrastructureFault
from verifier_service.sandbox.contract import Ending, Limits, ProgramRefused, Termination
from verifier_service.sandbox.ranges import ceilings, defaults
from verifier_service.scoring.flights import Run
from verifier_service.scoring.runs import Runs
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline

router = APIRouter(tags=["SandboxFusion"])

CLIENT_SLACK_S = 5.0  # verl waits compile + run + 10 s; half of that is for the way and for its own queue
USUAL_DEADLINE_S = 25.0
RUN_SLACK_S = 2.0
CPU_PER_WALL = 2.0  # the upstream limit is on wall time alone: threads may use two cores for all of it
# Upstream runs these in a way of its own, with the tests that the source holds, or as a script: as a plain program of that
# language it would be misjudged.
WITH_RUNNERS_OF_THEIR_OWN = frozenset({"go_test", "junit", "jest", "d_ut", "kotlin_script"})
KILLED, FILE_SIZE = 137, 153  # 128 + SIGKILL, 128 + SIGXFSZ

Seconds = Annotated[float, Field(gt=0, le=86_400)]


class RunCodeRequest(Lenient):
    code: str
    language: str = "python"
    stdin: str | None = None
    compile_timeout: Seconds | None = None
    run_timeout: Seconds = 10.0
    memory_limit_MB: int = -1
    files: dict[str, str | None] = Field(default_factory=dict)
    fetch_files: list[str] = Field(default_factory=list)


@router.get("/v1/ping", summary="SandboxFusion's liveness")
async def ping() -> str:
    return "pong"


@router.post("/run_code", summary="Run a program (SandboxFusion)")
async def run_code(request: Request) -> Response:
    """200 whatever the program did; 504 when it could not be run in time, and nothing is known about it."""
    settings: Settings = request.app.state.settings
    runs: Runs = request.app.state.parts.runs
    asked, _ = await read_as(request, RunCodeRequest)
    run = to_run(asked, runs, settings)
    deadline = Deadline.after(deadline_s(asked, run.limits, run.language in COMPILED))
    try:
        if _wants_pytest(asked):
            run = await pytest_runs.as_pytest(run, runs, deadline)
        if asked.fetch_files:
            run = fetching.wrapped(run, _fetched_names(asked))
        ended = await runs.run(run, deadline)
    except (DeadlineExceeded, InfrastructureFault) as fault:
        return problem_response(504, f"the program was not run to its end: {fault}; ask again")
    except ProgramRefused as refused:
        raise RequestRefused(413, str(refused)) from None
    files: dict[str, str] = {}
    if asked.fetch_files:
        ended, files = fetching.unwrapped(ended, _fetched_names(asked))
    return json_answer(result_of(ended, run.language) | {"files": files})


def to_run(asked: RunCodeRequest, runs: Runs, settings: Settings) -> Run:
    """Raises RequestRefused: 413 or 422."""
    check_length(asked.code, "code", settings)
    check_count(len(asked.files), MAX_FILES, "files")
    files = tuple(
        (checked_name(name, "files"), decoded(content, "files")) for name, content in asked.files.items() if content is not None
    )
    language = plain_language_of("python" if _wants_pytest(asked) else asked.language, runs.languages())
    return Run(language, asked.code, limits_of(asked, settings), (asked.stdin or "").encode(), files=files)


def plain_language_of(name: str, available: Collection[str], field: str = "language") -> str:
    """As `language_of`, for SandboxFusion's names. Raises RequestRefused: 422."""
    if name.strip().lower() in WITH_RUNNERS_OF_THEIR_OWN:
        raise RequestRefused(422, f"{field}: {name} programs can't be run here as upstream runs them", field)
    return language_of(name, available, field)


def _wants_pytest(asked: RunCodeRequest) -> bool:
    return asked.language.strip().lower() == pytest_runs.NAME


def _fetched_names(asked: RunCodeRequest) -> tuple[str, ...]:
    check_count(len(asked.fetch_files), MAX_FILES, "fetch_files")
    return tuple(checked_name(name, "fetch_files") for name in asked.fetch_files)


def limits_of(asked: RunCodeRequest, settings: Settings) -> Limits:
    """The limits asked for, at most the service's ceilings: a client that asks for more is not refused, since it would
    count the refusal as a wrong answer."""
    default, ceiling = defaults(settings), ceilings(settings)
    wall_s = min(asked.run_timeout, ceiling.wall_time_s)
    return Limits(
        cpu_time_s=min(wall_s * CPU_PER_WALL, ceiling.cpu_time_s),
        wall_time_s=wall_s,
        memory_mb=min(asked.memory_limit_MB if asked.memory_limit_MB > 0 else default.memory_mb, ceiling.memory_mb),
        processes=default.processes,
        output_bytes=default.output_bytes,
        file_bytes=default.file_bytes,
    )


def deadline_s(asked: RunCodeRequest, limits: Limits, compiled: bool) -> float:
    """Seconds until the 504: below what the client waits, but long enough for one run that uses all its time."""
    compile_s = min(asked.compile_timeout or 0.0, limits.wall_time_s)
    longest_run_s = limits.wall_time_s + (compile_s if compiled else 0.0) + RUN_SLACK_S
    return min((asked.compile_timeout or 0.0) + asked.run_timeout + CLIENT_SLACK_S, max(USUAL_DEADLINE_S, longest_run_s))


def result_of(ended: Termination, language: str) -> dict[str, Any]:
    """A termination as SandboxFusion's RunCodeResponse. Its protocol has no verdict on memory, output or processes:
    those are exit codes of a killed process, and `message` says why."""
    stages = stages_of(ended, language)
    compiled = step_of(stages.compile) if stages.compile is not None else None
    ran = step_of(stages.run) if stages.run is not None else None
    why = exit_status(stages.run)[1] if stages.run is not None and stages.run.ending not in TIMED_OUT else ""
    return response("Success" if ran is not None and ran["return_code"] == 0 else "Failed", why, compiled, ran)


def step_of(stage: Termination) -> dict[str, Any]:
    """One stage as SandboxFusion's CommandRunResult."""
    if stage.ending in TIMED_OUT:
        return step("TimeLimitExceeded", stage.wall_s, None, stage.stdout, stage.stderr, stage.cpu_s)
    code, why = exit_status(stage)
    stderr = stage.stderr if not why else stage.stderr + f"\n{why}\n".encode()
    return step("Finished", stage.wall_s, code, stage.stdout, stderr, stage.cpu_s)


def exit_status(ended: Termination) -> tuple[int, str]:
    """The exit code of a stage as a shell's parent sees it, never 0 for one that a limit ended, and why if a limit did."""
    if ended.ending is Ending.EXITED:
        return ended.exit_code or 0, ""
    if ended.ending is Ending.SIGNALLED:
        return -(ended.signal or 9), ""
    if ended.ending in (Ending.OUTPUT, Ending.FILE_SIZE):
        return FILE_SIZE, f"{ended.ending.value.replace('_', ' ')} limit exceeded"
    if ended.ending is Ending.MEMORY:
        return KILLED, "memory limit exceeded"
    return KILLED, f"{ended.ending.value.replace('_', ' ')} limit exceeded"


def step(
    status: str, seconds: float, code: int | None, stdout: bytes, stderr: bytes, cpu_s: float | None = None
) -> dict[str, Any]:
    return {
        "status": status,
        "execution_time": round(seconds, 6),
        "cpu_time": None if cpu_s is None else round(cpu_s, 6),
        "return_code": code,
        "stdout": text_of(stdout),
        "stderr": text_of(stderr),
    }


def response(
    status: str, message: str, compile_result: dict[str, Any] | None, run_result: dict[str, Any] | None
) -> dict[str, Any]:
    return {
        "status": status,
        "message": message,
        "compile_result": compile_result,
        "run_result": run_result,
        "executor_pod_name": None,
        "files": {},
    }
