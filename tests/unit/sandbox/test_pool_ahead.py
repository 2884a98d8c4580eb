"""Programs sent to a slot ahead of their turn: in the order of asking, several only where they are quick, and never lost
with the slot."""

from __future__ import annotations

import asyncio

import pytest

from verifier_service.sandbox import pool as pool_module
from verifier_service.sandbox.contract import SandboxFault, SlotWaitTimeout
from verifier_service.sandbox.link import RunnerLink
from verifier_service.sandbox.pool import MOST_AHEAD, Lease, Pool, Slot


class StubSlot:
    """A slot without a sandbox."""

    def __init__(self) -> None:
        self.link = RunnerLink(demux=False)
        self.memory_mb = 256

    async def fit_memory(self, memory_mb: int) -> None:
        self.memory_mb = memory_mb

    def rests_at(self, resting_mb: int) -> None:
        del resting_mb

    async def destroy(self) -> None:
        self.link.lose("destroyed")


class StubMaker:
    async def make(self) -> Slot:
        return StubSlot()


class Errand:
    """Remembers where it was sent."""

    def __init__(self) -> None:
        self.slot: Slot | None = None
        self.posted = self.withdrawn = 0

    def post(self, slot: Slot) -> None:
        self.slot = slot
        self.posted += 1

    def withdraw(self, slot: Slot) -> None:
        assert slot is self.slot
        self.slot = None
        self.withdrawn += 1


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def started(recycle_after: int = 100) -> tuple[Pool, Lease]:
    """A pool of one slot, and the lease of a program that runs there."""
    pool = Pool(StubMaker(), slots=1, spares=0, recycle_after=recycle_after)
    await pool.start()
    lease = await pool.acquire(None, 256)
    pool.begun(lease)
    return pool, lease


def asking(pool: Pool, errand: Errand, memory_mb: int = 256, deadline_s: float | None = None) -> asyncio.Task[Lease]:
    return asyncio.create_task(pool.acquire(deadline_s, memory_mb, errand))


async def test_one_program_is_sent_behind_another_and_has_the_slot_when_that_has_ended() -> None:
    pool, lease = await started()
    first, second = Errand(), Errand()
    turns = asking(pool, first), asking(pool, second)
    await settle()
    assert (first.posted, second.posted) == (1, 0)
    assert not turns[0].done()
    pool.release(lease)
    assert await turns[0] is lease
    assert second.posted == 1
    pool.release(lease)
    assert await turns[1] is lease
    assert (first.withdrawn, second.withdrawn) == (0, 0)
    pool.release(lease)
    assert pool.snapshot().idle == 1
    assert not lease.begun
    await pool.aclose()


async def test_nothing_is_sent_behind_a_program_that_was_not_sent_itself() -> None:
    pool, lease = await started()
    pool.release(lease)
    again = await pool.acquire(None, 256)
    errand = Errand()
    turn = asking(pool, errand)
    await settle()
    assert errand.posted == 0
    pool.begun(again)
    assert errand.posted == 1
    pool.release(again)
    pool.release(await turn)
    await pool.aclose()


async def test_nothing_is_sent_to_a_slot_of_other_memory_or_one_that_is_about_to_go() -> None:
    pool, lease = await started(recycle_after=2)
    other = Errand()
    turn = asking(pool, other, memory_mb=512)
    await settle()
    assert other.posted == 0
    pool.release(lease)
    pool.begun(await turn)
    late = Errand()
    last = asking(pool, late, memory_mb=256)
    await settle()
    assert late.posted == 0
    pool.release(lease)
    await settle()
    assert (await last) is not lease
    pool.release(await last)
    await pool.aclose()


async def test_a_slot_that_is_thrown_away_gives_back_who_was_sent_to_it() -> None:
    pool, lease = await started()
    first, second = Errand(), Errand()
    turns = asking(pool, first), asking(pool, second)
    await settle()
    pool.release(lease, discard="tamper")
    new = await turns[0]
    assert new is not lease
    assert first.withdrawn == 1
    assert first.slot is None  # it has to be sent anew
    pool.begun(new)
    assert second.posted == 1
    pool.release(new)
    pool.release(await turns[1])
    await pool.aclose()


async def test_whoever_is_behind_a_long_program_is_free_for_another_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "AHEAD_S", 0.01)
    pool, lease = await started()
    first, second = Errand(), Errand()
    turns = asking(pool, first), asking(pool, second)
    await asyncio.sleep(0.05)
    assert (first.posted, first.withdrawn) == (1, 1)
    assert second.posted == 0, "the one who has waited longest stays the first"
    pool.release(lease)
    assert await turns[0] is lease
    assert not lease.begun
    pool.begun(lease)
    await settle()
    assert second.posted == 1
    pool.release(lease)
    pool.release(await turns[1])
    await pool.aclose()


async def test_one_who_gives_up_after_being_sent_ahead_is_taken_back() -> None:
    pool, lease = await started()
    errand, next_one = Errand(), Errand()
    with pytest.raises(SlotWaitTimeout):
        await pool.acquire(0.005, 256, errand)
    assert (errand.posted, errand.withdrawn) == (1, 1)
    turn = asking(pool, next_one)
    await settle()
    pool.release(lease)
    pool.release(await turn)
    assert pool.snapshot().idle == 1
    await pool.aclose()


