"""Back-off, Retry-After and time budgets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from trainer_client.retry import Deadline, attempt_budget_s, full_jitter_s, retry_after_s


def test_jitter_is_full_and_its_ceiling_doubles_up_to_the_cap():
    for attempt, ceiling in ((1, 0.2), (2, 0.4), (3, 0.8), (4, 1.0), (500, 1.0)):
        drawn = [full_jitter_s(attempt, 0.1, 1.0) for _ in range(400)]
        assert 0 <= min(drawn) < ceiling * 0.1
        assert ceiling * 0.9 < max(drawn) <= ceiling


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("7", 7.0),
        (" 2.5 ", 2.5),
        ("-1", 0.0),
        ("nan", 0.0),
        ("1e9", 60.0),
        ("inf", 60.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 99 Oct 2015", None),
    ],
)
def test_retry_after_is_read_in_every_form_and_capped(value, seconds):
    assert retry_after_s(value, 60.0) == seconds


def test_retry_after_may_be_a_date():
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    assert retry_after_s(date, 60.0) == pytest.approx(20, abs=1.5)


def test_an_attempt_gets_a_share_but_no_less_than_the_floor_nor_more_than_there_is():
    assert attempt_budget_s(100, 0.5, 5, 300) == 50
    assert attempt_budget_s(8, 0.5, 5, 300) == 5
    assert attempt_budget_s(3, 0.5, 5, 300) == 3
    assert attempt_budget_s(100, 1.0, 5, 300) == 100
    assert attempt_budget_s(3600, 0.5, 5, 300) == 300


def test_a_deadline_passes():
    assert Deadline.after(0).passed
    assert Deadline.after(0).remaining_s() == 0
    assert not Deadline.after(5).passed
