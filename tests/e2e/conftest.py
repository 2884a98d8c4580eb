"""The service as a process of its own, started as a user starts it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).parents[2]
START_TIMEOUT_S = 200.0
STOP_TIMEOUT_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Service:
    """`process` may be make, whose child is the service; signals go to the whole group as a terminal would send them."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path
    started_in_s: float = 0.0

    def wait_ready(self, kinds: str = "math,format,code") -> Service:
        start = time.monotonic()
        reply = None
        while time.monotonic() - start < START_TIMEOUT_S:
            assert self.process.poll() is None, f"it ended with {self.process.returncode}:\n{self.text()}"
            try:
                reply = httpx.get(f"{self.url}/readyz", params={"kinds": kinds}, timeout=5)
                if reply.is_success:
                    self.started_in_s = time.monotonic() - start
                    return self
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        pytest.fail(f"not ready in {START_TIMEOUT_S} s: {reply and reply.text}\n{self.text()}")

    def score(self, body: dict[str, Any], timeout_s: float = 60.0) -> dict[str, Any]:
        reply = httpx.post(f"{self.url}/score", json=body, timeout=timeout_s)
        assert reply.status_code == 200, reply.text
        answer: dict[str, Any] = reply.json()
        return answer

    def terminate(self) -> None:
        os.killpg(self.process.pid, signal.SIGTERM)

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_TIMEOUT_S)

    def wait(self) -> int:
        return self.process.wait(STOP_TIMEOUT_S)

    def wait_line(self, start: str) -> str:
        """The first line that it has printed which begins so; it may be ready before it says so."""
        give_up = time.monotonic() + 10
        while time.monotonic() < give_up:
            for line in self.text().splitlines(keepends=True):
                if line.endswith("\n") and line.strip().startswith(start):
                    return line.strip()
            time.sleep(0.05)
        pytest.fail(f"no line begins with {start!r}:\n{self.text()}")

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts services; what still runs when the test ends is stopped."""
    services: list[Service] = []

    def starter(*options: str, command: list[str] | None = None, port: int | None = None, **settings: str) -> Service:
        port = port or free_port()
        log = tmp_path / f"service-{len(services)}.log"
        argv = command or [
            sys.executable,
            "-m",
            "verifier_service",
            "serve",
            "--port",
            str(port),
            "--log-format",
            "json",
            *options,
        ]
        environment = os.environ | {f"VERIFIER_{name.upper()}": value for name, value in settings.items()} | {"PORT": str(port)}
        with log.open("wb") as output:
            process = subprocess.Popen(
                argv, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        services.append(Service(process, f"http://127.0.0.1:{port}", log))
        return services[-1]

    yield starter
    for service in services:
        if service.process.poll() is None:
            service.terminate()
            try:
                service.wait()
            except subprocess.TimeoutExpired:
                service.kill()
