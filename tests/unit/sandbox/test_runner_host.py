"""The runner's answers to the host: together where the host has sent enough ahead, at once where it may be waiting."""

from __future__ import annotations

import os

import pytest

from verifier_service.sandbox.runner import host as host_module
from verifier_service.sandbox.runner import wire
from verifier_service.sandbox.runner.host import HELD_BYTES, LEFT_AHEAD, Host


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    calls: list[bytes] = []
    monkeypatch.setattr(host_module, "write", calls.append)
    return calls


def host_with(waiting: int) -> Host:
    host = Host()
    host.waiting.extend((wire.RUN, b"") for _ in range(waiting))
    return host


def test_an_answer_goes_out_at_once_where_the_host_may_wait_for_it(written: list[bytes]) -> None:
    for waiting in range(LEFT_AHEAD + 1):
        host_with(waiting).send_last(b"end")
    assert written == [b"end"] * (LEFT_AHEAD + 1)


def test_answers_wait_for_the_next_while_enough_is_sent_ahead_and_go_out_in_their_order(written: list[bytes]) -> None:
    host = host_with(LEFT_AHEAD + 2)
    for end in (b"1", b"2"):
        host.send_last(end)
        host.next()
    assert written == []
    host.send_last(b"3")
    assert written == [b"123"]


def test_what_is_said_in_the_midst_of_a_run_takes_earlier_answers_along(written: list[bytes]) -> None:
    host = host_with(LEFT_AHEAD + 1)
    host.send_last(b"1")
    host.send(b"2")
    host.flush()
    assert written == [b"12"]


def test_a_run_that_takes_long_does_not_keep_the_answers_before_it(written: list[bytes]) -> None:
    host = host_with(LEFT_AHEAD + 1)
    host.send_last(b"1")
    host.flush()
    host.flush()
    assert written == [b"1"]


def test_large_answers_do_not_wait(written: list[bytes]) -> None:
    host = host_with(LEFT_AHEAD + 1)
    host.send_last(b"1")
    host.send_last(bytes(HELD_BYTES))
    assert written == [b"1" + bytes(HELD_BYTES)]


def test_a_write_is_finished_in_as_many_steps_as_the_pipe_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bytes] = []

    def take_some(fd: int, data: memoryview) -> int:
        assert fd == 1
        taken.append(bytes(data[:3]))
        return len(taken[-1])

    monkeypatch.setattr(os, "write", take_some)
    host_module.write(b"12345678")
    assert taken == [b"123", b"456", b"78"]