async def test_one_who_gives_up_in_the_moment_of_his_turn_takes_the_slot_with_him() -> None:
    pool, lease = await started()
    errand, next_one = Errand(), Errand()
    turns = asking(pool, errand), asking(pool, next_one)
    await settle()
    pool.release(lease)
    turns[0].cancel()
    await asyncio.gather(turns[0], return_exceptions=True)
    new = await asyncio.wait_for(turns[1], 1)
    assert new is not lease, "his program may run there"
    assert pool.snapshot().recycles == {"abandoned": 1}
    pool.release(new)
    await pool.aclose()


async def test_a_turn_that_was_cancelled_unseen_is_not_given_and_the_slot_goes_with_it() -> None:
    pool, lease = await started()
    errand, next_one = Errand(), Errand()
    turns = asking(pool, errand), asking(pool, next_one)
    await settle()
    turns[0].cancel()
    pool.release(lease)
    await asyncio.gather(turns[0], return_exceptions=True)
    new = await asyncio.wait_for(turns[1], 1)
    assert new is not lease, "the program of the one who left runs there"
    assert pool.snapshot().recycles == {"abandoned": 1}
    pool.release(new)
    await pool.aclose()


async def quick(recycle_after: int = 100) -> tuple[Pool, Lease]:
    """The same, after many programs that took no time."""
    pool, lease = await started(recycle_after)
    for _ in range(40):
        pool.release(lease)
        assert await pool.acquire(None, 256) is lease
        pool.begun(lease)
    return pool, lease


async def test_quick_programs_are_sent_several_ahead_in_the_order_of_asking() -> None:
    pool, lease = await quick()
    errands = [Errand() for _ in range(MOST_AHEAD + 2)]
    turns = [asking(pool, errand) for errand in errands]
    await settle()
    assert [errand.posted for errand in errands] == [1] * MOST_AHEAD + [0, 0]
    for count, turn in enumerate(turns, 1):
        pool.release(lease)
        assert await turn is lease
        assert sum(errand.posted for errand in errands) == min(len(errands), MOST_AHEAD + count)
    assert not any(errand.withdrawn for errand in errands)
    await pool.aclose()


async def test_no_more_are_sent_ahead_than_a_slot_runs_before_it_is_recycled() -> None:
    pool, lease = await quick(recycle_after=43)
    errands = [Errand() for _ in range(4)]
    turns = [asking(pool, errand) for errand in errands]
    await settle()
    assert [errand.posted for errand in errands] == [1, 1, 0, 0]
    for turn in turns[:2]:
        pool.release(lease)
        assert await turn is lease
    pool.release(lease)
    new = await turns[2]
    assert new is not lease
    pool.begun(new)
    pool.release(new)
    pool.release(await turns[3])
    await pool.aclose()


async def test_programs_are_spread_over_the_slots_that_are_sent_to() -> None:
    pool = Pool(StubMaker(), slots=2, spares=0, recycle_after=1000)
    await pool.start()
    await settle()
    leases = [await pool.acquire(None, 256), await pool.acquire(None, 256)]
    for _ in range(40):
        for lease in leases:
            pool.begun(lease)
            pool.release(lease)
            assert await pool.acquire(None, 256) is lease
    for lease in leases:
        pool.begun(lease)
    turns = [asking(pool, Errand()) for _ in range(4)]
    await settle()
    assert [len(lease.followers) for lease in leases] == [2, 2]
    await pool.aclose()
    await asyncio.gather(*turns, return_exceptions=True)


async def test_all_who_wait_behind_a_long_program_are_free_again_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "AHEAD_S", 0.01)
    pool, lease = await quick()
    errands = [Errand() for _ in range(3)]
    turns = [asking(pool, errand) for errand in errands]
    await asyncio.sleep(0.05)
    assert [(errand.posted, errand.withdrawn) for errand in errands] == [(1, 1)] * 3
    for turn in turns:
        pool.release(lease)
        assert await turn is lease
        assert not lease.begun
        pool.begun(lease)
    await pool.aclose()


async def test_patience_is_with_one_program_not_with_all_that_are_before() -> None:
    pool, lease = await quick()
    errands = [Errand() for _ in range(MOST_AHEAD)]
    turns = [asking(pool, errand) for errand in errands]
    for turn in turns:
        await asyncio.sleep(pool_module.AHEAD_S * 0.6)
        pool.release(lease)
        assert await turn is lease
    assert not any(errand.withdrawn for errand in errands)
    await pool.aclose()


async def test_one_of_several_who_gives_up_costs_the_others_their_place_at_the_slot_alone() -> None:
    pool, lease = await quick()
    errands = [Errand() for _ in range(3)]
    turns = [asking(pool, errands[0]), asking(pool, errands[1], deadline_s=0.005), asking(pool, errands[2])]
    with pytest.raises(SlotWaitTimeout):
        await turns[1]
    assert [(errand.posted, errand.withdrawn) for errand in errands] == [(2, 1), (1, 1), (2, 1)]
    for turn in (turns[0], turns[2]):
        pool.release(lease)
        assert await turn is lease
    await pool.aclose()


async def test_closing_sends_away_who_was_sent_ahead() -> None:
    pool, _ = await started()
    errand = Errand()
    turn = asking(pool, errand)
    await settle()
    await pool.aclose()
    with pytest.raises(SandboxFault):
        await turn
    assert errand.withdrawn == 1
