"""One attempt at one replica: post a chunk, judge the answer, fill in the verdicts or say who is to blame.

An answer is taken whole or not at all: group ids in the order sent, one row per completion, one verdict per verifier of
the kind asked for, every number finite, a null reward just where a verdict is unscored. Anything else is a broken
answer, and none of its numbers is used.
"""

from __future__ import annotations

import asyncio
import gc
import math
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Literal

import httpx
from pydantic import ValidationError

from trainer_client.answers import Answer, GroupAnswer, NoAnswer, Scored, read_answer
from trainer_client.batching import Chunk, caller_field, group_id
from trainer_client.client_errors import RequestRefused
from trainer_client.client_metrics import ClientMetrics
from trainer_client.client_replicas import Replica, ReplicaSet
from trainer_client.client_settings import ClientSettings
from trainer_client.retry import BUSY_STATUSES, retry_after_s
from verifier_protocol import PROTOCOL_VERSION, Problem

LONGEST_DETAIL = 500
PROBLEM_BYTES = 64 * 1024
HEALTH_TIMEOUT_S = 2.0


Blame = Literal["transport", "silent", "busy", "broken", "too_large"]


class AttemptFailed(Exception):
    """This attempt gave nothing.

    transport: no connection, or a lost one · silent: no answer in time · busy: the service says "later" · broken: no
    valid protocol, or a 500 · too_large: 413.
    """

    def __init__(self, blame: Blame, detail: str, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.blame = blame
        self.retry_after_s = retry_after_s


@dataclass(slots=True)
class Live:
    """What exists only while the portal runs."""

    http: httpx.AsyncClient
    replicas: ReplicaSet
    slots: asyncio.Semaphore


@asynccontextmanager
async def open_live(settings: ClientSettings, transport: httpx.AsyncBaseTransport | None) -> AsyncIterator[Live]:
    token = settings.bearer_token()
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    http = httpx.AsyncClient(
        headers=headers,
        # The attempt's own budget bounds the whole exchange; httpx's read time-out would bound each read only.
        timeout=httpx.Timeout(None, connect=settings.connect_timeout_s),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=settings.max_inflight),
        trust_env=settings.trust_env,
        transport=transport,
    )

    async def is_alive(url: str) -> bool:
        try:
            async with asyncio.timeout(HEALTH_TIMEOUT_S):
                return (await http.get(f"{url}/healthz")).status_code not in BUSY_STATUSES
        except (httpx.RequestError, TimeoutError):
            return False

    async with http:
        yield Live(http, ReplicaSet(settings, is_alive), asyncio.Semaphore(settings.max_inflight))


async def post_chunk(
    live: Live,
    replica: Replica,
    chunk: Chunk,
    tag: str,
    body: bytes,
    budget_s: float,
    settings: ClientSettings,
    metrics: ClientMetrics,
) -> Answer:
    """Post one body to one replica, within `budget_s` seconds in all.

    Raises:
        AttemptFailed: nothing was scored.
        RequestRefused: the caller's bug, in the caller's own indices.
    """
    metrics.requests += 1
    metrics.bytes_sent += len(body)
    start = time.monotonic()
    try:
        async with asyncio.timeout(budget_s):
            status, headers, content = await _exchange(live.http, f"{replica.url}/v1/score", body, settings.max_response_bytes)
    except TimeoutError:
        raise AttemptFailed("silent", f"{replica.url} gave no answer in {budget_s:.1f} s") from None
    except httpx.RequestError as error:
        blame: Blame = "transport" if isinstance(error, httpx.TransportError) else "broken"
        raise AttemptFailed(blame, f"{replica.url}: {type(error).__name__}: {error}"[:LONGEST_DETAIL]) from None
    metrics.observe_latency(time.monotonic() - start)
    metrics.bytes_received += len(content)
    if status == 200:
        response = _read_answer(chunk, tag, content, replica.url)
        metrics.service_ms += response.timing.total_ms
        return response
    raise _failure(chunk, status, headers, content, replica.url, settings)


