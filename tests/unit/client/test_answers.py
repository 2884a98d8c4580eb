"""What is read at once and made later: checked when it comes, a plain model when it is looked at."""

from __future__ import annotations

import copy
import json
import pickle

import msgspec
import pytest
from pydantic import ValidationError

from trainer_client import answers
from trainer_client.answers import NoAnswer, ScoredGroup, read_answer
from verifier_protocol import (
    GroupResult,
    GroupStats,
    ScoredVerdict,
    ScoreResponse,
    TestResult,
    Timing,
    UnscoredVerdict,
    VerifierId,
)

VERIFIER = {"name": "math", "version": "1"}
SCORED = {"status": "scored", "kind": "math", "score": 1.0, "outcome": "correct", "verifier": VERIFIER, "extracted": "42"}
CODE = SCORED | {
    "kind": "code",
    "outcome": "partial",
    "score": 0.5,
    "passed": 1,
    "total": 2,
    "tests": [{"outcome": "correct", "cpu_s": 0.1, "stdout_tail": "é"}, {"outcome": "runtime_error"}],
    "tamper": ["x"],
    "trust": "isolated",
    "extra": {"a": [1, None, {"b": 2.5}]},
    "cached": True,
}
UNSCORED = {"status": "unscored", "kind": "math", "reason": "deadline", "retryable": True, "verifier": VERIFIER, "ms": 1.5}
STATS = {"mean": 1.0, "std": 0.0, "pass_rate": 1.0, "unscored": 0, "zero_variance": True}


def body(*rows, **changes):
    group = {"id": "g", "rewards": [1.0] * len(rows), "verdicts": list(rows), "stats": STATS}
    return {"protocol": "1", "groups": [group], "timing": {"total_ms": 1.0}} | changes


def unread(*rows):
    """As the client makes it, and the same result as pydantic makes it of the same JSON."""
    text = json.dumps(body(*rows)).encode()
    group = read_answer(text).groups[0]
    result = ScoredGroup(group.id, group.rewards, group.verdicts, GroupStats(**STATS))
    return result, ScoreResponse.model_validate_json(text).groups[0]


@pytest.mark.parametrize(
    ("struct", "model"),
    [
        (answers.Scored, ScoredVerdict),
        (answers.Unscored, UnscoredVerdict),
        (answers.Test, TestResult),
        (answers.Verifier, VerifierId),
        (answers.Stats, GroupStats),
        (answers.GroupAnswer, GroupResult),
        (answers.Answer, ScoreResponse),
        (answers.Timing, Timing),
    ],
)
def test_the_structs_have_the_fields_and_defaults_of_the_protocols_models(struct, model):
    ours = {f.encode_name: (f.required, None if f.required else f.default) for f in msgspec.structs.fields(struct)}
    theirs = {
        name: (field.is_required(), None if field.is_required() else field.default)
        for name, field in model.model_fields.items()
        if name != "status"
    }
    assert ours == theirs


@pytest.mark.parametrize("verdict", [SCORED, CODE, UNSCORED])
def test_a_verdict_is_what_the_protocols_model_makes_of_the_same_json(verdict):
    ours, theirs = unread([verdict])
    assert ours.verdicts == theirs.verdicts
    (mine,), (other,) = ours.verdicts[0], theirs.verdicts[0]
    assert type(mine) is type(other)
    assert repr(mine) == repr(other)
    assert mine.model_dump_json() == other.model_dump_json()
    assert mine.verifier.version == "1"
    with pytest.raises(ValidationError):
        mine.kind = "x"


def test_as_a_model_it_is_what_the_protocol_reads_from_the_same_json():
    result, whole = unread([SCORED], [CODE], [UNSCORED])
    assert result.to_model() == whole
    assert result.to_model().model_dump_json() == whole.model_dump_json()


def test_rewards_and_stats_are_read_without_making_a_verdict(monkeypatch):
    monkeypatch.setattr(answers, "verdict_of", None)
    result, _ = unread([SCORED])
    assert (result.id, result.rewards, result.stats.mean) == ("g", [1.0], 1.0)
    assert repr(result).startswith("ScoredGroup(id='g', rewards=[1.0]")


def test_results_are_equal_when_all_that_they_say_is_looked_at_or_not():
    result, other = unread([SCORED])[0], unread([SCORED])[0]
    assert result.verdicts
    assert result == other
    assert result != unread([CODE])[0]
    assert result != 1


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copy_says_the_same(copied):
    result, _ = unread([SCORED], [CODE])
    assert copied(result) == result
    assert copied(result).verdicts == result.verdicts
    assert copied(copied(result)) == result


def test_equal_completions_share_a_row():
    group = read_answer(json.dumps(body([SCORED])).encode()).groups[0]
    row = group.verdicts[0]
    result = ScoredGroup(None, [1.0, 1.0], [row, row], GroupStats(**STATS))
    assert result.verdicts[0] is result.verdicts[1]


@pytest.mark.parametrize(
    "change",
    [
        {"score": 1.5},
        {"score": -0.1},
        {"score": "1.0"},
        {"score": None},
        {"score": True},
        {"outcome": "SECRET"},
        {"status": "SECRET"},
        {"verifier": None},
        {"verifier": {"name": "math"}},
        {"kind": 3},
        {"tests": [{"outcome": "SECRET"}]},
        {"tests": {}},
        {"tamper": [1]},
        {"trust": "SECRET"},
        {"extra": []},
        {"detail": None},
    ],
)
def test_a_verdict_that_is_none_is_found_when_it_is_read_and_not_quoted(change):
    with pytest.raises(NoAnswer) as refusal:
        read_answer(json.dumps(body([SCORED], [SCORED | change])).encode())
    assert "groups[0]" in str(refusal.value).replace("[...]", "[0]")
    assert "SECRET" not in str(refusal.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"<html>",
        b"\xff",
        json.dumps(body([SCORED]))[:-1].encode(),
        json.dumps(body([SCORED])).replace("42", "\\ud800").encode(),
        json.dumps(body([SCORED])).encode().replace(b"42", b"\xff"),
        json.dumps(body([SCORED])).replace('"score": 1.0', '"score": NaN').encode(),
        json.dumps(body([SCORED])).replace('"score": 1.0', '"score": 1e999').encode(),
        json.dumps(body([SCORED | {"extra": {"a": "DEEP"}}])).replace('"DEEP"', "[" * 100_000 + "]" * 100_000).encode(),
        json.dumps(body([SCORED], new="DEEP")).replace('"DEEP"', "[" * 100_000 + "]" * 100_000).encode(),
        json.dumps(body(groups=None)).encode(),
        json.dumps(body(timing={})).encode(),
    ],
)
def test_whatever_is_no_answer_is_told_as_that(content):
    with pytest.raises(NoAnswer):
        read_answer(content)


def test_fields_of_a_newer_service_are_ignored():
    verdict = SCORED | {"new": [{"deep": 1}]}
    assert read_answer(json.dumps(body([verdict], new=1)).encode()).groups[0].verdicts[0][0].score == 1.0
