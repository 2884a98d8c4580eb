"""The real app over real HTTP, without a sandbox: maths and format score, code is unscored."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import httpx
import pytest
import structlog
import uvicorn

from verifier_service.app import create_app
from verifier_service.server import bounded_protocol
from verifier_service.settings import Settings


@dataclass(frozen=True)
class Live:
    """A service that listens."""

    host: str
    port: int
    http: httpx.Client


class ServerThread(threading.Thread):
    """uvicorn as `verifier_service.server` sets it up, on a free port, in a thread of its own."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(daemon=True)
        config = uvicorn.Config(
            create_app(settings),
            host="127.0.0.1",
            port=0,
            http=bounded_protocol(settings),
            ws="none",
            log_config=None,
            access_log=False,
        )
        self.server = uvicorn.Server(config)
        self.ready = threading.Event()

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        task = asyncio.create_task(self.server.serve())
        while not self.server.started and not task.done():
            await asyncio.sleep(0.02)
        self.ready.set()
        await task

    @property
    def port(self) -> int:
        return int(self.server.servers[0].sockets[0].getsockname()[1])


@contextmanager
def serve(settings: Settings) -> Iterator[Live]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    thread = ServerThread(settings)
    thread.start()
    assert thread.ready.wait(60), "the service did not start"
    assert thread.server.started, "the service ended while it started"
    with httpx.Client(base_url=f"http://127.0.0.1:{thread.port}", timeout=30) as http:
        yield Live("127.0.0.1", thread.port, http)
    thread.server.should_exit = True
    thread.join(30)
    assert not thread.is_alive(), "the service did not stop"


@pytest.fixture(scope="package")
def live() -> Iterator[Live]:
    settings = Settings(
        sandbox="off",
        math_workers=1,
        max_body_bytes=2_000_000,
        max_completion_chars=100_000,
        max_groups=200,
        max_completions=1000,
        max_test_cases=10,
        header_timeout_s=1.0,
        body_timeout_s=1.5,
    )
    with serve(settings) as service:
        yield service


@pytest.fixture
def serve_with() -> Callable[[Settings], AbstractContextManager[Live]]:
    """A service with settings of the test's own."""
    return serve
