"""piston v2: `POST /api/v2/execute`, `GET /api/v2/runtimes`.

Errors have piston's own shape, `{"message"}`: 400 for a wrong field or a limit above the configured one. A program that
could not be run is a 503, which open-r1's client asks for again.
"""

from __future__ import annotations

import binascii
import re
import signal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field

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
from verifier_service.api.compat.languages import language_of
from verifier_service.api.compat.stages import stages_of
from verifier_service.api.problems import RequestRefused
from verifier_service.faults import DeadlineExceeded, InfrastructureFault
from verifier_service.sandbox.contract import MIB, Ending, Limits, ProgramRefused, Termination
from verifier_service.sandbox.ranges import ceilings, defaults
from verifier_service.sandbox.runner.languages import NAMES
from verifier_service.scoring.flights import Run
from verifier_service.scoring.runs import Runs
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline

router = APIRouter(tags=["piston"])

USUAL_TIMEOUT_MS = 3000.0
MAX_ARGS, MAX_ARG_CHARS = 64, 4096
BUILD_WALL_PER_CPU = 2.0
STATUS = {
    Ending.SIGNALLED: ("SG", ""),
    Ending.CPU_TIME: ("TO", "Time limit exceeded"),
    Ending.WALL_TIME: ("TO", "Time limit exceeded (wall clock)"),
    Ending.OUTPUT: ("OL", "Output limit exceeded"),
    Ending.MEMORY: ("SG", "Memory limit exceeded"),
}

_MAJOR = re.compile(r"([\^~>=v ]*)(\d+)")  # of a version or the first bound of a range

Limit = Annotated[float, Field(ge=-1)]


class File(Lenient):
    name: str | None = None
    content: str
    encoding: Literal["utf8", "base64", "hex"] = "utf8"


class ExecuteRequest(Lenient):
    language: str = Field(min_length=1)
    version: str = Field(min_length=1)
    files: list[File]
    stdin: str = ""
    args: list[str] = Field(default_factory=list)
    run_timeout: Limit | None = None
    run_cpu_time: Limit | None = None
    run_memory_limit: Limit | None = None
    compile_timeout: Limit | None = None
    compile_cpu_time: Limit | None = None
    compile_memory_limit: Limit | None = None


@router.get("/api/v2/runtimes", summary="Languages (piston)")
async def runtimes(request: Request) -> list[dict[str, Any]]:
    runs: Runs = request.app.state.parts.runs
    return [
        {"language": name, "version": runs.version(name), "aliases": sorted(a for a, ours in NAMES.items() if ours == name != a)}
        for name in runs.languages()
    ]


@router.post("/api/v2/execute", summary="Run a program (piston)")
async def execute(request: Request) -> Response:
    """200 whatever the program did."""
    runs: Runs = request.app.state.parts.runs
    try:
        asked, _ = await read_as(request, ExecuteRequest)
        run = to_run(asked, runs, request.app.state.settings)
    except RequestRefused as refused:
        return json_answer({"message": str(refused)}, refused.status if refused.status in (413, 415) else 400)
    deadline = Deadline.after(min(request.app.state.settings.deadline_s, max(25.0, 2 * run.limits.wall_time_s + 5.0)))
    try:
        ended = await runs.run(run, deadline)
    except ProgramRefused as too_large:
        return json_answer({"message": str(too_large)}, 400)
    except (DeadlineExceeded, InfrastructureFault) as fault:
        return json_answer({"message": f"the program was not run to its end: {fault}; ask again"}, 503)
    answer: dict[str, Any] = {"language": run.language, "version": runs.version(run.language)}
    return json_answer(answer | results_of(ended, run.language))


def to_run(asked: ExecuteRequest, runs: Runs, settings: Settings) -> Run:
    """The first text file is the program, the others lie beside it.

    Raises:
        RequestRefused: whatever status; the caller makes it a 400.
    """
    check_count(len(asked.files), MAX_FILES, "files")
    check_count(len(asked.args), MAX_ARGS, "args")
    if any(len(arg) > MAX_ARG_CHARS or "\0" in arg for arg in asked.args):
        raise RequestRefused(422, f"args: at most {MAX_ARG_CHARS} characters each, without NUL", "args")
    main = next((i for i, file in enumerate(asked.files) if file.encoding == "utf8"), None)
    if main is None:
        raise RequestRefused(422, "files must include at least one utf8 encoded file")
    source = asked.files[main].content
    check_length(source, "files", settings)
    others = []
    for i, file in enumerate(asked.files):
        if i != main:
            others.append((checked_name(file.name or f"file{i}.code", f"files[{i}].name"), _content(file, f"files[{i}]")))
    language = language_of(asked.language, runs.languages())
    _check_version(asked.version, runs.version(language), asked.language)
    return Run(language, source, limits_of(asked, settings), asked.stdin.encode(), tuple(asked.args), tuple(others))


