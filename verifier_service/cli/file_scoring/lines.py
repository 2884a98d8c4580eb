"""A line of the input file, as a group of the wire contract.

Forms of a line (JSON; fields that stand nowhere here are refused by name):
    {"completions": [...], "verifiers": [...]}      a group as in POST /score, `id` optional
    {"completions": [...], "gold": "..."}           the math verifier, `options` are its options
    {"completion": "...", ...}                      either of them with a single completion
Beside these: `labels` (or `label`), true/false/null for each completion, compared with the verdicts in the summary;
and `meta`, anything, ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError, model_validator

from verifier_protocol import CodeSpec, Group, MathOptions, MathSpec, VerifierSpec
from verifier_protocol.request import BUILTIN_KINDS, Completion, Model

HASH_DIGITS = 16
LONGEST_LINE_BYTES = 64 << 20
LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Line:
    """`number` counts from 1; `digest` is of the line's bytes, so that an edited line is scored anew."""

    number: int
    digest: str
    group: Group
    labels: tuple[bool | None, ...] | None
    size_bytes: int


@dataclass(frozen=True, slots=True)
class BadLine:
    number: int
    reason: str


class _FileLine(Model):
    id: str | int | None = None
    completion: Completion | None = None
    completions: list[Completion] | None = None
    gold: str | None = None
    options: MathOptions | None = None
    verifiers: list[VerifierSpec] | None = None
    label: bool | None = None
    labels: list[bool | None] | None = None
    meta: Any = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.completion is None) == (self.completions is None):
            raise ValueError("give either completion or completions")
        if (self.gold is None) == (self.verifiers is None):
            raise ValueError("give either gold (for the math verifier) or verifiers")
        if self.options is not None and self.gold is None:
            raise ValueError("options belong to gold; beside verifiers, put them into the verifier")
        if self.labels is not None and len(self.labels) != len(self.all_completions()):
            raise ValueError("labels must be as many as completions")
        if self.labels is not None and self.label is not None:
            raise ValueError("give either label or labels")
        return self

    def all_completions(self) -> list[Any]:
        return self.completions if self.completions is not None else [self.completion]

    def as_group(self) -> Group:
        specs: list[Any] = self.verifiers or []
        if self.gold is not None:
            specs = [MathSpec(kind="math", gold=self.gold, options=self.options or MathOptions())]
        return Group(id=None if self.id is None else str(self.id), completions=self.all_completions(), verifiers=specs)

    def all_labels(self) -> tuple[bool | None, ...] | None:
        if self.labels is not None:
            return tuple(self.labels)
        return None if self.label is None else (self.label,) * len(self.all_completions())


def parse_line(number: int, raw: bytes) -> Line | BadLine:
    """One line; `raw` without its newline. The reason never quotes the line."""
    if len(raw) > LONGEST_LINE_BYTES:
        return BadLine(number, f"longer than {LONGEST_LINE_BYTES >> 20} MiB")
    try:
        line = _FileLine.model_validate_json(raw)
        return Line(number, digest_of(raw), line.as_group(), line.all_labels(), len(raw))
    except ValidationError as error:
        return BadLine(number, _reason(error))


def digest_of(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:HASH_DIGITS]


def read_raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(number, bytes) of each line that isn't blank."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if text := raw.strip():
                yield number, text


def needs_sandbox(raw: bytes) -> bool:
    """Whether the line asks for the code verifier; only lines that may do so are parsed."""
    if b"code" not in raw and b"\\u00" not in raw:
        return False
    line = parse_line(0, raw)
    return isinstance(line, Line) and any(isinstance(spec, CodeSpec) for spec in line.group.verifiers)


def _steps(location: tuple[int | str, ...]) -> Iterator[int | str]:
    """Without the steps that name the chosen branch of a union: a verifier's kind, a style, text or chat."""
    before: tuple[int | str, ...] = ()
    for step in location:
        branch = step in ("text", "chat") or before[-1:] == ("tests",) or (before[-2:-1] == ("verifiers",))
        if not branch:
            yield step
        before = (*before, step)


def _reason(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    path = ".".join(str(step)[:LONGEST_NAME] for step in _steps(first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    if "plugin" in first["loc"] and first["type"] in ("extra_forbidden", "string_pattern_mismatch", "missing"):
        path, message = path.rpartition(".")[0] + ".kind", f"unknown kind; the built-in ones are {', '.join(BUILTIN_KINDS)}"
    elif path.endswith("gold") and first["type"] == "string_type":
        message = 'a gold is text: write it as a string, such as "7"'
    elif first["type"] == "extra_forbidden":
        message = "unknown field (put what is not for scoring under `meta`)"
    return f"{path}: {message}" if path else message
