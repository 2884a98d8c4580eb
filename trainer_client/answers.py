"""The service's answer as the client holds it: checked in full while it is read, made into the protocol's models when looked at.

A step has ten thousand verdicts and a trainer may read none of them but by its reward. So an answer is decoded into
small structs, types and ranges checked on the way, and a result makes its `verdicts` at the first look. Nothing can fail
then: every value has been checked, and making a model of it validates nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
from pydantic import BaseModel

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


ModelT = TypeVar("ModelT", bound=BaseModel)
_set = object.__setattr__


def _made(model: type[ModelT], values: dict[str, Any]) -> ModelT:
    """What `model.model_construct` makes of a value for every field, in a fifth of its time."""
    made = model.__new__(model)
    _set(made, "__dict__", values)
    _set(made, "__pydantic_fields_set__", {name for name, value in values.items() if value is not None})
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


def verdict_of(said: Said) -> Verdict:
    """The protocol's model of a verdict."""
    values: dict[str, Any] = {"status": said.__struct_config__.tag, **msgspec.structs.asdict(said)}
    values["verifier"] = verifier_id(said.verifier.name, said.verifier.version)
    if isinstance(said, Unscored):
        return _made(UnscoredVerdict, values)
    if said.tests is not None:
        values["tests"] = [_made(TestResult, msgspec.structs.asdict(test)) for test in said.tests]
    return _made(ScoredVerdict, values)


Rows = Sequence[Sequence[Said]]


def group_result(group_id: str | None, rewards: list[float | None], rows: Rows, stats: GroupStats) -> GroupResult:
    """A group's result. The models of its verdicts are made when they are looked at; rows that are one object stay one."""
    values = {"id": group_id, "rewards": rewards, "stats": stats, _ROWS: rows}
    result = _UnreadResult.__new__(_UnreadResult)
    _real_dict.__set__(result, values)
    _set(result, "__pydantic_fields_set__", {"id", "rewards", "verdicts", "stats"})
    _set(result, "__pydantic_extra__", None)
    _set(result, "__pydantic_private__", None)
    return result


_ROWS = " rows"  # no name that an attribute could have
_real_dict = BaseModel.__dict__["__dict__"]


class _UnreadResult(GroupResult):
    """A GroupResult whose verdicts nobody has looked at yet. At the first look it becomes a plain GroupResult.

    Everything of pydantic's, in Python and in Rust, reads a model through `__dict__`, which is a property here; what
    looks at the class first is overridden. Safe from several threads: each step leaves the object whole.
    """

    if not TYPE_CHECKING:  # else any misspelt attribute would pass

        @property
        def __dict__(self):
            return _real_dict.__get__(_read(self))

        def __getattr__(self, name):
            return getattr(_read(self), name)

    def __eq__(self, other: object) -> bool:
        return bool(_read(self) == (_read(other) if isinstance(other, _UnreadResult) else other))

    __hash__ = GroupResult.__hash__

    def __repr__(self) -> str:
        return repr(_read(self))

    def __str__(self) -> str:
        return str(_read(self))

    def __copy__(self) -> Any:
        return _read(self).__copy__()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Any:
        return _read(self).__deepcopy__(memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _read(self).__reduce_ex__(protocol)


def _read(result: Any) -> Any:
    """Make the verdicts, and the object a plain GroupResult."""
    values = _real_dict.__get__(result)
    rows: Rows | None = values.get(_ROWS)
    if rows is not None:
        shared: dict[int, list[Verdict]] = {}
        verdicts = []
        for row in rows:
            if (models := shared.get(id(row))) is None:
                models = shared[id(row)] = [verdict_of(said) for said in row]
            verdicts.append(models)
        first = values.setdefault("verdicts", verdicts)  # of two threads the first one's are everybody's
        whole = {"id": values["id"], "rewards": values["rewards"], "verdicts": first, "stats": values["stats"]}
        _real_dict.__set__(result, whole)
    _set(result, "__class__", GroupResult)
    return result
