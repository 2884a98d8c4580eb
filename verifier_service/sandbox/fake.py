"""A backend in memory, scripted by a test: it runs nothing and isolates nothing.

It records all it was given, so that a test can assert that no expected output ever reaches a sandbox.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from verifier_service.sandbox.contract import (
    BackendInfo,
    Ending,
    Execution,
    JudgedExecution,
    JudgedProgram,
    JudgedTermination,
    JudgeFrame,
    Limits,
    Program,
    SandboxFault,
    Termination,
)

T = TypeVar("T")
Script = Callable[[Program, bytes, Limits], Termination]
JudgedScript = Callable[[JudgedProgram, bytes, Limits], Iterable[JudgeFrame | JudgedTermination]]


def ended(
    stdout: bytes = b"",
    *,
    ending: Ending = Ending.EXITED,
    exit_code: int | None = 0,
    signal: int | None = None,
    stderr: bytes = b"",
    cpu_s: float = 0.01,
    wall_s: float = 0.01,
    memory_mb: float = 10.0,
    tamper: tuple[str, ...] = (),
) -> Termination:
    """A termination with usual values for what a test doesn't care about."""
    code = {Ending.EXITED: exit_code, Ending.COMPILE_ERROR: exit_code or 1}.get(ending)
    return Termination(ending, code, signal, cpu_s, wall_s, memory_mb, stdout, stderr, tamper)


@dataclass(slots=True)
class FakeBackend:
    """Answers each case by calling `script(program, stdin, limits)`, which may raise SandboxFault or SlotWaitTimeout.

    `programs` and `limits` hold what was asked for, in order; `left_early` counts executions that the caller left.
    """

    script: Script
    judged_script: JudgedScript | None = None
    languages: tuple[str, ...] = ("python",)
    programs: list[Program] = field(default_factory=list)
    judged: list[JudgedProgram] = field(default_factory=list)
    limits: list[Limits] = field(default_factory=list)
    judge_limits: list[Limits] = field(default_factory=list)
    deadlines_s: list[float | None] = field(default_factory=list)
    left_early: int = 0
    started: bool = False
    probe_fault: str = ""

    async def start(self) -> None:
        self.started = True

    async def aclose(self) -> None:
        self.started = False

    def info(self) -> BackendInfo:
        return BackendInfo("fake", "none", "none", slots=1, languages=self.languages)

    def run(self, program: Program, limits: Limits, *, deadline_s: float | None = None) -> AbstractAsyncContextManager[Execution]:
        self.programs.append(program)
        self.limits.append(limits)
        self.deadlines_s.append(deadline_s)
        return self._counted(self._terminations(program, limits))

    def run_judged(
        self, program: JudgedProgram, limits: Limits, *, judge_limits: Limits | None = None, deadline_s: float | None = None
    ) -> AbstractAsyncContextManager[JudgedExecution]:
        self.judged.append(program)
        self.limits.append(limits)
        self.judge_limits.append(judge_limits or limits)
        self.deadlines_s.append(deadline_s)
        return self._counted(self._events(program, limits))

    async def probe(self) -> dict[str, str]:
        if self.probe_fault:
            raise SandboxFault(self.probe_fault)
        return {"fake": "nothing bites"}

    @asynccontextmanager
    async def _counted(self, events: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
        ended_by_itself = False

        async def watched() -> AsyncIterator[T]:
            nonlocal ended_by_itself
            async for event in events:
                yield event
            ended_by_itself = True

        try:
            yield watched()
        finally:
            self.left_early += not ended_by_itself

    async def _terminations(self, program: Program, limits: Limits) -> AsyncIterator[Termination]:
        for stdin in program.stdins:
            termination = self.script(program, stdin, limits)
            yield termination
            if program.stop_on_error and not (termination.ending is Ending.EXITED and termination.exit_code == 0):
                return

    async def _events(self, program: JudgedProgram, limits: Limits) -> AsyncIterator[JudgeFrame | JudgedTermination]:
        if self.judged_script is None:
            raise SandboxFault("this fake was given no script for judged programs")
        for payload in program.payloads:
            for event in self.judged_script(program, payload, limits):
                yield event