def _check_version(wanted: str, ours: str, language: str) -> None:
    """A client may name a version that we don't have exactly, but not another major one: it would fail in odd ways."""
    asked = _MAJOR.match(wanted)
    have = ours.partition(".")[0]
    if asked is None or not have.isdecimal():
        return
    major, newer = int(asked[2]), int(have) > int(asked[2])
    if major != int(have) and not (newer and asked[1].startswith(">")):
        raise RequestRefused(422, f"{language}-{wanted} runtime is unknown; there is {ours}")


def _content(file: File, field: str) -> bytes:
    if file.encoding == "base64":
        return decoded(file.content, f"{field}.content")
    if file.encoding == "hex":
        try:
            return binascii.unhexlify("".join(file.content.split()))
        except (binascii.Error, ValueError):
            raise RequestRefused(422, f"{field}.content is not hex") from None
    return file.content.encode()


def limits_of(asked: ExecuteRequest, settings: Settings) -> Limits:
    """Raises RequestRefused: a limit is above the configured one."""
    default, ceiling = defaults(settings), ceilings(settings)
    _check_compile_limits(asked, settings)
    wall_ms = _limit(asked.run_timeout, USUAL_TIMEOUT_MS, ceiling.wall_time_s * 1000, "run_timeout")
    cpu_ms = _limit(asked.run_cpu_time, min(wall_ms, ceiling.cpu_time_s * 1000), ceiling.cpu_time_s * 1000, "run_cpu_time")
    memory = _limit(asked.run_memory_limit, default.memory_mb * MIB, ceiling.memory_mb * MIB, "run_memory_limit")
    return Limits(
        cpu_ms / 1000,
        wall_ms / 1000,
        max(1, int(memory) // MIB),
        default.processes,
        default.output_bytes,
        default.file_bytes,
    )


def _check_compile_limits(asked: ExecuteRequest, settings: Settings) -> None:
    """The service's own hold for compilers; a client that wants higher ones is told, as piston tells it."""
    wall_ms = settings.code_build_cpu_s * 1000 * BUILD_WALL_PER_CPU
    _limit(asked.compile_timeout, wall_ms, wall_ms, "compile_timeout")
    _limit(asked.compile_cpu_time, wall_ms, settings.code_build_cpu_s * 1000, "compile_cpu_time")
    memory = settings.code_build_memory_mb * MIB
    _limit(asked.compile_memory_limit, memory, memory, "compile_memory_limit")


def _limit(asked: float | None, default: float, ceiling: float, name: str) -> float:
    if asked is None or asked <= 0:  # -1 is "unlimited" in piston's configuration: what is configured holds
        return default
    if asked > ceiling:
        raise RequestRefused(422, f"{name} cannot exceed the configured limit of {ceiling:g}", name)
    return asked


def results_of(ended: Termination, language: str) -> dict[str, Any]:
    """`compile` where the language has that stage, and `run`: that of the compiler where nothing could be run."""
    stages = stages_of(ended, language)
    compiled = stage_of(stages.compile) if stages.compile is not None else None
    ran = stage_of(stages.run) if stages.run is not None else compiled
    return {"run": ran} if compiled is None else {"compile": compiled, "run": ran}


def stage_of(ended: Termination) -> dict[str, Any]:
    stdout, stderr = text_of(ended.stdout), text_of(ended.stderr)
    status, message = STATUS.get(ended.ending, ("XX", f"{ended.ending.value} limit exceeded"))
    code, name = ended.exit_code, None
    if ended.ending is Ending.EXITED:
        status, message = ("RE", f"Exited with error status {code}") if code else ("", "")
    else:
        name = _signal_name(ended.signal) if ended.ending is Ending.SIGNALLED else "SIGKILL"
        message = message or f"Caught fatal signal {ended.signal}"
        code = None
    return {
        "stdout": stdout,
        "stderr": stderr,
        "output": stdout + stderr,
        "code": code,
        "signal": name,
        "message": message or None,
        "status": status or None,
        "cpu_time": round(ended.cpu_s * 1000),
        "wall_time": round(ended.wall_s * 1000),
        "memory": round(ended.memory_mb * MIB),
    }


def _signal_name(number: int | None) -> str:
    try:
        return signal.Signals(number or 9).name
    except ValueError:
        return f"SIG{number}"
