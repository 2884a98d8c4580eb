"""What a trainer sends to `POST /score` (protocol 1).

Unknown fields are refused by name. Sizes that depend on the deployment (body, batch, limits' ceilings) are the
service's settings; what stands here holds everywhere.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    model_validator,
)

BUILTIN_KINDS = ("math", "code", "format")

Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
KindName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)]


class Model(BaseModel):
    """Base of every native wire model: strict about names and types, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ChatMessage(BaseModel):
    """One chat message. Only role and content are read; what else a framework puts there is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    role: str
    content: str | None = None


def _completion_tag(value: Any) -> str | None:
    return "text" if isinstance(value, str) else "chat" if isinstance(value, list) else None


Completion = Annotated[
    Annotated[str, Tag("text")] | Annotated[list[ChatMessage], Tag("chat")],
    Discriminator(
        _completion_tag,
        custom_error_type="completion_type",
        custom_error_message="a completion is a string or a list of chat messages",
    ),
]


def completion_text(completion: str | list[ChatMessage]) -> str:
    """The text that is verified: the string itself, or the content of the last assistant message ('' if none)."""
    if isinstance(completion, str):
        return completion
    for message in reversed(completion):
        if message.role == "assistant":
            return message.content or ""
    return ""


class MathOptions(Model):
    precision: Literal["rounded", "exact"] = Field(
        "rounded",
        description="`rounded`: a decimal may stand for an exact gold when it is that gold correctly rounded to the "
        "digits shown, six significant digits or more. `exact`: never.",
    )
    rel_tol: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = Field(
        None, description="Relative tolerance for numeric comparison; off when absent."
    )
    percent: Literal["strict", "lenient"] = Field(
        "lenient",
        description="`lenient`: 50, 50% and 0.5 stand for one another where one side has a percent sign. "
        "`strict`: a percent sign means division by 100.",
    )
    units: Literal["lenient", "strict"] = Field(
        "lenient",
        description="`lenient`: a missing unit is forgiven, a different one is not. "
        "`strict`: both sides must carry the same quantity.",
    )
    extract: list[Literal["boxed", "hash", "final_answer", "last_line"]] = Field(
        default=["boxed"],
        min_length=1,
        max_length=4,
        description="Where an answer may stand in the completion, in order of preference.",
    )
    order_matters: bool | None = Field(
        None, description="Whether a bare list `1, 2` is ordered. Absent: bare lists are sets, parenthesised ones tuples."
    )
    allow_unevaluated: bool = Field(False, description="Accept an unevaluated sum, integral or limit that equals the gold.")


class MathSpec(Model):
    """The gold in LaTeX, ASCII or Unicode maths, or a whole solution that ends in a box or in `#### answer`."""

    kind: Literal["math"]
    gold: str
    weight: Weight = 1.0
    options: MathOptions = MathOptions()


class FormatSpec(Model):
    kind: Literal["format"]
    style: Literal["think_boxed", "think_answer", "think_only"] = "think_boxed"
    prefilled_think: bool = Field(False, description="The chat template already wrote the opening `<think>`.")
    weight: Weight = 1.0


class StdinCase(Model):
    stdin: str = ""
    expected_stdout: str


class Compare(Model):
    mode: Literal["lines", "exact", "tokens", "float", "unordered_lines"] = "lines"
    abs_tol: NonNegative = 0.0
    rel_tol: NonNegative = 0.0


class Checker(Model):
    """A special judge: reads input, expected and actual output as files; exit status 0 accepts."""

    language: str = "python"
    source: str


class StdinTests(Model):
    style: Literal["stdin"]
    cases: list[StdinCase]
    compare: Compare = Compare()
    checker: Checker | None = None


def _finite(value: JsonValue) -> JsonValue:
    """1e999 is valid JSON, but no value that a test could mean."""
    stack: list[JsonValue] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            if not math.isfinite(item):
                raise ValueError("a number is out of range")
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return value


FiniteJson = Annotated[JsonValue, AfterValidator(_finite)]


class FunctionCase(Model):
    args: list[FiniteJson] = []
    kwargs: dict[Identifier, FiniteJson] = {}
    expected: FiniteJson


class FunctionTests(Model):
    style: Literal["function"]
    entry_point: Identifier
    cases: list[FunctionCase]
    float_tol: NonNegative = 0.0
    rel_tol: NonNegative = 0.0
    inplace_arg: Annotated[int, Field(ge=0, le=100)] | None = None


class AssertTests(Model):
    style: Literal["asserts"]
    code: str
    entry_point: Identifier | None = None
    allow_in_process: bool = Field(
        False,
        description="Run tests that cannot be proxied inside the submission's process; the verdict then says trust: in_process.",
    )


CodeTests = Annotated[StdinTests | FunctionTests | AssertTests, Field(discriminator="style")]


class CodeLimits(Model):
    """Limits of one test run; absent ones take the service's defaults, ones above its ceilings are refused."""

    cpu_time_s: Positive | None = None
    wall_time_s: Positive | None = None
    memory_mb: Annotated[int, Field(ge=1)] | None = None
    processes: Annotated[int, Field(ge=1)] | None = None
    output_bytes: Annotated[int, Field(ge=1)] | None = None
    file_bytes: Annotated[int, Field(ge=0)] | None = None


