"""The real service as a child process, for the time of the demo."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 40.0


class DemoError(RuntimeError):
    """The demo can't run here; the message says what to do."""


def find_service() -> Path:
    """`verifier-service` beside this Python, in ./.venv, or on the PATH."""
    for candidate in (Path(sys.executable).with_name("verifier-service"), Path(".venv/bin/verifier-service")):
        if candidate.is_file() and _has_its_packages(candidate.absolute()):
            return candidate.absolute()
    found = shutil.which("verifier-service")
    if found is None:
        raise DemoError("no verifier-service found: run `make setup`, or pass --url of a running one")
    return Path(found)


def _has_its_packages(program: Path) -> bool:
    """An entry point is there even where only the trainer's packages are installed."""
    python = program.with_name("python")
    finished = subprocess.run([python, "-c", "import verifier_service.app"], capture_output=True, timeout=120, check=False)
    return finished.returncode == 0


@contextmanager
def running_service(log_file: Path, environment: dict[str, str]) -> Iterator[str]:
    """Starts `verifier-service serve` on a free port of this machine and yields its URL; ended, with SIGTERM, at the end."""
    program, port = find_service(), _free_port()
    url = f"http://127.0.0.1:{port}"
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            [program, "serve", "--host", "127.0.0.1", "--port", str(port)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        )
        try:
            _wait(url, process, log_file)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(url: str, process: subprocess.Popen[bytes], log_file: Path) -> None:
    """Until it listens; whether it is ready for the task's kinds is asked by the run's preflight."""
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        if process.poll() is not None:
            tail = log_file.read_text(errors="replace")[-1500:]
            raise DemoError(f"the service ended with status {process.returncode}; {log_file} says:\n{tail}")
        try:
            if httpx.get(f"{url}/healthz", timeout=2.0, trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise DemoError(f"the service did not answer within {START_TIMEOUT_S:g} s; see {log_file}")
