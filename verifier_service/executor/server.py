"""The executor's socket: runs programs for whoever may open it, and does nothing else.

A request names a program and its limits, never an image, a mount or an option: every container comes from one template.
Frames are bounded, limits are held to the ceilings of the settings here too, and a client that leaves stops its program.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import socket
import stat
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import structlog

from verifier_service.sandbox import remote_wire
from verifier_service.sandbox.contract import ProgramRefused, SandboxFault, SlotWaitTimeout
from verifier_service.sandbox.execution import Exchange, granted, remember
from verifier_service.sandbox.link import RunnerLink
from verifier_service.sandbox.pooled import PooledBackend
from verifier_service.sandbox.profiles import ProfiledBackend
from verifier_service.sandbox.ranges import ceilings
from verifier_service.sandbox.runner import wire
from verifier_service.settings import Settings

MAX_CONNECTIONS = 2048
START_PAUSE_S = 2.0
SOCKET_MODE = 0o660

log = structlog.get_logger(__name__)


class Executor:
    """Serves one backend over one socket."""

    def __init__(self, backend: PooledBackend | ProfiledBackend, settings: Settings, path: Path) -> None:
        self._backend = backend
        self._settings = settings
        self._path = path
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()
        self._running = 0
        self._quiet = asyncio.Event()  # set while no program runs
        self._quiet.set()
        self._draining = False
        self._starter: asyncio.Task[None] | None = None
        self._ready = False
        self._trouble = "the executor is starting its sandboxes"

    # --- life

    async def start(self) -> None:
        """Open the socket; the sandboxes start behind it, again and again until the engine lets them."""
        loop = asyncio.get_running_loop()
        listener = _listen(self._path)
        self._server = await loop.create_unix_server(self._accept, sock=listener)
        self._starter = asyncio.create_task(self._start_backend())

    async def _start_backend(self) -> None:
        while True:
            try:
                await self._backend.start()
            except SandboxFault as fault:
                self._trouble = str(fault)
                log.warning("sandboxes could not be started", error=self._trouble)
                await asyncio.sleep(START_PAUSE_S)
                continue
            self._ready = True
            if isinstance(self._backend, ProfiledBackend):
                self._backend.bring_up()
            log.info("executor ready", slots=self._backend.info().slots, socket=str(self._path))
            return

    @property
    def ready(self) -> bool:
        """Whether the sandboxes stand and their limits have been proven."""
        return self._ready

    async def aclose(self, drain_s: float) -> None:
        """Take no more programs, let those that run finish for a while, remove everything."""
        self._draining = True
        if self._server is not None:
            self._server.close()
        if self._starter is not None:
            self._starter.cancel()
            with suppress(asyncio.CancelledError):
                await self._starter
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_s):
                await self._quiet.wait()
        for task in list(self._clients):
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        await self._backend.aclose()
        with suppress(OSError):
            self._path.unlink()

    # --- clients

    def _accept(self) -> RunnerLink:
        link = RunnerLink(demux=False)
        task = asyncio.get_running_loop().create_task(self._serve(link))
        self._clients.add(task)
        task.add_done_callback(self._clients.discard)
        return link

    async def _serve(self, link: RunnerLink) -> None:
        try:
            if len(self._clients) > MAX_CONNECTIONS:
                return
            while True:
                kind, body = await link.receive()
                await self._answer(link, kind, body)
        except (SandboxFault, wire.WireError):
            pass  # the client is gone, or talks another language
        finally:
            link.close()

    async def _answer(self, link: RunnerLink, kind: int, body: bytes) -> None:
        if kind == remote_wire.ASK_INFO:
            await self._tell_info(link)
        elif kind in (remote_wire.ASK_RUN, remote_wire.ASK_JUDGE):
            try:
                await self._run(link, kind, body)
            except (SandboxFault, SlotWaitTimeout, ProgramRefused) as error:
                await link.send(wire.frame(remote_wire.REFUSED, remote_wire.pack_refusal(error)))
        elif kind == remote_wire.LEARN:
            remember(link.known, wire.harnesses_in(wire.WARM, body), body)
        elif kind != wire.STOP:  # a STOP may cross with the end of its run
            raise wire.WireError(f"unknown request {kind}")

    async def _tell_info(self, link: RunnerLink) -> None:
        if self._ready:
            await link.send(wire.frame(remote_wire.INFO, json.dumps(asdict(self._backend.info())).encode()))
        else:
            await link.send(wire.frame(remote_wire.REFUSED, remote_wire.pack_refusal(SandboxFault(self._trouble))))

    async def _run(self, link: RunnerLink, kind: int, ask: bytes) -> None:
        if not self._ready or self._draining:
            raise SandboxFault(self._trouble if not self._ready else "the executor is stopping")
        deadline_s, body = remote_wire.unpack_ask(ask)
        memory_mb, run_id = self._check(kind, body)
        slot_kind = wire.RUN if kind == remote_wire.ASK_RUN else wire.JUDGE
        harnesses = b"" if slot_kind == wire.RUN else link.known.get(wire.harnesses_in(wire.JUDGE, body), b"")
        if slot_kind == wire.JUDGE and not harnesses:
            raise SandboxFault("a judged program names harnesses that did not come over this connection")
        self._running += 1
        self._quiet.clear()
        try:
            async with self._backend.exchange(slot_kind, body, memory_mb, deadline_s, harnesses) as exchange:
                await link.send(wire.frame(remote_wire.BEGUN))
                await self._relay(link, exchange, wire.pack_number(run_id))
            reason = exchange.done[1] if exchange.done is not None else "fault"
            await link.send(wire.frame(wire.DONE, wire.pack_done(run_id, True, reason)))
        finally:
            self._running -= 1
            if not self._running:
                self._quiet.set()

    async def _relay(self, link: RunnerLink, exchange: Exchange, number: bytes) -> None:
        """Frames from the slot to the client, until DONE, or until the client says STOP or leaves."""
        stop = asyncio.create_task(link.receive())
        try:
            while True:
                step = asyncio.create_task(exchange.next_frame())
                await asyncio.wait({step, stop}, return_when=asyncio.FIRST_COMPLETED)
                if not step.done():
                    step.cancel()
                    with suppress(asyncio.CancelledError, SandboxFault):
                        await step
                    return
                frame = step.result()
                if frame is None:
                    return
                kind, body = frame
                await link.send(wire.frame(kind, number + body[4:]))
        finally:
            stop.cancel()
            with suppress(asyncio.CancelledError, SandboxFault):
                await stop

    def _check(self, kind: int, body: bytes) -> tuple[int, int]:
        """Memory that the program needs, and its number. Raises ProgramRefused, WireError."""
        if kind == remote_wire.ASK_RUN:
            run = wire.unpack_run(body)
            self._check_limits(run.limits, run.language)
            return run.limits.memory_mb, run.run_id
        judged = wire.unpack_judge(body)
        self._check_limits(judged.limits, judged.language)
        self._check_limits(judged.judge_limits, wire.PYTHON)
        return max(judged.limits.memory_mb, judged.judge_limits.memory_mb), judged.run_id

    def _check_limits(self, limits: wire.WireLimits, language: bytes) -> None:
        ceiling = granted(language.decode("ascii", "replace"), ceilings(self._settings))
        for name, value in limits._asdict().items():
            highest = getattr(ceiling, name)
            if not (math.isfinite(value) and 0 <= value <= highest):
                raise ProgramRefused(f"{name} is {value}, and this executor's ceiling is {highest}")


def _listen(path: Path) -> socket.socket:
    """The listening socket, for its owner and group alone; a dead one of an earlier life is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
        if _answers(path):
            raise SandboxFault(f"another executor serves {path} already")
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o777 & ~SOCKET_MODE)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise SandboxFault(f"the socket {path} could not be made: {error}") from error
    finally:
        os.umask(mask)
    return listener


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as attempt:
        attempt.settimeout(1.0)
        try:
            attempt.connect(str(path))
        except OSError:
            return False
    return True
