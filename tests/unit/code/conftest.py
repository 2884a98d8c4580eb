"""A judge and a submission as local processes, for trusted programs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from verifier_service.verifiers.code.harness import bundle


@dataclass
class Judged:
    """What the judge reported of one run."""

    frames: list[dict[str, Any]]
    status: int

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if frame["kind"] == kind]

    @property
    def outcomes(self) -> list[str]:
        return [frame["outcome"] for frame in self.of("test")]

    @property
    def passed(self) -> bool:
        counted = [outcome for outcome in self.outcomes if outcome != "skipped"]
        return self.status == 0 and bool(self.of("done")) and bool(counted) and set(counted) == {"correct"}

    @property
    def signs(self) -> list[str]:
        return [sign for frame in self.of("signs") for sign in frame["signs"]]


class LocalPair:
    """Sends programs and tasks to a helper process that forks both sides."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def run(self, source: str, task: dict[str, Any]) -> Judged:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"source": source, "task": task}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return Judged(answer["frames"], answer["status"])

    def asserts(
        self, source: str, code: str, *, entry_point: str | None = None, stop: bool = False, style: str = "asserts"
    ) -> Judged:
        return self.run(source, {"style": style, "code": code, "entry_point": entry_point, "stop": stop})

    def function(self, source: str, entry_point: str, *cases: tuple[list[Any], Any], **more: Any) -> Judged:
        task = {
            "style": "function",
            "entry_point": entry_point,
            "cases": [{"args": args, "kwargs": {}, "expected": expected} for args, expected in cases],
            "float_tol": 0.0,
            "rel_tol": 0.0,
            "inplace_arg": None,
            "stop": False,
        }
        return self.run(source, {**task, **more})


@pytest.fixture(scope="session")
def pair() -> Iterator[LocalPair]:
    with subprocess.Popen(
        [sys.executable, "-I", str(Path(__file__).with_name("local_pair.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        harnesses = {
            "submission": bundle.submission_harness(),
            "judge": bundle.judge_harness(),
            "in_process": bundle.in_process_harness(),
        }
        process.stdin.write(json.dumps(harnesses) + "\n")
        process.stdin.flush()
        yield LocalPair(process)
        process.stdin.close()
        process.wait(10)
