"""A failure is never a number: what is retried, what is given up, what is raised."""

from __future__ import annotations

import asyncio
import json
import time

import httpx
import pytest

from trainer_client.client_errors import RequestRefused
from verifier_protocol import UnscoredVerdict


class Script:
    """The first requests go wrong in the ways listed, the rest go well."""

    def __init__(self, *steps):
        self.steps = list(steps)

    def __call__(self, request, body):
        step = self.steps.pop(0) if self.steps else None
        if isinstance(step, Exception):
            raise step
        return step


def problem(status, detail="no", field=None, **headers):
    body = {"type": "about:blank", "title": "t", "status": status, "detail": detail}
    return httpx.Response(status, json=body | ({"field": field} if field else {}), headers=headers)


@pytest.mark.parametrize(
    "fault",
    [
        httpx.ConnectError("refused"),
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("server disconnected"),
        problem(502),
        problem(503),
        problem(504),
        problem(429),
        problem(500),
        httpx.Response(200, content=b"not json"),
        httpx.Response(200, content=b""),
    ],
    ids=str,
)
async def test_what_passes_by_itself_is_tried_again(make_client, service, group, fault):
    service.faults = Script(fault, fault)
    client = make_client()
    (result,) = await client.score([group("42", "1")])
    assert result.rewards == [1.0, 0.0]
    assert client.metrics.retries == 2


async def test_retry_after_is_obeyed(make_client, service, group):
    service.faults = Script(problem(503, **{"retry-after": "0.4"}))
    start = time.monotonic()
    (result,) = await make_client().score([group("42")])
    assert result.rewards == [1.0]
    assert 0.4 <= time.monotonic() - start < 2.0


async def test_a_retry_after_beyond_the_deadline_gives_up_at_once(make_client, service, group):
    service.faults = lambda request, body: problem(503, **{"retry-after": "30"})
    start = time.monotonic()
    (result,) = await make_client().score([group("42")], deadline_s=3)
    assert time.monotonic() - start < 1.0
    assert result.rewards == [None]
    assert len(service.requests) == 1


async def test_retry_after_of_one_replica_sends_the_work_to_another(make_client, service, group):
    service.faults = lambda request, body: problem(503, **{"retry-after": "30"}) if request.url.host == "busy" else None
    (result,) = await make_client("http://busy", "http://free").score([group("42", "1")], deadline_s=2)
    assert result.rewards == [1.0, 0.0]


async def test_a_service_that_never_recovers_leaves_none_by_the_deadline(make_client, service, group):
    service.faults = lambda request, body: problem(503)
    start = time.monotonic()
    (result,) = await make_client().score([group("42", "1")], deadline_s=0.5)
    assert 0.3 < time.monotonic() - start < 0.9
    assert result.rewards == [None, None]
    assert result.stats.unscored == 2
    assert result.stats.mean is None
    verdict = result.verdicts[0][0]
    assert isinstance(verdict, UnscoredVerdict)
    assert (verdict.reason, verdict.retryable, verdict.kind) == ("infrastructure", True, "math")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 415, 422])
async def test_a_bug_of_the_caller_is_raised_at_once_with_its_detail(make_client, service, group, status):
    service.faults = lambda request, body: problem(status, "the gold is too long")
    with pytest.raises(RequestRefused, match="the gold is too long") as caught:
        await make_client().score([group("42")])
    assert caught.value.status == status
    assert len(service.requests) == 1


async def test_the_field_of_a_problem_is_told_in_the_callers_own_indices(make_client, service, group):
    service.faults = lambda request, body: (
        problem(422, "too deep", "groups[0].verifiers[0].gold") if body["groups"][0]["verifiers"][0]["gold"] == "bad" else None
    )
    groups = [group(str(n), gold=f"g{n}") for n in range(9)] + [group("x", gold="bad")]
    with pytest.raises(RequestRefused) as caught:
        await make_client(chunk_work=1.0).score(groups)
    assert caught.value.field == "groups[9].verifiers[0].gold"


async def test_a_request_that_is_too_large_is_halved_until_it_fits(make_client, service, group):
    service.faults = lambda request, body: problem(413) if len(body["groups"][0]["completions"]) > 3 else None
    (result,) = await make_client().score([group(*map(str, range(20)), gold="11")])
    assert result.rewards == [float(n == 11) for n in range(20)]