class CodeSpec(Model):
    kind: Literal["code"]
    language: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_+#.-]{0,29}$")] = "python"
    tests: CodeTests
    limits: CodeLimits = CodeLimits()
    extract: Literal["block", "whole"] = Field(
        "block", description="`block`: the program is a fenced block of the reply. `whole`: the reply is the program."
    )
    scoring: Literal["binary", "fraction"] = "binary"
    stop_on_failure: bool | None = Field(None, description="Absent: true for binary scoring, false for fraction.")
    weight: Weight = 1.0

    @property
    def stops_on_failure(self) -> bool:
        return self.scoring == "binary" if self.stop_on_failure is None else self.stop_on_failure


class PluginSpec(Model):
    """A verifier that an installed package adds under the entry-point group `verifier_service.verifiers`."""

    kind: KindName
    weight: Weight = 1.0
    options: dict[str, JsonValue] = {}


def _tag_of(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return kind if isinstance(kind, str) and kind in BUILTIN_KINDS else "plugin"


VerifierSpec = Annotated[
    Annotated[MathSpec, Tag("math")]
    | Annotated[FormatSpec, Tag("format")]
    | Annotated[CodeSpec, Tag("code")]
    | Annotated[PluginSpec, Tag("plugin")],
    Discriminator(_tag_of),
]


class Group(Model):
    """The G completions of one prompt and how each is verified; the reward is the weighted sum of the scores."""

    id: str | None = Field(None, max_length=1000)
    completions: list[Completion] = Field(min_length=1)
    verifiers: list[VerifierSpec] = Field(min_length=1, max_length=16)


class ScoreRequest(Model):
    """Groups, or the short form for one completion: `completion` with `verifiers`, or `completion` with `gold`."""

    groups: list[Group] | None = None
    completion: Completion | None = None
    verifiers: list[VerifierSpec] | None = Field(None, min_length=1, max_length=16)
    gold: str | None = None
    deadline_s: Positive | None = Field(None, description="Seconds from admission; what has not run by then is unscored.")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.groups is not None:
            if self.completion is not None or self.verifiers is not None or self.gold is not None:
                raise ValueError("send either groups, or the short form (completion with verifiers or gold), not both")
            if not self.groups:
                raise ValueError("groups is empty: send at least one group")
        elif self.completion is None:
            raise ValueError("send groups, or a completion with verifiers or gold")
        elif (self.verifiers is None) == (self.gold is None):
            raise ValueError("the short form takes either verifiers or gold beside completion")
        return self

    def as_groups(self) -> list[Group]:
        """The groups asked for; the short form is one group of one completion."""
        if self.groups is not None:
            return self.groups
        assert self.completion is not None
        verifiers = self.verifiers or [MathSpec(kind="math", gold=self.gold or "")]
        return [Group(completions=[self.completion], verifiers=verifiers)]
