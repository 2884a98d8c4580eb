"""The service as a process: it starts fast, drains when it is asked to end, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from verifier_service.sandbox.docker_backend import LABEL

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300)]

DRAINED = (0, -signal.SIGTERM)  # a server that ended well may still tell its parent which signal ended it
SLOW = "import time\nprint(input())\ntime.sleep(3)"


def containers(service: Any, which: str = "--all") -> set[str]:
    """The sandboxes that this service made; the machine may hold those of others."""
    listed = ["docker", "ps", which, "--quiet", "--no-trunc", "--filter", f"label={LABEL}.pid={service.process.pid}"]
    return set(subprocess.run(listed, capture_output=True, text=True, check=True, timeout=20).stdout.split())


def code(source: str, expected: str = "x\n") -> dict[str, Any]:
    tests = {"style": "stdin", "cases": [{"stdin": "x\n", "expected_stdout": expected}]}
    return {"completion": f"```python\n{source}\n```", "verifiers": [{"kind": "code", "language": "python", "tests": tests}]}


def test_the_executor_logs_in_the_format_that_is_set(tmp_path: Path) -> None:
    environment = os.environ | {
        "VERIFIER_EXECUTOR_SOCKET": str(tmp_path / "executor.sock"),
        "VERIFIER_LOG_FORMAT": "json",
        "DOCKER_HOST": f"unix://{tmp_path}/none.sock",
    }
    command = [sys.executable, "-m", "verifier_service.executor"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = json.loads(process.stderr.readline())
        assert line["event"]
        assert line["level"]
    finally:
        process.terminate()
        process.communicate(timeout=60)


def reward(answer: dict[str, Any]) -> float | None:
    value: float | None = answer["groups"][0]["rewards"][0]
    return value


def test_sigterm_finishes_what_runs_and_leaves_nothing(start: Callable[..., Any]) -> None:
    service = start("--sandbox", "docker").wait_ready()
    assert containers(service)
    answers: list[dict[str, Any]] = []
    client = threading.Thread(target=lambda: answers.append(service.score(code(SLOW))))
    client.start()
    time.sleep(1.0)
    service.terminate()
    client.join()
    assert service.wait() in DRAINED, service.text()
    assert reward(answers[0]) == 1.0
    assert not containers(service)
    assert "Traceback" not in service.text(), service.text()


def test_the_sandboxes_of_a_killed_service_end_by_themselves(start: Callable[..., Any]) -> None:
    service = start("--sandbox", "docker").wait_ready()
    threading.Thread(target=lambda: _ignore_lost(service, code(SLOW)), daemon=True).start()
    time.sleep(0.5)
    assert containers(service)
    service.kill()
    give_up = time.monotonic() + 15
    begun = "--filter=status=running"  # one that was made and not yet started stays for the next start to remove
    while containers(service, begun) and time.monotonic() < give_up:
        time.sleep(0.2)
    assert not containers(service, begun)


def test_a_killed_service_leaves_nothing_once_the_next_has_started(start: Callable[..., Any]) -> None:
    first = start("--sandbox", "docker").wait_ready()
    threading.Thread(target=lambda: _ignore_lost(first, code(SLOW)), daemon=True).start()
    time.sleep(0.5)
    assert containers(first)
    first.kill()
    second = start("--sandbox", "docker").wait_ready()
    assert not containers(first)
    assert reward(second.score(code("print(input())"))) == 1.0
    second.terminate()
    assert second.wait() in DRAINED
    assert not containers(second)


def test_a_second_start_is_quick(start: Callable[..., Any], record_property: Callable[[str, object], None]) -> None:
    start("--sandbox", "docker").wait_ready().terminate()
    second = start("--sandbox", "docker").wait_ready()
    record_property("second_start_s", round(second.started_in_s, 2))
    print(f"second start, ready for all three kinds: {second.started_in_s:.2f} s")


def test_a_taken_port_is_said_in_a_sentence_and_starts_nothing(start: Callable[..., Any]) -> None:
    first = start("--sandbox", "off").wait_ready("math,format")
    second = start("--sandbox", "docker", port=int(first.url.rsplit(":", 1)[1]))
    assert second.wait() == 1
    assert "is taken" in second.text()
    assert "Traceback" not in second.text()
    assert not containers(second)


def _ignore_lost(service: Any, body: dict[str, Any]) -> None:
    with contextlib.suppress(httpx.HTTPError):  # the service is killed under it
        service.score(body)
