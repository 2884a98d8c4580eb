"""The client's end of the executor: a backend whose slots live in another process, behind a Unix socket.

Connections are kept and used again, one exchange at a time each; one that broke is made anew, so an executor that was
restarted is found again by the next program.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from verifier_service.sandbox import remote_wire
from verifier_service.sandbox.contract import BackendInfo, JudgedProgram, Limits, Program, SandboxFault
from verifier_service.sandbox.execution import (
    Exchange,
    JudgedProgramExecution,
    ProgramExecution,
    executing,
    pack_harnesses,
    pack_judged,
    pack_program,
    teach,
)
from verifier_service.sandbox.link import RunnerLink
from verifier_service.sandbox.pooled import FINISH_S
from verifier_service.sandbox.probe import probe
from verifier_service.sandbox.runner import wire

CONNECT_S = 5.0
INFO_S = 10.0


class RemoteExchange(Exchange):
    """An exchange with a slot that the executor lends, or refuses."""

    def __init__(self, link: RunnerLink, kind: int, body: bytes, run_id: int, deadline_s: float | None) -> None:
        super().__init__(link, kind, body, run_id)
        self._body = remote_wire.pack_ask(deadline_s, self._body)
        self.begun = False
        self.refused = False

    async def begin(self) -> None:
        await super().begin()
        kind, _ = await self._receive()
        if kind != remote_wire.BEGUN:
            raise SandboxFault(f"the executor sent frame {kind} where BEGUN belongs")
        self.begun = True

    async def _receive(self) -> tuple[int, bytes]:
        kind, body = await super()._receive()
        if kind == remote_wire.REFUSED:
            self.refused = True
            raise remote_wire.refusal(body)
        return kind, body


class RemoteBackend:
    """Implements SandboxBackend over the executor's socket."""

    def __init__(self, socket_path: Path) -> None:
        self._path = socket_path
        self._idle: list[RunnerLink] = []
        self._run_ids = itertools.count(1)
        self._info: dict[str, Any] = {}

    async def start(self) -> None:
        """Reach the executor and prove that its limits bite. Raises SandboxFault."""
        await self.probe()

    async def aclose(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def info(self) -> BackendInfo:
        known = self._info
        return BackendInfo(
            name="executor",
            isolation=str(known.get("isolation", "container")),
            runtime=str(known.get("runtime", "unknown")),
            slots=int(known.get("slots", 1)),
            languages=tuple(map(str, known.get("languages", ()))) or ("python",),
            versions={str(k): str(v) for k, v in known.get("versions", {}).items()},
            profiles={str(k): str(v) for k, v in known.get("profiles", {}).items()},
            note=str(known.get("note", "")),
            details={"socket": str(self._path), **{str(k): str(v) for k, v in known.get("details", {}).items()}},
        )

    async def probe(self) -> dict[str, str]:
        self._info = await self.ask_info()  # its profiles come up one after another
        return await probe(self)

    @asynccontextmanager
    async def run(self, program: Program, limits: Limits, *, deadline_s: float | None = None) -> AsyncIterator[ProgramExecution]:
        body = pack_program(program, limits)
        async with executing(
            self._exchange(remote_wire.ASK_RUN, body, deadline_s), ProgramExecution, len(program.stdins)
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
        body = pack_judged(program, limits, judge_limits or limits)
        harnesses = pack_harnesses(program, body)
        async with executing(
            self._exchange(remote_wire.ASK_JUDGE, body, deadline_s, harnesses), JudgedProgramExecution, len(program.payloads)
        ) as execution:
            yield execution

    # --- connections

    async def _connect(self) -> RunnerLink:
        link = RunnerLink(demux=False)
        try:
            async with asyncio.timeout(CONNECT_S):
                await asyncio.get_running_loop().create_unix_connection(lambda: link, str(self._path))
        except (OSError, TimeoutError) as error:
            raise SandboxFault(f"the executor does not answer at {self._path}: {error or 'timed out'}") from error
        return link

    async def _take(self) -> RunnerLink:
        while self._idle:
            link = self._idle.pop()
            if link.alive:
                return link
            link.close()
        return await self._connect()

    async def ask_info(self) -> dict[str, Any]:
        link = await self._connect()
        try:
            async with asyncio.timeout(INFO_S):
                await link.send(wire.frame(remote_wire.ASK_INFO))
                kind, body = await link.receive()
        except TimeoutError:
            raise SandboxFault(f"the executor at {self._path} did not say what it is within {INFO_S:.0f} s") from None
        finally:
            link.close()
        if kind == remote_wire.REFUSED:
            raise remote_wire.refusal(body)
        if kind != remote_wire.INFO:
            raise SandboxFault("what answers at the socket is no executor")
        answer: dict[str, Any] = json.loads(body)
        return answer

    @asynccontextmanager
    async def _exchange(
        self, kind: int, body: bytes, deadline_s: float | None, harnesses: bytes = b""
    ) -> AsyncIterator[RemoteExchange]:
        link = await self._take()
        reusable = False
        exchange = RemoteExchange(link, kind, body, next(self._run_ids) & 0xFFFFFFFF, deadline_s)
        try:
            try:
                if harnesses:
                    teach(link, remote_wire.LEARN, harnesses)
                await exchange.begin()
                yield exchange
            finally:
                if exchange.begun and exchange.done is None and not exchange.refused:
                    with suppress(SandboxFault, TimeoutError):
                        async with asyncio.timeout(FINISH_S):
                            await exchange.finish()
                reusable = exchange.refused or exchange.done is not None
        finally:
            if reusable and link.alive:
                self._idle.append(link)
            else:
                link.close()
