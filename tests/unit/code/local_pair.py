"""Runs a judge and a submission as two plain processes of this machine: for the trusted programs of these tests only.

Reads one JSON request a line, `{"source", "task"}`, and answers with one line, `{"frames", "status"}`.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import types
from typing import Any

CPU_LIMIT_S = 20


def load(source: str, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, f"<{name}>", "exec", dont_inherit=True), module.__dict__)
    return module


def silenced() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)


def child(work: Any) -> int:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            silenced()
            work()
            status = 0
        finally:
            os._exit(status)
    return pid


def run(harnesses: dict[str, types.ModuleType], source: str, task: dict[str, Any]) -> dict[str, Any]:
    judge_end, submission_end = socket.socketpair()
    reader, writer = os.pipe()
    serve = harnesses["in_process" if task["style"] == "in_process" else "submission"].serve

    def submission() -> None:
        judge_end.close()
        os.close(reader)
        os.close(writer)
        serve(source.encode(), submission_end.fileno())

    def judge() -> None:
        submission_end.close()
        os.close(reader)
        harnesses["judge"].judge(json.dumps(task).encode(), judge_end.fileno(), lambda data: os.write(writer, data + b"\n"))

    pids = [child(submission), child(judge)]
    judge_end.close()
    submission_end.close()
    os.close(writer)
    with os.fdopen(reader, "rb") as reports:
        frames = [json.loads(line) for line in reports]
    status = os.waitstatus_to_exitcode(os.waitpid(pids[1], 0)[1])
    os.kill(pids[0], 9)
    os.waitpid(pids[0], 0)
    return {"frames": frames, "status": status}


def main() -> None:
    setup = json.loads(sys.stdin.readline())
    harnesses = {name: load(source, f"{name}_harness") for name, source in setup.items()}
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(run(harnesses, request["source"], request["task"])), flush=True)


if __name__ == "__main__":
    main()