async def _exchange(http: httpx.AsyncClient, url: str, body: bytes, max_bytes: int) -> tuple[int, httpx.Headers, bytes]:
    headers = {"content-type": "application/json"}
    async with http.stream("POST", url, content=body, headers=headers) as response:
        limit = max_bytes if response.status_code == 200 else PROBLEM_BYTES
        content = bytearray()
        async for part in response.aiter_bytes():
            content += part
            if len(content) > limit:
                if response.status_code != 200:
                    break
                raise AttemptFailed("broken", f"{url} sent an answer of more than {max_bytes} bytes")
        return response.status_code, response.headers, bytes(content)


def _failure(
    chunk: Chunk, status: int, headers: httpx.Headers, content: bytes, url: str, settings: ClientSettings
) -> AttemptFailed | RequestRefused:
    detail, field = _problem(content)
    said = f"{url} answered {status}: {detail}"[:LONGEST_DETAIL]
    if status in BUSY_STATUSES:
        return AttemptFailed("busy", said, retry_after_s(headers.get("retry-after"), settings.retry_after_cap_s))
    if status >= 500 or status < 200:
        return AttemptFailed("broken", said)
    if status == 413:
        return AttemptFailed("too_large", said)
    where = caller_field(chunk, field)
    if status in (401, 403):
        hint = "; pass token=, or set VERIFIER_TOKEN"
    elif status in (404, 405) or status < 400:
        hint = "; is this the base URL of a verifier service?"
    else:
        hint = f" (field {where})" if where else ""
    return RequestRefused(said + hint, status=status, field=where)


def _problem(content: bytes) -> tuple[str, str | None]:
    try:
        problem = Problem.model_validate_json(content)
    except ValidationError:
        return "no problem body", None
    return problem.detail, problem.field


def _read_answer(chunk: Chunk, tag: str, content: bytes, url: str) -> Answer:
    try:
        with _no_collection():
            response = read_answer(content)
    except NoAnswer as error:
        raise AttemptFailed("broken", f"{url} sent no valid answer: {error}"[:LONGEST_DETAIL]) from None
    fault = answer_fault(chunk, tag, response)
    if fault is not None:
        raise AttemptFailed("broken", f"{url} sent no valid answer: {fault}")
    return response


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection while one call into native code makes tens of thousands of objects, none of them garbage:
    it would take longer than the call. No other thread runs Python meanwhile, so nobody else is affected."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def answer_fault(chunk: Chunk, tag: str, response: Answer) -> str | None:
    """What is wrong with an answer to this chunk, None if nothing is."""
    if response.protocol != PROTOCOL_VERSION:
        return f"protocol {response.protocol!r}, this client speaks {PROTOCOL_VERSION}; upgrade the older of the two"
    if len(response.groups) != len(chunk):
        return f"{len(response.groups)} groups for {len(chunk)}"
    for position, (piece, group) in enumerate(zip(chunk, response.groups, strict=True)):
        if group.id != group_id(tag, position):
            return f"group {group_id(tag, position)} is answered as {group.id!r:.40}"
        kinds = [piece.job.specs[v].kind for v in piece.verifiers]
        fault = _group_fault(kinds, len(piece.items), group)
        if fault is not None:
            return f"group {position}: {fault}"
    return None


def _group_fault(kinds: list[str], completions: int, group: GroupAnswer) -> str | None:
    if len(group.verdicts) != completions or len(group.rewards) != completions:
        return f"{len(group.verdicts)} rows of verdicts and {len(group.rewards)} rewards for {completions} completions"
    asked = len(kinds)
    for reward, row in zip(group.rewards, group.verdicts, strict=True):
        if len(row) != asked:
            return f"{len(row)} verdicts for {asked} verifiers"
        scored = True
        for kind, verdict in zip(kinds, row, strict=True):
            if verdict.kind != kind:
                return f"a verdict by {verdict.kind!r:.40} where {kind!r} was asked"
            if not isinstance(verdict, Scored):
                scored = False
        if scored != (reward is not None) or (reward is not None and not math.isfinite(reward)):
            return "a reward that contradicts its verdicts"
    return None
