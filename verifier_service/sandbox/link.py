"""The host's end of one runner: frames over any asyncio transport, with back-pressure.

Docker's attach stream wraps output in records of its own (8-byte headers); `demux=True` unwraps them, and what came on
the runner's stderr is kept, bounded, for the message of a fault.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Callable
from typing import cast

from verifier_service.sandbox.contract import SandboxFault
from verifier_service.sandbox.runner import wire

_RECORD = struct.Struct(">BxxxI")
_HIGH_WATER_BYTES = 16 << 20
_STDERR_BYTES = 8192
_UNSENT_BYTES = 1 << 16


class RunnerLink(asyncio.Protocol):
    """Parses frames as they come; `receive` hands them out in order."""

    def __init__(self, *, demux: bool) -> None:
        self._demux = demux
        self._raw = bytearray()
        self._data = bytearray()
        self._record_left = 0
        self._record_stream = 0
        self._frames: deque[tuple[int, bytes]] = deque()
        self._unsent = bytearray()
        self._held_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None
        self._paused = False
        self._lost: str | None = None
        self.stderr = bytearray()
        self.known: dict[bytes, bytes] = {}  # harnesses that went over it, see `wire.harnesses_in`
        self.void: set[int] = set()  # numbers of runs that nobody wants to hear of, until their DONE
        self.read_stderr: Callable[[], bytes] | None = None  # where it doesn't come over the link

    # --- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are no subclasses

    def data_received(self, data: bytes) -> None:
        try:
            if self._demux:
                self._unwrap(data)
            else:
                self._data += data
            self._parse()
        except wire.WireError as error:
            self.lose(f"the runner broke the frame format: {error}")

    def eof_received(self) -> bool:
        self.lose("the runner ended")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.lose(f"the connection to the runner broke: {exc}" if exc else "the runner ended")

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # --- parsing

    def _unwrap(self, data: bytes) -> None:
        raw = self._raw
        raw += data
        offset = 0
        while True:
            if not self._record_left:
                if len(raw) - offset < _RECORD.size:
                    break
                self._record_stream, self._record_left = _RECORD.unpack_from(raw, offset)
                offset += _RECORD.size
                if self._record_stream not in (1, 2):
                    raise wire.WireError(f"an attach record of stream {self._record_stream}")
            piece = raw[offset : offset + self._record_left]
            if not piece:
                break
            offset += len(piece)
            self._record_left -= len(piece)
            if self._record_stream == 1:
                self._data += piece
            else:
                self.stderr += piece
                del self.stderr[:-_STDERR_BYTES]
        del raw[:offset]

    def _parse(self) -> None:
        data = self._data
        offset = 0
        while len(data) - offset >= wire.HEADER.size:
            size, kind = wire.HEADER.unpack_from(data, offset)
            if size > wire.MAX_BODY:
                raise wire.WireError(f"a frame of {size} bytes")
            end = offset + wire.HEADER.size + size
            if len(data) < end:
                break
            self._frames.append((kind, bytes(data[offset + wire.HEADER.size : end])))
            self._held_bytes += size
            offset = end
        if not offset:
            return
        del data[:offset]
        self._wake()
        if self._held_bytes > _HIGH_WATER_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- the users' side

    @property
    def alive(self) -> bool:
        return self._lost is None

    def lose(self, why: str) -> None:
        """Give the runner up; whoever waits is told."""
        if self._lost is None:
            self._lost = why
        self._writable.set()
        self._wake()

    def _fault(self) -> SandboxFault:
        if self.read_stderr is not None:
            self.stderr[:] = self.read_stderr()[-_STDERR_BYTES:]
        said = bytes(self.stderr).decode("utf-8", "replace").strip()[-500:]
        return SandboxFault(f"{self._lost}; it said: {said!r}" if said else str(self._lost))

    async def receive(self) -> tuple[int, bytes]:
        """The next frame. Raises SandboxFault once the runner is gone, or when it reports a failure of its own."""
        while not self._frames:
            if self._lost is not None:
                raise self._fault()
            self._flush()
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        kind, body = self._frames.popleft()
        self._held_bytes -= len(body)
        if self._paused and self._held_bytes < _HIGH_WATER_BYTES // 2 and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        if kind == wire.FAULT:
            raise SandboxFault("the runner failed: " + body.decode("utf-8", "replace")[-1000:])
        return kind, body

    async def send(self, frame: bytes) -> None:
        """Write one frame, waiting while the other side is behind."""
        self.post(frame)
        if not self._writable.is_set():
            await self._writable.wait()
            if self._lost is not None:
                raise self._fault()

    def post(self, frame: bytes) -> None:
        """Write one small frame without waiting. While there is something to read, it waits for what its reader may write
        then: each write wakes four processes on its way."""
        if self._lost is not None or self._transport is None:
            raise self._fault()
        if self._frames and len(self._unsent) + len(frame) < _UNSENT_BYTES:
            self._unsent += frame
        else:
            self._flush()
            self._transport.write(frame)

    def _flush(self) -> None:
        if self._unsent and self._transport is not None:
            self._transport.write(bytes(self._unsent))
            self._unsent.clear()

    def close(self) -> None:
        self.lose("closed")
        if self._transport is not None:
            self._transport.abort()
