"""The host's end of a runner: frames out of any split of the bytes, Docker's records unwrapped, ends told."""

from __future__ import annotations

import asyncio
import struct

import pytest

from verifier_service.sandbox.contract import SandboxFault
from verifier_service.sandbox.execution import Exchange
from verifier_service.sandbox.link import RunnerLink
from verifier_service.sandbox.runner import wire


def record(stream: int, data: bytes) -> bytes:
    return struct.pack(">BxxxI", stream, len(data)) + data


async def test_frames_come_out_whole_however_the_bytes_arrive() -> None:
    stream = b"".join(wire.frame(kind, bytes([kind]) * kind) for kind in (67, 68, 69))
    for step in (1, 3, 7, 1000):
        link = RunnerLink(demux=False)
        for i in range(0, len(stream), step):
            link.data_received(stream[i : i + step])
        assert [await link.receive() for _ in range(3)] == [(k, bytes([k]) * k) for k in (67, 68, 69)]


async def test_dockers_records_are_unwrapped_and_stderr_kept_apart() -> None:
    frame = wire.frame(wire.CASE, b"x" * 100)
    raw = record(1, frame[:20]) + record(2, b"a word on stderr") + record(1, frame[20:])
    for step in (1, 5, 1000):
        link = RunnerLink(demux=True)
        for i in range(0, len(raw), step):
            link.data_received(raw[i : i + step])
        assert await link.receive() == (wire.CASE, b"x" * 100)
        assert bytes(link.stderr) == b"a word on stderr"


async def test_a_lost_runner_is_a_fault_that_quotes_its_stderr() -> None:
    link = RunnerLink(demux=True)
    link.data_received(record(2, b"Traceback: it broke"))
    waiting = asyncio.create_task(link.receive())
    await asyncio.sleep(0)
    link.connection_lost(None)
    with pytest.raises(SandboxFault, match="it broke"):
        await waiting
    assert not link.alive


async def test_what_arrived_before_the_end_is_still_handed_out() -> None:
    link = RunnerLink(demux=False)
    link.data_received(wire.frame(wire.DONE, b"x"))
    link.connection_lost(None)
    assert await link.receive() == (wire.DONE, b"x")
    with pytest.raises(SandboxFault):
        await link.receive()


class Written(asyncio.Transport):
    """Remembers each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))


def connected() -> tuple[RunnerLink, list[bytes]]:
    link, transport = RunnerLink(demux=False), Written()
    link.connection_made(transport)
    return link, transport.writes


async def test_what_is_posted_goes_out_at_once_where_nothing_is_to_be_read() -> None:
    link, writes = connected()
    link.post(b"1")
    await link.send(b"2")
    assert writes == [b"1", b"2"]


async def test_what_is_posted_while_frames_wait_goes_out_together_once_they_are_read() -> None:
    link, writes = connected()
    link.data_received(wire.frame(wire.CASE) + wire.frame(wire.DONE))
    link.post(b"1")
    await link.receive()
    link.post(b"2")
    await link.receive()
    assert writes == []
    waiting = asyncio.create_task(link.receive())
    await asyncio.sleep(0)
    assert writes == [b"12"]
    waiting.cancel()


async def test_much_that_is_posted_does_not_wait_and_stays_in_order() -> None:
    link, writes = connected()
    link.data_received(wire.frame(wire.CASE))
    link.post(b"1")
    link.post(bytes(1 << 16))
    assert writes == [b"1", bytes(1 << 16)]


async def test_a_run_is_given_up_without_waiting_for_a_runner_that_takes_nothing_until_it_is_read_from() -> None:
    link, writes = connected()
    exchange = Exchange(link, wire.RUN, bytes(8), 7)
    link.data_received(wire.frame(wire.CASE, bytes(100)) + wire.frame(wire.DONE, wire.pack_done(7, True, "")))
    link.pause_writing()
    async with asyncio.timeout(1.0):
        await exchange.finish()
    assert exchange.done == (True, "")
    link.post(b"next")
    assert writes == [wire.frame(wire.STOP, wire.pack_number(7)), b"next"]


@pytest.mark.parametrize("data", [struct.pack(">IB", wire.MAX_BODY + 1, 67), struct.pack(">IB", 2**32 - 1, 0)])
async def test_a_frame_over_the_bound_ends_the_link(data: bytes) -> None:
    link = RunnerLink(demux=False)
    link.data_received(data)
    with pytest.raises(SandboxFault, match="frame"):
        await link.receive()


async def test_a_failure_of_the_runner_is_a_fault() -> None:
    link = RunnerLink(demux=False)
    link.data_received(wire.frame(wire.FAULT, b"zygote died"))
    with pytest.raises(SandboxFault, match="zygote died"):
        await link.receive()
