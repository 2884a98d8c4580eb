"""One running child as the runner sees it: its pipes, what it wrote so far, and how it ended."""

from __future__ import annotations

import _socket
import os
import struct
from typing import NamedTuple

from . import wire
from .program import KEPT_CODE
from .zygote import ENDED, pack_message, send_order

SELF = os.getuid()
PIPE_BYTES = 1 << 16  # what a new pipe usually takes without a reader
LEAST_PIPE_BYTES = 1 << 12  # and what it takes where this user's pipes have used up the kernel's allowance
STDERR_SLACK = 16  # times the output limit that a program may write to stderr, of which one time is kept


class ZygoteDied(Exception):
    """A zygote is gone; the sandbox must be thrown away."""


class Zygote(NamedTuple):
    """A zygote's pid and control socket."""

    pid: int
    control: _socket.socket


class End(NamedTuple):
    """How the child itself ended, as its zygote saw it."""

    status: int
    cpu_s: float
    at: float
    peak_kib: int


class Code:
    """The code of a program with several cases: compiled by the child of the first, given to those of the others."""

    def __init__(self, *, wanted: bool) -> None:
        self.wanted = wanted
        self.fd = -1  # once there is some

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def receive(control: _socket.socket) -> bytes:
    try:
        packet = control.recv(1 << 16)
    except ConnectionResetError:
        packet = b""
    if not packet:
        raise ZygoteDied("a zygote died")
    return packet


class Child:
    """A child ordered from a zygote. It waits for its work, and has run nothing until that is given."""

    def __init__(self, zygote: Zygote, uid: int, extra_fds: tuple[int, ...] = ()) -> None:
        """`extra_fds` go to the child after its stdio, and are closed here."""
        self.zygote = zygote
        self.control = zygote.control
        self.uid = uid
        self.work, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        in_r, self.stdin = os.pipe()
        self.stdout, out_w = os.pipe()
        self.stderr, err_w = os.pipe()
        send_order(self.control, b"P", [theirs.fileno(), in_r, out_w, err_w, *extra_fds])
        theirs.close()
        for fd in (in_r, out_w, err_w, *extra_fds):
            os.close(fd)
        self._pid = 0
        self.limits = wire.WireLimits(0, 0, 0, 0, 0, 0)
        self.emit = -1
        self.emitted = bytearray()
        self.pending_input = memoryview(b"")
        self.out: list[bytes] = []
        self.err: list[bytes] = []
        self.room = self.stderr_room = self.stderr_slack = 0
        self.started = 0.0
        self.end: End | None = None
        self.cause: str | None = None  # why it was killed, if it was
        self.killed_at = 0.0
        self.over = False  # it wrote more than its output limit
        self.out_of_memory = b""  # what its language's runtime says when memory runs out before the kernel does anything
        self.word = b""
        self.code: Code | None = None  # where what it compiles is to go, if anybody wants it
        self.crowded = False  # its tree was seen at its process limit

    @property
    def pid(self) -> int:
        if not self._pid:
            self._pid = struct.unpack("=i", receive(self.control))[0]
        return self._pid

    def give(self, work: bytes, limits: wire.WireLimits, stdin: bytes) -> None:
        """Hand over the work; from here on the child runs."""
        _ = self.pid
        self._give_pipes()
        self.limits = limits
        self.room = limits.output_bytes
        self.stderr_room, self.stderr_slack = limits.output_bytes, STDERR_SLACK * limits.output_bytes
        if len(stdin) > LEAST_PIPE_BYTES:
            os.set_blocking(self.stdin, False)
        self.pending_input = memoryview(stdin)
        self.feed()
        self.work.sendall(pack_message(work))

    def _give_pipes(self) -> None:
        """So that /dev/stdin and its like can be opened. Not sooner: a program that ran beside a child forked ahead could
        open that child's pipes, where it may look at the descriptors of others (gVisor)."""
        if self.uid == SELF:
            return
        try:
            for fd in (self.stdin, self.stdout, self.stderr):
                os.fchown(fd, self.uid, self.uid)
        except PermissionError:
            pass  # older gVisors: there a pipe can only be used, not opened anew

    def feed(self) -> None:
        """Write what the pipe takes of the input; close it at the end, or when nobody reads any more."""
        if self.stdin < 0:
            return
        try:
            while self.pending_input:
                self.pending_input = self.pending_input[os.write(self.stdin, self.pending_input) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.pending_input = memoryview(b"")
        os.close(self.stdin)
        self.stdin = -1

    def take(self, fd: int) -> int:
        """Read once from stdout or stderr, which has something or has ended; how much. Output is cut at the limit."""
        chunk = os.read(fd, PIPE_BYTES)
        if not chunk:
            os.close(fd)
            if fd == self.stdout:
                self.stdout = -1
            else:
                self.stderr = -1
            return 0
        if fd == self.stderr:
            self._take_stderr(chunk)
        elif len(chunk) > self.room:
            self.out.append(chunk[: self.room])
            self.room = 0
            self.over = True
        else:
            self.out.append(chunk)
            self.room -= len(chunk)
        return len(chunk)

    def _take_stderr(self, chunk: bytes) -> None:
        """Keep what has room and drop the rest: debug text is no answer, until even that has no end."""
        if self.stderr_room:
            self.err.append(chunk[: self.stderr_room])
            self.stderr_room -= min(len(chunk), self.stderr_room)
        self.stderr_slack -= len(chunk)
        self.over = self.over or self.stderr_slack < 0

    def take_rest(self) -> None:
        """All that is left in the pipes, once nobody is left to write: a short read is then the last."""
        for name in ("stdout", "stderr"):
            fd = getattr(self, name)
            while fd >= 0 and not self.over and self.take(fd) == PIPE_BYTES:
                pass

    def take_end(self) -> None:
        """Read the zygote's word on the end."""
        status, cpu_s, at, peak = ENDED.unpack(receive(self.control))
        self.end = End(status, cpu_s, at, peak)

    def take_word(self) -> None:
        """Read what the child said, if anything, before any of the program ran; after its end, once."""
        self.work.setblocking(False)
        try:
            self.word, ancillary, *_ = self.work.recvmsg(1, _socket.CMSG_SPACE(4), _socket.MSG_CMSG_CLOEXEC)
        except (BlockingIOError, ConnectionResetError):
            return
        if ancillary:
            (fd,) = struct.unpack("=i", ancillary[0][2])
            if self.code is None or self.word != KEPT_CODE:
                os.close(fd)
            else:
                self.code.fd = fd

    @property
    def failed(self) -> bool:
        return self.end is None or self.end.status != 0

    def close(self) -> None:
        self.work.close()
        for fd in (self.stdin, self.stdout, self.stderr, self.emit):
            if fd >= 0:
                os.close(fd)
        self.stdin = self.stdout = self.stderr = self.emit = -1
