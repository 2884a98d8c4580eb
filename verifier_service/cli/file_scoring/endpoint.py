"""Where groups are scored: by a scorer in this process, or by a service at a URL.

An endpoint raises `Refused` when the request is wrong (asking again changes nothing) and `Unreachable` when it gave up
on the service; all else, be it right, wrong or unscored, is in the results.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import httpx
from pydantic import ValidationError

from verifier_protocol import PROTOCOL_VERSION, Group, GroupResult, Problem, ScoreRequest, ScoreResponse
from verifier_service.faults import Overloaded
from verifier_service.settings import Settings
from verifier_service.verifiers.base import SpecRefused

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 10.0
REPLY_SLACK_S = 30.0  # a reply may come this long after the request's own deadline
TRY_AGAIN = frozenset({408, 429, 502, 503, 504})


class Refused(Exception):
    """The request can't be scored as it is."""


class Unreachable(Exception):
    """The service did not answer in a usable way for as long as we were ready to wait."""


class Endpoint(Protocol):
    async def score(self, groups: Sequence[Group], deadline_s: float) -> list[GroupResult]: ...


class InProcess:
    """The scorer itself, without HTTP."""

    def __init__(self, scorer: ScorerLike) -> None:
        self._scorer = scorer

    async def score(self, groups: Sequence[Group], deadline_s: float) -> list[GroupResult]:
        while True:
            try:
                return (await self._scorer.score(groups, deadline_s)).groups
            except Overloaded as error:
                await asyncio.sleep(error.retry_after_s)
            except SpecRefused as error:
                raise Refused(f"{error.field}: {error}") from None


class ScorerLike(Protocol):
    async def score(self, groups: Sequence[Group], deadline_s: float | None = None, size_bytes: int = 0) -> ScoreResponse: ...


class Remote:
    """A service at a URL; waits out restarts and overload for `patience_s` seconds a batch."""

    def __init__(self, client: httpx.AsyncClient, patience_s: float) -> None:
        self._client = client
        self._patience_s = patience_s

    async def score(self, groups: Sequence[Group], deadline_s: float) -> list[GroupResult]:
        # Only what was written: a service older than this command knows nothing of newer fields' defaults.
        body = ScoreRequest(groups=list(groups), deadline_s=deadline_s).model_dump_json(exclude_unset=True).encode()
        give_up_at = time.monotonic() + self._patience_s
        pause_s = FIRST_PAUSE_S
        while True:
            retry_after_s = 0.0
            try:
                reply = await self._client.post("/score", content=body, timeout=deadline_s + REPLY_SLACK_S)
            except httpx.TransportError as error:
                trouble = f"{type(error).__name__} ({error})" if str(error) else type(error).__name__
            else:
                if reply.status_code == httpx.codes.OK:
                    return _results(reply, len(groups))
                trouble = _problem(reply)
                if reply.status_code not in TRY_AGAIN:
                    raise (Refused if reply.is_client_error else Unreachable)(trouble)
                retry_after_s = _retry_after_s(reply)
            wait_s = retry_after_s + random.uniform(0, pause_s)  # noqa: S311  (jitter, no secret)
            if time.monotonic() + wait_s > give_up_at:
                raise Unreachable(trouble)
            await asyncio.sleep(wait_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


def _results(reply: httpx.Response, count: int) -> list[GroupResult]:
    try:
        answer = ScoreResponse.model_validate_json(reply.content)
    except ValidationError:
        raise Unreachable("the answer is not one of a reward service; is the URL right?") from None
    if answer.protocol != PROTOCOL_VERSION or len(answer.groups) != count:
        raise Unreachable(f"the service speaks protocol {answer.protocol!r}, this command {PROTOCOL_VERSION!r}")
    return answer.groups


def _problem(reply: httpx.Response) -> str:
    try:
        return f"HTTP {reply.status_code}: {Problem.model_validate_json(reply.content).detail}"
    except ValidationError:
        return f"HTTP {reply.status_code}"


def _retry_after_s(reply: httpx.Response) -> float:
    text = reply.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else 0.0


@asynccontextmanager
async def in_process(settings: Settings) -> AsyncIterator[Endpoint]:
    """Starts math workers and sandboxes, and leaves nothing running."""
    from verifier_service.app import open_parts

    async with open_parts(settings) as parts:
        yield InProcess(parts.scorer)


@asynccontextmanager
async def remote(url: str, token: str | None, patience_s: float) -> AsyncIterator[Endpoint]:
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    async with httpx.AsyncClient(base_url=url, headers=headers) as client:
        yield Remote(client, patience_s)
