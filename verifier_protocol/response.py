"""What the service answers (protocol 1): 200 whatever the completions did, one verdict per completion and verifier."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

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

    model_config = ConfigDict(extra="ignore", frozen=True)


class VerifierId(Answer):
    """A changed version is a changed reward function."""

    name: str
    version: str


class TestResult(Answer):
    """One test of a code verdict. The expected value is never here."""

    __test__ = False  # not a pytest class

    outcome: Outcome
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_mb: float = 0.0
    stdout_tail: str = ""
    stderr_tail: str = ""


class ScoredVerdict(Answer):
    status: Literal["scored"] = "scored"
    kind: str
    score: float = Field(ge=0.0, le=1.0, allow_inf_nan=False)
    outcome: Outcome
    verifier: VerifierId
    extracted: str | None = Field(None, description="The answer or program that was judged, cut to a length for reading.")
    detail: str = ""
    ms: float = 0.0
    cached: bool | None = None
    passed: int | None = None
    total: int | None = None
    tests: list[TestResult] | None = None
    tamper: list[str] | None = Field(None, description="What looked like an attack on the grader.")
    trust: Literal["isolated", "in_process"] | None = None
    extra: dict[str, Any] | None = None


class UnscoredVerdict(Answer):
    status: Literal["unscored"] = "unscored"
    kind: str
    reason: UnscoredReason
    retryable: bool
    verifier: VerifierId
    detail: str = ""
    ms: float = 0.0


Verdict = Annotated[ScoredVerdict | UnscoredVerdict, Field(discriminator="status")]


class GroupStats(Answer):
    """Over the completions that have a reward; None where there is none."""

    mean: float | None = None  # the service leaves None out of its answers
    std: float | None = Field(None, description="Population standard deviation of the rewards.")
    pass_rate: float | None = Field(None, description="Share of completions that every verifier gave its full score.")
    unscored: int
    zero_variance: bool = Field(description="All rewards equal (max == min), so that the group has no advantage to learn from.")


class GroupResult(Answer):
    id: str | None = None
    rewards: list[float | None]
    verdicts: list[list[Verdict]]
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
