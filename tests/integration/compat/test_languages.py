"""Other languages through the foreign protocols, compiled and run for real, asked for as their clients ask."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests
from sandbox_fusion import RunCodeRequest, SummaryMapping, run_code, summary_run_code_result

from verifier_service.sandbox import bubblewrap_backend
from verifier_service.sandbox.contract import Limits, Program, SandboxFault
from verifier_service.sandbox.select import make_bubblewrap_backend
from verifier_service.settings import Settings

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]

MAPPING = SummaryMapping(Success="AC", Failed="FAIL", RunFailed="RE", RunTimeout="TLE", CompileFailed="CE", CompileTimeout="CTLE")


class Programs(NamedTuple):
    """One language: `double` prints twice the number that it reads; `broken` is no program of it."""

    double: str
    broken: str
    failing: str
    looping: str
    packages: str


LANGUAGES = {
    "c": Programs(
        '#include <stdio.h>\nint main(void) { int x; if (scanf("%d", &x) != 1) return 2; printf("%d\\n", x * 2); return 0; }',
        "int main(void) { return 3 }",
        "int main(void) { return 3; }",
        "int main(void) { for (volatile int i = 0;; i++); }",
        "gcc libc6-dev",
    ),
    "cpp": Programs(
        "#include <iostream>\nint main() { int x; std::cin >> x; std::cout << x * 2 << std::endl; }",
        "int main() { std::cout << 1; }",
        '#include <stdexcept>\nint main() { throw std::runtime_error("x"); }',
        "int main() { for (volatile int i = 0;; i++); }",
        "g++",
    ),
    "java": Programs(
        "import java.util.Scanner;\npublic class Twice {\n  public static void main(String[] a) {\n"
        "    System.out.println(new Scanner(System.in).nextInt() * 2);\n  }\n}",
        "public class Twice { public static void main(String[] a) { int x = ; } }",
        "public class Twice { public static void main(String[] a) { System.exit(3); } }",
        "public class Twice { public static void main(String[] a) { for (;;) {} } }",
        "a JDK",
    ),
}
INTERPRETED = {
    "javascript": Programs(
        "console.log(parseInt(require('fs').readFileSync(0, 'utf8')) * 2)",
        "let x = ;",
        "throw new Error('x')",
        "for (;;) {}",
        "nodejs",
    ),
    "bash": Programs("read x; echo $((x * 2))", "if", "exit 3", "while :; do :; done", "bash"),
}
ALL = LANGUAGES | INTERPRETED
SANDBOX_FUSION_NAMES = {"javascript": "nodejs"}


@pytest.fixture
def ask(languages_url: str) -> Callable[[str, str, dict[str, Any]], Any]:
    """Post for a language that the service must have."""
    listed = {r["language"] for r in requests.get(f"{languages_url}/api/v2/runtimes", timeout=10).json()}

    def post(language: str, path: str, body: dict[str, Any]) -> Any:
        assert language in listed
        response = requests.post(languages_url + path, json=body, timeout=90)
        assert response.status_code < 300, response.text
        return response.json()

    return post


def sandbox_fusion(ask: Any, url: str, language: str, code: str, **more: Any) -> tuple[str, Any]:
    """What SandboxFusion's own package makes of it."""
    ask(language, "/run_code", {"code": "x", "language": language})
    name = SANDBOX_FUSION_NAMES.get(language, language)
    request = RunCodeRequest(code=code, language=name, stdin="21", run_timeout=more.pop("run_timeout", 20), **more)
    got = run_code(request, endpoint=url, max_attempts=1, client_timeout=90)
    return summary_run_code_result(got, MAPPING), got


