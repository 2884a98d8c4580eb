"""The service as users start it, with real Docker sandboxes, on a free port."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import pytest

START_TIMEOUT_S = 90.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="package")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with _serve(Path(tmp_path_factory.mktemp("compat")) / "serve.log", {}) as address:
        yield address


@pytest.fixture(scope="package")
def languages_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with compilers."""
    settings = {"VERIFIER_SANDBOX_PROFILES": "python,compiled"}
    with _serve(Path(tmp_path_factory.mktemp("languages")) / "serve.log", settings) as address:
        yield address


@pytest.fixture
def serve(tmp_path: Path) -> Callable[[dict[str, str]], AbstractContextManager[str]]:
    """A service with an environment of the test's own."""
    return lambda environment: _serve(tmp_path / "serve.log", environment)


@contextmanager
def _serve(log: Path, more: dict[str, str]) -> Iterator[str]:
    port = free_port()
    environment = os.environ | {"VERIFIER_PORT": str(port), "VERIFIER_SANDBOX": "docker", "VERIFIER_MATH_WORKERS": "1"} | more
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "verifier_service", "serve"], env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_ready(process, address, log)
        yield address
    finally:
        process.terminate()
        process.wait(60)


def _wait_ready(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(f"{address}/readyz", timeout=5).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    pytest.fail(f"not ready in {START_TIMEOUT_S:g} s:\n{log.read_text()}")
