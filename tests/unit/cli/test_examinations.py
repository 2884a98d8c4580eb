"""The doctor tells what is broken from what is merely absent, and says how to mend it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from verifier_protocol import ScoredVerdict, VerifierId
from verifier_service.cli import examinations
from verifier_service.cli.examinations import Finding, Status
from verifier_service.faults import InfrastructureFault
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline


class Canary:
    """A verifier whose start or canary may fail."""

    kind = "math"
    id = VerifierId(name="math", version="9")

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault

    async def start(self) -> None: ...

    async def aclose(self) -> None: ...

    def prepare(self, spec: Any) -> Any: ...

    async def verify(self, task: Any, completion: str, deadline: Deadline) -> ScoredVerdict:
        raise NotImplementedError

    async def canary(self) -> None:
        if self.fault:
            raise self.fault

    def describe(self) -> dict[str, Any]:
        return {}


@contextmanager
def engine(answers: dict[str, tuple[int, Any]]) -> Iterator[str]:
    """A Docker engine that knows these paths."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers.get(self.path, (404, {}))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"tcp://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


async def docker_findings(settings: Settings) -> dict[str, Finding]:
    return {finding.part: finding async for finding in examinations._docker(settings)}


async def test_an_engine_is_described_and_a_missing_image_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    info = {"ServerVersion": "28.1", "CgroupVersion": "2", "Runtimes": {"runc": {}}}
    with engine({"/info": (200, info)}) as address:
        monkeypatch.setenv("DOCKER_HOST", address)
        found = await docker_findings(Settings())
    assert found["docker"].status is Status.OK
    assert "28.1" in found["docker"].seen
    assert found["sandbox image"].status is Status.NOTE
    assert found["image compiled"].status is Status.NOTE
    assert "while it serves" in found["image compiled"].remedy


async def test_a_runtime_that_the_engine_lacks_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    with engine({"/info": (200, {"Runtimes": {"runc": {}}})}) as address:
        monkeypatch.setenv("DOCKER_HOST", address)
        found = await docker_findings(Settings(sandbox_runtime="runsc"))
    assert found["docker"].status is Status.OK
    assert found["runtime"].status is Status.BROKEN
    assert "runsc is not registered" in found["runtime"].seen
    assert "/etc/docker/daemon.json" in found["runtime"].remedy


@pytest.mark.parametrize(("runtime", "words"), [("runc", "share this machine's kernel"), ("runsc", "gVisor")])
async def test_the_runtime_that_the_engine_has_is_told_with_what_it_means(
    monkeypatch: pytest.MonkeyPatch, runtime: str, words: str
) -> None:
    with engine({"/info": (200, {"Runtimes": {"runc": {}, "runsc": {"path": "runsc"}}})}) as address:
        monkeypatch.setenv("DOCKER_HOST", address)
        found = await docker_findings(Settings(sandbox_runtime=runtime))
    assert found["runtime"].status is Status.OK
    assert words in found["runtime"].seen


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "unix:///nowhere/docker.sock"])
async def test_no_engine_is_a_note_with_a_remedy(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    found = await docker_findings(Settings())
    assert found["docker"].status is Status.NOTE
    assert "docker-engine.sh" in found["docker"].remedy


async def test_a_socket_that_this_user_may_not_use_is_told_from_an_engine_that_is_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))  # nobody listens, so that the connection fails for root too
        monkeypatch.setattr("verifier_service.cli.examinations.os.access", lambda *_: False)
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        found = await docker_findings(Settings())
    assert "may not use" in found["docker"].seen
    assert "group docker" in found["docker"].remedy


async def test_the_compose_command_that_exists_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (await examinations._compose()).status is Status.NOTE
    (tmp_path / "docker-compose").write_text("#!/bin/sh\n")
    (tmp_path / "docker-compose").chmod(0o755)
    assert "docker-compose up" in (await examinations._compose()).seen
    (tmp_path / "docker").write_text("#!/bin/sh\n")
    (tmp_path / "docker").chmod(0o755)
    assert "docker compose up" in (await examinations._compose()).seen


async def test_a_verifier_that_fails_its_canary_is_broken_and_its_own_words_are_the_remedy() -> None:
    good = await examinations._canary("math", Canary())
    assert good.status is Status.OK
    bad = await examinations._canary("math", Canary(InfrastructureFault("restart it")))
    assert (bad.status, bad.remedy) == (Status.BROKEN, "restart it")


async def test_a_port_taken_by_something_else_is_broken_and_by_a_service_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert (await examinations._port(Settings(port=port))).status is Status.BROKEN
    assert (await examinations._port(Settings(port=port))).status is Status.OK
    with engine({"/healthz": (200, {"status": "ok"})}) as address:
        running = Settings(port=int(address.rsplit(":", 1)[1]))
        assert (await examinations._port(running)).status is Status.NOTE


def test_more_memory_than_the_machine_has_is_noted() -> None:
    assert examinations._machine(Settings(sandbox_slots=1, code_memory_mb=64)).status is Status.OK
    assert examinations._machine(Settings(sandbox_slots=100_000)).status is Status.NOTE
