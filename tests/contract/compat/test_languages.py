"""Golden requests and answers in languages other than Python: how each protocol tells a compile stage from a run.

Nothing is compiled here: the backend answers as the sandbox does for a source that holds one of these words.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from verifier_service.sandbox.contract import BackendInfo, Ending, Limits, Program, Termination
from verifier_service.sandbox.fake import FakeBackend
from verifier_service.sandbox.runner.languages import LANGUAGES
from verifier_service.settings import Settings

HERE = ("python", "c", "cpp", "java", "javascript", "bash")
MESSAGE = b"main.cpp:1:1: error: 'broken' does not name a type\n"
ENDINGS = {
    "broken": Termination(Ending.COMPILE_ERROR, 1, None, 0.25, 0.5, 30.0, b"", MESSAGE),
    "endless build": Termination(Ending.COMPILE_ERROR, None, 24, 30.0, 30.5, 90.0, b"", b"the compiler took too much CPU time\n"),
    "huge build": Termination(Ending.COMPILE_ERROR, None, 9, 2.0, 2.5, 1024.0, b"", b"the compiler ran out of memory\n"),
    "exits with 3": Termination(Ending.EXITED, 3, None, 0.25, 0.5, 12.0, b"4", b"oops\n"),
    "crashes": Termination(Ending.SIGNALLED, None, 11, 0.25, 0.5, 12.0, b"", b""),
    "loops": Termination(Ending.WALL_TIME, None, None, 0.25, 2.0, 12.0, b"begun\n", b""),
    "grows": Termination(Ending.MEMORY, None, None, 0.25, 0.5, 512.0, b"", b""),
}


def script(program: Program, stdin: bytes, limits: Limits) -> Termination:
    del limits
    for word, ended in ENDINGS.items():
        if word in program.source:
            return ended
    return Termination(Ending.EXITED, 0, None, 0.25, 0.5, 12.0, b"got " + stdin, b"warned\n")


class Polyglot(FakeBackend):
    def info(self) -> BackendInfo:
        return replace(super().info(), versions={"cpp": "14.2.0", "java": "21.0.9", "python": "3.13.5"})


@pytest.fixture
async def service(service_with: Any) -> AsyncIterator[Any]:
    async with service_with(Settings(math_workers=1), Polyglot(script, languages=HERE)) as opened:
        yield opened


async def post(service: Any, path: str, body: Any, status: int = 200) -> Any:
    response = await service.http.post(path, json=body)
    assert response.status_code == status, response.text
    return response.json()


# --- SandboxFusion

WELL = {"status": "Finished", "execution_time": 0.0, "cpu_time": 0.0, "return_code": 0, "stdout": "", "stderr": ""}


def step(status: str, code: int | None, stdout: str, stderr: str, wall_s: float = 0.5, cpu_s: float = 0.25) -> dict[str, Any]:
    return {
        "status": status,
        "execution_time": wall_s,
        "cpu_time": cpu_s,
        "return_code": code,
        "stdout": stdout,
        "stderr": stderr,
    }


@pytest.mark.parametrize(
    ("source", "status", "message", "compile_result", "run_result"),
    [
        ("fine", "Success", "", WELL, step("Finished", 0, "got 7", "warned\n")),
        ("broken", "Failed", "", step("Finished", 1, "", MESSAGE.decode()), None),
        (
            "endless build", "Failed", "",
            step("TimeLimitExceeded", None, "", "the compiler took too much CPU time\n", 30.5, 30.0), None,
        ),
        ("huge build", "Failed", "", step("Finished", -9, "", "the compiler ran out of memory\n", 2.5, 2.0), None),
        ("exits with 3", "Failed", "", WELL, step("Finished", 3, "4", "oops\n")),
        ("crashes", "Failed", "", WELL, step("Finished", -11, "", "")),
        ("loops", "Failed", "", WELL, step("TimeLimitExceeded", None, "begun\n", "", 2.0)),
        ("grows", "Failed", "memory limit exceeded", WELL, step("Finished", 137, "", "\nmemory limit exceeded\n")),
    ],
)  # fmt: skip
async def test_run_code_has_a_result_for_each_stage_of_a_compiled_program(
    service: Any, source: str, status: str, message: str, compile_result: Any, run_result: Any
) -> None:
    got = await post(service, "/run_code", {"code": source, "language": "cpp", "stdin": "7"})
    assert got == {
        "status": status,
        "message": message,
        "compile_result": compile_result,
        "run_result": run_result,
        "executor_pod_name": None,
        "files": {},
    }


async def test_run_code_has_no_compile_result_for_an_interpreted_program(service: Any) -> None:
    got = await post(service, "/run_code", {"code": "broken", "language": "nodejs"})
    assert (got["status"], got["compile_result"], got["run_result"]["return_code"]) == ("Failed", None, 1)


async def test_files_lie_beside_a_compiled_program(service: Any) -> None:
    header = base64.b64encode(b"int f();").decode()
    await post(service, "/run_code", {"code": "fine", "language": "cpp", "files": {"f.h": header}})
    assert service.backend.programs[-1].files == (("f.h", b"int f();"),)


async def test_files_come_out_of_python_programs_alone(service: Any) -> None:
    response = await service.http.post("/run_code", json={"code": "fine", "language": "cpp", "fetch_files": ["out"]})
    assert response.status_code == 422
    assert "stdout" in response.json()["detail"]


SANDBOX_FUSION = {
    "python": "python", "cpp": "cpp", "nodejs": "javascript", "go": "go", "java": "java", "php": "php", "csharp": "csharp",
    "bash": "bash", "typescript": "typescript", "sql": "sql", "rust": "rust", "lua": "lua", "R": "r", "perl": "perl",
    "ruby": "ruby", "scala": "scala", "julia": "julia", "swift": "swift", "racket": "racket", "verilog": "verilog",
    "js": "javascript", "javascript": "javascript", "c++": "cpp", "python3": "python", "ts": "typescript",
}  # fmt: skip
# Each runs a source in a way of its own, with tests in it or another machine: as the plain language it would be misjudged.
WITH_RUNNERS_OF_THEIR_OWN = ("go_test", "junit", "jest", "D_ut", "kotlin_script", "cuda", "python_gpu", "lean")


@pytest.mark.parametrize(("name", "ours"), [(n, ours) for n, ours in SANDBOX_FUSION.items() if ours in LANGUAGES])
async def test_sandbox_fusions_languages_are_ours(service_with: Any, name: str, ours: str) -> None:
    async with service_with(Settings(math_workers=1), Polyglot(script, languages=tuple(LANGUAGES))) as service:
        got = await post(service, "/run_code", {"code": "fine", "language": name})
    assert got["status"] == "Success"
    assert service.backend.programs[-1].language == ours
    assert (got["compile_result"] is not None) is bool(LANGUAGES[ours].compile)


@pytest.mark.parametrize("name", [*(n for n, o in SANDBOX_FUSION.items() if o not in LANGUAGES), *WITH_RUNNERS_OF_THEIR_OWN])
async def test_languages_that_would_be_misjudged_are_a_422(service_with: Any, name: str) -> None:
    async with service_with(Settings(math_workers=1), Polyglot(script, languages=tuple(LANGUAGES))) as service:
        got = await post(service, "/run_code", {"code": "fine", "language": name}, 422)
    assert got["field"] == "language"
    assert service.backend.programs == []


# --- piston


def stage(code: int | None, stdout: str, stderr: str, status: str | None, message: str | None, **more: Any) -> dict[str, Any]:
    return {
        "stdout": stdout,
        "stderr": stderr,
        "output": stdout + stderr,
        "code": code,
        "signal": None,
        "message": message,
        "status": status,
        "cpu_time": 250,
        "wall_time": 500,
        "memory": 12 << 20,
    } | more


STAGE_WELL = stage(0, "", "", None, None, cpu_time=0, wall_time=0, memory=0)


def piston(source: str, language: str = "c++", **more: Any) -> dict[str, Any]:
    return {"language": language, "version": "*", "files": [{"name": "main.cpp", "content": source}], "stdin": "7"} | more


async def test_piston_has_both_stages_of_a_program_that_compiles(service: Any) -> None:
    got = await post(service, "/api/v2/execute", piston("fine"))
    assert got == {
        "language": "cpp",
        "version": "14.2.0",
        "compile": STAGE_WELL,
        "run": stage(0, "got 7", "warned\n", None, None),
    }
    failed = await post(service, "/api/v2/execute", piston("exits with 3"))
    assert failed["run"] == stage(3, "4", "oops\n", "RE", "Exited with error status 3")
    assert failed["compile"] == STAGE_WELL


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("broken", stage(1, "", MESSAGE.decode(), "RE", "Exited with error status 1", memory=30 << 20)),
        (
            "endless build",
            stage(
                None, "", "the compiler took too much CPU time\n", "TO", "Time limit exceeded",
                signal="SIGKILL", cpu_time=30_000, wall_time=30_500, memory=90 << 20,
            ),
        ),
    ],
)  # fmt: skip
async def test_piston_shows_the_compilers_stage_as_the_run_of_what_never_ran(service: Any, source: str, expected: Any) -> None:
    got = await post(service, "/api/v2/execute", piston(source))
    assert got["compile"] == got["run"] == expected


async def test_piston_has_no_compile_stage_for_an_interpreted_language(service: Any) -> None:
    assert "compile" not in await post(service, "/api/v2/execute", piston("fine", "js"))


async def test_piston_lists_versions_and_aliases(service: Any) -> None:
    runtimes = {r["language"]: r for r in (await service.http.get("/api/v2/runtimes")).json()}
    assert set(runtimes) == set(HERE)
    assert runtimes["cpp"]["version"] == "14.2.0"
    assert {"c++", "g++"} <= set(runtimes["cpp"]["aliases"])
    assert "js" in runtimes["javascript"]["aliases"]


@pytest.mark.parametrize(
    ("version", "status"),
    [("14.2.0", 200), ("14", 200), ("^14.1", 200), (">=10", 200), ("*", 200), ("14.x", 200), ("10.2.0", 400), (">=15.0.0", 400)],
)
async def test_piston_takes_a_version_of_the_same_major(service: Any, version: str, status: int) -> None:
    await post(service, "/api/v2/execute", piston("fine", version=version), status)


@pytest.mark.parametrize("limit", ["compile_timeout", "compile_cpu_time", "compile_memory_limit"])
async def test_piston_refuses_a_compile_limit_above_the_services(service: Any, limit: str) -> None:
    await post(service, "/api/v2/execute", piston("fine", **{limit: 5000}))
    assert limit in (await post(service, "/api/v2/execute", piston("fine", **{limit: 1 << 40}), 400))["message"]


# --- judge0


@pytest.mark.parametrize(
    ("number", "ours"), [(54, "cpp"), (105, "cpp"), (50, "c"), (62, "java"), (63, "javascript"), (46, "bash")]
)
async def test_judge0_numbers_are_languages(service: Any, number: int, ours: str) -> None:
    got = await post(service, "/submissions?wait=true", {"source_code": "fine", "language_id": number}, 201)
    assert (got["status"]["id"], service.backend.programs[-1].language) == (3, ours)


async def test_judge0_lists_what_can_be_run_here(service: Any) -> None:
    listed = (await service.http.get("/languages")).json()
    assert {"id": 54, "name": "C++ (C++17) 14.2.0"} in listed
    assert {entry["id"] for entry in listed} >= {46, 50, 54, 62, 63, 71}
    assert 60 not in {entry["id"] for entry in listed}
    await post(service, "/submissions?wait=true", {"source_code": "fine", "language_id": 60}, 422)


@pytest.mark.parametrize("source", ["broken", "endless build", "huge build"])
async def test_judge0_tells_a_compile_error_with_the_compilers_words(service: Any, source: str) -> None:
    got = await post(service, "/submissions?wait=true", {"source_code": source, "language_id": 54, "expected_output": "4"}, 201)
    assert got.pop("token")
    assert got == {
        "status": {"id": 6, "description": "Compilation Error"},
        "compile_output": ENDINGS[source].stderr.decode(),
        "stdout": None,
        "stderr": None,
        "message": None,
        "exit_code": None,
        "exit_signal": None,
        "time": None,
        "memory": None,
    }


# --- code-judge, open-r1, ScaleBox


async def test_code_judge_tells_a_compile_error_on_stderr(service: Any) -> None:
    got = await post(service, "/run", {"type": "cpp", "solution": "broken", "input": "7", "expected_output": "got 7"})
    assert (got["success"], got["run_success"], got["reason"], got["stdout"], got["stderr"]) == (
        False, False, "", "", MESSAGE.decode(),
    )  # fmt: skip
    right = await post(service, "/judge", {"type": "cpp", "solution": "fine", "input": "7", "expected_output": "got 7"})
    assert (right["success"], right["run_success"]) == (True, True)


async def test_open_r1_has_an_error_of_that_name_for_what_does_not_compile(service: Any) -> None:
    body = {"scripts": ["broken", "fine", "exits with 3"], "languages": ["java", "java", "javascript"], "timeout": 5}
    broken, fine, failed = await post(service, "/execute_batch", body)
    assert broken["execution"]["error"] == {"name": "CompileError", "value": MESSAGE.decode(), "traceback": MESSAGE.decode()}
    assert (broken["text"], broken["execution"]["results"]) == (None, [])
    assert (fine["text"], fine["execution"]["error"]) == ("got ", None)
    assert failed["execution"]["error"]["value"] == "3"


def scalebox(source: str, judge: str | None = None, **extra: Any) -> dict[str, Any]:
    """As ScaleBox's own client sends it: both fields of a special judge, null where there is none."""
    language = "cpp" if judge is not None else None
    extra = {
        "run_all_cases": True,
        "total_timeout": 30,
        "special_judge_program": judge,
        "special_judge_language": language,
    } | extra
    cases = {"type": "stdin_stdout", "input": ["7", "8"], "output": ["got 7", "other"], "fn_name": None}
    config = {"language": "cpp", "compile_timeout": 30, "run_timeout": 30, "memory_limit_mb": 1024, "extra": extra}
    return {"completion": f"```cpp\n{source}\n```", "config": config | {"provided_data": {"test_cases": cases}}}


