"""What a caller gets when all goes well: order, length, statistics, few requests."""

from __future__ import annotations

import math

import pytest

from trainer_client.answers import ScoredGroup
from trainer_client.client_errors import RequestRefused
from verifier_protocol import Group, MathSpec, ScoredVerdict


async def test_every_group_and_completion_gets_its_own_result_in_the_order_given(make_client, group):
    results = await make_client().score([group("42", "1", id="a"), group("7", "42", "7", gold="7", id="b"), group("x")])
    assert [result.id for result in results] == ["a", "b", None]
    assert [result.rewards for result in results] == [[1.0, 0.0], [1.0, 0.0, 1.0], [0.0]]
    assert all(len(result.verdicts) == len(result.rewards) for result in results)


async def test_statistics_are_those_of_the_rewards_with_population_deviation(make_client, group):
    (result,) = await make_client().score([group("42", "1", "2", "3")])
    assert result.stats.mean == 0.25
    assert result.stats.std == pytest.approx(math.sqrt(0.25 * 0.75))
    assert result.stats.pass_rate == 0.25
    assert result.stats.zero_variance is False


async def test_groups_may_be_models_or_mappings(make_client):
    model = Group(completions=["42"], verifiers=[MathSpec(kind="math", gold="42")])
    (result,) = await make_client().score([model])
    assert isinstance(result, ScoredGroup)
    assert result.rewards == [1.0]


async def test_chat_completions_are_judged_by_their_last_assistant_message(make_client, service):
    chat = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "41"}, {"role": "assistant", "content": "42"}]
    result = await make_client().score_completions([chat], gold="42")
    assert result.rewards == [1.0]
    assert service.sent() == ["42"]


async def test_the_reward_is_the_weighted_sum_of_all_verifiers(make_client):
    specs = [{"kind": "math", "gold": "a", "weight": 2.0}, {"kind": "math", "gold": "a", "weight": -0.5}]
    result = await make_client().score_completions(["a", "b"], specs)
    assert result.rewards == [1.5, 0.0]


async def test_nothing_asked_is_nothing_sent(make_client, service):
    assert await make_client().score([]) == []
    assert service.requests == []


async def test_identical_completions_are_sent_once(make_client, service, group):
    client = make_client()
    (result,) = await client.score([group("42", "1", "42", "42", "1")])
    assert result.rewards == [1.0, 0.0, 1.0, 1.0, 0.0]
    assert service.sent() == ["42", "1"]
    assert client.metrics.deduplicated == 3


async def test_groups_that_are_verified_alike_share_their_spec_on_the_wire(make_client, service, group):
    results = await make_client().score([group("42", id="a"), group("1", "42", id="b")])
    assert [result.rewards for result in results] == [[1.0], [0.0, 1.0]]
    assert len(service.requests[0]["groups"]) == 1
    assert service.sent() == ["42", "1"]


async def test_the_same_text_under_another_gold_is_another_question(make_client, service, group):
    results = await make_client().score([group("42"), group("42", gold="7")])
    assert [result.rewards for result in results] == [[1.0], [0.0]]
    assert service.sent() == ["42", "42"]


async def test_requests_are_cut_by_bytes_and_put_together_again(make_client, service, group):
    texts = [str(n) * 300 for n in range(40)]
    (result,) = await make_client(chunk_bytes=2000).score([group(*texts, gold=texts[17])])
    assert len(service.requests) > 5
    assert result.rewards == [float(n == 17) for n in range(40)]
    assert result.stats.mean == pytest.approx(1 / 40)


async def test_requests_are_cut_by_work_and_code_weighs_more_than_math(make_client, service):
    case = {"stdin": "1", "expected_stdout": "1"}
    code = {"kind": "code", "tests": {"style": "stdin", "cases": [case] * 46}}  # 8 + 2 * 46 = 100 units
    texts = [f"program {n}" for n in range(10)]
    client = make_client(chunk_work=200.0)
    await client.score_completions(texts, [code])
    assert [len(body["groups"][0]["completions"]) for body in service.requests] == [2] * 5
    service.requests.clear()
    await client.score_completions(texts, gold="42")
    assert len(service.requests) == 1


async def test_a_completion_larger_than_a_chunk_goes_alone(make_client, service, group):
    (result,) = await make_client(chunk_bytes=1024).score([group("1", "y" * 5000, "42")])
    assert result.rewards == [0.0, 0.0, 1.0]
    assert [len(body["groups"][0]["completions"]) for body in service.requests] == [1, 1, 1]


