"""A worker process: takes a chunk of items from its socket, judges them in order, streams the answers back.

Frames are a four-byte length and JSON. A chunk is `{"tasks": [[gold, options], …], "items": [[seq, task, completion],
…]}`. Answers go back as `[seq, outcome, stage, reason, extracted, form, microseconds]`, several in a frame; `[seq,
phase]` tells the parent before work that may take long whose work it is, so that a time-out is laid at the right door:
an answer's is scored, a gold's is the task's fault.
"""

from __future__ import annotations

import json
import resource
import socket
import struct
import sys
import time
from typing import Any

from verifier_service.faults import TaskFault
from verifier_service.verifiers.math import symbolic
from verifier_service.verifiers.math.judge import Gold, judge, prepare_gold
from verifier_service.verifiers.math.limits import TooComplex
from verifier_service.verifiers.math.options import BAD_TASK, MEMORY_EXIT, RETIRED_EXIT, Options

LENGTH = struct.Struct("!I")
MAX_GOLDS = 4096
"""Prepared golds a worker keeps."""
LONG_COMPLETION_CHARS = 50_000
"""A completion from this length on is announced before it is read."""
FLUSH_AFTER_S = 0.004
RETIRE_SHARE = 0.6
"""A worker that has had this share of its memory resident makes room for a fresh one, before an innocent item pays."""
FRAMES_DEEP = 3000
"""Python's recursion limit here: deep enough for SymPy on what the guards let through."""


def warm_up() -> None:
    """Load and run what the first item would otherwise pay for."""
    symbolic.warm_up()
    options = Options()
    for gold, answer in (("\\frac{1}{2}", "\\boxed{0.5}"), ("\\sqrt{8}", "\\boxed{2\\sqrt{2}}"), ("|x|", "\\boxed{\\sqrt{x^2}}")):
        judge(prepare_gold(gold), answer, options)


class _Desk:
    """The worker's end: prepared golds and answers not yet sent."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.golds: dict[str, Gold | str] = {}
        self.answers: list[list[Any]] = []
        self.flushed_at = time.monotonic()

    def flush(self) -> None:
        if self.answers:
            body = json.dumps([time.process_time(), self.answers]).encode("ascii")
            self.connection.sendall(LENGTH.pack(len(body)) + body)
            self.answers = []
        self.flushed_at = time.monotonic()

    def gold(self, raw: str) -> Gold:
        known = self.golds.get(raw)
        if known is None:
            try:
                known = prepare_gold(raw)
            except TaskFault as fault:
                known = str(fault)
            if len(self.golds) >= MAX_GOLDS:
                self.golds.clear()
            self.golds[raw] = known
        if isinstance(known, str):
            raise TaskFault(known)
        return known

    def take(self, seq: int, raw_gold: str, completion: str, options: Options) -> None:
        started = time.perf_counter()

        def dear(phase: str) -> None:
            self.answers.append([seq, phase])
            self.flush()

        if len(completion) > LONG_COMPLETION_CHARS:
            dear("answer")
        try:
            done = judge(self.gold(raw_gold), completion, options, dear)
            row: list[Any] = [done.outcome, done.stage, done.reason, done.extracted, done.answer_form]
        except TaskFault as fault:
            row = [BAD_TASK, "gold", str(fault), None, ""]
        except (TooComplex, RecursionError) as error:
            row = ["answer_too_complex", "comparison", str(error)[:100] or "nested too deeply", None, ""]
        row.append(int((time.perf_counter() - started) * 1e6))
        self.answers.append([seq, *row])


def serve(connection: socket.socket, memory_mb: int) -> int:
    """Work until the parent closes the socket; the exit status is returned."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(FRAMES_DEEP)
    desk = _Desk(connection)
    seq = -1
    try:
        while True:
            head = _read(connection, LENGTH.size)
            if head is None:
                return 0
            body = _read(connection, LENGTH.unpack(head)[0])
            if body is None:
                return 0
            chunk = json.loads(body)
            tasks = [(gold, Options.from_list(options)) for gold, options in chunk["tasks"]]
            for seq, task, completion in chunk["items"]:
                gold, options = tasks[task]
                desk.take(seq, gold, completion, options)
                if time.monotonic() - desk.flushed_at > FLUSH_AFTER_S:
                    desk.flush()
            desk.flush()
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > RETIRE_SHARE * memory_mb * 1024:
                return RETIRED_EXIT
    except MemoryError:
        return MEMORY_EXIT
    except (BrokenPipeError, ConnectionResetError):
        return 0


def _read(connection: socket.socket, size: int) -> bytes | None:
    """Exactly `size` bytes; None at the end of the stream."""
    parts = []
    while size:
        part = connection.recv(min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
