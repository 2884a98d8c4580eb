"""Lines become records in order; what can't be scored takes nothing else with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from verifier_protocol import UnscoredReason
from verifier_service.cli.file_scoring import batches
from verifier_service.cli.file_scoring.batches import Plan, batches_of, score_lines
from verifier_service.cli.file_scoring.lines import BadLine, parse_line
from verifier_service.cli.file_scoring.results import Record

PLAN = Plan(batch_groups=2, in_flight=3, deadline_s=5)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "RETRY_PAUSE_S", 0.0)


def lines(*values: Any) -> list[Any]:
    return [parse_line(n, (v if isinstance(v, str) else json.dumps(v)).encode()) for n, v in enumerate(values, 1)]


def pair(completion: str, gold: str = "1") -> dict[str, str]:
    return {"completion": completion, "gold": gold}


async def collect(source: list[Any], endpoint: Any, plan: Plan = PLAN) -> list[Record | BadLine]:
    return [one async for records in score_lines(source, endpoint, plan) for one in records]


async def test_results_come_in_the_order_of_the_lines(make_endpoint: Any) -> None:
    endpoint = make_endpoint()
    records = await collect(lines(*(pair(str(n % 3)) for n in range(11))), endpoint)
    assert [r.line for r in records if isinstance(r, Record)] == list(range(1, 12))
    assert [r.rewards for r in records if isinstance(r, Record)] == [[float(n % 3 == 1)] for n in range(11)]
    assert len(endpoint.requests) == 6


async def test_a_bad_line_keeps_its_place_and_its_neighbours_are_scored(make_endpoint: Any) -> None:
    records = await collect(lines(pair("1"), "{", pair("1")), make_endpoint())
    assert [type(r) for r in records] == [Record, BadLine, Record]


async def test_a_refused_group_is_found_and_the_rest_of_its_batch_is_scored(make_endpoint: Any) -> None:
    plan = Plan(batch_groups=10, in_flight=1, deadline_s=5)
    records = await collect(lines(pair("1"), pair("1", "refuse"), pair("2")), make_endpoint(), plan)
    assert [type(r) for r in records] == [Record, BadLine, Record]
    assert isinstance(records[1], BadLine)
    assert records[1].reason == "verifiers[0].gold: refused"


async def test_what_met_the_deadline_is_asked_again(make_endpoint: Any) -> None:
    endpoint = make_endpoint(broken_times=2)
    records = await collect(lines(pair("broken"), pair("1")), endpoint)
    assert isinstance(records[0], Record)
    assert records[0].rewards == [1.0]
    assert len(endpoint.requests) == 3


async def test_what_stays_unscored_is_a_record_with_null(make_endpoint: Any) -> None:
    records = await collect(lines(pair("broken")), make_endpoint(broken_times=99))
    assert isinstance(records[0], Record)
    assert records[0].rewards == [None]
    assert records[0].wants_retry()


async def test_a_broken_task_is_never_asked_again(make_endpoint: Any) -> None:
    endpoint = make_endpoint(broken_times=99, reason=UnscoredReason.BAD_TASK)
    records = await collect(lines(pair("broken")), endpoint)
    assert isinstance(records[0], Record)
    assert not records[0].wants_retry()
    assert len(endpoint.requests) == 1


def test_batches_are_cut_by_completions_and_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH_COMPLETIONS", 4)
    many = lines(*({"completions": ["a"] * 3, "gold": "1"} for _ in range(3)))
    assert [len(b) for b in batches_of(many, 100)] == [1, 1, 1]
    monkeypatch.setattr(batches, "BATCH_COMPLETIONS", 100)
    monkeypatch.setattr(batches, "BATCH_BYTES", 2 * many[0].size_bytes)
    assert [len(b) for b in batches_of(many, 100)] == [2, 1]
