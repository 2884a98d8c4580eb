"""An engine that dies and comes back costs time and no reward; one that stays dead is never a 0 where that can be said."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import pytest
import requests

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(240)]

GONE_S = 6.0
CODE = {"kind": "code", "tests": {"style": "stdin", "cases": [{"stdin": "2", "expected_stdout": "4"}]}}
DOUBLE = "print(int(input()) * 2)"
FENCED = f"```python\n{DOUBLE}\n```"
STDIO = {"program": DOUBLE, "tests": [{"input": "2", "output": "4"}], "max_execution_time": 3.0}
RUN = {"code": DOUBLE, "stdin": "2", "compile_timeout": 10, "run_timeout": 10}
LABELLED = {"prompt": "p", "response": FENCED, "label": json.dumps(CODE)}


class Wire:
    """A way to the engine that a test can cut, without touching the engine, which others use too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._engine = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
        self._ends: list[socket.socket] = []

    def mend(self) -> None:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen(64)
        self._ends = [listener]
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        self.path.unlink(missing_ok=True)
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, far = listener.accept()[0], socket.socket(socket.AF_UNIX)
                far.connect(self._engine)
                self._ends += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._pipe, args=(source, target), daemon=True).start()

    @staticmethod
    def _pipe(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def asked(url: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    response = requests.post(url + path, json=body, timeout=120)
    return response.status_code, response.json()


def test_an_engine_that_comes_back_costs_time_and_no_reward(
    serve: Callable[[dict[str, str]], AbstractContextManager[str]], tmp_path: Path
) -> None:
    if not os.environ.get("DOCKER_HOST", "unix://").startswith("unix://"):
        pytest.skip("DOCKER_HOST is no Unix socket: the way to that engine can't be cut here")
    wire = Wire(tmp_path / "engine.sock")
    wire.mend()
    with serve({"DOCKER_HOST": f"unix://{wire.path}"}) as url:
        assert asked(url, "/run_code", RUN)[1]["run_result"]["stdout"] == "4\n"
        wire.cut()
        time.sleep(1)
        requests_sent = [
            ("/run_code", RUN | {"stdin": "3"}),
            ("/remote_rm", LABELLED),
            ("/test_program_stdio", STDIO),
            ("/judge", {"type": "python", "solution": DOUBLE, "input": "5", "expected_output": "10"}),
        ]
        with ThreadPoolExecutor(4) as pool:
            answers = [pool.submit(asked, url, path, body) for path, body in requests_sent]
            time.sleep(GONE_S)
            assert not any(answer.done() and answer.result()[0] == 200 for answer in answers)
            wire.mend()
            run, reward, results, judged = (answer.result() for answer in answers)
        # verl asks again after a 504; the run has kept its place meanwhile
        while run[0] == 504:
            run = asked(url, "/run_code", RUN | {"stdin": "3"})
        assert run[1]["run_result"]["stdout"] == "6\n"
        assert reward == (200, 1.0)
        assert (results[0], results[1]["results"]) == (200, [1])
        assert judged[1]["success"] is True
    wire.cut()
