"""Cutting work into requests: everything once, nothing twice, within the limits."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_client.batching import (
    answer_views,
    caller_field,
    checked_groups,
    cut_chunks,
    encode_chunk,
    encode_text,
    fill,
    halves,
    jobs_of,
    make_views,
    missing_pieces,
    unscored,
)
from trainer_client.client_errors import RequestRefused

texts = st.text(max_size=40)
groups = st.lists(
    st.builds(
        lambda completions, gold, both: {
            "completions": completions,
            "verifiers": [{"kind": "math", "gold": gold}, *([{"kind": "format"}] if both else [])],
        },
        st.lists(texts, min_size=1, max_size=6),
        st.sampled_from(["1", "2"]),
        st.booleans(),
    ),
    max_size=5,
)


def filled_views(groups):
    views = make_views(groups)
    fill(views)
    return views


@given(groups=groups, max_bytes=st.integers(200, 2000), max_work=st.floats(0.5, 6))
def test_every_completion_is_asked_once_and_requests_keep_their_limits(groups, max_bytes, max_work):
    views = filled_views(checked_groups(groups))
    jobs = jobs_of(views)
    pieces = [piece for job in jobs for piece in missing_pieces(job, job.items.values())]
    chunks = list(cut_chunks(pieces, max_bytes, max_work))
    asked = Counter((v, id(item)) for chunk in chunks for piece in chunk for item in piece.items for v in piece.verifiers)
    assert asked == Counter((v, id(item)) for job in jobs for item in job.items.values() for v in range(len(job.specs)))
    for chunk in chunks:
        items = sum(len(piece.items) for piece in chunk)
        work = sum(sum(piece.job.work[v] for v in piece.verifiers) * len(piece.items) for piece in chunk)
        assert items == 1 or (len(encode_chunk(chunk, 10, "abcd1234")) <= max_bytes and work <= max_work + 1e-9)


@given(groups=groups.filter(bool))
def test_a_body_is_the_json_of_what_it_holds(groups):
    views = filled_views(checked_groups(groups))
    (chunk,) = cut_chunks([p for job in jobs_of(views) for p in missing_pieces(job, job.items.values())], 10**9, 10**9)
    body = json.loads(encode_chunk(chunk, 12.3456, "t"))
    assert body["deadline_s"] == 12.346
    assert [group["id"] for group in body["groups"]] == [f"t.{n}" for n in range(len(chunk))]
    sent = {(json.dumps(g["verifiers"]), text) for g in body["groups"] for text in g["completions"]}
    asked = {(json.dumps(g["verifiers"]), text) for g in groups for text in g["completions"]}
    assert sent == asked


@given(text=st.text(alphabet=st.characters(), max_size=60))
def test_any_text_becomes_json(text):
    decoded = json.loads(encode_text(text))
    if text.isprintable():
        assert decoded == text
    assert len(decoded) == len(text)


def test_surrogates_in_pairs_are_joined_and_lone_ones_replaced():
    assert json.loads(encode_text("a\ud83d\ude00b")) == "a😀b"
    assert json.loads(encode_text("a\ud83db")) == "a\ufffdb"


def test_a_chunk_is_halved_down_to_one_completion():
    views = filled_views(checked_groups([{"completions": list("abcde"), "verifiers": [{"kind": "format"}]}]))
    waiting = [missing_pieces(views[0].job, views[0].items)]
    alone = []
    while waiting:
        chunk = waiting.pop()
        parts = halves(chunk)
        if parts is None:
            alone.append(chunk[0].items[0].text)
        else:
            waiting += parts
    assert sorted(alone) == list("abcde")


@pytest.mark.parametrize(
    ("path", "where"),
    [
        (None, None),
        ("deadline_s", "deadline_s"),
        ("groups[0].completions[1]", "groups[2].completions[3]"),
        ("groups[0].verifiers[0].gold", "groups[2].verifiers[1].gold"),
        ("groups[0]", "groups[2]"),
        ("groups[0].verifiers[9]", "groups[2]"),
        ("groups[7].completions[0]", "groups[7].completions[0]"),
    ],
)
def test_a_problems_path_is_told_in_the_callers_indices(path, where):
    """The third group is another job than the first two; its fourth completion is the second that lacks a verdict."""
    math, form = {"kind": "math", "gold": "1"}, {"kind": "format"}
    groups = [{"completions": ["x"], "verifiers": [math]}] * 2 + [{"completions": list("aabc"), "verifiers": [form, math]}]
    job = jobs_of(filled_views(checked_groups(groups)))[1]
    for item in job.items.values():
        item.verdicts[0] = unscored("format", "deadline", "")
    job.items["a"].verdicts[1] = unscored("math", "deadline", "")
    (piece,) = missing_pieces(job, job.items.values())
    assert caller_field([piece], path) == where


def test_the_default_options_are_shared_by_all_specs_of_a_batch_not_copied_for_each():
    (group,) = checked_groups(
        [{"completions": ["a"], "verifiers": [{"kind": "math", "gold": "1"}, {"kind": "math", "gold": "2"}]}]
    )
    first, second = group.verifiers
    assert first.options is second.options
    assert (first.options.extract, first.options.precision) == (["boxed"], "rounded")


def test_results_are_built_as_soon_as_a_group_is_answered_and_once():
    math = {"kind": "math", "gold": "1"}
    views = filled_views(
        checked_groups([{"completions": ["a", "b"], "verifiers": [math]}, {"completions": ["c"], "verifiers": [math]}])
    )
    (job,) = jobs_of(views)
    job.items["a"].verdicts[0] = job.items["c"].verdicts[0] = unscored("math", "deadline", "")
    assert list(answer_views(job)) == []  # in order: the second waits for the first
    job.items["b"].verdicts[0] = unscored("math", "deadline", "")
    assert list(answer_views(job)) == views
    assert [view.result.rewards for view in views] == [[None, None], [None]]
    assert list(answer_views(job)) == []


@pytest.mark.parametrize("kind", ["math", "format", "rare"])
def test_a_spec_travels_with_just_the_fields_that_were_set(kind):
    given = {"kind": kind, "weight": 0.5} | ({"gold": '½ "x" é', "options": {"rel_tol": 1e-9}} if kind == "math" else {})
    (view,) = make_views(checked_groups([{"completions": ["a"], "verifiers": [given]}]))
    assert json.loads(view.job.spec_bodies[0]) == given


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"kind": "math", "gold": "\ud83d"}, "surrogate"),
        ({"kind": "rare", "options": {"a": "\ud83d"}}, "surrogate"),
        ({"kind": "rare", "options": {"a": float("nan")}}, "NaN"),
    ],
)
def test_a_spec_that_json_cannot_carry_is_refused_by_its_path(spec, said):
    groups = checked_groups([{"completions": ["a"], "verifiers": [{"kind": "format"}, spec]}])
    with pytest.raises(RequestRefused, match=said) as refusal:
        make_views(groups)
    assert refusal.value.field == "groups[0].verifiers[1]"
