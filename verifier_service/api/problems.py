"""Errors as RFC 9457 problem bodies: one cause that a person can act on, never a stack trace, never the input."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from verifier_protocol import Problem
from verifier_protocol.request import BUILTIN_KINDS
from verifier_service.faults import Overloaded
from verifier_service.verifiers.base import SpecRefused

LONGEST_NAME = 80
CLIENT_CLOSED_REQUEST = 499  # nobody reads it; it is for the log and the metrics
HTTP_DETAILS = {404: "no such path; see /docs for those there are", 405: "this path does not take that method; see /docs"}
MEDIA_TYPE = "application/problem+json"


class RequestRefused(Exception):
    """A request that is answered with a 4xx problem."""

    def __init__(self, status: int, detail: str, field: str | None = None, *, close: bool = False) -> None:
        super().__init__(detail)
        self.status = status
        self.field = field
        self.close = close  # the rest of the body was not read


def problem_response(status: int, detail: str, field: str | None = None, headers: dict[str, str] | None = None) -> Response:
    title = HTTPStatus(status).phrase
    problem = Problem(type="about:blank", title=title, status=status, detail=detail, field=field)
    return Response(problem.model_dump_json(exclude_none=True), status, headers, MEDIA_TYPE)


def path_of(location: Sequence[int | str], document: Any) -> str:
    """A pydantic location as `groups[0].verifiers[1].gold`.

    Locations also name the chosen branch of a union; a step is kept only where the document has it, and the last one
    always, since a missing field is in no document.
    """
    path, here = "", document
    for n, step in enumerate(location):
        if isinstance(step, int):
            path += f"[{step}]"
            here = here[step] if isinstance(here, list) and step < len(here) else None
        elif isinstance(here, dict) and step in here:
            path += f".{step[:LONGEST_NAME]}"
            here = here[step]
        elif n == len(location) - 1 and isinstance(here, dict):
            path += f".{step[:LONGEST_NAME]}"
    return path.removeprefix(".")


def _words(error: Any, path: str) -> str:
    kind, message = error["type"], error["msg"]
    if kind == "extra_forbidden":
        return f"unknown field {path!r}" if path.isprintable() else "unknown field"
    if kind == "missing":
        return f"{path} is missing"
    if kind == "model_type":
        message = "an object is wanted here"
    if kind == "value_error":
        message = message.removeprefix("Value error, ")
    return f"{path}: {message}" if path else message


def refused(error: ValidationError, document: Any, kinds: Sequence[str]) -> RequestRefused:
    """The first cause among a validation's errors as a 422."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    location = first["loc"]
    if "plugin" in location:  # a kind that is not built in: say so before saying what a plug-in may not have
        at = location.index("plugin")
        spec = document
        for step in location[:at]:
            spec = spec[step] if isinstance(step, int) or (isinstance(spec, dict) and step in spec) else spec
        kind = spec.get("kind") if isinstance(spec, dict) else None
        if not isinstance(kind, str) or (kind not in kinds and kind not in BUILTIN_KINDS):
            path = path_of(location[:at], document)
            where = f"{path}.kind" if path else "kind"
            known = ", ".join(sorted(kinds))
            return RequestRefused(422, f"{where}: name one of this service's verifiers: {known}", where)
    path = path_of(location, document)
    return RequestRefused(422, _words(first, path), path or None)


def install(app: FastAPI) -> None:
    """Make every error of this app a problem body."""

    @app.exception_handler(RequestRefused)
    async def _refused(_: Request, e: RequestRefused) -> Response:
        return problem_response(e.status, str(e), e.field, {"connection": "close"} if e.close else None)

    @app.exception_handler(SpecRefused)
    async def _spec(_: Request, e: SpecRefused) -> Response:
        return problem_response(422, f"{e.field}: {e}", e.field)

    @app.exception_handler(Overloaded)
    async def _overloaded(_: Request, e: Overloaded) -> Response:
        return problem_response(503, f"{e}; try again later", headers={"retry-after": str(max(1, round(e.retry_after_s)))})

    @app.exception_handler(HTTPException)
    async def _http(_: Request, e: HTTPException) -> Response:
        detail = HTTP_DETAILS.get(e.status_code, "the request could not be handled")
        return problem_response(e.status_code, detail, headers=dict(e.headers or {}))

    @app.exception_handler(ClientDisconnect)
    async def _gone(_: Request, __: ClientDisconnect) -> Response:
        return Response(status_code=CLIENT_CLOSED_REQUEST)

    @app.exception_handler(Exception)
    async def _bug(_: Request, __: Exception) -> Response:
        return problem_response(500, "an internal error; the service's log has more")
