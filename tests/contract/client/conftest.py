"""The real service in a process of its own, on a free port; without a sandbox unless a test asks for one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

START_TIMEOUT_S = 60.0


@dataclass
class Service:
    """A service that can be killed and started again on the same port."""

    port: int
    sandbox: str = "off"
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "verifier_service", "serve", "--port", str(self.port), "--sandbox", self.sandbox]
        environment = os.environ | {"VERIFIER_LOG_LEVEL": "error", "VERIFIER_MATH_WORKERS": "2"}
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)
        kinds = "math,format" if self.sandbox == "off" else "math,format,code"
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/readyz", params={"kinds": kinds}, trust_env=False).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        self.kill()
        pytest.fail(f"the service did not come up on {self.url}")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)
            self.process = None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def shared_service() -> Iterator[Service]:
    service = Service(free_port())
    service.start()
    yield service
    service.stop()


@pytest.fixture
def own_service() -> Iterator[Service]:
    """For tests that kill it."""
    service = Service(free_port())
    service.start()
    yield service
    service.stop()


@pytest.fixture(scope="module")
def docker_service() -> Iterator[Service]:
    """With real sandboxes."""
    service = Service(free_port(), "docker")
    service.start()
    yield service
    service.stop()
