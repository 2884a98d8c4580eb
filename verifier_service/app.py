"""The composition root: the only place that wires the parts together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from verifier_protocol import ScoreRequest
from verifier_service import __version__
from verifier_service.api import compat, health, problems, score
from verifier_service.api.middleware import Door
from verifier_service.api.readiness import Readiness
from verifier_service.observability.metrics import Metrics
from verifier_service.sandbox.contract import SandboxBackend
from verifier_service.sandbox.profiles import ProfiledBackend
from verifier_service.sandbox.select import choose_backend
from verifier_service.scoring.runs import Runs
from verifier_service.scoring.scorer import Scorer
from verifier_service.settings import Settings
from verifier_service.verifiers.registry import make_verifiers

DESCRIPTION = "Verified rewards for reinforcement learning on language models: maths, code and format, in batches."


@dataclass(frozen=True, slots=True)
class Parts:
    """What is wired together, all started."""

    scorer: Scorer
    readiness: Readiness
    backend: SandboxBackend | None  # started and closed by the code verifier
    backend_reason: str  # why there is no backend and how to mend it
    runs: Runs  # plain runs, for the compatibility routes


@asynccontextmanager
async def open_parts(settings: Settings, metrics: Metrics | None = None) -> AsyncIterator[Parts]:
    """Verifiers started and tried, for the app and for the command line; nothing is left running on leaving.

    A verifier that can't start is no error: its completions are unscored, and `Readiness` says why.
    """
    metrics = metrics or Metrics()
    choice = await choose_backend(settings, metrics)
    verifiers = make_verifiers(settings, choice.backend, choice.reason)
    async with AsyncExitStack() as stack:
        for verifier in verifiers.values():
            stack.push_async_callback(verifier.aclose)
        scorer = Scorer(verifiers, settings, metrics)
        runs = Runs(choice.backend, settings, metrics, unavailable=choice.reason)
        stack.push_async_callback(runs.aclose)  # before the backend closes
        readiness = Readiness(verifiers, settings.readiness_period_s, metrics)
        await asyncio.gather(*(readiness.check(kind) for kind in verifiers))
        yield Parts(scorer, readiness, choice.backend, choice.reason, runs)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The ASGI app; its lifespan starts and stops everything."""
    settings = settings or Settings()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_parts(settings, metrics) as parts:
            app.state.parts = parts
            if isinstance(parts.backend, ProfiledBackend):
                parts.backend.bring_up()
            watch = asyncio.create_task(parts.readiness.watch())
            try:
                yield
            finally:
                watch.cancel()
                with suppress(asyncio.CancelledError):
                    await watch

    app = FastAPI(title="Reward verifier", version=__version__, description=DESCRIPTION, lifespan=lifespan)
    app.state.settings, app.state.metrics = settings, metrics
    app.include_router(score.router)
    app.include_router(health.router)
    for router in compat.routers():
        app.include_router(router)
    problems.install(app)
    app.add_middleware(Door, settings=settings, metrics=metrics)
    _describe(app)
    return app


def _describe(app: FastAPI) -> None:
    """OpenAPI with the request's models, which FastAPI can't see since the body is read within limits by hand."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            _, models = models_json_schema([(ScoreRequest, "validation")], ref_template="#/components/schemas/{model}")
            schema["components"]["schemas"] |= models["$defs"]
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
