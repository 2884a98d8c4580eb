"""How a case ended, in one word: from the child's status, what it used, and what it said last."""

from __future__ import annotations

import os
import signal

from . import wire
from .box import Box
from .child import Child
from .program import FAILED_TO_COMPILE

MEMORY_ERROR = b"MemoryError"


def termination(child: Child, box: Box, orphans_cpu_s: float, *, submission: bool) -> wire.WireTermination:
    """To be asked while the child's files are still there; `orphans_cpu_s` is what its children used."""
    end = child.end
    assert end is not None
    number = os.WTERMSIG(end.status) if os.WIFSIGNALED(end.status) else 0
    exit_code = os.WEXITSTATUS(end.status) if os.WIFEXITED(end.status) else -1
    cpu_s = end.cpu_s + orphans_cpu_s
    stdout, stderr = b"".join(child.out), b"".join(child.err)
    ending = child.cause or _ending(child, box, cpu_s, number, exit_code, stderr, submission=submission)
    if ending in ("exited", "signalled") and (number or exit_code) and child.out_of_memory and child.out_of_memory in stderr:
        ending = "memory"
    if ending not in ("exited", "compile_error"):
        exit_code = exit_code if child.cause is None else -1
    wall_s = max(0.0, end.at - child.started)
    return wire.WireTermination(
        ending, exit_code, number if ending == "signalled" else 0, cpu_s, wall_s, end.peak_kib / 1024, stdout, stderr, ()
    )


def _ending(child: Child, box: Box, cpu_s: float, number: int, exit_code: int, stderr: bytes, *, submission: bool) -> str:
    """Of a child that nobody killed for a reason."""
    if cpu_s > child.limits.cpu_time_s or number == signal.SIGXCPU:
        return "cpu_time"
    if number == signal.SIGXFSZ:
        return "file_size"
    if number:
        return "output" if child.over else "signalled"
    if exit_code and child.word == FAILED_TO_COMPILE:
        return "compile_error"
    if child.over:
        return "output"
    if exit_code == 1 and stderr.rstrip().rpartition(b"\n")[2].startswith(MEMORY_ERROR):
        return "memory"
    if exit_code and submission and box.disk_full(child.limits.file_bytes):
        return "file_size"
    return "exited"
