"""What the service answers (protocol 1): 200 whatever the completions did, one verdict per completion and verifier."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidatorFunctionWrapHandler, WrapValidator

PROTOCOL_VERSION = "1"


class Outcome(StrEnum):
    """Why a scored completion got its score."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    PARTIAL = "partial"
    NO_ANSWER = "no_answer"
    MALFORMED_ANSWER = "malformed_answer"
    ANSWER_TOO_COMPLEX = "answer_too_complex"
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    TIME_LIMIT_EXCEEDED = "time_limit_exceeded"
    MEMORY_LIMIT_EXCEEDED = "memory_limit_exceeded"
    OUTPUT_LIMIT_EXCEEDED = "output_limit_exceeded"
    PROCESS_LIMIT_EXCEEDED = "process_limit_exceeded"


class UnscoredReason(StrEnum):
    """Why there is no score: never the completion's doing."""

    BAD_TASK = "bad_task"
    INFRASTRUCTURE = "infrastructure"
    DEADLINE = "deadline"


class Answer(BaseModel):
    """Base of every model of the answer. Clients ignore fields that they don't know: newer services may add some."""

    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)


class VerifierId(Answer):
    """A changed version is a changed reward function."""

    name: str
    version: str


_MOST_SHARED_IDS = 256
_shared_ids: dict[tuple[str, str], VerifierId] = {}


def _shared_id(value: Any, validate: ValidatorFunctionWrapHandler) -> VerifierId:
    """The same object for the same verifier: an answer of thousands of verdicts would hold as many, all equal."""
    if isinstance(value, VerifierId):
        return value
    try:
        return _shared_ids[value["name"], value["version"]]
    except (KeyError, TypeError):
        made: VerifierId = validate(value)
        if len(_shared_ids) < _MOST_SHARED_IDS:
            _shared_ids[made.name, made.version] = made
        return made


SharedVerifierId = Annotated[VerifierId, WrapValidator(_shared_id)]


class TestResult(Answer):
    """One test of a code verdict. The expected value is never here."""

    __test__ = False  # not a pytest class

    outcome: Outcome
    cpu_s: float = 0.0
    """CPU seconds used."""
    wall_s: float = 0.0
    """Seconds taken."""
    memory_mb: float = 0.0
    """Peak memory, MiB."""
    stdout_tail: str = ""
    """The end of what it printed."""
    stderr_tail: str = ""
    """The end of what it wrote to stderr."""


class ScoredVerdict(Answer):
    """What one verifier says of one completion."""

    status: Literal["scored"] = "scored"
    kind: str
    score: float = Field(ge=0.0, le=1.0, allow_inf_nan=False)
    outcome: Outcome
    """Why it has this score."""
    verifier: SharedVerifierId
    extracted: str | None = None
    """The answer or program that was judged, cut to a length for reading."""
    detail: str = ""
    """The reason in words."""
    ms: float = 0.0
    """How long it took; of the first time, if cached."""
    cached: bool | None = None
    """Taken from an earlier request, or shared with one under way."""
    passed: int | None = None
    """Tests passed (code)."""
    total: int | None = None
    """Tests there are (code)."""
    tests: list[TestResult] | None = None
    """One for each test that ran (code)."""
    tamper: list[str] | None = None
    """What looked like an attack on the grader (code)."""
    trust: Literal["isolated", "in_process"] | None = None
    """`in_process`: the tests shared the submission's process, as the task allowed, so that it could have cheated."""
    extra: dict[str, Any] | None = None
    """What else this verifier tells."""


class UnscoredVerdict(Answer):
    """There is no score, for a reason that is not the completion's doing. Never read it as 0."""

    status: Literal["unscored"] = "unscored"
    kind: str
    reason: UnscoredReason
    retryable: bool
    """Whether the same request may be scored later."""
    verifier: SharedVerifierId
    detail: str = ""
    """What to mend, in words."""
    ms: float = 0.0


Verdict = Annotated[ScoredVerdict | UnscoredVerdict, Field(discriminator="status")]


class GroupStats(Answer):
    """Over the completions that have a reward; None where there is none."""

    mean: float | None = None  # the service leaves None out of its answers
    std: float | None = Field(None, description="Population standard deviation of the rewards.")
    pass_rate: float | None = Field(None, description="Share of completions that every verifier gave its full score.")
    unscored: int
    """Completions without a reward."""
    zero_variance: bool
    """All rewards there are are equal (max == min), so that the group has no advantage to learn from; false without any."""


class GroupResult(Answer):
    """One group's answer, in the order of its completions."""

    id: str | None = None
    rewards: list[float | None]
    """The weighted sum of each completion's scores; null as soon as one verifier left it unscored."""
    verdicts: list[list[Verdict]]
    """[completion][verifier]"""
    stats: GroupStats


class Timing(Answer):
    total_ms: float


class ScoreResponse(Answer):
    protocol: str = PROTOCOL_VERSION
    groups: list[GroupResult]
    timing: Timing


class Problem(Answer):
    """An RFC 9457 problem body: one cause that a person can act on."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = Field(
        None, description="Where in the request the cause lies, as a path such as groups[0].verifiers[0].gold."
    )
