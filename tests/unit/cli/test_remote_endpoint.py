"""A service at a URL: waited for when it is away or full, never asked twice for what it refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import httpx
import pytest

from verifier_protocol import Group, MathSpec
from verifier_service.cli.file_scoring import endpoint
from verifier_service.cli.file_scoring.endpoint import Refused, Remote, Unreachable

GROUP = Group(completions=["1"], verifiers=[MathSpec(kind="math", gold="1")])
STATS = {"mean": 1.0, "std": 0.0, "pass_rate": 1.0, "unscored": 0, "zero_variance": True}
ANSWER = {"protocol": "1", "groups": [{"rewards": [1.0], "verdicts": [[]], "stats": STATS}], "timing": {"total_ms": 1}}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(endpoint, "LONGEST_PAUSE_S", 0.002)


def remote(handler: Callable[[httpx.Request], httpx.Response], patience_s: float = 5.0) -> Remote:
    client = httpx.AsyncClient(base_url="http://service", transport=httpx.MockTransport(handler))
    return Remote(client, patience_s)


def replies(*answers: httpx.Response | Exception) -> Callable[[httpx.Request], httpx.Response]:
    queue: Iterator[httpx.Response | Exception] = iter(answers)

    def handler(_: httpx.Request) -> httpx.Response:
        answer = next(queue)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return handler


async def test_groups_are_posted_with_their_deadline() -> None:
    seen: list[dict[str, object]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        return httpx.Response(200, json=ANSWER)

    results = await remote(handler).score([GROUP], 9.0)
    assert results[0].rewards == [1.0]
    assert seen[0]["deadline_s"] == 9.0


async def test_overload_and_lost_connections_are_waited_out() -> None:
    handler = replies(
        httpx.Response(503, headers={"retry-after": "0"}),
        httpx.ConnectError("refused"),
        httpx.RemoteProtocolError("gone"),
        httpx.Response(200, json=ANSWER),
    )
    assert (await remote(handler).score([GROUP], 9.0))[0].rewards == [1.0]


async def test_a_refusal_is_final_and_says_the_service_s_words() -> None:
    problem = {"type": "about:blank", "title": "Unprocessable", "status": 422, "detail": "groups[0]: no"}
    with pytest.raises(Refused, match=r"HTTP 422: groups\[0\]: no"):
        await remote(replies(httpx.Response(422, json=problem))).score([GROUP], 9.0)


async def test_patience_ends() -> None:
    handler = replies(*(httpx.Response(503, headers={"retry-after": "60"}) for _ in range(2)))
    with pytest.raises(Unreachable, match="HTTP 503"):
        await remote(handler, patience_s=1.0).score([GROUP], 9.0)


@pytest.mark.parametrize("answer", [{"groups": []}, {"x": 1}, {**ANSWER, "protocol": "9"}, {**ANSWER, "groups": []}])
async def test_an_answer_of_something_else_is_never_a_result(answer: object) -> None:
    with pytest.raises(Unreachable):
        await remote(replies(httpx.Response(200, json=answer))).score([GROUP], 9.0)