@pytest.mark.parametrize("language", sorted(set(ALL) - {"c"}))  # which that package doesn't know
@pytest.mark.parametrize("kind", ["double", "broken", "failing", "looping"])
def test_sandbox_fusions_package_sums_up_every_stage(ask: Any, languages_url: str, language: str, kind: str) -> None:
    code = getattr(ALL[language], kind)
    summary, got = sandbox_fusion(ask, languages_url, language, code, run_timeout=3 if kind == "looping" else 20)
    compiled = language in LANGUAGES
    broken = "CE" if compiled else "RE"
    assert summary == {"double": "AC", "broken": broken, "failing": "RE", "looping": "TLE"}[kind], got
    if kind == "double":
        assert got.run_result.stdout == "42\n"
    assert (got.compile_result is not None) is compiled
    assert (got.run_result is None) is (kind == "broken" and compiled)
    if kind == "broken":
        assert (got.compile_result if compiled else got.run_result).stderr


def test_a_header_goes_in_beside_a_program(ask: Any, languages_url: str) -> None:
    header = base64.b64encode(b"inline int answer() { return 42; }").decode()
    code = '#include <cstdio>\n#include "answer.h"\nint main() { std::printf("%d", answer()); }'
    summary, got = sandbox_fusion(ask, languages_url, "cpp", code, files={"answer.h": header})
    assert (summary, got.run_result.stdout) == ("AC", "42")


def test_data_goes_in_beside_a_program(ask: Any, languages_url: str) -> None:
    code = "console.log(require('fs').readFileSync('in.txt', 'utf8').trim() + '!')"
    data = base64.b64encode(b"read\n").decode()
    summary, got = sandbox_fusion(ask, languages_url, "javascript", code, files={"in.txt": data})
    assert (summary, got.run_result.stdout) == ("AC", "read!\n")


@pytest.mark.parametrize("language", sorted(ALL))
def test_piston_has_a_compile_stage_where_there_is_one(ask: Any, language: str) -> None:
    body = {"language": language, "version": "*", "files": [{"content": ALL[language].double}], "stdin": "21"}
    got = ask(language, "/api/v2/execute", body | {"run_timeout": 20_000})
    assert (got["run"]["stdout"], got["run"]["code"]) == ("42\n", 0)
    assert ("compile" in got) is (language in LANGUAGES)
    got = ask(language, "/api/v2/execute", body | {"files": [{"content": ALL[language].broken}]})
    assert got["run"]["code"] not in (0, None)
    assert got.get("compile", got["run"]) == got["run"]


@pytest.mark.parametrize(("language", "number"), [("c", 50), ("cpp", 54), ("java", 91), ("javascript", 93), ("bash", 46)])
def test_judge0_runs_its_numbers(ask: Any, language: str, number: int) -> None:
    body = {"language_id": number, "stdin": "21", "expected_output": "42", "source_code": ALL[language].double}
    assert ask(language, "/submissions?wait=true", body)["status"]["description"] == "Accepted"
    got = ask(language, "/submissions?wait=true", body | {"source_code": ALL[language].broken})
    assert got["status"]["id"] == (6 if language in LANGUAGES else 11)
    assert got["compile_output" if language in LANGUAGES else "stderr"]


def test_code_judge_judges_cpp(ask: Any) -> None:
    kinds = ("double", "broken", "failing")
    submissions = [
        {"type": "cpp", "solution": getattr(LANGUAGES["cpp"], kind), "input": "21", "expected_output": "42"} for kind in kinds
    ]
    got = ask("cpp", "/run/long-batch", {"type": "batch", "submissions": submissions})
    assert [(r["success"], r["run_success"]) for r in got["results"]] == [(True, True), (False, False), (False, False)]
    assert got["results"][1]["stderr"]


