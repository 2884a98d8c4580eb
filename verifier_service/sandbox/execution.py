"""One program in one slot: frames out, terminations in. Shared by every backend that runs the runner."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from typing import Self, TypeVar

from verifier_service.sandbox.contract import (
    Ending,
    JudgedProgram,
    JudgedTermination,
    JudgeFrame,
    Limits,
    Program,
    ProgramRefused,
    SandboxFault,
    Termination,
)
from verifier_service.sandbox.link import RunnerLink
from verifier_service.sandbox.runner import build, wire
from verifier_service.sandbox.runner.languages import LANGUAGES, Language

MOST_HARNESSES = 4  # pairs whose sources either end remembers
_NUMPY = re.compile(r"\bnumpy\b")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # a lone surrogate then fails to compile, as it should


def wire_limits(limits: Limits) -> wire.WireLimits:
    return wire.WireLimits(
        limits.cpu_time_s,
        limits.wall_time_s,
        limits.memory_mb,
        limits.processes,
        limits.output_bytes,
        limits.file_bytes,
    )


def _files(files: tuple[tuple[str, bytes], ...]) -> list[tuple[bytes, bytes]]:
    for name, _ in files:
        if not _FILE_NAME.fullmatch(name):
            raise ProgramRefused(f"a file may not be named {name[:40]!r}: letters, digits, dots, dashes, no folders")
    return [(name.encode(), data) for name, data in files]


def _bounded(body: bytes) -> bytes:
    if len(body) > wire.MAX_PROGRAM_BYTES:
        raise ProgramRefused(
            f"source, files and inputs take {len(body)} bytes together, and a sandbox takes {wire.MAX_PROGRAM_BYTES}"
        )
    return body


def _row(language: str) -> Language:
    row = LANGUAGES.get(language)
    if row is None:
        raise ProgramRefused(f"no sandbox runs {language[:40]!r}")
    return row


def granted(language: str, limits: Limits) -> Limits:
    """The task's limits and, on top, what the language's own machinery takes. Raises ProgramRefused."""
    row = _row(language)
    if not (row.memory_extra_mb or row.time_extra_s or row.processes_extra):
        return limits
    return replace(
        limits,
        cpu_time_s=limits.cpu_time_s + row.time_extra_s,
        wall_time_s=limits.wall_time_s + row.time_extra_s,
        memory_mb=limits.memory_mb + row.memory_extra_mb,
        processes=limits.processes + row.processes_extra,
    )


def _built(language: str, source: str) -> bytes:
    """The build of a language that has no compiler: the source itself."""
    row = _row(language)
    if row.compile or language == "python":
        return b""
    return build.pack([build.BuiltFile(row.file_name(source).encode(), False, _encode(source))])


def pack_program(program: Program, limits: Limits) -> bytes:
    """The RUN body of run number 0; the number is put in place when it is sent. Raises ProgramRefused."""
    flags = wire.STOP_ON_ERROR * program.stop_on_error + wire.USES_NUMPY * bool(_NUMPY.search(program.source))
    flags += wire.FILES_ARE_DATA * program.files_are_data
    if not program.stdins or len(program.args) > 1000 or any("\0" in arg for arg in program.args):
        raise ProgramRefused("a program has at least one input, and arguments without zero bytes")
    return _bounded(
        wire.pack_run(
            wire.RunBody(
                0,
                flags,
                wire_limits(granted(program.language, limits)),
                _encode(program.source),
                [_encode(arg) for arg in program.args],
                _files(program.files),
                list(program.stdins),
                program.language.encode(),
                _built(program.language, program.source),
            )
        )
    )


@lru_cache(maxsize=16)
def _harness(source: str) -> wire.Harness:
    data = _encode(source)
    return wire.Harness(hashlib.sha256(data).digest(), data)


@lru_cache(maxsize=8)
def _pack_harnesses(submission: str, judge: str, numpy: bool) -> bytes:
    return _bounded(wire.pack_warm(_harness(submission), _harness(judge), numpy))


def pack_harnesses(program: JudgedProgram, body: bytes) -> bytes:
    """The WARM body that has to go before a program's JUDGE body. Raises ProgramRefused."""
    return _pack_harnesses(program.submission_harness, program.judge_harness, bool(body[4] & wire.USES_NUMPY))


def teach(link: RunnerLink, kind: int, harnesses: bytes) -> None:
    """Send these harnesses, in a frame of this kind, unless the other end has them. Either end forgets the oldest."""
    key = wire.harnesses_in(wire.WARM, harnesses)
    if key not in link.known:
        link.post(wire.frame(kind, harnesses))
        remember(link.known, key, harnesses)


def remember(known: dict[bytes, bytes], key: bytes, harnesses: bytes) -> None:
    known[key] = harnesses
    while len(known) > MOST_HARNESSES:
        del known[next(iter(known))]


def pack_judged(program: JudgedProgram, limits: Limits, judge_limits: Limits) -> bytes:
    """The JUDGE body of run number 0. Raises ProgramRefused."""
    uses_numpy = _NUMPY.search(program.source) or any(b"numpy" in payload for payload in program.payloads)
    flags = wire.STOP_ON_ERROR * program.stop_on_error + wire.USES_NUMPY * bool(uses_numpy)
    return _bounded(
        wire.pack_judge(
            wire.JudgeBody(
                0,
                flags,
                wire_limits(granted(program.language, limits)),
                wire_limits(judge_limits),
                _encode(program.source),
                _harness(program.submission_harness).name,
                _harness(program.judge_harness).name,
                _files(program.files),
                list(program.payloads),
                program.language.encode(),
                _built(program.language, program.source),
            )
        )
    )


