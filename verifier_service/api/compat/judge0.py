"""judge0: `POST /submissions?wait=true`. Nothing is kept here, so waiting is the only way."""

from __future__ import annotations

import base64
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field

from verifier_service.api.compat.bodies import Lenient, check_length, decoded, json_answer, read_as, text_of
from verifier_service.api.compat.languages import language_of
from verifier_service.api.compat.stages import TIMED_OUT, stages_of
from verifier_service.api.problems import RequestRefused, problem_response
from verifier_service.faults import DeadlineExceeded, InfrastructureFault
from verifier_service.sandbox.contract import Ending, Limits, ProgramRefused, Termination
from verifier_service.sandbox.ranges import ceilings, defaults
from verifier_service.sandbox.runner.languages import LANGUAGES
from verifier_service.scoring.flights import Run
from verifier_service.scoring.runs import Runs
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline

router = APIRouter(tags=["judge0"])

IDS = {
    "python": (71, 92, 100, 109, 113),
    "c": (48, 49, 50, 75, 103, 104, 110),
    "cpp": (52, 53, 54, 76, 105),
    "java": (62, 91),
    "javascript": (63, 93, 97, 102),
    "typescript": (74, 94, 101),
    "go": (60, 95, 106, 107),
    "rust": (73, 108),
    "bash": (46,),
    "sql": (82,),
    "csharp": (51,),
    "d": (56,),
    "elixir": (57,),
    "erlang": (58,),
    "fortran": (59,),
    "haskell": (61,),
    "kotlin": (78, 111),
    "lua": (64,),
    "lisp": (55,),
    "nasm": (45,),
    "ocaml": (65,),
    "octave": (66,),
    "pascal": (67,),
    "perl": (85,),
    "php": (68, 98),
    "prolog": (69,),
    "r": (80, 99),
    "ruby": (72,),
    "scala": (81, 112),
    "swift": (83,),
}
LANGUAGE_OF = {number: name for name, numbers in IDS.items() for number in numbers}
SIGNALS = {11: (7, "Runtime Error (SIGSEGV)"), 25: (8, "Runtime Error (SIGXFSZ)"), 8: (9, "Runtime Error (SIGFPE)")}
SIGNALS[6] = (10, "Runtime Error (SIGABRT)")

Seconds = Annotated[float, Field(gt=0)]


class SubmissionRequest(Lenient):
    source_code: str
    language_id: int
    stdin: str | None = None
    expected_output: str | None = None
    cpu_time_limit: Seconds | None = None
    wall_time_limit: Seconds | None = None
    memory_limit: Annotated[float, Field(ge=2048)] | None = None  # KB


@router.get("/languages", summary="Languages (judge0)")
async def languages(request: Request) -> list[dict[str, Any]]:
    """Those of judge0's ids that can be run here, with the versions that run them."""
    runs: Runs = request.app.state.parts.runs
    have = runs.languages()
    return [
        {"id": number, "name": f"{LANGUAGES[name].title} {runs.version(name)}".rstrip()}
        for number, name in sorted(LANGUAGE_OF.items())
        if name in have
    ]


@router.post("/submissions", summary="Run a program and wait for it (judge0)")
async def submit(
    request: Request, wait: Annotated[bool, Query()] = False, base64_encoded: Annotated[bool, Query()] = False
) -> Response:
    """201 with the result; limits above the service's ceilings are a 422."""
    if not wait:
        raise RequestRefused(422, "wait: send ?wait=true; this service keeps no submissions", "wait")
    settings: Settings = request.app.state.settings
    runs: Runs = request.app.state.parts.runs
    asked, _ = await read_as(request, SubmissionRequest)
    run, expected = to_run(asked, base64_encoded, runs, settings)
    try:
        ended = await runs.run(run, Deadline.after(settings.deadline_s))
    except ProgramRefused as refused:
        raise RequestRefused(413, str(refused)) from None
    except (DeadlineExceeded, InfrastructureFault) as fault:
        return problem_response(503, f"the program was not run to its end: {fault}; ask again", headers={"retry-after": "5"})
    return json_answer(result_of(ended, run.language, expected, base64_encoded), 201)


