"""POST /score: the native route."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from verifier_protocol import GroupStats, ScoredVerdict, ScoreRequest, ScoreResponse, Timing
from verifier_service.api.body import parse_score_request, read_body
from verifier_service.api.examples import SCORE_EXAMPLES, problem_responses
from verifier_service.api.problems import CLIENT_CLOSED_REQUEST
from verifier_service.observability.metrics import Metrics
from verifier_service.scoring.scorer import Scorer
from verifier_service.settings import Settings

router = APIRouter()
T = TypeVar("T")


class _ScoredGroup(TypedDict):
    """A GroupResult without unscored verdicts."""

    id: str | None
    rewards: list[float | None]
    verdicts: list[list[ScoredVerdict]]
    stats: GroupStats


class _ScoredAnswer(TypedDict):
    """A ScoreResponse without unscored verdicts."""

    protocol: str
    groups: list[_ScoredGroup]
    timing: Timing


_ANSWER = TypeAdapter(ScoreResponse)
_SCORED_ANSWER = TypeAdapter(_ScoredAnswer)


REQUEST_BODY = {
    "required": True,
    "content": {
        "application/json": {"schema": {"$ref": f"#/components/schemas/{ScoreRequest.__name__}"}, "examples": SCORE_EXAMPLES}
    },
}


@router.post("/score", include_in_schema=False)
@router.post(
    "/v1/score",
    summary="Score completions",
    response_model=ScoreResponse,
    openapi_extra={"requestBody": REQUEST_BODY},
    responses=problem_responses(400, 413, 415, 422, 503),
)
async def score(request: Request) -> Response:
    """One verdict for each completion and verifier, in the order sent, and a reward for each completion.

    The answer is 200 whatever the completions did. A reward of null means that a verifier left the completion unscored,
    for a reason that is not the completion's doing; it is never to be read as 0.
    """
    settings: Settings = request.app.state.settings
    scorer: Scorer = request.app.state.parts.scorer
    metrics: Metrics = request.app.state.metrics
    body = await read_body(request, settings)
    start = time.monotonic()
    groups, deadline_s = parse_score_request(body, settings, list(scorer.verifiers))
    size = len(body)
    del body
    metrics.stage("parse", time.monotonic() - start)
    answer = await _while_connected(request, scorer.score(groups, deadline_s, size))
    if answer is None:
        return Response(status_code=CLIENT_CLOSED_REQUEST)
    start = time.monotonic()
    content = answer_json(answer)
    metrics.stage("serialise", time.monotonic() - start)
    return Response(content, media_type="application/json")


def answer_json(answer: ScoreResponse) -> bytes:
    """The answer without the fields that are None, as bytes at once, not text to be encoded again.

    Where no verdict is unscored they are written as what they are: pydantic writes a union by way of Python objects,
    which takes as long again.
    """
    if any(group.stats.unscored for group in answer.groups):
        return _ANSWER.dump_json(answer, exclude_none=True)
    groups: Any = [group.__dict__ for group in answer.groups]
    return _SCORED_ANSWER.dump_json({"protocol": answer.protocol, "groups": groups, "timing": answer.timing}, exclude_none=True)


async def _while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    """The work's result, or None when the client went away first; then the work is ended and its slots are free."""
    job = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({job, gone}, return_when=asyncio.FIRST_COMPLETED)
        return await job if job.done() else None
    finally:
        for task in (job, gone):
            task.cancel()
        await asyncio.gather(job, gone, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
