"""Plain runs on their way, and where they wait: a flight for each distinct run, a queue for each program, lanes of queues."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from hashlib import blake2b

from verifier_service.sandbox.contract import Limits, Termination
from verifier_service.verifiers.base import Deadline

LINGER_S = 30.0  # how long a run that nobody waits for keeps its place: clients sleep a few seconds before they ask again

_KEY = secrets.token_bytes(32)  # keyed, so that nobody can prepare two runs with one key

Answer = Termination | Exception  # a value, since a future's exception that nobody fetches is a warning


@dataclass(frozen=True, slots=True)
class Run:
    """One program with one input, and the limits that hold for it."""

    language: str
    source: str
    limits: Limits
    stdin: bytes = b""
    args: tuple[str, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()
    files_are_data: bool = False

    def size_bytes(self) -> int:
        return len(self.source) + len(self.stdin) + sum(len(name) + len(data) for name, data in self.files)

    def program_key(self) -> bytes:
        """What all inputs of one program share."""
        digest = blake2b(digest_size=16, key=_KEY)
        for part in (self.language, self.source, repr(self.args), repr(self.limits), repr(self.files_are_data)):
            _add(digest, part.encode("utf-8", "surrogatepass"))
        for name, data in self.files:
            _add(digest, name.encode("utf-8", "surrogatepass"))
            _add(digest, data)
        return digest.digest()

    def key(self, program_key: bytes) -> bytes:
        """This input's, given that of `program_key()`."""
        return blake2b(program_key + self.stdin, digest_size=16, key=_KEY).digest()


def _add(digest: blake2b, part: bytes) -> None:
    digest.update(len(part).to_bytes(8, "big"))
    digest.update(part)


@dataclass(slots=True, eq=False)
class Flight:
    """A run on its way, and how many wait for it."""

    key: bytes
    program_key: bytes
    stdin: bytes
    size_bytes: int
    answer: asyncio.Future[Answer]
    deadline: Deadline  # of whoever waits longest
    waiters: int = 0
    left_at: float = 0.0
    alone: bool = False  # not together with other inputs: one of them may have brought the sandbox down
    faults: int = 0
    first_fault_at: float | None = None
    had_second_chance: bool = False

    def abandoned(self) -> bool:
        return self.waiters == 0 and time.monotonic() - self.left_at > LINGER_S


@dataclass(slots=True)
class Queue:
    """The waiting runs of one program."""

    run: Run
    flights: deque[Flight] = field(default_factory=deque)


@dataclass(slots=True)
class Lane:
    """The programs that wait for the sandboxes of one profile, and those who bring them there."""

    queues: OrderedDict[bytes, Queue] = field(default_factory=OrderedDict)
    queued: int = 0  # flights in all queues
    workers: set[asyncio.Task[None]] = field(default_factory=set)
    consecutive_faults: int = 0
