"""Golden requests and answers of ScaleBox, open-instruct, open-r1, piston, code-judge, judge0 and NeMo Gym."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from typing import Any

import pytest

from verifier_service.settings import Settings

DOUBLE = "print(int(input()) * 2)"
FENCED = f"```python\n{DOUBLE}\n```"
CASES = {"type": "stdin_stdout", "input": ["2", "3"], "output": ["4", "6"], "fn_name": None}


def scalebox(completion: str = FENCED, cases: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    config = {"language": "python", "run_timeout": 10, "provided_data": {"test_cases": cases or CASES}} | more
    return {"completion": completion, "config": config}


async def post(service: Any, path: str, body: Any, status: int = 200) -> Any:
    response = await service.http.post(path, json=body)
    assert response.status_code == status, response.text
    return response.json()


# --- ScaleBox


async def test_scalebox_accepts_a_completion_that_passes_all(service: Any) -> None:
    got = await post(service, "/common_evaluate_batch", scalebox(extra={"run_all_cases": True}))
    assert got["accepted"] is True
    assert [t["passed"] for t in got["tests"]] == [True, True]
    assert got["extracted_code"] == DOUBLE + "\n"
    assert got["tests"][0]["exec_info"]["status"] == "Success"
    assert got["tests"][0]["exec_info"]["run_result"]["stdout"] == "4\n"


async def test_scalebox_runs_all_cases_only_when_told_to(service: Any) -> None:
    wrong = scalebox("```python\nprint(6)\n```")
    assert [t["passed"] for t in (await post(service, "/common_evaluate_batch", wrong))["tests"]] == [False]
    everything = scalebox("```python\nprint(6)\n```", extra={"run_all_cases": True})
    got = await post(service, "/common_evaluate_batch", everything)
    assert [t["passed"] for t in got["tests"]] == [False, True]
    assert got["accepted"] is False


async def test_scalebox_never_shows_an_expected_output(service: Any) -> None:
    cases = CASES | {"output": ["hush-4711", "hush-4711"]}
    got = await post(service, "/common_evaluate_batch", scalebox(cases=cases))
    assert "hush-4711" not in json.dumps(got)


async def test_scalebox_divides_by_one_failed_test_where_no_program_was_found(service: Any) -> None:
    got = await post(service, "/common_evaluate_batch", scalebox("I don't know"))
    assert got["accepted"] is False
    assert [t["passed"] for t in got["tests"]] == [False]


JUDGE = """
import sys
wanted, printed = int(open("stdin.txt").read()), open("answer.txt").read().split()
assert open("stdout.txt").read() == "any"
sys.exit(0 if len(printed) == 2 and sum(map(int, printed)) == wanted else 1)
"""


@pytest.mark.parametrize(
    ("program", "accepted"),
    [("c = int(input())\nprint(c - 1, 1)", True), ("print(1, 1)", False), ("print('x')", False), ("1/0", False)],
)
async def test_scalebox_special_judges_accept_with_status_0(service: Any, program: str, accepted: bool) -> None:
    cases = {"type": "stdin_stdout", "input": ["3", "7"], "output": ["any", "any"]}
    body = scalebox(f"```python\n{program}\n```", cases, extra={"special_judge_program": JUDGE, "run_all_cases": True})
    got = await post(service, "/common_evaluate_batch", body)
    assert got["accepted"] is accepted
    assert len(got["tests"]) == 2
    assert all("any" not in str(p.source + str(p.stdins)) for p in service.backend.programs if "answer.txt" not in p.source)


async def test_custom_extract_logic_is_refused(service: Any) -> None:
    body = scalebox(custom_extract_logic="submit_code_blocks([])")
    got = await post(service, "/common_evaluate_batch", body, 422)
    assert got["field"] == "config.custom_extract_logic"


@pytest.mark.parametrize(
    "cases",
    [
        {"type": "stdin_stdout", "input": [], "output": []},
        {"type": "stdin_stdout", "input": ["1"], "output": []},
        {"type": "stdin_stdout", "input": [1], "output": ["1"]},
        {"type": "function_call", "input": [[1]], "output": [[1]]},
        {"type": "function_call", "input": [1], "output": [[1]], "fn_name": "f"},
        {"type": "function_call", "input": [[1]], "output": [[1, 2]], "fn_name": "f"},
        {"type": "function_call", "input": ["{"], "output": ["1"], "fn_name": "f", "json_input": True},
        {"type": "function_call", "input": [[1]], "output": [[1]], "fn_name": "not a name"},
        {"type": "assert"},
        {"type": "riddle", "input": ["1"], "output": ["1"]},
    ],
)
async def test_scalebox_tests_that_test_nothing_are_a_422(service: Any, cases: dict[str, Any]) -> None:
    await post(service, "/common_evaluate_batch", scalebox(cases=cases), 422)


async def test_scalebox_gets_a_504_from_a_dead_sandbox(service_with: Any, plain_backend: Any, quick_pauses: None) -> None:
    async with service_with(Settings(math_workers=1), plain_backend(fault="gone")) as service:
        body = scalebox(run_timeout=0.01, compile_timeout=0.01)
        import verifier_service.api.compat.scalebox as route

        slack, route.CLIENT_SLACK_S = route.CLIENT_SLACK_S, 0.3
        try:
            got = await post(service, "/common_evaluate_batch", body, 504)
        finally:
            route.CLIENT_SLACK_S = slack
        assert "accepted" not in got


# --- open-instruct


def packed(tests: Any) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(tests))).decode()


STDIO = [{"input": "2", "output": "4"}, {"input": "5", "output": "11"}, {"input": "3", "output": "6.0"}]


@pytest.mark.parametrize("tests", [STDIO, json.dumps(STDIO), packed(STDIO)], ids=["list", "json", "packed"])
async def test_open_instruct_stdio_takes_tests_in_every_form(service: Any, tests: Any) -> None:
    got = await post(service, "/test_program_stdio", {"program": DOUBLE, "tests": tests, "max_execution_time": 5})
    assert got["results"] == [1, 0, 1]
    assert [t > 0 for t in got["runtimes"]] == [True, False, True]
    assert got["runtimes"][1] == -1.0


async def test_a_program_with_fences_and_tags_of_its_own_is_run_whole(service: Any) -> None:
    program = 'x = """\n```python\nprint(9)\n```\n</think>\n"""\nprint(len(x) > 3)'
    got = await post(service, "/test_program_stdio", {"program": program, "tests": [{"input": "", "output": "True"}]})
    assert got["results"] == [1]


@pytest.mark.parametrize("tests", [None, [], "", "[]", "no tests", {"a": 1}, [1], [{"input": "1"}], packed([print]), packed("x")])
@pytest.mark.parametrize("path", ["/test_program", "/test_program_stdio"])
async def test_open_instruct_tests_that_test_nothing_are_a_422(service: Any, path: str, tests: Any) -> None:
    await post(service, path, {"program": DOUBLE, "tests": tests}, 422)


async def test_open_instruct_health(service: Any) -> None:
    assert (await service.http.get("/health")).json() == {"status": "healthy"}


async def test_open_instruct_gets_a_500_and_no_results_from_a_dead_sandbox(
    service_with: Any, plain_backend: Any, quick_pauses: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import verifier_service.api.compat.open_instruct as route

    monkeypatch.setattr(route, "SHORTEST_CLIENT_S", 0.5)
    monkeypatch.setattr(route, "CLIENT_SLACK_S", 0.1)
    async with service_with(Settings(math_workers=1), plain_backend(fault="gone")) as service:
        got = await post(service, "/test_program_stdio", {"program": DOUBLE, "tests": STDIO, "max_execution_time": 0.01}, 500)
    assert set(got) == {"detail"}


# --- open-r1


async def test_a_cells_last_expression_is_its_result(service: Any) -> None:
    scripts = ["    import math\n    x = 3\n    print('log')\n    x / 4\n    ", "1 / 0", "print('only')", "x ="]
    got = await post(
        service, "/execute_batch", {"scripts": scripts, "languages": ["python"] * 4, "timeout": 10, "request_timeout": 9}
    )
    assert got[0] == {
        "execution": {
            "results": [{"text": "0.75", "is_main_result": True}],
            "logs": {"stdout": ["log\n"], "stderr": []},
            "error": None,
            "execution_count": 1,
        },
        "text": "0.75",
        "exception_str": None,
    }
    assert got[1]["execution"]["error"]["name"] == "ZeroDivisionError"
    assert got[1]["execution"]["results"] == []
    assert got[1]["text"] is None
    assert got[2]["text"] == "only\n"
    assert got[3]["execution"]["error"]["name"] == "SyntaxError"


async def test_a_cell_that_runs_too_long_has_no_result(service: Any) -> None:
    (got,) = await post(service, "/execute_batch", {"scripts": ["while True: pass"], "timeout": 0.5})
    assert got["execution"]["error"]["name"] == "TimeoutError"
    assert got["text"] is None


async def test_a_dead_sandbox_has_no_execution(service_with: Any) -> None:
    async with service_with(Settings(math_workers=1), None) as service:
        (got,) = await post(service, "/execute_batch", {"scripts": ["1"], "languages": ["python"]})
    assert got["execution"] is None
    assert got["text"] is None
    assert "no sandbox" in got["exception_str"]


# --- piston


def piston(content: str, **more: Any) -> dict[str, Any]:
    return {"language": "python", "version": "*", "files": [{"name": "main.py", "content": content}]} | more


async def test_piston_runs_a_program_with_arguments_and_files(service: Any) -> None:
    code = "import sys; print(sys.argv[1], input(), open('b.txt').read(), open('h.txt').read())"
    more = [{"name": "b.txt", "content": "Yg==", "encoding": "base64"}, {"name": "h.txt", "content": "63", "encoding": "hex"}]
    got = await post(service, "/api/v2/execute", piston(code, stdin="in", args=["a"]) | {"files": [{"content": code}, *more]})
    run = got["run"]
    assert (got["language"], got["version"]) == ("python", "3.11.2")
    assert (run["stdout"], run["output"], run["code"], run["signal"], run["status"], run["message"]) == (
        "a in b c\n", "a in b c\n", 0, None, None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("code", "status", "exit_code", "signal"),
    [
        ("import sys; sys.exit(3)", "RE", 3, None),
        ("import os; os.kill(os.getpid(), 11)", "SG", None, "SIGSEGV"),
        ("while True: pass", "TO", None, "SIGKILL"),
    ],
)
async def test_piston_tells_how_a_program_ended(
    service: Any, code: str, status: str, exit_code: int | None, signal: str | None
) -> None:
    run = (await post(service, "/api/v2/execute", piston(code, run_timeout=700)))["run"]
    assert (run["status"], run["code"], run["signal"]) == (status, exit_code, signal)


@pytest.mark.parametrize(
    "wrong",
    [
        {"language": ""},
        {"language": "cobol"},
        {"version": None},
        {"version": "2.7"},
        {"files": []},
        {"files": [{"content": "YQ==", "encoding": "base64"}]},
        {"files": [{"content": "1"}, {"name": "../x", "content": ""}]},
        {"run_timeout": 10_000_000},
        {"run_memory_limit": 1 << 50},
        {"run_timeout": "x"},
        {"args": ["a\0b"]},
    ],
)
async def test_piston_gets_a_400_with_its_message(service: Any, wrong: dict[str, Any]) -> None:
    got = await post(service, "/api/v2/execute", piston("print(1)") | wrong, 400)
    assert set(got) == {"message"}


async def test_piston_wants_json(service: Any) -> None:
    response = await service.http.post("/api/v2/execute", content=b"{}", headers={"content-type": "text/plain"})
    assert (response.status_code, set(response.json())) == (415, {"message"})


async def test_piston_lists_its_runtimes(service: Any) -> None:
    (runtime,) = (await service.http.get("/api/v2/runtimes")).json()
    assert (runtime["language"], runtime["version"]) == ("python", "3.11.2")
    assert "py" in runtime["aliases"]


async def test_piston_gets_a_503_without_a_sandbox(service_with: Any) -> None:
    async with service_with(Settings(math_workers=1), None) as service:
        got = await post(service, "/api/v2/execute", piston("print(1)"), 503)
    assert set(got) == {"message"}


# --- code-judge


async def test_code_judge_compares_without_outer_blanks(service: Any) -> None:
    submission = {"type": "python", "solution": "print(input())", "input": "9", "expected_output": " 9", "sub_id": "s"}
    got = await post(service, "/judge", submission)
    assert got.pop("cost") > 0
    assert got == {"sub_id": "s", "success": True, "run_success": True, "reason": ""}


async def test_code_judge_run_shows_the_output(service: Any) -> None:
    got = await post(service, "/run", {"type": "python", "solution": "print('x' * 5000)", "expected_output": "y"})
    assert (got["success"], got["run_success"], got["stdout"], got["stderr"]) == (False, True, "x" * 1000, "")


@pytest.mark.parametrize("path", ["/judge/batch", "/judge/long-batch", "/run/batch", "/run/long-batch"])
async def test_code_judge_batches_keep_their_order(service: Any, path: str) -> None:
    submissions = [
        {"type": "python", "solution": DOUBLE, "input": str(i), "expected_output": str(i * 2 + (i == 3))} for i in range(6)
    ]
    got = await post(service, path, {"type": "batch", "submissions": submissions})
    assert [r["success"] for r in got["results"]] == [i != 3 for i in range(6)]
    assert ("stdout" in got["results"][0]) is path.startswith("/run")


async def test_code_judge_has_no_reason_for_a_program_that_fails(service: Any) -> None:
    got = await post(service, "/run", {"type": "python", "solution": "import sys; sys.exit(1)"})
    assert (got["run_success"], got["reason"]) == (False, "")


@pytest.mark.parametrize("wrong", [{"type": "cobol"}, {"solution": None}, {"input": 4}])
async def test_code_judge_refuses_a_wrong_submission(service: Any, wrong: dict[str, Any]) -> None:
    await post(service, "/judge", {"type": "python", "solution": "1"} | wrong, 422)
    await post(service, "/judge/batch", {"type": "batch", "submissions": [{"type": "python", "solution": "1"} | wrong]}, 422)


async def test_code_judge_asks_its_client_to_come_again_when_the_sandbox_is_down(
    service_with: Any, plain_backend: Any, quick_pauses: None
) -> None:
    async with service_with(Settings(math_workers=1, deadline_s=0.3), plain_backend(fault="gone")) as service:
        got = await post(service, "/judge", {"type": "python", "solution": "print(1)", "expected_output": "1"})
    assert (got["success"], got["run_success"], got["reason"]) == (False, False, "queue_timeout")


async def test_code_judge_without_any_sandbox_is_a_503_so_that_its_client_stops(service_with: Any) -> None:
    async with service_with(Settings(math_workers=1), None) as service:
        await post(service, "/judge", {"type": "python", "solution": "print(1)"}, 503)


async def test_code_judge_status_and_ping(service: Any) -> None:
    assert (await service.http.get("/status")).json() == {"queue": 0, "num_workers": 2}
    assert (await service.http.get("/ping")).json() == "pong"


async def test_code_judge_does_maths(maths: Any) -> None:
    got = await post(maths, "/judge", {"type": "math", "solution": "\\boxed{0.5}", "expected_output": "1/2"})
    assert (got["success"], got["run_success"]) == (True, True)


# --- judge0


@pytest.mark.parametrize(
    ("code", "expected", "status"),
    [("print(4)", "4", 3), ("print(5)", "4", 4), ("while True: pass", None, 5), ("1/0", None, 11), ("print(4)", None, 3)],
)
async def test_judge0_statuses(service: Any, code: str, expected: str | None, status: int) -> None:
    body = {"source_code": code, "language_id": 71, "expected_output": expected, "wall_time_limit": 0.8, "cpu_time_limit": 0.8}
    got = await post(service, "/submissions?wait=true", body, 201)
    assert got["status"]["id"] == status


async def test_judge0_in_base64(service: Any) -> None:
    def enc(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    body = {"source_code": enc("print(input())"), "language_id": 71, "stdin": enc("é"), "expected_output": enc("é\n")}
    got = await post(service, "/submissions?wait=true&base64_encoded=true", body, 201)
    assert got["status"]["id"] == 3
    assert base64.b64decode(got["stdout"]).decode() == "é\n"


async def test_judge0_refuses_what_it_can_not_do(service: Any) -> None:
    await post(service, "/submissions", {"source_code": "1", "language_id": 71}, 422)
    await post(service, "/submissions?wait=true", {"source_code": "1", "language_id": 1}, 422)
    await post(service, "/submissions?wait=true", {"source_code": "1", "language_id": 71, "cpu_time_limit": 10_000}, 422)


# --- NeMo Gym


def rollout(text: str, **row: Any) -> dict[str, Any]:
    message = {
        "type": "message",
        "role": "assistant",
        "id": "m",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    reasoning = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "\\boxed{9}"}]}
    response = {"id": "resp", "output": [reasoning, message], "usage": {"output_tokens": 7}}
    return {"responses_create_params": {"input": "p", "seed": 1}, "response": response} | row


async def test_nemo_gym_gets_its_whole_request_back_with_a_reward(service: Any) -> None:
    metadata = {"unit_tests": {"inputs": ["2", "3"], "outputs": ["4", "6"], "fn_name": None}, "difficulty": "easy"}
    sent = rollout(FENCED, verifier_metadata=metadata, question="q", _ng_task_index=3)
    got = await post(service, "/verify", sent)
    assert {k: got[k] for k in sent} == sent
    assert got["reward"] == 1.0
    assert got["result"] == [True, True]
    assert got["extracted_model_code"] == DOUBLE + "\n"


async def test_nemo_gym_scores_an_empty_response_zero(service: Any) -> None:
    sent = rollout("", verifier_metadata={"unit_tests": {"inputs": ["2"], "outputs": ["4"]}})
    assert (await post(service, "/verify", sent))["reward"] == 0.0


async def test_nemo_gym_rows_may_name_their_verifiers(service: Any) -> None:
    spec = {"kind": "format", "style": "think_boxed", "weight": 2.0}
    assert (await post(service, "/verify", rollout("<think>a</think>\\boxed{1}", verifiers=[spec])))["reward"] == 2.0


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"expected_answer": " "},
        {"expected_answer": True},
        {"verifier_metadata": {"unit_tests": {"inputs": [], "outputs": []}}},
        {"verifier_metadata": {"unit_tests": {"inputs": ["1"], "outputs": []}}},
        {"verifier_metadata": {"unit_tests": {"inputs": ["{"], "outputs": ["1"], "fn_name": "f"}}},
        {"response": {"output": "text"}, "expected_answer": "1"},
    ],
)
async def test_a_nemo_gym_row_that_says_nothing_of_its_grading_is_a_422(service: Any, row: dict[str, Any]) -> None:
    await post(service, "/verify", rollout("\\boxed{1}") | row, 422)


async def test_nemo_gym_maths_reads_the_message_and_not_the_reasoning(maths: Any) -> None:
    got = await post(maths, "/verify", rollout("It is \\boxed{0.5}.", expected_answer="1/2", question="?"))
    assert (got["reward"], got["library_reward"]) == (1.0, 1.0)
    assert (await post(maths, "/verify", rollout("Hm.", expected_answer="9")))["reward"] == 0.0


async def test_nemo_gym_gets_a_503_from_a_dead_sandbox(service_with: Any, plain_backend: Any, quick_pauses: None) -> None:
    async with service_with(Settings(math_workers=1, deadline_s=0.3), plain_backend(fault="gone")) as service:
        sent = rollout(FENCED, verifier_metadata={"unit_tests": {"inputs": ["2"], "outputs": ["4"]}})
        assert "reward" not in await post(service, "/verify", sent, 503)


async def test_nemo_gym_small_routes(service: Any) -> None:
    assert await post(service, "/seed_session", {}) == {}
    assert (await service.http.get("/reverify_mode")).json() == "stateless"
    rows = [{"_ng_task_index": i // 2, "_ng_rollout_index": i % 2, "reward": float(i == 0), "ok": i < 2} for i in range(4)]
    got = await post(service, "/aggregate_metrics", {"verify_responses": rows})
    assert got["key_metrics"] == {"mean/reward": 0.25, "mean/ok": 0.5}
    assert [g["mean/reward"] for g in got["group_level_metrics"]] == [0.5, 0.0]
    assert [g["_ng_task_index"] for g in got["group_level_metrics"]] == [0, 1]
    assert (await post(service, "/aggregate_metrics", {"verify_responses": []}))["agent_metrics"] == {}


# --- all of them

POSTS = [
    "/run_code", "/common_evaluate_batch", "/get_reward", "/remote_rm", "/test_program", "/test_program_stdio", "/verify",
    "/aggregate_metrics", "/execute_batch", "/api/v2/execute", "/judge", "/run", "/judge/batch", "/run/long-batch",
    "/submissions?wait=true",
]  # fmt: skip


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"{", {400}),
        (b"[]", {400, 422}),
        (b"{}", {400, 422}),
        (b'"x"', {400, 422}),
        (b'{"a": NaN}', {400}),
        (b"[" * 300 + b"]" * 300, {400}),
        (b'{"a": "' + b"x" * 2_000_001 + b'"}', {413}),
    ],
    ids=["broken", "list", "empty", "text", "nan", "deep", "large"],
)
async def test_every_route_refuses_what_is_malformed_or_too_large(service: Any, path: str, raw: bytes, status: set[int]) -> None:
    response = await service.http.post(path, content=raw, headers={"content-type": "application/json"})
    assert response.status_code in status, response.text
    assert "message" in response.json() or "detail" in response.json()
    assert "x" * 100 not in response.text


@pytest.mark.parametrize("path", POSTS)
async def test_every_route_wants_json(service: Any, path: str) -> None:
    response = await service.http.post(path, content=b"{}", headers={"content-type": "application/x-pickle"})
    assert response.status_code == 415
