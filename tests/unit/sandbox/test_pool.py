"""The pool: fair, bounded in time, never lending what is in doubt, and back by itself when slots can be made again."""

from __future__ import annotations

import asyncio

import pytest

from verifier_service.sandbox import pool as pool_module
from verifier_service.sandbox.contract import SandboxFault, SlotWaitTimeout
from verifier_service.sandbox.link import RunnerLink
from verifier_service.sandbox.pool import Pool


class StubSlot:
    """A slot without a sandbox."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.link = RunnerLink(demux=False)
        self.destroyed = False
        self.memory_mb = 0

    async def fit_memory(self, memory_mb: int) -> None:
        del memory_mb

    def rests_at(self, resting_mb: int) -> None:
        del resting_mb

    async def destroy(self) -> None:
        self.destroyed = True


class StubMaker:
    """Makes stub slots, or fails while `broken`."""

    def __init__(self) -> None:
        self.made: list[StubSlot] = []
        self.broken = False
        self.attempts = 0

    async def make(self) -> StubSlot:
        self.attempts += 1
        await asyncio.sleep(0)
        if self.broken:
            raise SandboxFault("the engine is down")
        self.made.append(StubSlot(len(self.made)))
        return self.made[-1]


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def started(slots: int = 1, spares: int = 0, recycle_after: int = 100) -> tuple[Pool, StubMaker]:
    maker = StubMaker()
    pool = Pool(maker, slots=slots, spares=spares, recycle_after=recycle_after)
    await pool.start()
    await settle()
    return pool, maker


async def test_no_more_run_at_one_time_than_there_are_slots_spares_or_not() -> None:
    pool, maker = await started(slots=2, spares=3)
    assert len(maker.made) == 5
    first, second = await pool.acquire(None), await pool.acquire(None)
    with pytest.raises(SlotWaitTimeout):
        await pool.acquire(0.01)
    pool.release(first)
    third = await pool.acquire(0.01)
    pool.release(second)
    pool.release(third)
    await pool.aclose()


async def test_those_who_wait_are_served_in_the_order_of_asking() -> None:
    pool, _ = await started()
    held = await pool.acquire(None)
    order: list[int] = []

    async def ask(number: int) -> None:
        lease = await pool.acquire(None)
        order.append(number)
        await asyncio.sleep(0)
        pool.release(lease)

    tasks = [asyncio.create_task(ask(number)) for number in range(10)]
    await settle()
    pool.release(held)
    await asyncio.gather(*tasks)
    assert order == list(range(10))
    await pool.aclose()


async def test_one_who_gives_up_costs_nobody_a_slot() -> None:
    pool, _ = await started()
    held = await pool.acquire(None)
    waiting = asyncio.create_task(pool.acquire(None))
    await settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    pool.release(held)
    again = await pool.acquire(0.1)
    pool.release(again)
    await pool.aclose()


async def test_a_slot_handed_over_in_the_moment_of_cancellation_is_not_lost() -> None:
    pool, _ = await started()
    held = await pool.acquire(None)
    waiting = asyncio.create_task(pool.acquire(None))
    await settle()
    pool.release(held)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    pool.release(await pool.acquire(0.1))
    await pool.aclose()


async def test_a_slot_in_doubt_is_thrown_away_and_replaced() -> None:
    pool, maker = await started()
    pool.release(await pool.acquire(None), discard="oom")
    await settle()
    assert maker.made[0].destroyed
    lease = await pool.acquire(0.1)
    assert lease.slot is maker.made[1]
    assert pool.snapshot().recycles == {"oom": 1}
    pool.release(lease)
    await pool.aclose()


async def test_a_slot_is_worn_after_so_many_programs() -> None:
    pool, maker = await started(recycle_after=3)
    for _ in range(7):
        pool.release(await pool.acquire(0.5))
        await settle()
    assert [slot.destroyed for slot in maker.made] == [True, True, False]
    assert pool.snapshot().recycles == {"worn": 2}
    await pool.aclose()


async def test_a_slot_whose_runner_died_while_idle_is_never_lent() -> None:
    pool, maker = await started()
    maker.made[0].link.lose("killed from outside")
    lease = await pool.acquire(0.5)
    assert lease.slot is maker.made[1]
    pool.release(lease)
    await pool.aclose()


async def test_while_no_slot_can_be_made_callers_are_told_at_once_and_later_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "FIRST_PAUSE_S", 0.01)
    pool, maker = await started()
    maker.broken = True
    pool.release(await pool.acquire(None), discard="died")
    with pytest.raises(SandboxFault, match="engine is down"):
        await pool.acquire(5)
    maker.broken = False
    await asyncio.sleep(0.1)
    pool.release(await pool.acquire(1))
    await pool.aclose()


async def test_closing_destroys_every_slot_and_sends_away_who_waits() -> None:
    pool, maker = await started(slots=2, spares=1)
    held = await pool.acquire(None)
    second = await pool.acquire(None)
    waiting = asyncio.create_task(pool.acquire(None))
    await settle()
    await pool.aclose()
    with pytest.raises(SandboxFault):
        await waiting
    assert all(slot.destroyed for slot in maker.made)
    pool.release(held)
    pool.release(second)
    with pytest.raises(SandboxFault):
        await pool.acquire(None)
    await pool.aclose()