async def test_a_single_completion_that_is_too_large_is_the_callers_bug(make_client, service, group):
    service.faults = lambda request, body: problem(413) if any(len(t) > 9 for t in body["groups"][0]["completions"]) else None
    with pytest.raises(RequestRefused, match=r"groups\[0\].completions\[2\]"):
        await make_client().score([group("1", "2", "x" * 10)])


async def test_only_unscored_retryable_items_are_sent_again(make_client, service, group):
    service.verdict = lambda text, spec: service.unscored(spec) if text == "42" and len(service.requests) < 3 else None
    (result,) = await make_client().score([group("1", "42", "2")])
    assert result.rewards == [0.0, 1.0, 0.0]
    assert service.sent() == ["1", "42", "2", "42", "42"]


async def test_only_the_verifier_that_failed_is_asked_again(make_client, service):
    service.verdict = lambda text, spec: (
        service.unscored(spec) if spec["kind"] == "format" and len(service.requests) < 2 else None
    )
    result = await make_client().score_completions(["42"], [{"kind": "math", "gold": "42"}, {"kind": "format"}])
    assert result.rewards[0] is not None
    assert [spec["kind"] for spec in service.requests[1]["groups"][0]["verifiers"]] == ["format"]


async def test_a_broken_task_is_final(make_client, service, group):
    service.verdict = lambda text, spec: service.unscored(spec, "bad_task", retryable=False)
    (result,) = await make_client().score([group("42")])
    assert result.rewards == [None]
    assert result.verdicts[0][0].reason == "bad_task"
    assert len(service.requests) == 1


async def test_infrastructure_failures_are_asked_again_a_few_times_and_keep_the_services_reason(make_client, service, group):
    service.verdict = lambda text, spec: service.unscored(spec) if text == "42" else None
    (result,) = await make_client(max_infrastructure_retries=2).score([group("42", "1")])
    assert result.rewards == [None, 0.0]
    assert result.verdicts[0][0].detail == "because of infrastructure"
    assert len(service.requests) == 3


async def test_what_the_services_deadline_cut_off_is_asked_again(make_client, service, group):
    service.verdict = lambda text, spec: service.unscored(spec, "deadline") if len(service.requests) < 4 else None
    (result,) = await make_client(max_infrastructure_retries=0).score([group("42")])
    assert result.rewards == [1.0]


def _edit(path, value):
    def change(answer):
        at = answer
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        return answer

    return change


def _nan(answer):
    answer["groups"][0]["verdicts"][0][0]["score"] = float("nan")
    return answer


WRONG_ANSWERS = {
    "a row too few": lambda a: a["groups"][0]["verdicts"].pop() and a,
    "a row too many": lambda a: a["groups"][0]["verdicts"].append(a["groups"][0]["verdicts"][0]) or a,
    "a reward too few": lambda a: a["groups"][0]["rewards"].pop() is not None and a,
    "a group too few": lambda a: a["groups"].pop() and a,
    "groups in another order": lambda a: a["groups"].reverse() or a,
    "no verdicts in a row": _edit(["groups", 0, "verdicts", 0], []),
    "a score above one": _edit(["groups", 0, "verdicts", 0, 0, "score"], 1.5),
    "a score that is no number": _edit(["groups", 0, "verdicts", 0, 0, "score"], "one"),
    "a score of NaN": _nan,
    "a reward of NaN": _edit(["groups", 0, "rewards", 0], float("nan")),
    "a reward of infinity": _edit(["groups", 0, "rewards", 0], float("inf")),
    "a reward for an unscored completion": _edit(["groups", 0, "rewards", 0], None),
    "another kind": _edit(["groups", 0, "verdicts", 0, 0, "kind"], "code"),
    "another protocol": _edit(["protocol"], "2"),
    "an outcome that does not exist": _edit(["groups", 0, "verdicts", 0, 0, "outcome"], "fine"),
}


@pytest.mark.parametrize("wrong", WRONG_ANSWERS.values(), ids=list(WRONG_ANSWERS))
async def test_a_broken_answer_is_refused_whole_and_asked_again(make_client, service, group, wrong):
    groups = [group("42", "1"), group("7", gold="8")]
    service.change = lambda answer: wrong(answer) if len(service.requests) == 1 else answer
    client = make_client()
    results = await client.score(groups)
    assert [result.rewards for result in results] == [[1.0, 0.0], [0.0]]
    assert client.metrics.broken_answers == 1
    service.change = wrong
    results = await make_client().score(groups)
    assert [result.rewards for result in results] == [[None, None], [None]]
    assert "no valid answer" in results[0].verdicts[0][0].detail


