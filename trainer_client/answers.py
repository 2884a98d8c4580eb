"""The service's answer as the client holds it: checked in full while it is read, made into the protocol's models when looked at.

A step has ten thousand verdicts and a trainer may read none of them but by its reward. So an answer is decoded into
small structs, types and ranges checked on the way, and a result makes its `verdicts` at the first look. Nothing can fail
then: every value has been checked, and making a model of it validates nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from verifier_protocol import (
    PROTOCOL_VERSION,
    GroupResult,
    GroupStats,
    Outcome,
    ScoredVerdict,
    TestResult,
    UnscoredReason,
    UnscoredVerdict,
    Verdict,
    VerifierId,
)

# `gc=False`: what comes from JSON has no cycles, so the garbage collector need not walk over it.
Score = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class Verifier(msgspec.Struct, frozen=True, gc=False):
    """See verifier_protocol.VerifierId."""

    name: str
    version: str


class Test(msgspec.Struct, gc=False, omit_defaults=True):
    """See verifier_protocol.TestResult."""

    __test__ = False  # not a pytest class

    outcome: Outcome
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_mb: float = 0.0
    stdout_tail: str = ""
    stderr_tail: str = ""


class Scored(msgspec.Struct, tag_field="status", tag="scored", gc=False, omit_defaults=True):
    """See verifier_protocol.ScoredVerdict."""

    kind: str
    score: Score
    outcome: Outcome
    verifier: Verifier
    extracted: str | None = None
    detail: str = ""
    ms: float = 0.0
    cached: bool | None = None
    passed: int | None = None
    total: int | None = None
    tests: list[Test] | None = None
    tamper: list[str] | None = None
    trust: Literal["isolated", "in_process"] | None = None
    extra: dict[str, Any] | None = None


class Unscored(msgspec.Struct, tag_field="status", tag="unscored", gc=False, omit_defaults=True):
    """See verifier_protocol.UnscoredVerdict."""

    kind: str
    reason: UnscoredReason
    retryable: bool
    verifier: Verifier
    detail: str = ""
    ms: float = 0.0


Said = Scored | Unscored


class Stats(msgspec.Struct, gc=False):
    """See verifier_protocol.GroupStats. Only checked: the client counts for itself, since a group may travel in parts."""

    unscored: int
    zero_variance: bool
    mean: float | None = None
    std: float | None = None
    pass_rate: float | None = None


class GroupAnswer(msgspec.Struct, gc=False):
    """See verifier_protocol.GroupResult."""

    rewards: list[float | None]
    verdicts: list[list[Said]]
    stats: Stats
    id: str | None = None


class Timing(msgspec.Struct, gc=False):
    total_ms: float


class Answer(msgspec.Struct, gc=False):
    """See verifier_protocol.ScoreResponse."""

    groups: list[GroupAnswer]
    timing: Timing
    protocol: str = PROTOCOL_VERSION


class NoAnswer(ValueError):
    """What was sent is no answer of this protocol. The message quotes none of it."""


_ANSWER = msgspec.json.Decoder(Answer)


def read_answer(content: bytes) -> Answer:
    """Decode and check an answer. Unknown fields are ignored: newer services may add some. Raises NoAnswer."""
    try:
        return _ANSWER.decode(content)
    except msgspec.DecodeError as error:  # of which a wrong type is one
        said, at, path = str(error).rpartition(" - at ")
        raise NoAnswer((said or path).partition("'")[0].strip() + (f" at {path}" if at else "")) from None
    except UnicodeDecodeError:
        raise NoAnswer("text that is no UTF-8") from None
    except RecursionError:
        raise NoAnswer("nested too deeply") from None


@lru_cache(maxsize=256)
def verifier_id(name: str, version: str) -> VerifierId:
    """The same object for the same verifier: thousands of verdicts name it."""
    return VerifierId(name=name, version=version)


def verdict_of(said: Said) -> Verdict:
    """The protocol's model of a verdict. Validates nothing: all was checked when the answer was read."""
    values = msgspec.structs.asdict(said)
    said_fields = {"status"} | {name for name, value in values.items() if value is not None}
    values["verifier"] = verifier_id(said.verifier.name, said.verifier.version)
    if isinstance(said, Unscored):
        return UnscoredVerdict.model_construct(said_fields, **values)
    if said.tests is not None:
        values["tests"] = [TestResult.model_construct(**msgspec.structs.asdict(test)) for test in said.tests]
    return ScoredVerdict.model_construct(said_fields, **values)


Rows = Sequence[Sequence[Said]]


class ScoredGroup:
    """One group's result, in the order of its completions: `rewards` (None for the unscored), `stats`, `verdicts`.

    The verdicts are made when they are first looked at. Results are equal when all that they say is.
    """

    __slots__ = ("_rows", "_verdicts", "id", "rewards", "stats")

    def __init__(self, group_id: str | None, rewards: list[float | None], rows: Rows, stats: GroupStats) -> None:
        """`rows`: [completion][verifier]. Rows that are one object, as those of equal completions are, stay one."""
        self.id = group_id
        self.rewards = rewards
        self.stats = stats
        self._rows = rows
        self._verdicts: list[list[Verdict]] | None = None

    @property
    def verdicts(self) -> list[list[Verdict]]:
        """[completion][verifier]"""
        if self._verdicts is None:
            made = {id(row): [verdict_of(said) for said in row] for row in self._rows}
            self._verdicts = [made[id(row)] for row in self._rows]
        return self._verdicts

    def to_model(self) -> GroupResult:
        """As the protocol's model, for JSON and for what takes models."""
        return GroupResult(id=self.id, rewards=self.rewards, verdicts=self.verdicts, stats=self.stats)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoredGroup):
            return NotImplemented
        return (self.id, self.rewards, self.stats, self._rows) == (other.id, other.rewards, other.stats, other._rows)

    __hash__ = None  # type: ignore[assignment]  # what can be changed has none

    def __repr__(self) -> str:
        return f"ScoredGroup(id={self.id!r}, rewards={self.rewards!r}, stats={self.stats!r})"
