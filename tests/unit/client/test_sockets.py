"""Faults of a real service on a real socket: killed and restarted, silent, dripping, hanging up."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from trainer_client.client import VerifierClient

SERVICE = Path(__file__).with_name("small_service.py")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(port: int, delay_s: float) -> subprocess.Popen:
    process = subprocess.Popen([sys.executable, str(SERVICE), str(port), str(delay_s)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.fixture
def running():
    processes = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


async def test_a_service_killed_and_restarted_in_the_middle_costs_no_reward(running):
    port = free_port()
    running.append(start(port, 0.05))
    groups = [
        {"completions": [f"{n}", f"{n + c}", f"wrong {c}"], "verifiers": [{"kind": "math", "gold": f"{n}"}]}
        for n in range(1000, 1120)
        for c in (0, 7)
    ]
    async with VerifierClient(f"http://127.0.0.1:{port}", chunk_work=12.0, max_inflight=4, deadline_s=60) as client:
        call = asyncio.create_task(client.score(groups))
        await asyncio.sleep(0.4)
        assert not call.done()
        running[0].kill()
        await asyncio.sleep(0.5)
        running.append(start(port, 0.0))
        results = await call
        assert client.metrics.transport_errors > 0
    assert len(results) == len(groups)
    for group, result in zip(groups, results, strict=True):
        assert result.rewards == [float(text == group["verifiers"][0]["gold"]) for text in group["completions"]]


class RawServer:
    """Accepts connections and treats each one as `behave(connection)` says."""

    def __init__(self, behave):
        self.behave = behave
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.connections = []
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._safely, args=(connection,), daemon=True).start()

    def _safely(self, connection):
        try:
            self.behave(connection)
        except OSError:
            connection.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(5)
        for connection in self.connections:
            connection.close()


@pytest.fixture
def raw():
    servers = []

    def make(behave):
        servers.append(RawServer(behave))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


def silent(connection):
    while connection.recv(65536):
        pass


def hang_up(connection):
    connection.recv(65536)
    connection.close()


def drip(connection):
    """Bytes of a head that never ends: a read time-out alone would wait for ever."""
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"x-drip: 1\r\n")
        time.sleep(0.05)


def half_an_answer(connection):
    connection.recv(65536)
    connection.sendall(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"protocol":')
    connection.close()


@pytest.mark.parametrize("behave", [silent, hang_up, drip, half_an_answer])
async def test_a_service_that_never_answers_leaves_none_by_the_deadline(raw, behave):
    server = raw(behave)
    async with VerifierClient(server.url, attempt_floor_s=0.3) as client:
        start = time.monotonic()
        result = await client.score_completions(["42", "1"], gold="42", deadline_s=1.0)
        assert time.monotonic() - start < 1.5
    assert result.rewards == [None, None]
    assert result.verdicts[0][0].reason == "infrastructure"


async def test_a_silent_replica_costs_its_share_of_the_deadline_and_no_reward(raw, running):
    server = raw(silent)
    port = free_port()
    running.append(start(port, 0.0))
    async with VerifierClient([server.url, f"http://127.0.0.1:{port}"], attempt_floor_s=0.3) as client:
        start_s = time.monotonic()
        for n in range(6):
            result = await client.score_completions([f"{n}", f"x{n}"], gold=f"{n}", deadline_s=1.0)
            assert result.rewards == [1.0, 0.0]
        assert time.monotonic() - start_s < 1.5  # the silence was waited for once; then its circuit was open


async def test_nobody_listening_is_none_by_the_deadline():
    async with VerifierClient(f"http://127.0.0.1:{free_port()}") as client:
        result = await client.score_completions(["42"], gold="42", deadline_s=0.5)
    assert result.rewards == [None]
    assert "ConnectError" in result.verdicts[0][0].detail
