"""Routes that grade, in real sandboxes, as their clients ask: with `requests` and with aiohttp."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest
import requests

pytestmark = pytest.mark.docker

DOUBLE = "```python\nprint(int(input()) * 2)\n```"
CODE = {"kind": "code", "tests": {"style": "stdin", "cases": [{"stdin": "2", "expected_stdout": "4"}]}}
PROMPT = "<|im_start|>user\nTwice?<|im_end|>\n<|im_start|>assistant\n"


def post(url: str, path: str, body: Any) -> Any:
    response = requests.post(url + path, json=body, timeout=60)
    assert response.status_code == 200, response.text
    return response.json()


def test_many_openrlhf_samples_at_once_one_session_each(url: str) -> None:
    labels = [json.dumps(CODE), "1/2", json.dumps([CODE, {"kind": "format", "weight": 0.5}])]
    replies = [DOUBLE, "so \\boxed{0.5}", DOUBLE]

    async def one(i: int) -> Any:
        body = {"query": [PROMPT + replies[i % 3] + "<|im_end|>"], "prompts": [PROMPT], "labels": [labels[i % 3]]}
        async with aiohttp.ClientSession() as session, session.post(f"{url}/get_reward", json=body) as response:
            response.raise_for_status()
            return await response.json()

    async def run_all() -> list[Any]:
        return await asyncio.gather(*(one(i) for i in range(30)))

    answers = asyncio.run(run_all())
    assert [a["rewards"] for a in answers] == [[1.0]] * 30
    assert [a["scores"] for a in answers[:3]] == [[1.0], [1.0], [pytest.approx(2 / 3)]]


def test_slime_reads_a_number(url: str) -> None:
    assert post(url, "/remote_rm", {"prompt": "p", "response": DOUBLE, "label": json.dumps(CODE)}) == 1.0
    assert post(url, "/remote_rm", {"prompt": "p", "response": "\\boxed{3}", "label": "4"}) == 0.0


def test_open_instruct_stdio(url: str) -> None:
    tests = [{"input": "2", "output": "4"}, {"input": "3", "output": "7"}, {"input": "x", "output": "1"}]
    got = post(url, "/test_program_stdio", {"program": "print(int(input()) * 2)", "tests": tests, "max_execution_time": 2.0})
    assert got["results"] == [1, 0, 0]


def test_open_instruct_asserts(url: str) -> None:
    tests = ["assert f(1) == 2", "assert f(1) == 3", "assert f(2) == 3\nassert f(3) == 4", "assert g(1)"]
    got = post(url, "/test_program", {"program": "def f(x):\n    return x + 1", "tests": tests, "max_execution_time": 2.0})
    assert got["results"] == [1, 0, 1, 0]
    assert [t >= 0 for t in got["runtimes"]] == [True, False, True, False]


@pytest.mark.parametrize(
    "program",
    [
        "import os; os._exit(0)",
        "class E:\n    def __eq__(self, o): return True\ndef f(x): return E()",
        "def f(x): raise SystemExit(0)",
    ],
)
def test_open_instruct_asserts_are_not_cheated(url: str, program: str) -> None:
    got = post(url, "/test_program", {"program": program, "tests": ["assert f(1) == 2"], "max_execution_time": 2.0})
    assert got["results"] == [0]


def scalebox(completion: str, cases: dict[str, Any], **extra: Any) -> dict[str, Any]:
    return {
        "completion": completion,
        "config": {"language": "python", "run_timeout": 5, "provided_data": {"test_cases": cases}, "extra": extra},
    }


def test_scalebox_stdin_function_and_assert(url: str) -> None:
    stdin = {"type": "stdin_stdout", "input": ["1", "2"], "output": ["2", "4"], "fn_name": None}
    got = post(url, "/common_evaluate_batch", scalebox(DOUBLE, stdin, run_all_cases=True))
    assert (got["accepted"], [t["passed"] for t in got["tests"]]) == (True, [True, True])
    add = "```python\ndef add(a, b):\n    return a + b\n```"
    calls = {"type": "function_call", "input": [[1, 2], [3, 4]], "output": [[3], [8]], "fn_name": "add"}
    got = post(url, "/common_evaluate_batch", scalebox(add, calls, run_all_cases=True))
    assert (got["accepted"], [t["passed"] for t in got["tests"]]) == (False, [True, False])
    lines = {"type": "function_call", "input": ["1\n2"], "output": ["3"], "fn_name": "add", "json_input": True}
    assert post(url, "/common_evaluate_batch", scalebox(add, lines))["accepted"] is True
    check = {"type": "assert", "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n", "entry_point": "add"}
    assert post(url, "/common_evaluate_batch", scalebox(add, check))["accepted"] is True


def test_open_r1_scripts_may_start_processes_and_give_their_value(url: str) -> None:
    script = """
    import subprocess
    done = subprocess.run(["python3", "-c", "print(int(input()) * 2)"], input="21", text=True, capture_output=True, timeout=5)
    float(done.stdout == "42\\n")
    """
    got = post(url, "/execute_batch", {"scripts": [script], "languages": ["python"], "timeout": 30, "request_timeout": 28})
    assert float(got[0]["execution"]["results"][0]["text"]) == 1.0
    assert float(got[0]["text"]) == 1.0


def test_piston_and_code_judge_and_judge0(url: str) -> None:
    body = {"language": "python", "version": "3.10.0", "files": [{"content": "import sys; print(input() + sys.argv[1])"}]}
    run = post(url, "/api/v2/execute", body | {"stdin": "a", "args": ["b"]})["run"]
    assert (run["stdout"], run["code"], run["signal"]) == ("ab\n", 0, None)
    submissions = [
        {"type": "python", "solution": "print(input())", "input": str(i), "expected_output": str(i % 3)} for i in range(9)
    ]
    got = post(url, "/run/long-batch", {"type": "batch", "submissions": submissions})
    assert [r["success"] for r in got["results"]] == [True] * 3 + [False] * 6
    response = requests.post(f"{url}/submissions?wait=true", json={"source_code": "print(1)", "language_id": 71}, timeout=30)
    assert (response.status_code, response.json()["stdout"]) == (201, "1\n")


def test_nemo_gym_code_and_functions(url: str) -> None:
    def rollout(text: str, tests: dict[str, Any]) -> dict[str, Any]:
        output = [{"type": "message", "content": [{"type": "output_text", "text": text}]}]
        return {
            "responses_create_params": {"input": "p"},
            "response": {"output": output},
            "verifier_metadata": {"unit_tests": tests},
        }

    assert post(url, "/verify", rollout(DOUBLE, {"inputs": ["2"], "outputs": ["4"]}))["reward"] == 1.0
    method = "```python\nclass Solution:\n    def add(self, a, b):\n        return a + b\n```"
    calls = {"inputs": ["1\n2", "[1]\n[2]"], "outputs": ["3", "[1, 2]"], "fn_name": "add"}
    assert post(url, "/verify", rollout(method, calls))["reward"] == 1.0
