"""A backend over a pool of slots; the Docker and the bubblewrap backend differ only in how a slot is made."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from verifier_service.sandbox.builds import Builds, compiled_with, key_of
from verifier_service.sandbox.contract import BackendInfo, JudgedProgram, Limits, Program, ProgramRefused, SandboxFault
from verifier_service.sandbox.execution import (
    Exchange,
    JudgedProgramExecution,
    ProgramExecution,
    drain,
    executing,
    granted,
    pack_harnesses,
    pack_judged,
    pack_program,
    remember,
    teach,
    wire_limits,
)
from verifier_service.sandbox.link import RunnerLink
from verifier_service.sandbox.pool import Lease, Pool, PoolStats, Slot
from verifier_service.sandbox.runner import wire
from verifier_service.sandbox.runner.languages import LANGUAGES

FIT_STEP_MB = 8
MOST_AHEAD_BYTES = 1 << 15  # of a program that waits at a slot, in the memory of its runner and in the pipe to it
FINISH_S = 20.0  # the runner kills and proves within 10 s, or says that it can't


@dataclass(frozen=True, slots=True)
class Compiling:
    """Limits of compilers, and what they made; the latter shared by all backends of a process."""

    limits: Limits
    builds: Builds


def languages_of(hello: Mapping[str, Any]) -> tuple[str, ...]:
    """What the last slot's runner found there; Python is everywhere."""
    return tuple(hello.get("languages", ())) or ("python",)


def versions_of(hello: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(version) for name, version in hello.get("versions", {}).items()}


class _Errand:
    """One program on its way to a slot; implements the pool's Ahead."""

    def __init__(self, run_ids: Iterator[int], kind: int, body: bytes, harnesses: bytes) -> None:
        self._run_ids = run_ids
        self._kind = kind
        self._body = body
        self._harnesses = harnesses
        self.exchange: Exchange | None = None  # once it was sent

    def open(self, slot: Slot) -> Exchange:
        if self._harnesses:
            teach(slot.link, wire.WARM, self._harnesses)
        return Exchange(slot.link, self._kind, self._body, next(self._run_ids) & 0xFFFFFFFF)

    def post(self, slot: Slot) -> None:
        exchange = self.open(slot)
        exchange.post()
        self.exchange = exchange

    def withdraw(self, slot: Slot) -> None:
        del slot  # its link is the exchange's
        if self.exchange is not None:
            self.exchange.withdraw()
            self.exchange = None


