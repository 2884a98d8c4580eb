"""From lines to records: batches in flight, results in the input's order, failures held apart line by line."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass

from verifier_service.cli.file_scoring.endpoint import Endpoint, Refused
from verifier_service.cli.file_scoring.lines import BadLine, Line
from verifier_service.cli.file_scoring.results import Record

BATCH_BYTES = 8 << 20
BATCH_COMPLETIONS = 4096
RETRY_PAUSE_S = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """`batch_groups` groups a request at most, `in_flight` requests at one time, `retries` more tries for what was
    unscored for a reason that may pass, `deadline_s` for each request."""

    batch_groups: int
    in_flight: int
    deadline_s: float
    retries: int = 2


def batches_of(lines: Iterable[Line | BadLine], batch_groups: int) -> Iterator[list[Line | BadLine]]:
    """Cut by number of groups, of completions, and of bytes; bad lines keep their place."""
    batch: list[Line | BadLine] = []
    completions = size = 0
    for line in lines:
        count, length = (len(line.group.completions), line.size_bytes) if isinstance(line, Line) else (0, 0)
        full = len(batch) >= batch_groups or completions + count > BATCH_COMPLETIONS or size + length > BATCH_BYTES
        if batch and full:
            yield batch
            batch, completions, size = [], 0, 0
        batch.append(line)
        completions += count
        size += length
    if batch:
        yield batch


async def score_lines(lines: Iterable[Line | BadLine], endpoint: Endpoint, plan: Plan) -> AsyncIterator[list[Record | BadLine]]:
    """Records batch by batch in the input's order, a `BadLine` in the place of each line that can't be scored.

    Raises:
        Unreachable: the service is gone; what was yielded before stands.
    """
    waiting: deque[asyncio.Task[list[Record | BadLine]]] = deque()
    source = batches_of(lines, plan.batch_groups)
    try:
        for batch in source:
            waiting.append(asyncio.create_task(_score_batch(batch, endpoint, plan)))
            if len(waiting) >= plan.in_flight:
                yield await waiting.popleft()
        while waiting:
            yield await waiting.popleft()
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _score_batch(batch: Sequence[Line | BadLine], endpoint: Endpoint, plan: Plan) -> list[Record | BadLine]:
    good = [line for line in batch if isinstance(line, Line)]
    found = {one.line if isinstance(one, Record) else one.number: one for one in await _ask(good, endpoint, plan.deadline_s)}
    for attempt in range(plan.retries):
        again = [line for line in good if isinstance(one := found[line.number], Record) and one.wants_retry()]
        if not again:
            break
        await asyncio.sleep(RETRY_PAUSE_S * 2**attempt)
        # What met the deadline in company may make it in a smaller one.
        size = max(1, len(again) // 4)
        for start in range(0, len(again), size):
            for one in await _ask(again[start : start + size], endpoint, plan.deadline_s):
                found[one.line if isinstance(one, Record) else one.number] = one
    return [found[line.number] if isinstance(line, Line) else line for line in batch]


async def _ask(lines: Sequence[Line], endpoint: Endpoint, deadline_s: float) -> list[Record | BadLine]:
    """Score the lines in one request; where it is refused, one by one, so that a bad line takes no other with it."""
    if not lines:
        return []
    try:
        results = await endpoint.score([line.group for line in lines], deadline_s)
    except Refused as error:
        if len(lines) == 1:
            return [BadLine(lines[0].number, str(error).replace("groups[0].", ""))]
        return [one for line in lines for one in await _ask([line], endpoint, deadline_s)]
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
