"""How an answer is written: the same bytes by the quick way as by the whole model."""

from __future__ import annotations

import json
from typing import get_type_hints

import pytest

from verifier_protocol import (
    GroupResult,
    GroupStats,
    Outcome,
    ScoredVerdict,
    ScoreResponse,
    TestResult,
    Timing,
    UnscoredReason,
    UnscoredVerdict,
    VerifierId,
)
from verifier_service.api.score import _ScoredAnswer, _ScoredGroup, answer_json

ID = VerifierId(name="code", version="1")
SCORED = ScoredVerdict(
    kind="code",
    score=0.5,
    outcome=Outcome.PARTIAL,
    verifier=ID,
    detail='é "x"\n',
    tests=[TestResult(outcome=Outcome.CORRECT)],
    extra={"a": [1, None]},
)
UNSCORED = UnscoredVerdict(kind="code", reason=UnscoredReason.DEADLINE, retryable=True, verifier=ID)


def answer(*rows, unscored):
    stats = GroupStats(mean=0.5, unscored=unscored, zero_variance=True)
    group = GroupResult(id=None, rewards=[0.5] * len(rows), verdicts=[list(row) for row in rows], stats=stats)
    return ScoreResponse(groups=[group, group], timing=Timing(total_ms=1.5))


@pytest.mark.parametrize(
    "given",
    [
        answer([SCORED], [SCORED, SCORED], unscored=0),
        answer([SCORED], [SCORED, UNSCORED], unscored=1),
        answer([UNSCORED], unscored=1),
    ],
)
def test_an_answer_is_written_as_its_model_would_be(given):
    written = answer_json(given)
    assert written == given.model_dump_json(exclude_none=True).encode()
    assert ScoreResponse.model_validate_json(written) == given
    assert b"null" not in written.replace(b"[1,null]", b"")
    assert json.loads(written)["protocol"] == "1"


@pytest.mark.parametrize(("quick", "model"), [(_ScoredGroup, GroupResult), (_ScoredAnswer, ScoreResponse)])
def test_the_quick_way_knows_every_field(quick, model):
    assert list(get_type_hints(quick)) == list(model.model_fields)
