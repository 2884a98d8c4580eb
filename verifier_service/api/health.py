"""Liveness, readiness, what this service can verify, and its metrics."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from verifier_protocol import PROTOCOL_VERSION
from verifier_service import __version__
from verifier_service.api.problems import RequestRefused
from verifier_service.api.readiness import Readiness

router = APIRouter()


@router.get("/healthz", summary="Is the process alive?")
async def healthz() -> dict[str, str]:
    """200 as long as the event loop turns; says nothing about verifiers."""
    return {"status": "ok"}


@router.get("/readyz", summary="Can every verifier score?")
async def readyz(
    request: Request, kinds: Annotated[str | None, Query(max_length=1000, description="Only these, comma separated.")] = None
) -> Response:
    """200 once each verifier has scored a right and a wrong answer by the path that completions take, and the sandbox's
    limits (memory, processes, time, network) were seen to bite; else 503, and each failing kind says how to mend it."""
    readiness: Readiness = request.app.state.parts.readiness
    states = readiness.states()
    wanted = list(states) if kinds is None else [k.strip() for k in kinds.split(",") if k.strip()]
    if not wanted or any(k not in states for k in wanted):
        raise RequestRefused(422, f"kinds: name some of {', '.join(sorted(states))}", "kinds")
    chosen = {k: states[k] for k in wanted}
    ready = all(s.ready for s in chosen.values())
    body: dict[str, Any] = {
        "ready": ready,
        "protocol": PROTOCOL_VERSION,
        "version": __version__,
        "kinds": {k: {"ready": s.ready, "detail": s.detail} for k, s in chosen.items()},
    }
    return JSONResponse(body, 200 if ready else 503, None if ready else {"retry-after": "5"})


@router.get("/v1/verifiers", summary="Names, versions, options, languages and limits")
async def verifiers(request: Request) -> dict[str, Any]:
    """A changed version means that the reward function has changed."""
    found = request.app.state.parts.scorer.verifiers
    return {"protocol": PROTOCOL_VERSION, "service": __version__, "verifiers": {k: dict(v.describe()) for k, v in found.items()}}


@router.get("/metrics", summary="Prometheus metrics")
async def metrics(request: Request) -> Response:
    return Response(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
