"""open-r1's routers: `POST /execute_batch`, in the form of its E2B and of its Morph client at once.

A script is a notebook cell: the value of its last expression is its result (open-r1 reads its reward there). A script that
could not be run has neither a result nor a text, which the E2B client reads as "no reward".
"""

from __future__ import annotations

import asyncio
import math
from hashlib import blake2b
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field

from verifier_service.api.compat.bodies import Lenient, check_count, check_length, json_answer, read_as, text_of
from verifier_service.api.compat.languages import language_of
from verifier_service.api.compat.sandbox_fusion import exit_status
from verifier_service.api.compat.stages import TIMED_OUT, Stages, stages_of
from verifier_service.api.problems import RequestRefused
from verifier_service.faults import DeadlineExceeded, InfrastructureFault
from verifier_service.sandbox.contract import Ending, Limits, ProgramRefused, Termination
from verifier_service.sandbox.ranges import ceilings, defaults
from verifier_service.scoring.flights import Run
from verifier_service.scoring.runs import Runs
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline

router = APIRouter(tags=["open-r1"])

CELL = "cell.py"
ERROR_CHARS = 20_000
CLIENT_SLACK_S = 3.0

# Runs the cell as a notebook does: its first line's indentation is taken off, and the value of its last expression is
# printed behind a mark. The mark is derived from the script, which could print it itself, and would only fool itself.
DRIVER = """
import ast, linecache, sys
text = open({cell!r}, encoding="utf-8").read()
lines = text.lstrip("\\n").split("\\n")
margin = len(lines[0]) - len(lines[0].lstrip())
text = "\\n".join(line[margin:] if not line[:margin].strip() else line for line in lines)
linecache.cache[{cell!r}] = (len(text), None, text.splitlines(True), {cell!r})
tree = ast.parse(text, {cell!r})
last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
names = {{"__name__": "__main__", "__builtins__": __builtins__}}
exec(compile(tree, {cell!r}, "exec"), names)
if last is not None:
    value = eval(compile(ast.Expression(last.value), {cell!r}, "eval"), names)
    if value is not None:
        sys.stdout.write({mark!r} + repr(value))
sys.stdout.flush()
"""


Seconds = Annotated[float, Field(gt=0, le=86_400)]


class BatchRequest(Lenient):
    scripts: list[str]
    languages: list[str] | None = None
    timeout: Seconds = 30.0
    request_timeout: Seconds | None = None


@router.post("/execute_batch", summary="Run scripts as notebook cells (open-r1)")
async def execute_batch(request: Request) -> Response:
    """One entry for each script, in order."""
    settings: Settings = request.app.state.settings
    runs: Runs = request.app.state.parts.runs
    asked, _ = await read_as(request, BatchRequest)
    check_count(len(asked.scripts), settings.max_completions, "scripts")
    languages = asked.languages if asked.languages is not None else ["python"] * len(asked.scripts)
    if len(languages) != len(asked.scripts):
        raise RequestRefused(422, "languages: one for each script", "languages")
    deadline = Deadline.after(min(deadline_s(asked), settings.max_deadline_s))
    work = []
    for i, (script, name) in enumerate(zip(asked.scripts, languages, strict=True)):
        check_length(script, f"scripts[{i}]", settings)
        language = language_of(name, runs.languages(), f"languages[{i}]")
        work.append(_execute(runs, script, language, limits_of(asked.timeout, settings), deadline))
    return json_answer(await asyncio.gather(*work))


def deadline_s(asked: BatchRequest) -> float:
    """Morph's client waits `request_timeout` seconds, more than one script may take; E2B's waits for ever, whatever it says."""
    if asked.request_timeout is None or asked.request_timeout <= asked.timeout:
        return math.inf
    return max(asked.timeout, asked.request_timeout - CLIENT_SLACK_S)


def limits_of(timeout_s: float, settings: Settings) -> Limits:
    default, ceiling = defaults(settings), ceilings(settings)
    wall_s = min(timeout_s, ceiling.wall_time_s)
    return Limits(
        min(wall_s, ceiling.cpu_time_s),
        wall_s,
        default.memory_mb,
        ceiling.processes,
        default.output_bytes,
        default.file_bytes,
    )


async def _execute(runs: Runs, script: str, language: str, limits: Limits, deadline: Deadline) -> dict[str, Any]:
    mark = ""
    if language == "python":
        mark = f"\0{blake2b(script.encode(), digest_size=16).hexdigest()}\0"
        source, files = DRIVER.format(cell=CELL, mark=mark), ((CELL, script.encode()),)
        run = Run(language, source, limits, files=files)
    else:
        run = Run(language, script, limits)
    try:
        ended = await runs.run(run, deadline)
    except (DeadlineExceeded, InfrastructureFault, ProgramRefused) as fault:
        return {"execution": None, "text": None, "exception_str": str(fault)}
    return entry_of(ended, mark, language)


def entry_of(ended: Termination, mark: str, language: str = "python") -> dict[str, Any]:
    """A termination as an E2B execution; beside it what Morph's client reads."""
    stdout, _, value = (
        text_of(ended.stdout).rpartition(mark) if mark and mark.encode() in ended.stdout else (text_of(ended.stdout), "", "")
    )
    stderr = text_of(ended.stderr)
    error = _error_of(stages_of(ended, language), stderr, language)
    main = [{"text": value, "is_main_result": True}] if value and error is None else []
    execution = {
        "results": main,
        "logs": {"stdout": [stdout] if stdout else [], "stderr": [stderr] if stderr else []},
        "error": error,
        "execution_count": 1,
    }
    text = None if error is not None else value or stdout
    return {
        "execution": execution,
        "text": text,
        "exception_str": None if error is None else f"{error['name']}: {error['value']}",
    }


def _error_of(stages: Stages, stderr: str, language: str) -> dict[str, str] | None:
    ended = stages.run
    if ended is None:
        return {"name": "CompileError", "value": stderr[:ERROR_CHARS], "traceback": stderr[-ERROR_CHARS:]}
    code, why = exit_status(ended)
    if ended.ending in TIMED_OUT:
        return {"name": "TimeoutError", "value": "time limit exceeded", "traceback": ""}
    if ended.ending is Ending.EXITED and code == 0:
        return None
    last = stderr.rstrip().rpartition("\n")[2]
    name, colon, value = last.partition(": ")
    if not name.isidentifier() or not (colon or language == "python"):
        name, value = "ExitStatus", why or str(code)
    return {"name": name, "value": value[:ERROR_CHARS], "traceback": stderr[-ERROR_CHARS:]}
