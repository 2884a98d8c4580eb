"""From lines to records: batches in flight, each handed over as it finishes, failures held apart line by line.

Records say which line they belong to, so that their order doesn't matter: a slow batch holds nothing back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from verifier_protocol import CodeSpec, FunctionTests, Group, InteractiveTests, StdinTests
from verifier_service.cli.file_scoring.endpoint import Endpoint, Refused
from verifier_service.cli.file_scoring.lines import BadLine, Line
from verifier_service.cli.file_scoring.results import Record

BATCH_BYTES = 8 << 20
BATCH_WORK = 4096
CODE_WORK = 1000  # a program may cost as much as this many maths answers, and as much again for
CASES_IN_CODE_WORK = 8  # each so many test cases
RETRY_PAUSE_S = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """`batch_groups` groups a request at most, `in_flight` requests at one time, `retries` more tries for what was
    unscored for a reason that may pass, `deadline_s` for each request. `strict`: line after line, and nothing after the
    first that can't be scored."""

    batch_groups: int
    in_flight: int
    deadline_s: float
    retries: int = 2
    strict: bool = False


def work_of(group: Group) -> int:
    """In maths answers, roughly: what is lost when a batch is stopped, and what its deadline has to hold."""
    work = 0
    for spec in group.verifiers:
        work += 1
        if isinstance(spec, CodeSpec):
            cases = len(spec.tests.cases) if isinstance(spec.tests, StdinTests | FunctionTests | InteractiveTests) else 1
            work += CODE_WORK * (1 + cases // CASES_IN_CODE_WORK)
    return work * len(group.completions)


def batches_of(lines: Iterable[Line | BadLine], batch_groups: int) -> Iterator[list[Line | BadLine]]:
    """Cut by number of groups, by work, and by bytes; bad lines keep their place."""
    batch: list[Line | BadLine] = []
    work = size = 0
    for line in lines:
        more, length = (work_of(line.group), line.size_bytes) if isinstance(line, Line) else (0, 0)
        full = len(batch) >= batch_groups or work + more > BATCH_WORK or size + length > BATCH_BYTES
        if batch and full:
            yield batch
            batch, work, size = [], 0, 0
        batch.append(line)
        work += more
        size += length
    if batch:
        yield batch


async def score_lines(
    lines: Iterable[Line | BadLine], endpoint: Endpoint, plan: Plan, take: Callable[[list[Record | BadLine]], None]
) -> None:
    """Hand `take` the records of each batch as soon as it is scored, a `BadLine` for each line that can't be.

    Raises:
        Unreachable: the service is gone; what was taken before stands.
    """
    source = batches_of(_up_to_a_bad_one(lines) if plan.strict else lines, plan.batch_groups)

    async def work() -> None:
        for batch in source:
            records = await _score_batch(batch, endpoint, plan)
            take(records)
            if plan.strict and any(isinstance(record, BadLine) for record in records):
                return

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(1 if plan.strict else plan.in_flight):
                workers.create_task(work())
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None  # the first that failed; it ended the others


def _up_to_a_bad_one(lines: Iterable[Line | BadLine]) -> Iterator[Line | BadLine]:
    for line in lines:
        yield line
        if isinstance(line, BadLine):
            return


async def _score_batch(batch: Sequence[Line | BadLine], endpoint: Endpoint, plan: Plan) -> list[Record | BadLine]:
    good = [line for line in batch if isinstance(line, Line)]
    first = await _ask(good, endpoint, plan)
    found = {one.line if isinstance(one, Record) else one.number: one for one in first}
    for attempt in range(plan.retries):
        again = [line for line in good if isinstance(one := found.get(line.number), Record) and one.wants_retry()]
        if not again:
            break
        await asyncio.sleep(RETRY_PAUSE_S * 2**attempt)
        # What met the deadline in company may make it in a smaller one.
        size = max(1, len(again) // 4)
        for start in range(0, len(again), size):
            for one in await _ask(again[start : start + size], endpoint, plan):
                found[one.line if isinstance(one, Record) else one.number] = one
    if plan.strict and any(isinstance(one, BadLine) for one in found.values()):
        return list(found.values())
    return [found[line.number] if isinstance(line, Line) else line for line in batch]


async def _ask(lines: Sequence[Line], endpoint: Endpoint, plan: Plan) -> list[Record | BadLine]:
    """Score the lines in one request; where it is refused, one by one, so that a bad line takes no other with it."""
    if not lines:
        return []
    try:
        results = await endpoint.score([line.group for line in lines], plan.deadline_s)
    except Refused as error:
        if len(lines) == 1:
            return [BadLine(lines[0].number, str(error).replace("groups[0].", ""))]
        alone: list[Record | BadLine] = []
        for line in lines:
            alone += await _ask([line], endpoint, plan)
            if plan.strict and isinstance(alone[-1], BadLine):
                break
        return alone
    return [
        Record(
            line=line.number,
            hash=line.digest,
            labels=None if line.labels is None else list(line.labels),
            id=result.id,
            rewards=result.rewards,
            verdicts=result.verdicts,
            stats=result.stats,
        )
        for line, result in zip(lines, results, strict=True)
    ]