class PooledBackend:
    """Implements SandboxBackend but for `info`, over a pool."""

    def __init__(self, pool: Pool, *, reuse: bool, compiling: Compiling) -> None:
        self.pool = pool
        self._reuse = reuse
        self._compiling = compiling
        self._run_ids = itertools.count(1)
        self._harnesses: dict[bytes, bytes] = {}  # the latest
        self._numpy = False  # whether a program had it
        pool.warm = self._warm

    def _warm(self, slot: Slot) -> None:
        """Have a new slot load what was used before, so that its first programs need not wait for it."""
        if not self._reuse:
            return
        with suppress(SandboxFault):
            if self._numpy:
                slot.link.post(wire.frame(wire.NUMPY))
            for harnesses in list(self._harnesses.values())[-wire.KEPT_PAIRS :]:
                teach(slot.link, wire.WARM, harnesses)

    async def start(self) -> None:
        try:
            await self.pool.start()
            await self.probe()
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        await self.pool.aclose()

    def info(self) -> BackendInfo:
        raise NotImplementedError

    def stats(self) -> PoolStats:
        return self.pool.snapshot()

    async def probe(self) -> dict[str, str]:
        from verifier_service.sandbox.probe import probe

        return await probe(self)

    @asynccontextmanager
    async def run(self, program: Program, limits: Limits, *, deadline_s: float | None = None) -> AsyncIterator[ProgramExecution]:
        body = pack_program(program, limits)
        memory_mb = granted(program.language, limits).memory_mb
        async with executing(
            self.exchange(wire.RUN, body, memory_mb, deadline_s), ProgramExecution, len(program.stdins)
        ) as execution:
            yield execution

    @asynccontextmanager
    async def run_judged(
        self,
        program: JudgedProgram,
        limits: Limits,
        *,
        judge_limits: Limits | None = None,
        deadline_s: float | None = None,
    ) -> AsyncIterator[JudgedProgramExecution]:
        judge_limits = judge_limits or limits
        body = pack_judged(program, limits, judge_limits)
        harnesses = pack_harnesses(program, body)
        memory_mb = max(granted(program.language, limits).memory_mb, judge_limits.memory_mb)
        async with executing(
            self.exchange(wire.JUDGE, body, memory_mb, deadline_s, harnesses), JudgedProgramExecution, len(program.payloads)
        ) as execution:
            yield execution

    @asynccontextmanager
    async def exchange(
        self, kind: int, body: bytes, memory_mb: int, deadline_s: float | None, harnesses: bytes = b""
    ) -> AsyncIterator[Exchange]:
        """One packed program in one slot, compiled before if need be; what `run`, `run_judged` and the executor stand on.

        `harnesses`: the WARM body of a judged program.
        """
        self._numpy = self._numpy or bool(body[4] & wire.USES_NUMPY)
        language = wire.language_in(kind, body)
        if language != wire.PYTHON:
            name = language.decode("ascii", "replace")
            if name not in self.info().languages:
                raise ProgramRefused(f"these sandboxes run {', '.join(self.info().languages)}")
            if LANGUAGES[name].compile:  # else the body has the source as its build
                body = await self._with_build(kind, body, deadline_s)
        if harnesses:
            remember(self._harnesses, wire.harnesses_in(wire.WARM, harnesses), harnesses)
        async with self._lent(kind, body, memory_mb, deadline_s, harnesses) as exchange:
            yield exchange

    async def _with_build(self, kind: int, body: bytes, deadline_s: float | None) -> bytes:
        program = wire.unpack_run(body) if kind == wire.RUN else wire.unpack_judge(body)
        if program.built:
            return body
        return wire.with_built(body, await self._compiling.builds.get(key_of(program), lambda: self._build(program, deadline_s)))

    async def _build(self, program: wire.RunBody | wire.JudgeBody, deadline_s: float | None) -> bytes:
        """Compile in a slot of its own, under the limits of compilers."""
        limits = granted(program.language.decode("ascii", "replace"), self._compiling.limits)
        ask = wire.RunBody(0, 0, wire_limits(limits), program.source, [], compiled_with(program), [], program.language)
        async with self._lent(wire.BUILD, wire.pack_run(ask), limits.memory_mb, deadline_s) as exchange:
            frame = await exchange.next_frame()
            if frame is None or frame[0] != wire.BUILT:
                raise SandboxFault("the runner ended before it had compiled the program")
            exchange.complete = True
            return frame[1][4:]

    @asynccontextmanager
    async def _lent(
        self, kind: int, body: bytes, memory_mb: int, deadline_s: float | None, harnesses: bytes = b""
    ) -> AsyncIterator[Exchange]:
        memory_mb += 2 * (len(body) >> 20) // FIT_STEP_MB * FIT_STEP_MB  # the runner holds the inputs, and may copy them
        errand = _Errand(self._run_ids, kind, body, harnesses)
        may_go_ahead = self._reuse and kind != wire.BUILD and len(body) <= MOST_AHEAD_BYTES
        lease = await self.pool.acquire(deadline_s, memory_mb, errand if may_go_ahead else None)
        discard = "fault"  # unless the runner proves the slot clean
        try:
            exchange = errand.exchange
            if exchange is None:
                await lease.slot.fit_memory(memory_mb)
                exchange = errand.open(lease.slot)
                await exchange.begin()
                self.pool.begun(lease)
            try:
                yield exchange
            finally:
                discard = await self._finish(exchange)
                lease.slot.rests_at(exchange.resting_mb)
        finally:
            self._give_back(lease, discard)

    async def _finish(self, exchange: Exchange) -> str:
        """Bring the run to its DONE; why the slot must go, or nothing."""
        if exchange.done is None:
            with suppress(SandboxFault, TimeoutError):
                async with asyncio.timeout(FINISH_S):
                    await exchange.finish()
        if exchange.done is None:
            return "fault"
        clean, reason = exchange.done
        if not clean:
            return "unclean"
        if reason or not self._reuse:
            return reason or "strict"
        return await self._drained(exchange.link)

    @staticmethod
    async def _drained(link: RunnerLink) -> str:
        """After a program behind which others were sent and taken back; why the slot must go, or nothing."""
        if link.void:
            try:
                async with asyncio.timeout(FINISH_S):
                    return await drain(link)
            except (SandboxFault, TimeoutError):
                return "fault"
        return ""

    def _give_back(self, lease: Lease, discard: str) -> None:
        self.pool.release(lease, discard=discard)
