"""Runs a submission and an interactor as two plain processes of this machine: for the trusted programs of these tests only.

Reads one JSON request a line, `{"source", "task", "wall_s", "grace_s"}`, and answers with one line: the judge's frames, and of
both processes the exit status and what they wrote to stderr. The submission is killed after `wall_s`, the judge `grace_s`
later.
"""

from __future__ import annotations

import json
import os
import resource
import selectors
import signal
import socket
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

CPU_LIMIT_S = 20
STOP_S = 0.2  # that the submission has after the judge's end


def load(source: str, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, f"<{name}>", "exec", dont_inherit=True), module.__dict__)
    return module


class Side:
    """One of the two processes, its stderr in a file."""

    def __init__(self, folder: Path, name: str, work: Callable[[], None], keeps: tuple[int, ...]) -> None:
        self.complaints = folder / f"{name}.txt"
        self.pid = os.fork()
        if self.pid:
            return
        status = 1
        try:
            self._settle(folder, keeps)
            work()
            status = 0
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        finally:
            try:
                sys.stdout.flush()
            except OSError:
                status = status or 120
            sys.stderr.flush()
            os._exit(status)

    def _settle(self, folder: Path, keeps: tuple[int, ...]) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
        os.chdir(folder)
        null = os.open(os.devnull, os.O_RDWR)
        errors = os.open(self.complaints, os.O_WRONLY | os.O_CREAT)
        for target, fd in enumerate((null, null, errors)):
            os.dup2(fd, target)
        for fd in range(3, 64):
            if fd not in keeps:
                try:
                    os.close(fd)
                except OSError:
                    continue

    def ended(self, deadline: float) -> int:
        """The exit status, minus the signal's number if it was killed; SIGKILL at the deadline."""
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.002)
        os.kill(self.pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def run(harnesses: dict[str, types.ModuleType], request: dict[str, Any], folder: Path) -> dict[str, Any]:
    judge_end, submission_end = socket.socketpair()
    reader, writer = os.pipe()
    ours, theirs = judge_end.fileno(), submission_end.fileno()

    def emit(data: bytes) -> None:
        os.write(writer, data + b"\n")

    source, payload = request["source"].encode("utf-8", "surrogatepass"), json.dumps(request["task"]).encode()
    submission = Side(folder, "submission", lambda: harnesses["submission"].serve(source, theirs), (theirs,))
    judge = Side(folder, "judge", lambda: harnesses["judge"].judge(payload, ours, emit), (ours, writer))
    judge_end.close()
    submission_end.close()
    os.close(writer)
    deadline, frames = time.monotonic() + request["wall_s"], bytearray()
    last = deadline + request["grace_s"]
    judge_is_done = collect(reader, deadline, frames)
    submission_status = submission.ended(time.monotonic() + STOP_S if judge_is_done else deadline)
    judge_is_done = judge_is_done or collect(reader, last, frames)
    judge_status = judge.ended(last)
    os.close(reader)
    return {
        "frames": [json.loads(line) for line in frames.splitlines()],
        "submission": [submission_status, submission.complaints.read_text("utf-8", "replace")],
        "judge": [judge_status, judge.complaints.read_text("utf-8", "replace")],
    }


def collect(reader: int, deadline: float, into: bytearray) -> bool:
    """Take in what comes; whether the other end was closed before the deadline."""
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            chunk = os.read(reader, 1 << 16)
            if not chunk:
                return True
            into += chunk
    return False


def main() -> None:
    requests = os.fdopen(os.dup(0), encoding="utf-8")  # sys.stdin itself is the children's, and must have read nothing
    setup = json.loads(requests.readline())
    harnesses = {name: load(source, f"{name}_harness") for name, source in setup.items()}
    for line in requests:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(run(harnesses, json.loads(line), Path(folder))), flush=True)


if __name__ == "__main__":
    main()