async def test_requests_in_flight_are_bounded(make_client, service, group):
    import asyncio

    import httpx

    class Counting(httpx.AsyncBaseTransport):
        now = most = 0

        async def handle_async_request(self, request):
            Counting.now += 1
            Counting.most = max(Counting.most, Counting.now)
            await asyncio.sleep(0.005)
            Counting.now -= 1
            await request.aread()
            return service(request)

    from trainer_client.client import VerifierClient

    with_limit = VerifierClient("http://s", transport=Counting, max_inflight=3, chunk_work=1.0)
    (result,) = await with_limit.score([group(*map(str, range(30)), gold="3")])
    await with_limit.aclose()
    assert result.rewards[3] == 1.0
    assert len(service.requests) == 30
    assert Counting.most == 3


async def test_work_is_spread_over_replicas(make_client, service, group):
    hosts = set()
    service.faults = lambda request, body: hosts.add(request.url.host)
    await make_client("http://a", "http://b", "http://c").score([group(*map(str, range(600)))])
    assert hosts == {"a", "b", "c"}


async def test_lone_surrogates_travel_as_replacement_characters(make_client, service, group):
    (result,) = await make_client().score([group("42\ud800", "42")])
    assert result.rewards == [0.0, 1.0]
    assert service.sent() == ["42\ufffd", "42"]


async def test_a_spec_with_nan_is_refused_before_it_is_sent(make_client, service):
    tests = {"style": "function", "entry_point": "f", "cases": [{"args": [], "expected": float("nan")}]}
    with pytest.raises(RequestRefused, match=r"NaN|out of range"):
        await make_client().score_completions(["x"], [{"kind": "code", "tests": tests}])
    assert service.requests == []


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"completions": [], "verifiers": [{"kind": "math", "gold": "42"}]}, "groups[1].completions"),
        ({"completions": ["x"], "verifiers": []}, "groups[1].verifiers"),
        ({"completions": ["x"], "verifiers": [{"kind": "math", "gold": 42}]}, "groups[1].verifiers[0].gold"),
        ({"completions": ["x"]}, "groups[1].verifiers"),
    ],
)
async def test_a_malformed_group_is_named_and_its_values_are_not_repeated(make_client, service, group, bad, field):
    with pytest.raises(RequestRefused) as caught:
        await make_client().score([group("secret-gold"), bad])
    assert caught.value.field == field
    assert "42" not in str(caught.value)
    assert service.requests == []


@pytest.mark.parametrize("deadline_s", [0, -1, float("nan"), float("inf")])
async def test_a_deadline_must_be_a_positive_number(make_client, group, deadline_s):
    with pytest.raises(RequestRefused, match="deadline_s"):
        await make_client().score([group("42")], deadline_s=deadline_s)


async def test_progress_reaches_the_total_and_never_falls(make_client, group):
    seen = []
    await make_client(chunk_work=5.0).score(
        [group(*map(str, range(20)), "1", "2")], progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (22, 22)
    assert seen == sorted(seen)


async def test_the_token_is_sent_and_is_not_shown(make_client, service, group, monkeypatch):
    client = make_client(token="s3cret")
    await client.score([group("42")])
    assert service.headers[0]["authorization"] == "Bearer s3cret"
    assert "s3cret" not in repr(client.settings)
    monkeypatch.setenv("VERIFIER_TOKEN", "from-environment")
    await make_client().score([group("42")])
    assert service.headers[1]["authorization"] == "Bearer from-environment"


async def test_metrics_count_what_happened(make_client, group):
    client = make_client()
    await client.score([group("42", "1", "1")])
    numbers = client.metrics.snapshot()
    assert numbers["calls"] == numbers["requests"] == 1
    assert numbers["completions"] == 3
    assert numbers["scored"] == 3
    assert numbers["unscored"] == 0
    assert numbers["latency_p50_s"] > 0


async def test_scored_verdicts_arrive_whole(make_client, service):
    extra = {"passed": 3, "total": 3, "detail": "fine", "tests": [{"outcome": "correct", "cpu_s": 0.5}], "new_field": 1}
    plain = service.judge
    service.verdict = lambda text, spec: None
    service.judge = lambda text, spec: plain(text, spec) | extra
    result = await make_client().score_completions(["42"], gold="42")
    verdict = result.verdicts[0][0]
    assert isinstance(verdict, ScoredVerdict)
    assert (verdict.passed, verdict.detail, verdict.tests[0].cpu_s) == (3, "fine", 0.5)


async def test_a_request_never_has_more_groups_than_services_take(make_client, service, group):
    groups = [{"completions": ["x"], "verifiers": [{"kind": "format"}, {"kind": "math", "gold": str(n)}]} for n in range(3000)]
    await make_client(chunk_work=10_000.0).score(groups)
    sizes = [len(body["groups"]) for body in service.requests]
    assert (sum(sizes), max(sizes)) == (3000, 1024)