def test_scalebox_judges_cpp_with_a_special_judge_in_cpp(ask: Any) -> None:
    judge = (
        '#include <fstream>\nint main() { int n, a, b; std::ifstream("stdin.txt") >> n; std::ifstream f("answer.txt");\n'
        "  return (f >> a >> b) && a + b == n ? 0 : 1; }"
    )
    halves = "#include <iostream>\nint main() { int x; std::cin >> x; std::cout << x / 2 << ' ' << x - x / 2; }"
    extra = {"run_all_cases": True, "special_judge_program": judge, "special_judge_language": "cpp"}
    cases = {"type": "stdin_stdout", "input": ["7", "10"], "output": ["1 6", "1 9"], "fn_name": None}

    def evaluated(code: str) -> Any:
        config = {"language": "cpp", "run_timeout": 20, "provided_data": {"test_cases": cases}, "extra": extra}
        got = ask("cpp", "/common_evaluate_batch", {"completion": f"```cpp\n{code}\n```", "config": config})
        return got["accepted"], [test["passed"] for test in got["tests"]]

    assert evaluated(halves) == (True, [True, True])
    assert evaluated(LANGUAGES["cpp"].double) == (False, [False, False])
    accepted, passed = evaluated(LANGUAGES["cpp"].broken)
    assert not accepted
    assert not any(passed)


FUNCTIONS = {
    "cpp": "int add(int a, int b) { return a + b; }",
    "java": "class Solution { public int add(int a, int b) { return a + b; } }",
    "javascript": "function add(a, b) { return a + b; }",
}


@pytest.mark.parametrize("language", sorted(FUNCTIONS))
def test_scalebox_calls_functions_of_other_languages(ask: Any, language: str) -> None:
    cases = {"type": "function_call", "input": [[1, 2], [3, 4]], "output": [[3], [8]], "fn_name": "add"}
    config = {"language": SANDBOX_FUSION_NAMES.get(language, language), "run_timeout": 20, "extra": {"run_all_cases": True}}
    body = {
        "completion": f"```{language}\n{FUNCTIONS[language]}\n```",
        "config": config | {"provided_data": {"test_cases": cases}},
    }
    got = ask(language, "/common_evaluate_batch", body)
    assert (got["accepted"], [test["passed"] for test in got["tests"]]) == (False, [True, False])


def test_open_r1_names_a_compile_error(ask: Any) -> None:
    scripts = [LANGUAGES["java"].broken, INTERPRETED["javascript"].failing, "console.log(1)"]
    broken, failing, fine = ask("java", "/execute_batch", {"scripts": scripts, "languages": ["java", "js", "javascript"]})
    assert broken["execution"]["error"]["name"] == "CompileError"
    assert failing["execution"]["error"] is not None
    assert (fine["text"], fine["exception_str"]) == ("1\n", None)


@pytest.mark.parametrize(("tests", "summary"), [("assert f(1) == 2", "AC"), ("assert f(1) == 3", "RE"), ("assert g", "RE")])
def test_pytest_is_a_language_of_sandbox_fusion(url: str, tests: str, summary: str) -> None:
    code = f"def f(x):\n    return x + 1\n\ndef test_f():\n    {tests}\n"
    got = run_code(RunCodeRequest(code=code, language="pytest", run_timeout=20), endpoint=url, max_attempts=1, client_timeout=60)
    assert summary_run_code_result(got, MAPPING) == summary
    assert ("1 passed" if summary == "AC" else "1 failed") in got.run_result.stdout


@pytest.mark.bubblewrap
async def test_a_compiler_that_can_not_be_started_is_no_compile_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = tmp_path / "runner"
    shutil.copytree(bubblewrap_backend.RUNNER_FOLDER, runner)
    with (runner / "program.py").open("a") as program:
        program.write("\n\ndef execute(*_):\n    os.write(2, b'Permission denied: g++')\n    os._exit(127)\n")
    with (runner / "languages.py").open("a") as table:  # this machine need not have a compiler to be refused one
        table.write("\n\ndef available(*_):\n    return list(LANGUAGES)\n")
    monkeypatch.setattr(bubblewrap_backend, "RUNNER_FOLDER", runner)
    backend = make_bubblewrap_backend(Settings(sandbox="bubblewrap", sandbox_slots=1))
    await backend.start()
    try:
        with pytest.raises(SandboxFault, match="compiled"):
            async with backend.run(Program("cpp", LANGUAGES["cpp"].double), Limits(), deadline_s=60) as execution:
                assert [termination async for termination in execution] == []
    finally:
        await backend.aclose()
