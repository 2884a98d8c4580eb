"""Services for the benchmarks of other frameworks' clients, and what can go wrong with them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def service(**settings: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"VERIFIER_PORT": str(port), "VERIFIER_LOG_LEVEL": "error"} | settings
    process = subprocess.Popen(
        [sys.executable, "-m", "verifier_service", "serve"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"{url}/healthz", timeout=5):
                    break
            except OSError:
                time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(60)


def wait_for_code(url: str) -> None:
    """Until programs can be run, for two minutes at most."""
    for _ in range(240):
        with suppress(OSError), urllib.request.urlopen(f"{url}/readyz?kinds=code", timeout=30):
            return
        time.sleep(0.5)
    raise SystemExit("the service did not become ready for code; see `verifier-service doctor`")


class Engine:
    """A way to the Docker engine that can be cut and mended, without touching the engine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._listener: socket.socket | None = None
        self._open: list[socket.socket] = []

    def __enter__(self) -> Engine:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self.path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        """As an engine that dies: nothing listens, and every stream ends."""
        self.path.unlink(missing_ok=True)
        for end in [self._listener, *self._open]:
            if end is not None:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
        self._listener, self._open = None, []

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect("/var/run/docker.sock")
            except OSError:
                return
            self._open += [near, far]
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=_pipe, args=(source, target), daemon=True).start()


def _pipe(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def flood(url: str) -> Iterator[None]:
    """More slow programs than the slots can ever finish in time."""
    ended = threading.Event()

    def one(number: int) -> None:
        body = {"code": f"import time; time.sleep(8)  # {number}", "run_timeout": 20, "compile_timeout": 20}
        request = urllib.request.Request(f"{url}/run_code", json.dumps(body).encode(), {"content-type": "application/json"})
        while not ended.is_set():
            with suppress(OSError):
                urllib.request.urlopen(request, timeout=60).read()
            number += 1000

    with ThreadPoolExecutor(60) as pool:
        for number in range(60):
            pool.submit(one, number)
        time.sleep(2)
        try:
            yield
        finally:
            ended.set()
