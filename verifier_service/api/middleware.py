"""What every request passes, as plain ASGI: sizes of URL and headers, the token, a log line, a count.

The log line and the metrics name the route that matched, never the path that a stranger sent.
"""

from __future__ import annotations

import hmac
import time
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from verifier_service.api.problems import problem_response
from verifier_service.observability.metrics import Metrics
from verifier_service.settings import Settings

log = structlog.get_logger(__name__)

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/health", "/v1/ping"})  # orchestrators and clients probe these without a token
DIGEST_LENGTH = 64


class TokensFileError(ValueError):
    """The tokens file holds something else than digests."""


def read_digests(path: Path) -> tuple[bytes, ...]:
    """SHA-256 hex digests, one a line; blank lines and `#` comments don't count.

    Raises:
        TokensFileError: a line is no digest, or there is none.
        OSError: the file can't be read.
    """
    digests = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        text = line.partition("#")[0].strip().lower()
        if not text:
            continue
        if len(text) != DIGEST_LENGTH or any(c not in "0123456789abcdef" for c in text):
            raise TokensFileError(f"{path}, line {number}: not a SHA-256 hex digest; make one with `verifier-service hash-token`")
        digests.append(text.encode())
    if not digests:
        raise TokensFileError(f"{path} holds no digest; make one with `verifier-service hash-token`")
    return tuple(digests)


class Door:
    """The outermost layer of the app."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._digests = read_digests(settings.tokens_file) if settings.tokens_file else ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.monotonic()
        status = 0

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", request_id.encode())]
            await send(message)

        request_id = uuid4().hex
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            refusal = self._refusal(scope)
            try:
                await (self._app if refusal is None else refusal)(scope, receive, counted)
            finally:
                route = getattr(scope.get("route"), "path", "none")
                seconds = time.monotonic() - start
                self._metrics.request(route, status)
                level = log.debug if route in OPEN_PATHS or route == "/metrics" else log.info
                level("request", method=scope["method"], route=route, status=status, ms=round(seconds * 1000, 1))

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        close = {"connection": "close"}
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > self._settings.max_url_bytes:
            return problem_response(414, f"the URL is longer than {self._settings.max_url_bytes} bytes", headers=close)
        if sum(len(k) + len(v) for k, v in scope["headers"]) > self._settings.max_header_bytes:
            return problem_response(431, f"the headers are larger than {self._settings.max_header_bytes} bytes", headers=close)
        if self._digests and scope["path"] not in OPEN_PATHS and not self._has_token(scope):
            detail = "this service asks for a token: send `Authorization: Bearer …`"
            return problem_response(401, detail, headers={"www-authenticate": "Bearer"} | close)
        return None

    def _has_token(self, scope: Scope) -> bool:
        sent = next((v for k, v in scope["headers"] if k == b"authorization"), b"")
        scheme, _, token = sent.partition(b" ")
        digest = sha256(token.strip()).hexdigest().encode()
        known = [hmac.compare_digest(digest, d) for d in self._digests]  # all of them, so that time tells nothing
        return scheme.lower() == b"bearer" and any(known)
