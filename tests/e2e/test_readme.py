"""The README is true: its commands are run as they stand, and what it shows is what they answer."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.timeout(300)  # a first run builds the sandboxes' image
ADDRESS = "http://127.0.0.1:8000"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def commands(beginning: str) -> list[str]:
    return [block.strip() for block in blocks("sh") if block.startswith(beginning)]


def holds(answer: Any, shown: Any) -> bool:
    """Whether what is shown is in the answer; fields may have been left out, items of a list may not."""
    if isinstance(shown, dict):
        return isinstance(answer, dict) and all(key in answer and holds(answer[key], value) for key, value in shown.items())
    if isinstance(shown, list):
        return isinstance(answer, list) and len(answer) == len(shown) and all(map(holds, answer, shown))
    return bool(answer == shown)


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=ROOT,
        env=os.environ | {"PATH": path, "COLUMNS": "100"} | environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_every_command_of_the_readme_is_of_a_kind_that_is_tried() -> None:
    tried = ("make serve", "curl -s ", "docker compose up", ".venv/bin/verifier-service score")
    assert [block for block in blocks("sh") if not block.startswith(tried)] == []


@pytest.mark.docker
def test_make_serve_serves_and_the_answers_are_those_of_the_readme(start: Callable[..., Any]) -> None:
    assert commands("make serve") == ["make serve"]
    service = start(command=["make", "serve"]).wait_ready()
    curls, answers = commands("curl -s "), blocks("json")
    assert len(curls) == len(answers) >= 2
    for curl, answer in zip(curls, answers, strict=True):
        done = shell(curl.replace(ADDRESS, service.url))
        assert done.returncode == 0, done.stderr
        assert holds(json.loads(done.stdout), json.loads(answer)), done.stdout
    line = service.wait_line("curl ")
    assert json.loads(shell(line).stdout)["groups"][0]["rewards"] == [1.0]


def test_scoring_a_file_shows_what_the_readme_shows(tmp_path: Path) -> None:
    (command,) = commands(".venv/bin/verifier-service score")
    words = shlex.split(command)
    words[0] = "verifier-service"
    words[words.index("--out") + 1] = str(tmp_path / "rewards.jsonl")
    done = shell(shlex.join(words))
    assert done.returncode == 0, done.stderr
    shown = {line.rstrip() for line in done.stderr.splitlines() if line.strip() and "this run" not in line}
    (expected,) = [block for block in blocks("text") if "pass rate" in block]
    assert {line.rstrip() for line in expected.splitlines() if line.strip() and "this run" not in line} <= shown