async def test_broken_answers_are_given_up_before_the_deadline(make_client, service, group):
    service.faults = lambda request, body: httpx.Response(200, content=b"<html>")
    start = time.monotonic()
    (result,) = await make_client(max_broken_answers=3).score([group("42")], deadline_s=60)
    assert result.rewards == [None]
    assert len(service.requests) == 3
    assert time.monotonic() - start < 5


async def test_a_giant_answer_is_refused(make_client, service, group):
    service.change = lambda answer: answer | {"padding": "x" * 100_000}
    client = make_client(max_response_bytes=50_000)
    (result,) = await client.score([group("42")])
    assert result.rewards == [None]
    assert client.metrics.broken_answers == 3


async def test_a_sick_replica_is_left_alone_and_tried_again_later(make_client, service, group):
    hosts = []

    def faults(request, body):
        hosts.append(request.url.host)
        if request.url.host in service.down:
            raise httpx.ConnectError("refused")

    service.faults = faults
    service.down = {"a"}
    client = make_client("http://a", "http://b", breaker_failures=2, breaker_open_s=0.1, breaker_open_cap_s=0.1)
    for n in range(40):
        (result,) = await client.score([group(f"{n}", "42")])
        assert result.rewards[-1] == 1.0
        await asyncio.sleep(0.005)
    assert hosts.count("a") == 2  # then its circuit opens, and only /healthz is asked
    assert "/healthz" in service.gets
    service.down = set()
    hosts.clear()
    for n in range(40):
        await client.score([group(f"again {n}")])
        await asyncio.sleep(0.005)
    assert hosts.count("a") >= 10


async def test_a_lone_replica_is_waited_for_and_probed_without_work(make_client, service, group):
    service.faults = Script(*[httpx.ConnectError("refused")] * 2)
    service.down = {"service"}
    client = make_client(breaker_failures=2, breaker_open_s=0.05)
    call = asyncio.create_task(client.score([group("42")]))
    await asyncio.sleep(0.4)
    assert len(service.requests) == 2
    assert service.gets.count("/healthz") >= 2
    service.down = set()
    (result,) = await call
    assert result.rewards == [1.0]
    assert len(service.requests) == 3


async def test_on_probation_one_failure_opens_the_circuit_again(make_client, service, group):
    service.faults = Script(*[httpx.ConnectError("refused")] * 4)
    client = make_client(breaker_failures=3, breaker_open_s=0.05, breaker_open_cap_s=1.0)
    (result,) = await client.score([group("42")])
    assert result.rewards == [1.0]
    assert service.gets.count("/healthz") == 2  # after the third failure, and after the fourth


async def test_the_deadline_told_to_the_service_lies_before_the_clients_own(make_client, service, group):
    await make_client(attempt_share=0.5, attempt_floor_s=0.1).score([group("42")], deadline_s=10)
    assert 4.0 <= service.requests[0]["deadline_s"] < 5.0


async def test_no_gold_and_no_completion_is_in_a_log_or_an_error(make_client, service, group, caplog):
    service.faults = lambda request, body: problem(503)
    (result,) = await make_client().score([group("a-secret-completion", gold="a-secret-gold")], deadline_s=0.2)
    said = caplog.text + json.dumps(result.verdicts[0][0].model_dump(mode="json"))
    assert "stays unscored" in caplog.text
    assert "secret" not in said


async def test_an_answer_to_another_request_is_never_taken_for_this_ones(make_client, service):
    """A proxy that caches, doubles or delays answers: each has the shape that was asked for, and the wrong verdicts."""
    earlier = []

    def stale(answer):
        earlier.append(json.loads(json.dumps(answer)))
        return earlier[-2] if len(earlier) % 3 == 2 else answer

    service.change = stale
    groups = [
        {"completions": [str(n), "a", "b"][:: 1 if n % 2 else -1], "verifiers": [{"kind": "math", "gold": str(n)}]}
        for n in range(40)
    ]
    client = make_client(chunk_work=3.0, max_inflight=1, cache_entries=0, max_broken_answers=50)
    results = await client.score(groups)
    assert client.metrics.broken_answers >= 10
    for n, result in enumerate(results):
        assert result.rewards == ([1.0, 0.0, 0.0] if n % 2 else [0.0, 0.0, 1.0])


async def test_groups_without_any_reward_are_not_called_without_variance(make_client, service, group):
    service.verdict = lambda text, spec: service.unscored(spec, "bad_task", retryable=False)
    (result,) = await make_client().score([group("x", "y")])
    assert result.rewards == [None, None]
    assert result.stats.zero_variance is False
