"""The HTTP API page is true: its requests are sent as they stand, and score what the page says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
pytestmark = [pytest.mark.docker, pytest.mark.timeout(300)]  # a first run builds the sandboxes' image


def test_every_request_of_the_api_page_scores_what_the_page_says(start: Callable[..., Any]) -> None:
    examples = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", PAGE, re.M | re.S)]
    requests = [example for example in examples if "protocol" not in example]
    service = start().wait_ready()
    rewards = [service.score(request)["groups"][0]["rewards"] for request in requests]
    # a group of maths, a chat; a float comparison, a checker, a function; an assert that fails; an interactor
    assert rewards == [[1.5, 0.5], [1.0], [1.0], [1.0], [1.0], [pytest.approx(2 / 3)], [1.0]]


def test_the_verdict_shown_for_a_right_answer_is_the_one_that_comes(start: Callable[..., Any]) -> None:
    blocks = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", PAGE, re.M | re.S)]
    request = blocks[0]
    (shown,) = [block for block in blocks if "protocol" in block]
    answer = start("--sandbox", "off").wait_ready("math,format").score(request)
    for ours, theirs in zip(answer["groups"][0]["verdicts"][0], shown["groups"][0]["verdicts"][0], strict=True):
        assert {**ours, "ms": 0} == {**theirs, "ms": 0}
