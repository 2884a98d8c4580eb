"""What is read at once and made later: checked when it comes, a plain model when it is looked at."""

from __future__ import annotations

import copy
import json
import pickle
import threading

import msgspec
import pytest
from pydantic import TypeAdapter, ValidationError

from trainer_client import answers
from trainer_client.answers import NoAnswer, group_result, read_answer
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
    result = group_result(group.id, group.rewards, group.verdicts, GroupStats(**STATS))
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


LOOKS = {
    "equality": lambda r: r == unread([SCORED], [CODE])[1],
    "verdicts": lambda r: r.verdicts[1][0].outcome == "partial",
    "dump": lambda r: list(r.model_dump()) == ["id", "rewards", "verdicts", "stats"] and r.model_dump()["verdicts"],
    "json": lambda r: '"partial"' in r.model_dump_json(),
    "adapter": lambda r: b'"partial"' in TypeAdapter(list[GroupResult]).dump_json([r]),
    "inside another model": lambda r: '"partial"' in ScoreResponse(groups=[r], timing=Timing(total_ms=1)).model_dump_json(),
    "repr": lambda r: repr(r).startswith("GroupResult(id='g', rewards=") and "PARTIAL" in repr(r),
    "str": lambda r: "PARTIAL" in str(r),
    "pickle": lambda r: pickle.loads(pickle.dumps(r)) == r and type(pickle.loads(pickle.dumps(r))) is GroupResult,
    "copy": lambda r: copy.copy(r) == r,
    "deepcopy": lambda r: copy.deepcopy(r) == r,
    "model_copy": lambda r: r.model_copy(update={"id": "x"}).verdicts == r.verdicts,
    "vars": lambda r: list(vars(r)) == ["id", "rewards", "verdicts", "stats"],
    "iteration": lambda r: list(dict(r)) == ["id", "rewards", "verdicts", "stats"],
    "fields set": lambda r: r.model_fields_set == {"id", "rewards", "verdicts", "stats"} and r.verdicts,
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_however_a_result_is_looked_at_it_is_whole_and_plain(look):
    result, whole = unread([SCORED], [CODE])
    assert look(result)
    assert type(result) is GroupResult
    assert result == whole
    assert vars(result) == vars(whole)


def test_rewards_and_stats_are_read_without_making_a_verdict():
    result, _ = unread([SCORED])
    assert (result.id, result.rewards, result.stats.mean) == ("g", [1.0], 1.0)
    assert isinstance(result, GroupResult)
    assert type(result) is not GroupResult


def test_two_unread_results_are_equal_and_unlike_anything_else():
    assert unread([SCORED])[0] == unread([SCORED])[0]
    assert unread([SCORED])[0] != unread([CODE])[0]
    assert unread([SCORED])[1] == unread([SCORED])[0]
    assert unread([SCORED])[0] != 1


def test_a_misspelt_attribute_is_an_attribute_error_and_a_change_is_refused():
    with pytest.raises(AttributeError, match="verdict"):
        _ = unread([SCORED])[0].verdict
    with pytest.raises(ValidationError):
        unread([SCORED])[0].id = "x"


def test_equal_completions_share_a_row():
    group = read_answer(json.dumps(body([SCORED])).encode()).groups[0]
    row = group.verdicts[0]
    result = group_result(None, [1.0, 1.0], [row, row], GroupStats(**STATS))
    assert result.verdicts[0] is result.verdicts[1]


def test_threads_that_look_at_once_see_the_same_verdicts():
    for _ in range(20):
        result, _ = unread(*[[SCORED]] * 50)
        seen = []
        threads = [threading.Thread(target=lambda r=result, s=seen: s.append(r.verdicts)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(seen) == 4
        assert all(verdicts is result.verdicts for verdicts in seen)


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
