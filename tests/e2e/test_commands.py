"""The command line as a user runs it, against the real parts."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
GROUPS = 3000

pytestmark = pytest.mark.timeout(300)  # a first run builds the sandboxes' image


def command(*arguments: str, timeout_s: float = 280) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "verifier_service", *arguments],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def unused_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_killed_scoring_goes_on_where_it_was_and_scores_every_line_once(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    groups = ({"completions": [f"\\boxed{{{n}}}", "\\boxed{-1}"], "gold": str(n), "labels": [True, False]} for n in range(GROUPS))
    source.write_text("".join(json.dumps(group) + "\n" for group in groups), encoding="utf-8")
    arguments = ["score", str(source), "--out", str(out), "--sandbox", "off", "--batch", "4", "--in-flight", "1"]
    kills = 0
    for wanted in (200, 900):
        process = subprocess.Popen([sys.executable, "-m", "verifier_service", *arguments], stderr=subprocess.DEVNULL, cwd=ROOT)
        while process.poll() is None and (not out.exists() or out.read_bytes().count(b"\n") < wanted):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills == 2
    assert out.read_bytes().count(b"\n") < GROUPS
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
    assert "scored by an earlier run" in done.stderr
    records = lines_of(out)
    assert sorted(record["line"] for record in records) == list(range(1, GROUPS + 1))
    assert all(record["rewards"] == [1.0, 0.0] for record in records)
    assert f"{2 * GROUPS:,} of {2 * GROUPS:,}" in done.stderr


@pytest.mark.docker
def test_the_sample_of_programs_scores_as_its_labels_say(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = command("score", "examples/stdin_problems.jsonl", "--out", str(out), "--sandbox", "docker")
    assert done.returncode == 0, done.stderr
    for record in lines_of(out):
        assert [reward == 1.0 for reward in record["rewards"]] == record["labels"]


@pytest.mark.docker
def test_the_doctor_proves_every_limit_in_a_container() -> None:
    done = command("doctor", "--sandbox", "docker", "--port", unused_port())
    assert done.returncode == 0, done.stderr
    for limit in ("memory", "processes", "time", "network"):
        assert f"limit: {limit}" in done.stderr


@pytest.mark.bubblewrap
def test_the_doctor_proves_every_limit_in_namespaces_and_notes_the_weaker_isolation() -> None:
    done = command("doctor", "--sandbox", "bubblewrap", "--port", unused_port())
    assert done.returncode == 0, done.stderr
    assert "isolation by namespace" in done.stderr
    for limit in ("memory", "processes", "time", "network"):
        assert f"limit: {limit}" in done.stderr


def test_the_doctor_says_how_to_mend_a_machine_without_a_sandbox() -> None:
    done = command("doctor", "--sandbox", "off", "--port", unused_port())
    assert done.returncode == 1
    assert "VERIFIER_SANDBOX=off" in done.stderr
