"""Serving the app with uvicorn: slow clients are cut off, SIGTERM drains."""

from __future__ import annotations

import asyncio
import gc
import os
from typing import Any

import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from verifier_service.app import create_app
from verifier_service.observability.logs import configure_logs
from verifier_service.settings import Settings, unknown_variables

log = structlog.get_logger(__name__)

# Objects made between two garbage collections, and collections of one generation between two of the next. A batch makes
# tens of thousands of tasks and verdicts, none of them garbage yet: by Python's own 700, 10 and 10 a third of this
# process's time went into walking over them.
COLLECT_AFTER = (50_000, 20, 20)

_TIMEOUT_REPLY = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/problem+json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s"
)
_TIMEOUT_BODY = b'{"type":"about:blank","title":"Request Timeout","status":408,"detail":"the request was sent too slowly"}'


class WholeAnswers:
    """A transport that writes the head of an answer together with its body: uvicorn writes them one after the other, and
    each write wakes the client."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.writelines([head, data])
        else:
            self._head = data
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        head, self._head = self._head, b""
        if head and not self._transport.is_closing():
            self._transport.write(head)

    def get_write_buffer_size(self) -> int:
        return len(self._head) + self._transport.get_write_buffer_size()

    def close(self) -> None:
        self._flush()
        self._transport.close()


def bounded_protocol(settings: Settings) -> type[HttpToolsProtocol]:
    """uvicorn's HTTP protocol with a time limit on each request's head and on its body."""

    class BoundedProtocol(HttpToolsProtocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(WholeAnswers(transport, self.loop))  # type: ignore[arg-type]
            self._limit(settings.header_timeout_s)

        def connection_lost(self, exc: Exception | None) -> None:
            self._limit(None)
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self._timer is None:
                self._limit(settings.header_timeout_s)

        def on_headers_complete(self) -> None:
            self._limit(settings.body_timeout_s)
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._limit(None)
            super().on_message_complete()

        def timeout_keep_alive_handler(self) -> None:
            # close() would wait for ever for a peer that never reads what was written
            if not self.transport.is_closing() and self.transport.get_write_buffer_size() > 0:
                self.transport.abort()
            super().timeout_keep_alive_handler()

        def _limit(self, seconds: float | None) -> None:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None if seconds is None else self.loop.call_later(seconds, self._too_slow)

        def _too_slow(self) -> None:
            self._timer = None
            if self.transport.is_closing():
                return
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                self.transport.write(_TIMEOUT_REPLY % (len(_TIMEOUT_BODY), _TIMEOUT_BODY))
            self.transport.close()

    return BoundedProtocol


def run(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight then get `drain_timeout_s` to finish."""
    configure_logs(settings)
    for name in unknown_variables(os.environ):
        log.warning("this variable is no setting of the service; is it misspelt?", variable=name)
    config = uvicorn.Config(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        http=bounded_protocol(settings),
        ws="none",
        loop="uvloop",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=int(settings.keep_alive_s),
        timeout_graceful_shutdown=int(settings.drain_timeout_s),
    )
    gc.set_threshold(*COLLECT_AFTER)
    uvicorn.Server(config).run()
