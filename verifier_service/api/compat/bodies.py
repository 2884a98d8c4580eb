"""Reading what foreign clients send: the same limits at the door as for /score, but unknown fields are ignored.

Those clients send fields of their own frameworks (and newer versions more of them); what a route doesn't know decides
nothing. What it knows is checked as strictly as anywhere: sizes, counts, types, finite numbers.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import to_json

from verifier_service.api.body import parse_json, read_body
from verifier_service.api.problems import RequestRefused, refused
from verifier_service.settings import Settings

MAX_FILES = 64

_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class Lenient(BaseModel):
    """Base of every foreign request."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


M = TypeVar("M", bound=BaseModel)


async def read_as(request: Request, model: type[M]) -> tuple[M, int]:
    """The request's body as `model`, and its size in bytes.

    Raises:
        RequestRefused: 400, 413, 415 or 422.
    """
    settings: Settings = request.app.state.settings
    body = await read_body(request, settings)
    return validated(parse_json(body), model), len(body)


def validated(document: Any, model: type[M]) -> M:
    """Raises RequestRefused (422) that names the first wrong field."""
    try:
        return model.model_validate(document)
    except ValidationError as e:
        raise refused(e, document, ()) from None


def check_length(text: str, field: str, settings: Settings) -> None:
    """A program or a reply must not be longer than a completion may be."""
    if len(text) > settings.max_completion_chars:
        raise RequestRefused(413, f"{field} is longer than {settings.max_completion_chars} characters", field)


def check_count(count: int, most: int, field: str) -> None:
    if count > most:
        raise RequestRefused(413, f"{field}: {count} entries; this service takes {most}", field)


def decoded(text: str, field: str) -> bytes:
    """Base64, with or without line breaks."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise RequestRefused(422, f"{field} is not base64", field) from None


def checked_name(name: str, field: str) -> str:
    """The name of a file in the work folder, as the sandbox takes it."""
    name = name.removeprefix("./")
    if not _FILE_NAME.fullmatch(name):
        raise RequestRefused(422, f"{field}: a file's name has letters, digits, `_`, `-` and `.`, and no folder", field)
    return name


def text_of(output: bytes) -> str:
    """What a program wrote, as text; bytes that are no UTF-8 become U+FFFD."""
    return output.decode("utf-8", "replace")


def json_answer(content: Any, status: int = 200) -> Response:
    return Response(to_json(content), status, media_type="application/json")
