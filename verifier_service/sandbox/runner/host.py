"""The host as the runner sees it: frames in on stdin, frames out on stdout."""

from __future__ import annotations

import os
import select
from collections import deque

from . import wire

CANCELLED = 0  # the kind of a frame that was taken back before its turn
HELD_BYTES = 1 << 16
LEFT_AHEAD = 2  # what a slot has to do while the host hears of answers and sends more


class Stopped(Exception):
    """The host is gone."""


class Host:
    """The host's end of stdin and stdout."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.poll = select.poll()
        self.poll.register(0, select.POLLIN)
        self.run_id = -1
        self.waiting: deque[tuple[int, bytes]] = deque()  # what came during a run
        self._held = b""

    def _more(self) -> None:
        chunk = os.read(0, 1 << 16 if len(self.buffer) < 1 << 20 else 1 << 20)
        if not chunk:
            raise Stopped
        self.buffer += chunk

    def next(self) -> tuple[int, bytes]:
        """The next frame; waits for it."""
        if self.waiting:
            return self.waiting.popleft()
        while (frame := self._buffered()) is None:
            self._more()
        return frame

    def _buffered(self) -> tuple[int, bytes] | None:
        buffer = self.buffer
        if len(buffer) < wire.HEADER.size:
            return None
        size, kind = wire.HEADER.unpack_from(buffer)
        if size > wire.MAX_BODY:
            raise wire.WireError(f"a frame of {size} bytes")
        end = wire.HEADER.size + size
        if len(buffer) < end:
            return None
        body = bytes(buffer[wire.HEADER.size : end])
        del buffer[:end]
        return kind, body

    def wants_stop(self) -> bool:
        """Whether the host has asked to stop the present run; reads what is there."""
        while self.poll.poll(0):
            self._more()
        while (frame := self._buffered()) is not None:
            if frame[0] != wire.STOP:
                self.waiting.append(frame)
            elif wire.unpack_number(frame[1]) == self.run_id:
                return True
            else:
                self._cancel(frame[1])
        return False

    def _cancel(self, number: bytes) -> None:
        """Of a run that is still to come, only the end will be."""
        for index, (kind, body) in enumerate(self.waiting):
            if kind in (wire.RUN, wire.JUDGE) and body[:4] == number:
                self.waiting[index] = CANCELLED, number

    def send(self, data: bytes) -> None:
        if self._held:
            data, self._held = self._held + data, b""
        write(data)

    def send_last(self, data: bytes) -> None:
        """The last frames of a run. They may wait for the next run's, while the host has sent enough ahead that nothing
        stands still for want of them: each write wakes four processes on its way."""
        if len(self.waiting) > LEFT_AHEAD and len(self._held) + len(data) < HELD_BYTES:
            self._held += data
        else:
            self.send(data)

    def flush(self) -> None:
        """To be called when a run takes longer than most."""
        if self._held:
            self.send(b"")


def write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
