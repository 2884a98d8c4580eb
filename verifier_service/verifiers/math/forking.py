"""The service's side of the fork server and of one worker's socket."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from verifier_service.faults import InfrastructureFault

START_TIMEOUT_S = 60.0
LENGTH = struct.Struct("!I")
MAX_FRAME_BYTES = 64 << 20
_PACKAGE_ROOT = Path(__file__).resolve().parents[3]
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")

Received = Callable[[float, list[list[Any]]], None]


class _Frames(asyncio.Protocol):
    """Length-prefixed JSON frames from a worker."""

    def __init__(self, received: Received) -> None:
        self._received = received
        self._buffer = bytearray()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= LENGTH.size:
            (size,) = LENGTH.unpack_from(self._buffer)
            if len(self._buffer) < LENGTH.size + size:
                return
            body = bytes(self._buffer[LENGTH.size : LENGTH.size + size])
            del self._buffer[: LENGTH.size + size]
            cpu_s, rows = json.loads(body)
            self._received(cpu_s, rows)


class Worker:
    """One worker process: its pid and its socket."""

    def __init__(self, pid: int, transport: asyncio.WriteTransport) -> None:
        self.pid = pid
        self._transport = transport

    def send(self, body: bytes) -> None:
        self._transport.write(LENGTH.pack(len(body)) + body)

    def close(self) -> None:
        self._transport.abort()

    def cpu_s(self) -> float | None:
        """CPU seconds used so far; None when the process is gone."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


class _Lines(asyncio.Protocol):
    """Lines of JSON from the fork server."""

    def __init__(self, told: Callable[[dict[str, Any]], None], lost: Callable[[], None]) -> None:
        self._told, self._lost, self._rest = told, lost, b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._told(json.loads(line))

    def connection_lost(self, _: Exception | None) -> None:
        self._lost()


class ForkServer:
    """Starts the fork server and asks it for workers. `died(pid, status)` is called for each death, with 0 for its own."""

    def __init__(self, memory_mb: int, died: Callable[[int, int], None]) -> None:
        self._memory_mb = memory_mb
        self._died = died
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._transport: asyncio.Transport | None = None
        self._ready: asyncio.Future[None] | None = None
        self._forks: list[asyncio.Future[int]] = []
        self._stopped: set[int] = set()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def start(self) -> None:
        """Raises InfrastructureFault where the process doesn't come up."""
        await self.aclose()
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        env = {
            k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONHOME")
        }
        env |= {"SYMPY_GROUND_TYPES": "python", "MPMATH_NOGMPY": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        env["PYTHONPATH"] = os.pathsep.join([str(_PACKAGE_ROOT), *([p] if (p := os.environ.get("PYTHONPATH")) else [])])
        command = [sys.executable, "-m", "verifier_service.verifiers.math.forkserver", str(theirs.fileno()), str(self._memory_mb)]
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: ASYNC220 - milliseconds, at start only
                    command, pass_fds=[theirs.fileno()], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
                )
        except OSError as error:
            ours.close()
            raise InfrastructureFault(f"the math fork server can't be started: {error.strerror}") from error
        ours.setblocking(False)
        self._control, self._ready = ours, loop.create_future()
        process = self._process
        self._transport, _ = await loop.create_unix_connection(
            lambda: _Lines(self._told, lambda: self._lost(process)), sock=ours.dup()
        )
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await self._ready
        except TimeoutError as error:
            await self.aclose()
            raise InfrastructureFault("the math fork server did not come up in time") from error

    async def fork(self, received: Received) -> Worker:
        """A new worker. Raises InfrastructureFault."""
        if self._control is None or not self.alive:
            raise InfrastructureFault("the math fork server is not running")
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        answer: asyncio.Future[int] = loop.create_future()
        self._forks.append(answer)
        transport, _ = await loop.create_unix_connection(lambda: _Frames(received), sock=ours)
        worker: Worker | None = None
        try:
            with theirs:
                socket.send_fds(self._control, [b"fork\n"], [theirs.fileno()])
            async with asyncio.timeout(START_TIMEOUT_S):
                worker = Worker(await answer, transport)
        except (OSError, TimeoutError) as error:
            raise InfrastructureFault("the math fork server gave no worker") from error
        finally:
            if worker is None:  # refused, too late, or cancelled
                transport.abort()
        return worker

    def kill(self, pid: int) -> None:
        """Kill a worker; its death is told through `died`."""
        if self._transport is not None:
            self._transport.write(f"kill {pid}\n".encode("ascii"))

    async def aclose(self) -> None:
        """End the fork server and with it every worker."""
        process, self._process = self._process, None
        while self._forks:
            self._forks.pop().cancel()
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        if self._control is not None:
            self._control.close()
            self._control = None
        await asyncio.sleep(0)  # aborted transports close in the loop's next turn
        if process is not None:
            for _ in range(100):
                if process.poll() is not None:
                    return
                await asyncio.sleep(0.01)
            process.kill()
            process.wait()

    def _told(self, message: dict[str, Any]) -> None:
        if "ready" in message and self._ready is not None and not self._ready.done():
            self._ready.set_result(None)
        elif "pid" in message:
            future = self._forks.pop(0)
            if not future.done():
                future.set_result(message["pid"])
        elif "exit" in message:
            self._died(message["exit"], message["status"])

    def _lost(self, process: subprocess.Popen[bytes]) -> None:
        if process is not self._process:
            return  # closed by us
        fault = InfrastructureFault("the math fork server died")
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(fault)
        while self._forks:
            future = self._forks.pop(0)
            if not future.done():
                future.set_exception(fault)
        self._died(0, 0)