async def test_scalebox_tells_the_stages_of_each_test(service: Any) -> None:
    got = await post(service, "/common_evaluate_batch", scalebox("fine"))
    assert (got["accepted"], [t["passed"] for t in got["tests"]]) == (False, [True, False])
    assert {t["exec_info"]["compile_result"]["return_code"] for t in got["tests"]} == {0}
    broken = await post(service, "/common_evaluate_batch", scalebox("broken"))
    assert broken["accepted"] is False
    assert [t["passed"] for t in broken["tests"]] in ([False], [False, False])
    for test in broken["tests"]:
        assert test["exec_info"]["run_result"] is None
        assert test["exec_info"]["compile_result"]["return_code"] == 1
        assert "does not name a type" in test["exec_info"]["compile_result"]["stderr"]


async def test_scaleboxs_special_judge_may_be_a_compiled_program(service: Any) -> None:
    got = await post(service, "/common_evaluate_batch", scalebox("fine", "a fine judge"))
    assert got["accepted"] is True
    judge = service.backend.programs[-1]
    assert (judge.language, judge.source, judge.files_are_data) == ("cpp", "a fine judge", True)
    assert dict(judge.files) == {"stdin.txt": b"8", "stdout.txt": b"other", "answer.txt": b"got 8"}


async def test_scaleboxs_special_judge_that_does_not_compile_is_the_tasks_fault(service: Any) -> None:
    got = await post(service, "/common_evaluate_batch", scalebox("fine", "a broken judge"), 422)
    assert "judge" in got["detail"]
    assert "accepted" not in got