def _termination(end: wire.WireTermination) -> Termination:
    return Termination(
        ending=Ending(end.ending),
        exit_code=end.exit_code if end.exit_code >= 0 else None,
        signal=end.signal or None,
        cpu_s=end.cpu_s,
        wall_s=end.wall_s,
        memory_mb=end.memory_mb,
        stdout=end.stdout,
        stderr=end.stderr,
        tamper=end.tamper,
    )


class Exchange:
    """Sends one program and reads frames up to DONE. `outcome` is set by then: whether the slot may be used again."""

    def __init__(self, link: RunnerLink, kind: int, body: bytes, run_id: int) -> None:
        self.link = link
        self._kind = kind
        self._body = wire.pack_number(run_id) + body[4:]
        self._run_id = run_id
        self.done: tuple[bool, str] | None = None
        self.resting_mb = 0  # what the slot's runner and zygotes hold now, once that is done
        self.complete = False  # all results have come, DONE is on its way

    async def begin(self) -> None:
        await self.link.send(wire.frame(self._kind, self._body))
        self._body = b""

    def post(self) -> None:
        """Begin, with a small body, without waiting for anything."""
        self.link.post(wire.frame(self._kind, self._body))
        self._body = b""

    def withdraw(self) -> None:
        """End it, wherever it is, and have nothing of it heard."""
        self.link.void.add(self._run_id)
        with suppress(SandboxFault):
            self._ask_to_stop()

    def _ask_to_stop(self) -> None:
        """Without waiting: a runner that nobody reads from reads nothing either."""
        self.link.post(wire.frame(wire.STOP, wire.pack_number(self._run_id)))

    async def next_frame(self) -> tuple[int, bytes] | None:
        """The next frame of this run, None after DONE. Raises SandboxFault."""
        if self.done is not None:
            return None
        kind, body = await self._receive()
        if kind != wire.DONE:
            return kind, body
        run_id, clean, reason, self.resting_mb = wire.unpack_done(body)
        if run_id != self._run_id:
            raise SandboxFault("the runner answered for another run")
        self.done = (clean, reason)
        return None

    async def _receive(self) -> tuple[int, bytes]:
        return await self.link.receive()

    def number(self, run_id: int) -> None:
        if run_id != self._run_id:
            raise SandboxFault("the runner answered for another run")

    async def finish(self) -> None:
        """Read up to DONE. Unless all results are here already, ask for the end first; what still comes is void."""
        if self.done is None and not self.complete:
            self._ask_to_stop()
        while self.done is None:
            await self.next_frame()


async def drain(link: RunnerLink) -> str:
    """Read up to the end of the runs that were withdrawn; why the slot must go now, or nothing. Raises SandboxFault."""
    why = ""
    while link.void:
        kind, body = await link.receive()
        if kind == wire.DONE:
            run_id, clean, reason, _ = wire.unpack_done(body)
            link.void.discard(run_id)
            why = why or reason or ("" if clean else "unclean")
    return why


class _Counted:
    """Knows how many results are still to come."""

    def __init__(self, exchange: Exchange, expected: int) -> None:
        self._exchange = exchange
        self._missing = expected

    @property
    def complete(self) -> bool:
        return self._missing == 0

    def __aiter__(self) -> Self:
        return self


class ProgramExecution(_Counted):
    """Terminations of a program, in the order of its inputs."""

    async def __anext__(self) -> Termination:
        frame = await self._exchange.next_frame()
        if frame is None:
            raise StopAsyncIteration
        kind, body = frame
        if kind != wire.CASE:
            raise SandboxFault(f"the runner sent frame {kind} where a termination belongs")
        try:
            run_id, _, end = wire.unpack_case(body)
        except wire.WireError as error:
            raise SandboxFault(f"the runner broke the frame format: {error}") from error
        self._exchange.number(run_id)
        self._missing -= 1
        return _termination(end)


class JudgedProgramExecution(_Counted):
    """Judge frames and terminations of a judged program."""

    async def __anext__(self) -> JudgeFrame | JudgedTermination:
        frame = await self._exchange.next_frame()
        if frame is None:
            raise StopAsyncIteration
        kind, body = frame
        try:
            if kind == wire.EMIT:
                run_id, index, data = wire.unpack_emit(body)
                self._exchange.number(run_id)
                return JudgeFrame(index, data)
            if kind == wire.PAIR:
                run_id, index, submission, judge = wire.unpack_pair(body)
                self._exchange.number(run_id)
                self._missing -= 1
                return JudgedTermination(index, _termination(submission), _termination(judge))
        except wire.WireError as error:
            raise SandboxFault(f"the runner broke the frame format: {error}") from error
        raise SandboxFault(f"the runner sent frame {kind} where a judge's belongs")


AnyExecution = TypeVar("AnyExecution", ProgramExecution, JudgedProgramExecution)


@asynccontextmanager
async def executing(
    exchanging: AbstractAsyncContextManager[Exchange], kind: type[AnyExecution], expected: int
) -> AsyncIterator[AnyExecution]:
    """The execution that an exchange carries; on leaving, the exchange knows whether all results are here."""
    async with exchanging as exchange:
        execution = kind(exchange, expected)
        try:
            yield execution
        finally:
            exchange.complete = execution.complete
