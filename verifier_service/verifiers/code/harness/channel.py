"""Messages over the socket between judge and submission."""

from __future__ import annotations

import json
import os
import struct
from typing import Any

from verifier_service.verifiers.code.harness.codec import MAX_FRAME_BYTES, TooLarge

HEAD = struct.Struct(">I")
_ENCODE = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode  # messages are made as trees
_DECODE = json.JSONDecoder().decode


class Gone(BaseException):
    """The other process has ended, or broke the protocol. No test may catch it: the end stays marked as `gone`."""


class Channel:
    """Frames over a connected stream socket: four bytes of length, then JSON."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.pending = b""

    def send(self, message: list[Any]) -> None:
        """Raises TooLarge, or Gone when the other end has hung up."""
        data = _ENCODE(message).encode("ascii")
        if len(data) > MAX_FRAME_BYTES:
            raise TooLarge("too many bytes")
        view = memoryview(HEAD.pack(len(data)) + data)
        try:
            while view:
                view = view[os.write(self.fd, view) :]
        except OSError:
            raise Gone("the other end has hung up") from None

    def receive(self) -> list[Any]:
        """Raises Gone at the end of the stream and for what is no frame."""
        data = self._frame()
        try:
            message = _DECODE(data.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            raise Gone("a frame that is no JSON") from None
        if type(message) is not list or not message or type(message[0]) is not str:
            raise Gone("a frame that is no message")
        return message

    def _frame(self) -> bytes:
        data = self.pending
        while len(data) < HEAD.size:
            data += self._more(1 << 16)
        size = HEAD.unpack_from(data)[0]
        if size > MAX_FRAME_BYTES:
            raise Gone("a frame too large")
        end = HEAD.size + size
        if len(data) < end:
            parts, missing = [data], end - len(data)
            while missing > 0:
                parts.append(self._more(min(max(missing, 1 << 16), 1 << 20)))
                missing -= len(parts[-1])
            data = b"".join(parts)
        self.pending = data[end:]
        return data[HEAD.size : end]

    def _more(self, most: int) -> bytes:
        try:
            data = os.read(self.fd, most)
        except OSError:
            raise Gone("the other end has hung up") from None
        if not data:
            raise Gone("the other end has ended")
        return data
