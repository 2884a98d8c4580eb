"""A backend whose programs are Python functions of the test's, with slots, so that waiting can be seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import SimpleNamespace

import pytest

from verifier_service.observability.metrics import Metrics
from verifier_service.sandbox.contract import (
    BackendInfo,
    Ending,
    Execution,
    JudgedExecution,
    JudgedProgram,
    Limits,
    Program,
    SlotWaitTimeout,
    Termination,
)
from verifier_service.scoring.runs import Runs
from verifier_service.settings import Settings

Script = Callable[[Program, bytes], Awaitable[Termination]]


class SlottedBackend:
    """`script(program, stdin)` is awaited for each input, in as many slots as asked for."""

    def __init__(self, script: Script, *, slots: int = 1, languages: tuple[str, ...] = ("python", "cpp")) -> None:
        self.script = script
        self._info = BackendInfo("slotted", "none", "none", slots=slots, languages=languages)
        self._free = asyncio.Semaphore(slots)
        self.programs: list[Program] = []
        self.limits: list[Limits] = []

    async def start(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    def info(self) -> BackendInfo:
        return self._info

    async def probe(self) -> dict[str, str]:
        return {}

    def run_judged(
        self, program: JudgedProgram, limits: Limits, *, judge_limits: Limits | None = None, deadline_s: float | None = None
    ) -> AbstractAsyncContextManager[JudgedExecution]:
        raise NotImplementedError

    @asynccontextmanager
    async def run(self, program: Program, limits: Limits, *, deadline_s: float | None = None) -> AsyncIterator[Execution]:
        try:
            await asyncio.wait_for(self._free.acquire(), deadline_s)
        except TimeoutError:
            raise SlotWaitTimeout from None
        try:
            self.programs.append(program)
            self.limits.append(limits)
            yield self._terminations(program)
        finally:
            self._free.release()

    async def _terminations(self, program: Program) -> AsyncIterator[Termination]:
        for stdin in program.stdins:
            yield await self.script(program, stdin)

    def ran(self) -> list[bytes]:
        """Every input that was sent to a slot, in order."""
        return [stdin for program in self.programs for stdin in program.stdins]


def ended(
    stdout: bytes = b"", ending: Ending = Ending.EXITED, exit_code: int | None = 0, stderr: bytes = b"", cpu_s: float = 0.01
) -> Termination:
    code = exit_code if ending in (Ending.EXITED, Ending.COMPILE_ERROR) else None
    return Termination(ending, code, None, cpu_s, 0.01, 8.0, stdout, stderr)


async def echo(program: Program, stdin: bytes) -> Termination:
    await asyncio.sleep(0)
    return ended(stdin)


@pytest.fixture
def runs_with() -> Callable[..., Runs]:
    def make(backend: SlottedBackend | None, **settings: object) -> Runs:
        return Runs(backend, Settings(**settings), Metrics(), unavailable="no sandbox here")  # type: ignore[arg-type]

    return make


@pytest.fixture
def fake() -> SimpleNamespace:
    """The backend, and usual endings and scripts for it."""
    return SimpleNamespace(Backend=SlottedBackend, ended=ended, echo=echo)
