"""The zygotes of one sandbox: which there are, which child is readied ahead, and who of the processes is our own."""

from __future__ import annotations

import _socket
import os
import struct
from collections.abc import Callable

from . import wire
from .child import SELF, Child, Code, Zygote, ZygoteDied, receive
from .watch import Broken
from .zygote import pack_message, pack_work, send_order, start_first

# Large modules are loaded ahead only for programs and tests that speak of them: each run pays for what its zygote has.
MORE_WORDS = (b"async", b"mock")
MORE_MODULES = "asyncio unittest.mock"
NUMPY_SETUP = b"numpy"


class Zygotes:
    """Begins with the first zygote; the others are forked from it when they are wanted."""

    def __init__(self, submission_uid: int, before_growth: Callable[[], None]) -> None:
        """`before_growth` is called before a zygote is made, which takes a while."""
        self.submission_uid = submission_uid
        self._before_growth = before_growth
        pid, control = start_first(hidden=submission_uid == SELF)
        self.plain = Zygote(pid, control)
        receive(control)
        self.own = {os.getpid(), 1, pid}
        self.numpy: Zygote | None = None
        self._numpy_ready = False
        self.harnesses: dict[tuple[bytes, bytes, bool, bool], tuple[Zygote, Zygote]] = {}  # the zygote and its parent
        self.sources: dict[bytes, bytes] = {}  # of harnesses, by name
        self.ready: dict[int, Child] = {}
        self.grown = True  # since somebody has last looked: there are others than before

    def fork_zygote(self, parent: Zygote, letter: bytes, setup: bytes) -> Zygote:
        """Have a clean zygote fork another kind of zygote. It is not ready before its b"R" was received."""
        self._before_growth()
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        way, their_way = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        send_order(parent.control, b"Z" + letter, [theirs.fileno(), their_way.fileno()])
        theirs.close()
        their_way.close()
        (pid,) = struct.unpack("=i", receive(parent.control))
        self.own.add(pid)
        try:
            way.sendall(pack_message(setup))
        except (BrokenPipeError, ConnectionResetError):
            pass  # its end is seen on the control socket
        finally:
            way.close()
        return Zygote(pid, ours)

    def start_numpy(self) -> None:
        """Begin to load numpy in a zygote of its own; its readiness is awaited when it is first wanted."""
        if self.numpy is None:
            self._drop_ready(self.plain)
            self.numpy = self.fork_zygote(self.plain, b"n", NUMPY_SETUP)
            self._numpy_ready = False

    def base(self, numpy: bool) -> Zygote:
        if not numpy:
            return self.plain
        self.start_numpy()
        assert self.numpy is not None
        if not self._numpy_ready:
            answer = receive(self.numpy.control)
            if answer[:1] != b"R":
                raise ZygoteDied(answer[1:].decode("utf-8", "replace"))
            self._numpy_ready = True
            self.grown = True
        return self.numpy

    def harness(self, letter: bytes, name: bytes, numpy: bool, text: bytes = b"") -> Zygote:
        """The zygote of a harness; one that has loaded more where `text`, what it will be given, asks for that."""
        more = any(word in text for word in MORE_WORDS)
        key = (letter, name, numpy, more)
        zygote, parent = self.harnesses.pop(key, (None, self.plain))
        if zygote is None:
            source = self.sources.get(name)
            if source is None:
                raise Broken("a harness that was never sent")
            parent = self.base(numpy)
            self._drop_ready(parent)
            while len(self.harnesses) >= 2 * wire.KEPT_PAIRS:
                self._forget_oldest()
            zygote = self.fork_zygote(parent, letter, pack_work(source, MORE_MODULES if more else ""))
            answer = receive(zygote.control)
            if answer[:1] != b"R":
                raise Broken(answer[1:].decode("utf-8", "replace"))
            self.grown = True
        self.harnesses[key] = zygote, parent
        return zygote

    def _forget_oldest(self) -> None:
        zygote, parent = self.harnesses.pop(next(iter(self.harnesses)))
        self._drop_ready(parent)
        self.dismiss(zygote, parent)

    def prepare(self) -> None:
        """Between programs: fork the next child ahead, which then waits for its work. Not where a program of another
        zygote, of the same uid, could kill it meanwhile."""
        if self.submission_uid != SELF and self.plain.pid not in self.ready:
            child = Child(self.plain, self.submission_uid)
            self.ready[self.plain.pid] = child
            self.own.add(child.pid)

    def _drop_ready(self, zygote: Zygote) -> None:
        """A waiting child keeps its zygote busy: send it home before other orders."""
        child = self.ready.pop(zygote.pid, None)
        if child is not None:
            child.work.close()
            child.take_end()
            self.own.discard(child.pid)
            child.close()

    def child(self, zygote: Zygote, code: Code) -> Child:
        """A child for the next case; it has the code if there is some, or else is to hand its own over if that is wanted."""
        if code.fd >= 0:
            self._drop_ready(zygote)
            return Child(zygote, self.submission_uid, (os.dup(code.fd),))
        child = self.ready.pop(zygote.pid, None)
        if child is None:
            child = Child(zygote, self.submission_uid)
        self.own.discard(child.pid)
        child.code = code if code.wanted else None
        return child

    def dismiss(self, zygote: Zygote, parent: Zygote) -> None:
        """Let a zygote end, and wait until it has."""
        zygote.control.close()
        send_order(parent.control, b"W" + struct.pack("=i", zygote.pid), [])
        receive(parent.control)
        self.own.discard(zygote.pid)
