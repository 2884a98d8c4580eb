"""The judge's process in tests of the style `interactive`: runs the task's interactor against the submission.

The interactor is a program: it reads what the submission prints, the submission reads what it prints, its arguments name
the case's input and reference, and its exit status 0 accepts. The two files have no name on any disk: they are memory of
this process, which no other process can open.

Reports, in order: `bad_task`, if the interactor does not compile; `met`, and whether the submission got as far as to run;
`fills` when it has not read what the interactor said, so that there is no room for more; `listens` when the interactor begins to
wait for it; `flooded` when too much came; `idle` when nothing more will come;
`ended` with what the interactor decided.
Told of it is how much came, and of an exception the class and the line: what an interactor says may show a secret.
"""

from __future__ import annotations

import builtins
import io
import os
import re
import select
import socket
import struct
import sys
import threading
import time
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from verifier_service.verifiers.code.harness.interactive_greeting import COMPILES, COMPILES_NOT, HERE
from verifier_service.verifiers.code.harness.interactive_idle import Watch

INTERACTOR = "interactor.py"
TAIL_BYTES = 1_000
DRAIN_BYTES = 1 << 16
LOOKS = 10  # at whether the submission sleeps, before it has slept too long
CREDENTIALS = struct.Struct("=3i")  # struct ucred: pid, uid, gid
# What an interactor with one of these reads, or waits for, is not always seen here.
READS_BY_ITSELF = re.compile(
    r"\bos\.readv?\(|\bopen\(\s*0\b|\bfdopen\(|\bfileno\(|__stdin__|/dev/(stdin|fd)|/proc/self/fd|\.detach\("
    r"|\bimport\b.*\b(select|selectors|asyncio|subprocess|multiprocessing|signal)\b"
)

ReportFrame = Callable[[dict[str, Any]], None]


class Conversation:
    """What passes between the two. `listens`: the interactor has begun to wait for output; `ended`: it got the end of it;
    `fills`: the pipe to the submission has been full."""

    def __init__(self, report: ReportFrame, task: dict[str, Any], watch: Watch | None, reads_by_itself: bool) -> None:
        self.report = report
        self.room = task["output_bytes"]
        self.idle_s = task["idle_s"]  # that the submission may sleep while the interactor waits for it
        self.watch = watch if not reads_by_itself else None
        self.listens = self.ended = self.fills = False
        if reads_by_itself:
            self._listen()
            self.ended = True
        self.received = 0
        self.waited_s = 0.0  # in the last read
        self.tail = b""

    def hear(self, buffer: Any) -> int | None:
        """Read what the submission printed, as much as there is."""
        self._listen()
        started = time.monotonic()
        try:
            if self.watch is not None and threading.active_count() == 1:  # else another may be about to speak
                self._await_output(self.watch)
            size = os.readv(0, [buffer])
        except BlockingIOError:
            return None
        self.waited_s = time.monotonic() - started
        self.ended = self.ended or size == 0
        self._count(bytes(buffer[:size]))
        return size

    def say(self, data: Any) -> int:
        """Write to the submission; what nobody reads any more is lost, as the rest of a conversation shows soon enough."""
        try:
            if not self.fills and not self._room():
                self.fills = True
                self.report({"kind": "fills"})
            return os.write(1, data[: select.PIPE_BUF] if not self.fills else data)
        except BrokenPipeError:
            return len(data)

    def _room(self) -> bool:
        """Whether PIPE_BUF bytes can be written without waiting for the submission to read; true once it can't."""
        output = select.poll()
        output.register(1, select.POLLOUT)
        return bool(output.poll(0))

    def hear_out(self) -> None:
        """Let the submission go on to its own end, which is part of being right."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.set_blocking(0, True)
        while chunk := os.read(0, DRAIN_BYTES):
            self._count(chunk)

    def _await_output(self, watch: Watch) -> None:
        """Until there is output, or the end of it; a submission that sleeps meanwhile has stopped."""
        output = select.poll()
        output.register(0, select.POLLIN)
        started = time.monotonic()
        watch.begin()
        while not output.poll(self.idle_s / LOOKS * 1000):
            if watch.idle_s() >= self.idle_s:
                waited_s = time.monotonic() - started
                self.report(
                    {"kind": "idle", "received": self.received, "waited_s": waited_s, "tail": self.tail.decode("latin-1")}
                )
                os._exit(1)

    def _listen(self) -> None:
        if not self.listens:
            self.listens = True
            self.report({"kind": "listens"})

    def _count(self, chunk: bytes) -> None:
        self.received += len(chunk)
        self.room -= len(chunk)
        self.tail = (self.tail + chunk)[-TAIL_BYTES:]
        if self.room < 0:
            self.report({"kind": "flooded", "tail": self.tail.decode("latin-1")})
            os._exit(1)  # whatever the interactor does about exceptions


class FromSubmission(io.RawIOBase):
    """The interactor's stdin. What it has printed is on its way before it waits, unless another thread may be printing."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.tied: io.TextIOWrapper | None = None

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0

    def readinto(self, buffer: Any) -> int | None:
        if self.tied is not None and not self.tied.closed and threading.active_count() == 1:
            self.tied.flush()
        return self.conversation.hear(buffer)