def to_run(asked: SubmissionRequest, encoded: bool, runs: Runs, settings: Settings) -> tuple[Run, str | None]:
    """The run, and the expected output, which stays here."""

    def plain(text: str | None, field: str) -> str | None:
        return text_of(decoded(text, field)) if encoded and text is not None else text

    source = plain(asked.source_code, "source_code") or ""
    check_length(source, "source_code", settings)
    name = LANGUAGE_OF.get(asked.language_id)
    if name is None:
        raise RequestRefused(422, "language_id is not one of this service's languages", "language_id")
    stdin = plain(asked.stdin, "stdin") or ""
    run = Run(language_of(name, runs.languages(), "language_id"), source, limits_of(asked, settings), stdin.encode())
    return run, plain(asked.expected_output, "expected_output")


def limits_of(asked: SubmissionRequest, settings: Settings) -> Limits:
    default, ceiling = defaults(settings), ceilings(settings)
    cpu_s = asked.cpu_time_limit or default.cpu_time_s
    wall_s = asked.wall_time_limit or min(max(default.wall_time_s, cpu_s * 2), ceiling.wall_time_s)
    memory_mb = int(asked.memory_limit // 1024) if asked.memory_limit else default.memory_mb
    for name, value, highest in (
        ("cpu_time_limit", cpu_s, ceiling.cpu_time_s),
        ("wall_time_limit", wall_s, ceiling.wall_time_s),
        ("memory_limit", memory_mb * 1024, ceiling.memory_mb * 1024),
    ):
        if value > highest:
            raise RequestRefused(422, f"{name}: at most {highest:g}", name)
    return Limits(cpu_s, wall_s, memory_mb, default.processes, default.output_bytes, default.file_bytes)


def result_of(ended: Termination, language: str, expected: str | None, encoded: bool) -> dict[str, Any]:
    """Outputs are compared without the blanks at the ends of lines and the empty lines at the end."""

    def text(output: bytes) -> str | None:
        if not output:
            return None
        return base64.b64encode(output).decode() if encoded else text_of(output)

    stages = stages_of(ended, language)
    answer: dict[str, Any] = {"token": str(uuid4()), "status": {"id": 6, "description": "Compilation Error"}}
    ran = stages.run
    if ran is None:  # as upstream: nothing is told but what the compiler said
        answer |= dict.fromkeys(("stdout", "stderr", "message", "exit_code", "exit_signal", "time", "memory"))
        return answer | {"compile_output": text(ended.stderr)}
    number, description = _status(ran, expected)
    return answer | {
        "status": {"id": number, "description": description},
        "stdout": text(ran.stdout),
        "stderr": text(ran.stderr),
        "compile_output": None,
        "message": f"Exited with error status {ran.exit_code}" if ran.exit_code else None,
        "exit_code": ran.exit_code,
        "exit_signal": ran.signal,
        "time": f"{ran.cpu_s:.3f}",
        "memory": round(ran.memory_mb * 1024),
    }


def _status(ended: Termination, expected: str | None) -> tuple[int, str]:
    if ended.ending in TIMED_OUT:
        return 5, "Time Limit Exceeded"
    if ended.ending is Ending.SIGNALLED:
        return SIGNALS.get(ended.signal or 0, (12, "Runtime Error (Other)"))
    if ended.ending is not Ending.EXITED:
        return 12, "Runtime Error (Other)"
    if ended.exit_code:
        return 11, "Runtime Error (NZEC)"
    if expected is not None and _lines(text_of(ended.stdout)) != _lines(expected):
        return 4, "Wrong Answer"
    return 3, "Accepted"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]
