"""SandboxFusion's own client package against /run_code, in real sandboxes."""

from __future__ import annotations

import asyncio
import base64

import pytest
import requests
import sandbox_fusion
from sandbox_fusion import RunCodeRequest, RunStatus, SummaryMapping, run_code, summary_run_code_result

pytestmark = pytest.mark.docker

MAPPING = SummaryMapping(Success="AC", Failed="FAIL", RunFailed="RE", RunTimeout="TLE", CompileFailed="CE")


def ask(url: str, code: str, **more: object) -> sandbox_fusion.RunCodeResponse:
    return run_code(RunCodeRequest(code=code, language="python", **more), endpoint=url, max_attempts=1, client_timeout=30)


@pytest.mark.parametrize(
    ("code", "stdin", "summary"),
    [
        ("print(int(input()) + 1)", "41", "AC"),
        ("import sys\nfor line in sys.stdin: print(line.strip()[::-1])", "abc\ndef\n", "AC"),
        ("raise SystemExit(3)", "", "RE"),
        ("1 / 0", "", "RE"),
        ("while True: pass", "", "TLE"),
        ("import time; time.sleep(60)", "", "TLE"),
        ("x = bytearray(2 << 30)", "", "RE"),
        ("while True: print('x' * 1000)", "", "RE"),
        ("def f(:", "", "RE"),
    ],
)
def test_the_package_sums_up_what_a_program_did(url: str, code: str, stdin: str, summary: str) -> None:
    run_timeout = 3 if summary == "TLE" else 20  # a busy machine may take long over two gigabytes
    assert summary_run_code_result(ask(url, code, stdin=stdin, run_timeout=run_timeout), MAPPING) == summary


def test_files_go_in_and_out(url: str) -> None:
    data = base64.b64encode(b"in").decode()
    got = ask(url, "open('out', 'w').write(open('data').read() * 2)", files={"data": data}, fetch_files=["out"])
    assert got.status == RunStatus.Success
    assert base64.b64decode(got.files["out"]) == b"inin"


def test_the_asynchronous_client_runs_many_at_once(url: str) -> None:
    async def run_all() -> list[str]:
        sent = [
            sandbox_fusion.run_code_async(
                RunCodeRequest(code=f"print(int(input()) * {i % 4})", language="python", stdin=str(i)),
                endpoint=url,
                client_timeout=60,
            )
            for i in range(60)
        ]
        return [str(got.run_result.stdout) for got in await asyncio.gather(*sent)]

    assert asyncio.run(run_all()) == [f"{i * (i % 4)}\n" for i in range(60)]


def test_a_large_output_comes_whole(url: str) -> None:
    got = ask(url, "print('y' * 3_000_000)")
    assert got.run_result is not None
    assert got.run_result.stdout == "y" * 3_000_000 + "\n"


def test_one_run_leaves_nothing_for_the_next(url: str) -> None:
    ask(url, "open('left.txt', 'w').write('x')")
    got = ask(url, "import os; print(os.listdir('.'))")
    assert got.run_result is not None
    assert got.run_result.stdout == "[]\n"


def test_a_language_that_is_not_there_raises_in_the_client(url: str) -> None:
    with pytest.raises(Exception, match="422"):
        run_code(RunCodeRequest(code="x", language="racket"), endpoint=url, max_attempts=1, client_timeout=30)


def test_ping_answers_as_upstream(url: str) -> None:
    assert requests.get(f"{url}/v1/ping", timeout=5).json() == "pong"
