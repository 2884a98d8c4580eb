"""Reading a request's body within limits, and checking what a stranger sent, once, here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fastapi import Request
from pydantic import ValidationError
from pydantic_core import from_json

from verifier_protocol import CodeSpec, Group, MathSpec, ScoreRequest, completion_text
from verifier_service.api.problems import RequestRefused, refused
from verifier_service.settings import Settings


async def read_body(request: Request, settings: Settings) -> bytes:
    """The whole body, as soon refused as it is known to be too large.

    Raises:
        RequestRefused: 413, or 415 for a content type or coding that is not plain JSON.
    """
    media = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if media != "application/json" and not (media.startswith("application/") and media.endswith("+json")):
        raise RequestRefused(415, "send the body as application/json", close=True)
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise RequestRefused(415, "send the body without a content coding", close=True)
    limit = settings.max_body_bytes
    too_large = RequestRefused(413, f"the body is larger than {limit} bytes; send fewer groups at a time", close=True)
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limit:
        raise too_large
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise too_large
        chunks.append(chunk)
    return b"".join(chunks)


def parse_json(body: bytes) -> Any:
    """A JSON document: UTF-8, finite numbers, at most 200 levels deep.

    Lone surrogates, which a detokeniser can leave and `json.dumps` escapes, stand for no character; they become U+FFFD, so
    that one such completion does not cost the batch.

    Raises:
        RequestRefused: 400, saying where.
    """
    try:
        return from_json(body, allow_inf_nan=False, cache_strings="keys")
    except ValueError as e:
        fault = e
    if _SURROGATE.search(body):
        try:
            return from_json(_ESCAPE.sub(_mend_escape, body), allow_inf_nan=False, cache_strings="keys")
        except ValueError as e:
            fault = e
    raise RequestRefused(400, f"the body is no JSON that this service reads: {fault}")


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)


def _mend_escape(match: re.Match[bytes]) -> bytes:
    escape = match[0]
    return b"\\ufffd" if len(escape) == 6 and _SURROGATE.match(escape) else escape


def parse_score_request(body: bytes, settings: Settings, kinds: Sequence[str]) -> tuple[list[Group], float | None]:
    """The groups and the deadline asked for.

    Raises:
        RequestRefused: 400, 413 or 422.
    """
    document = parse_json(body)
    if isinstance(document, dict) and isinstance(groups := document.get("groups"), list) and len(groups) > settings.max_groups:
        raise RequestRefused(413, f"{len(groups)} groups; this service takes {settings.max_groups} in a request", "groups")
    try:
        request = ScoreRequest.model_validate(document)
    except ValidationError as e:
        raise refused(e, document, kinds) from None
    groups = request.as_groups()
    _check_sizes(groups, settings)
    return groups, request.deadline_s


def _check_sizes(groups: list[Group], settings: Settings) -> None:
    count = sum(len(g.completions) for g in groups)
    if count > settings.max_completions:
        raise RequestRefused(413, f"{count} completions; this service takes {settings.max_completions} in a request", "groups")
    for i, group in enumerate(groups):
        for n, completion in enumerate(group.completions):
            if len(completion_text(completion)) > settings.max_completion_chars:
                where = f"groups[{i}].completions[{n}]"
                raise RequestRefused(413, f"{where} is longer than {settings.max_completion_chars} characters", where)
        for n, spec in enumerate(group.verifiers):
            where = f"groups[{i}].verifiers[{n}]"
            if isinstance(spec, MathSpec) and len(spec.gold) > settings.max_gold_chars:
                raise RequestRefused(413, f"{where}.gold is longer than {settings.max_gold_chars} characters", f"{where}.gold")
            if isinstance(spec, CodeSpec) and len(getattr(spec.tests, "cases", ())) > settings.max_test_cases:
                where += ".tests.cases"
                raise RequestRefused(413, f"{where}: this service takes {settings.max_test_cases} cases", where)