class ToSubmission(io.RawIOBase):
    """The interactor's stdout."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def write(self, data: Any) -> int:
        return self.conversation.say(data)


def judge_conversation(task: dict[str, Any], channel_fd: int, report: ReportFrame) -> None:
    """One case. Ends with exit status 0 only if the interactor accepts."""
    source = task["interactor"]
    try:
        code = compile(source, INTERACTOR, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        where = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        report({"kind": "bad_task", "detail": f"the task's interactor does not compile: {type(error).__name__}{where}"})
        raise SystemExit(1) from None
    arguments = [_file_of(task["stdin"]), _file_of(task["expected"])]
    met, pid = _meet_submission(channel_fd, report)
    if not met:
        return
    watch = Watch(pid) if pid else None
    conversation = Conversation(report, task, watch, READS_BY_ITSELF.search(source) is not None)
    stdout = _take_stdio(conversation)
    accepted, raised = _run_interactor(code, arguments)
    with suppress(OSError, ValueError):
        stdout.flush()
    report(
        {
            "kind": "ended",
            "accepted": accepted,
            "raised": raised,
            "at_the_end": conversation.ended,
            "received": conversation.received,
            "waited_s": conversation.waited_s,
            "tail": conversation.tail.decode("latin-1"),
        }
    )
    if not accepted:
        raise SystemExit(1)
    conversation.hear_out()


def _file_of(text: str) -> str:
    """The path, for this process alone, of a file with this text."""
    fd = os.memfd_create("case")
    data = memoryview(text.encode("utf-8", "surrogatepass"))
    while data:
        data = data[os.write(fd, data) :]
    return f"/proc/self/fd/{fd}"


def _meet_submission(channel_fd: int, report: ReportFrame) -> tuple[bool, int]:
    """Join the two by pipes, on this side as stdin and stdout: whether the submission gets as far as to run, and its pid."""
    channel = socket.socket(fileno=channel_fd)
    channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    try:
        answer = channel.recv(1)
    except ConnectionResetError:
        answer = b""
    report({"kind": "met", "compiles": answer != COMPILES_NOT, "left": not answer})  # before any of it can run
    if answer != COMPILES:
        return False, 0
    hear, their_stdout = os.pipe()
    their_stdin, say = os.pipe()
    with suppress(PermissionError):  # gVisor's pipes have no modes: there they can be used, and not opened anew
        for fd in (their_stdin, their_stdout):
            os.fchmod(fd, 0o666)  # as /dev/stdin and /dev/stdout they can be opened by their user, and reached by nobody else
    with suppress(BrokenPipeError, ConnectionResetError):
        socket.send_fds(channel, [b"P"], [their_stdin, their_stdout])
    os.close(their_stdin)
    os.close(their_stdout)
    pid = _sender(channel)
    channel.close()
    for end, standard in ((hear, 0), (say, 1)):
        os.dup2(end, standard)
        os.close(end)
    return True, pid


def _sender(channel: socket.socket) -> int:
    """The pid that the next message comes from, as the kernel says; 0 if none comes."""
    try:
        data, rights, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(CREDENTIALS.size))
    except ConnectionResetError:
        return 0
    known = [item for level, kind, item in rights if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)]
    return int(CREDENTIALS.unpack(known[0])[0]) if data == HERE and known else 0


def _take_stdio(conversation: Conversation) -> io.TextIOWrapper:
    """Put counted streams in the place of sys.stdin and sys.stdout; the latter."""
    source = FromSubmission(conversation)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(source), encoding="utf-8", errors="surrogateescape")
    stdout = io.TextIOWrapper(io.BufferedWriter(ToSubmission(conversation)), encoding="utf-8", errors="surrogateescape")
    sys.stdout = source.tied = stdout
    return stdout


def _run_interactor(code: types.CodeType, arguments: list[str]) -> tuple[bool, dict[str, Any] | None]:
    """Run it as the main module: whether it accepts, and what is told of the exception that it ended with."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __file__=INTERACTOR, __cached__=None, __annotations__={})
    sys.modules["__main__"] = main
    sys.argv = [INTERACTOR, *arguments]
    accepted, error = True, None
    try:
        exec(code, main.__dict__)
    except SystemExit as leaving:
        accepted = leaving.code is None or (isinstance(leaving.code, int) and leaving.code & 0xFF == 0)
    except BaseException as raised:
        accepted, error = False, _told_of(raised)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    return accepted, error


def _told_of(error: BaseException) -> dict[str, Any]:
    """Class and line, and whether it is the interactor's own mistake: a name or a module that it has not."""
    line, innermost = 0, ""
    trace = error.__traceback__
    while trace is not None:
        innermost = trace.tb_frame.f_code.co_filename
        line = trace.tb_lineno if innermost == INTERACTOR else line
        trace = trace.tb_next
    mistaken = isinstance(error, NameError | ImportError) and innermost == INTERACTOR
    return {"name": type(error).__name__[:80], "line": line, "own_mistake": mistaken}
