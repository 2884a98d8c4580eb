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

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


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

    def __hash__(self) -> int:
        """Hashable in spite of its list: pydantic copies an unhashable default deeply, here for every spec of a batch."""
        return hash(self.model_dump_json())


class MathSpec(Model):
    """The gold in LaTeX, ASCII or Unicode maths, or a whole solution that ends in a box or in `#### answer`."""

    kind: Literal["math"]
    gold: str
    weight: Weight = 1.0
    options: MathOptions = MathOptions()


class FormatSpec(Model):
    """The layout of the completion."""

    kind: Literal["format"]
    style: Literal["think_boxed", "think_answer", "think_only"] = "think_boxed"
    prefilled_think: bool = Field(False, description="The chat template already wrote the opening `<think>`.")
    weight: Weight = 1.0


class StdinCase(Model):
    """One run of the program."""

    stdin: str = ""
    """What the program reads."""
    expected_stdout: str
    """What it must print; never shown to the program, and never in an answer."""


class Compare(Model):
    """How the output is compared with the expected one."""

    mode: Literal["lines", "exact", "tokens", "float", "unordered_lines"] = "lines"
    """`lines`: trailing blanks of a line and trailing empty lines don't count. `exact`: every byte counts. `tokens`: any
    white space separates. `float`: token by token, numbers within the tolerances. `unordered_lines`: lines in any order."""
    abs_tol: NonNegative = 0.0
    """Absolute tolerance of `float`."""
    rel_tol: NonNegative = 0.0
    """Relative tolerance of `float`."""


class Checker(Model):
    """A special judge: a program that reads input, expected and actual output as files; exit status 0 accepts."""

    language: str = "python"
    source: str


class StdinTests(Model):
    """The submission is a program that reads stdin and prints."""

    style: Literal["stdin"]
    cases: list[StdinCase]
    compare: Compare = Compare()
    checker: Checker | None = None
    """Decides instead of `compare`, in a sandbox run of its own."""


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
    """One call of the entry point."""

    args: list[FiniteJson] = []
    kwargs: dict[Identifier, FiniteJson] = {}
    expected: FiniteJson
    """What the call must return; equal in type too: 1 is not true and not "1", though 2 and 2.0 agree."""


class FunctionTests(Model):
    """The submission defines a function, or a method of `class Solution`; values are plain JSON."""

    style: Literal["function"]
    entry_point: Identifier
    cases: list[FunctionCase]
    float_tol: NonNegative = 0.0
    """Absolute tolerance wherever the expected value has a float."""
    rel_tol: NonNegative = 0.0
    """Relative tolerance, likewise."""
    inplace_arg: Annotated[int, Field(ge=0, le=100)] | None = None
    """Compare this argument after the call instead of what it returned."""


class AssertTests(Model):
    """Python test code, which runs in a process of its own and calls the submission through proxies."""

    style: Literal["asserts"]
    code: str
    """Assert statements, a HumanEval `check(candidate)`, a unittest class or a pytest file."""
    entry_point: Identifier | None = None
    """What `check(candidate)` is called with."""
    allow_in_process: bool = False
    """Run tests that cannot be proxied inside the submission's process; the verdict then says trust: in_process."""


class Interactor(Model):
    """A program that talks to the submission: what either prints, the other reads; exit status 0 accepts."""

    language: str = "python"
    source: str


class InteractiveCase(Model):
    """One conversation."""

    stdin: str = ""
    """The case's input, which only the interactor reads: a file, named by its first argument."""
    expected_stdout: str = ""
    """A reference for the interactor, likewise, named by its second argument; never in an answer."""


class InteractiveTests(Model):
    """The submission is a program that talks to an interactor; each reads what the other prints."""

    style: Literal["interactive"]
    interactor: Interactor
    cases: list[InteractiveCase]


CodeTests = Annotated[StdinTests | FunctionTests | AssertTests | InteractiveTests, Field(discriminator="style")]


class CodeLimits(Model):
    """Limits of one test run; absent ones take the service's defaults, ones above its ceilings are refused."""

    cpu_time_s: Positive | None = None
    """CPU seconds of the program and all its children."""
    wall_time_s: Positive | None = None
    """Seconds from its start."""
    memory_mb: Annotated[int, Field(ge=1)] | None = None
    """Memory of the whole tree, MiB."""
    processes: Annotated[int, Field(ge=1)] | None = None
    """Processes and threads at one time."""
    output_bytes: Annotated[int, Field(ge=1)] | None = None
    """Bytes that it may write to its output."""
    file_bytes: Annotated[int, Field(ge=0)] | None = None
    """Size of a file that it may write."""


class CodeSpec(Model):
    """The program in the completion, run against tests in a sandbox."""

    kind: Literal["code"]
    language: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_+#. -]{0,29}$", strip_whitespace=True)] = "python"
    """One of those that GET /v1/verifiers names, by any usual name and in any case: Python, C++, golang, node."""
    tests: CodeTests
    limits: CodeLimits = CodeLimits()
    extract: Literal["block", "whole"] = "block"
    """`block`: the program is a fenced block of the reply. `whole`: the reply is the program."""
    scoring: Literal["binary", "fraction"] = "binary"
    """`binary`: 1 when every test passes. `fraction`: the share that passes."""
    stop_on_failure: bool | None = None
    """Whether to skip the tests after the first that fails. Absent: true for binary scoring, false for fraction."""
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
    """The G completions of one prompt and how each is verified; the reward is the weighted sum of the scores.

    `gold` instead of `verifiers` is short for one math verifier.
    """

    id: str | None = Field(None, max_length=1000)
    """Echoed."""
    completions: list[Completion] = Field(min_length=1)
    """Strings, or chat lists of `{"role", "content"}`, of which the last assistant message counts."""
    verifiers: list[VerifierSpec] = Field(min_length=1, max_length=16)

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        if isinstance(value, dict) and "gold" in value and "verifiers" not in value:
            rest = {name: item for name, item in value.items() if name != "gold"}
            return rest | {"verifiers": [{"kind": "math", "gold": value["gold"]}]}
        return value


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
