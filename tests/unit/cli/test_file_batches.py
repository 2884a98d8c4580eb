"""Lines become records in order; what can't be scored takes nothing else with it."""

from __future__ import annotations

import asyncio
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
    found: list[Record | BadLine] = []
    await score_lines(source, endpoint, plan, found.extend)
    return found


async def test_a_slow_batch_holds_no_other_back_and_what_was_done_before_a_stop_is_kept(make_endpoint: Any) -> None:
    inner = make_endpoint()

    class Stuck:
        async def score(self, groups: Any, deadline_s: float) -> Any:
            if groups[0].id == "stuck":
                await asyncio.sleep(3600)
            return await inner.score(groups, deadline_s)

    found: list[Record | BadLine] = []
    source = lines({"id": "stuck", **pair("1")}, *(pair("1") for _ in range(9)))
    plan = Plan(batch_groups=1, in_flight=2, deadline_s=5)
    task = asyncio.create_task(score_lines(source, Stuck(), plan, found.extend))
    async with asyncio.timeout(5):
        while len(found) < 9:
            await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [r.line for r in found if isinstance(r, Record)] == list(range(2, 11))


async def test_strict_scores_nothing_after_the_first_line_that_fails(make_endpoint: Any) -> None:
    plan = Plan(batch_groups=10, in_flight=4, deadline_s=5, strict=True)
    for bad in ("{", pair("1", "refuse")):
        records = await collect(lines(pair("1"), bad, pair("1"), pair("1")), make_endpoint(), plan)
        assert [type(r) for r in records] == [Record, BadLine]


def test_a_group_of_programs_is_a_batch() -> None:
    case = {"stdin": "", "expected_stdout": "x"}
    spec = {"kind": "code", "tests": {"style": "stdin", "cases": [case] * 4}}
    many = lines(*({"completions": ["a"] * 4, "verifiers": [spec]} for _ in range(6)))
    assert [len(b) for b in batches_of(many, 64)] == [1] * 6


async def test_results_come_in_the_order_of_the_lines_where_all_are_equally_quick(make_endpoint: Any) -> None:
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


def test_batches_are_cut_by_work_and_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH_WORK", 4)
    many = lines(*({"completions": ["a"] * 3, "gold": "1"} for _ in range(3)))
    assert [len(b) for b in batches_of(many, 100)] == [1, 1, 1]
    monkeypatch.setattr(batches, "BATCH_WORK", 100)
    monkeypatch.setattr(batches, "BATCH_BYTES", 2 * many[0].size_bytes)
    assert [len(b) for b in batches_of(many, 100)] == [2, 1]
