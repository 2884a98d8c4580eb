"""The frames between a `RemoteBackend` and the executor, over a Unix socket.

The same framing as the runner's. A connection carries one exchange at a time: ASK_RUN, or ASK_JUDGE after a LEARN with the
harnesses that it names, unless one went over this connection before; then BEGUN once a
slot is taken, then the runner's frames up to DONE; or REFUSED at any point, and the exchange is over. The client may
send STOP meanwhile. Nothing else is understood: no image, no mount, no option of a container can be named.
"""

from __future__ import annotations

import struct

from verifier_service.sandbox.contract import ProgramRefused, SandboxFault, SlotWaitTimeout
from verifier_service.sandbox.runner import wire

ASK_INFO = ord("i")
INFO = ord("I")
ASK_RUN = ord("r")
ASK_JUDGE = ord("j")
LEARN = ord("l")
BEGUN = ord("b")
REFUSED = ord("n")

_DEADLINE = struct.Struct(">d")
_CAUSES: tuple[type[Exception], ...] = (SandboxFault, SlotWaitTimeout, ProgramRefused)


def pack_ask(deadline_s: float | None, body: bytes) -> bytes:
    return _DEADLINE.pack(-1.0 if deadline_s is None else max(deadline_s, 0.0)) + body


def unpack_ask(ask: bytes) -> tuple[float | None, bytes]:
    """Deadline in seconds, and the RUN or JUDGE body. Raises WireError."""
    if len(ask) < _DEADLINE.size:
        raise wire.WireError("a request is cut short")
    (deadline_s,) = _DEADLINE.unpack_from(ask)
    if deadline_s != deadline_s:
        raise wire.WireError("a deadline is no number")
    return (None if deadline_s < 0 else deadline_s), ask[_DEADLINE.size :]


def pack_refusal(error: Exception) -> bytes:
    cause = next((i for i, kind in enumerate(_CAUSES) if isinstance(error, kind)), 0)
    return bytes([cause]) + str(error).encode("utf-8", "replace")[:4000]


def refusal(body: bytes) -> Exception:
    """The exception that a REFUSED body stands for."""
    cause = body[0] if body and body[0] < len(_CAUSES) else 0
    return _CAUSES[cause](body[1:].decode("utf-8", "replace") or "the executor refused without a word")
