"""The compatibility routes over ASGI, on the real verifiers, with programs run as plain subprocesses.

The programs are these tests' own, so that they need no isolation; what the wire says of a run that ended so or so is what
these tests are about.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI

from verifier_service.api import compat, problems
from verifier_service.api.middleware import Door
from verifier_service.faults import InfrastructureFault
from verifier_service.observability.metrics import Metrics
from verifier_service.sandbox.contract import (
    BackendInfo,
    Ending,
    Execution,
    JudgedExecution,
    JudgedProgram,
    Limits,
    Program,
    SandboxFault,
    Termination,
)
from verifier_service.scoring.runs import Runs
from verifier_service.scoring.scorer import Scorer
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Verifier
from verifier_service.verifiers.registry import make_verifiers

SMALL = Settings(math_workers=1, max_body_bytes=2_000_000, max_completion_chars=100_000, max_test_cases=50)


@dataclass
class PlainBackend:
    """`python -c` in a folder of its own. `fault` makes it fail as a dead sandbox does."""

    fault: str = ""
    languages: tuple[str, ...] = ("python",)
    programs: list[Program] = field(default_factory=list)
    limits: list[Limits] = field(default_factory=list)

    async def start(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def probe(self) -> dict[str, str]:
        return {}

    def info(self) -> BackendInfo:
        return BackendInfo("plain", "none", "none", 2, self.languages, details={"python": "3.11.2"})

    def run_judged(
        self, program: JudgedProgram, limits: Limits, *, judge_limits: Limits | None = None, deadline_s: float | None = None
    ) -> AbstractAsyncContextManager[JudgedExecution]:
        raise SandboxFault("judged programs need a real sandbox")

    @asynccontextmanager
    async def run(self, program: Program, limits: Limits, *, deadline_s: float | None = None) -> AsyncIterator[Execution]:
        if self.fault:
            raise SandboxFault(self.fault)
        self.programs.append(program)
        self.limits.append(limits)
        yield self._terminations(program, limits)

    async def _terminations(self, program: Program, limits: Limits) -> AsyncIterator[Termination]:
        for stdin in program.stdins:
            yield await _run(program, stdin, limits)


async def _run(program: Program, stdin: bytes, limits: Limits) -> Termination:
    with tempfile.TemporaryDirectory() as folder:
        for name, data in program.files:
            (Path(folder) / name).write_bytes(data)
        start = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program.source, *program.args, cwd=folder, stdin=-1, stdout=-1, stderr=-1,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
        )  # fmt: skip
        talk = asyncio.create_task(process.communicate(stdin))
        await asyncio.wait({talk}, timeout=limits.wall_time_s)
        ending = Ending.EXITED if talk.done() else Ending.WALL_TIME
        if not talk.done():
            process.kill()
        out, err = await talk
        code = process.returncode or 0
        wall_s = time.monotonic() - start
        if ending is Ending.EXITED and code < 0:
            return Termination(Ending.SIGNALLED, None, -code, 0.01, wall_s, 8.0, out, err)
        return Termination(ending, code if ending is Ending.EXITED else None, None, 0.01, wall_s, 8.0, out, err)


@dataclass
class Service:
    http: httpx.AsyncClient
    backend: PlainBackend | None
    metrics: Metrics
    settings: Settings


async def _started(verifier: Verifier) -> None:
    """A machine that runs all tests at once may be too slow for the first try, as the service's own start allows for."""
    for _ in range(3):
        try:
            return await verifier.start()
        except InfrastructureFault as fault:
            last = fault
    raise last


@asynccontextmanager
async def open_service(settings: Settings, backend: PlainBackend | None, *, maths: bool = False) -> AsyncIterator[Service]:
    metrics = Metrics()
    verifiers = make_verifiers(settings, backend, "no sandbox on this machine")  # type: ignore[arg-type]
    async with AsyncExitStack() as stack:
        stack.push_async_callback(verifiers["math"].aclose)
        if maths:
            await _started(verifiers["math"])
        runs = Runs(backend, settings, metrics, unavailable="no sandbox on this machine")  # type: ignore[arg-type]
        stack.push_async_callback(runs.aclose)
        app = FastAPI()
        app.state.settings, app.state.metrics = settings, metrics
        app.state.parts = SimpleNamespace(scorer=Scorer(verifiers, settings, metrics), runs=runs)
        for router in compat.routers():
            app.include_router(router)
        problems.install(app)
        app.add_middleware(Door, settings=settings, metrics=metrics)
        transport = httpx.ASGITransport(app)
        http = await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://service", timeout=60))
        yield Service(http, backend, metrics, settings)


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    """Programs and formats; maths would need its workers."""
    async with open_service(SMALL, PlainBackend()) as opened:
        yield opened


@pytest.fixture
async def maths() -> AsyncIterator[Service]:
    """A service that scores maths too."""
    async with open_service(SMALL, PlainBackend(), maths=True) as opened:
        yield opened


@pytest.fixture
def service_with() -> Callable[[Settings, PlainBackend | None], AbstractAsyncContextManager[Service]]:
    """A service with settings and a backend of the test's own."""
    return open_service


@pytest.fixture
def plain_backend() -> type[PlainBackend]:
    return PlainBackend


@pytest.fixture
def quick_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries of the service's own without their waits."""
    from verifier_service.api.compat import grading
    from verifier_service.scoring import runs

    monkeypatch.setattr(grading, "SHORTEST_PAUSE_S", 0.01)
    monkeypatch.setattr(runs, "SHORTEST_BACKOFF_S", 0.01)
