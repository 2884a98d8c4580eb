"""The client against the service itself."""

from __future__ import annotations

import asyncio

import pytest

from trainer_client.client import VerifierClient
from trainer_client.client_errors import RequestRefused, ServiceNotReady
from trainer_client.client_sync import SyncVerifierClient
from trainer_client.trl_reward import make_reward_function
from trainer_client.trl_reward_overlap import OverlappedScorer

RIGHT = "<think>7 times 6</think>\\boxed{42}"
WRONG = "<think>7 times 6</think>\\boxed{41}"
BARE = "it is 42"
BOTH = [{"kind": "math", "gold": "42"}, {"kind": "format", "weight": 0.5}]


@pytest.fixture
async def client(shared_service):
    async with VerifierClient(shared_service.url) as client:
        yield client


async def test_the_service_passes_preflight_and_tells_its_versions(client):
    report = await client.preflight(["math", "format"])
    assert set(report.verifiers) >= {"math", "format", "code"}


async def test_a_kind_that_this_machine_cannot_score_says_how_to_mend_it(client):
    with pytest.raises(ServiceNotReady, match=r"code: .*VERIFIER_SANDBOX"):
        await client.preflight(["code"])
    with pytest.raises(ServiceNotReady, match="no verifier of kind lean"):
        await client.preflight(["lean"])


async def test_rewards_and_statistics_are_those_of_the_service(client, shared_service):
    import httpx

    group = {"id": "p", "completions": [RIGHT, WRONG, BARE, RIGHT], "verifiers": BOTH}
    (ours,) = await client.score([group])
    assert ours.rewards == [1.5, 0.5, 0.0, 1.5]
    answer = httpx.post(f"{shared_service.url}/score", json={"groups": [group]}, trust_env=False).json()["groups"][0]
    assert answer["rewards"] == ours.rewards
    assert answer["stats"] == pytest.approx(ours.stats.model_dump())
    assert [[v["outcome"] for v in row] for row in answer["verdicts"]] == [[v.outcome for v in row] for row in ours.verdicts]


async def test_a_broken_gold_is_none_and_not_asked_again(client):
    result = await client.score_completions([RIGHT], [{"kind": "math", "gold": "\\frac{1}{"}])
    assert result.rewards == [None]
    assert result.verdicts[0][0].reason == "bad_task"
    assert result.stats.mean is None


async def test_code_without_a_sandbox_is_none_by_a_reason_of_the_service(client):
    tests = {"style": "stdin", "cases": [{"stdin": "", "expected_stdout": "1"}]}
    result = await client.score_completions(["```python\nprint(1)\n```"], [{"kind": "code", "tests": tests}], deadline_s=20)
    assert result.rewards == [None]
    assert result.verdicts[0][0].reason == "infrastructure"


async def test_what_the_service_refuses_is_raised_with_its_field(client):
    groups = [{"completions": [RIGHT], "verifiers": [{"kind": "math", "gold": "42"}]}]
    bad = {"completions": [RIGHT], "verifiers": [{"kind": "math", "gold": "42"}, {"kind": "lean"}]}
    with pytest.raises(RequestRefused, match=r"lean|installed|verifier") as caught:
        await client.score([*groups, bad])
    assert caught.value.status == 422
    assert caught.value.field == "groups[1].verifiers[1].kind"


async def test_a_wrong_url_is_raised(shared_service):
    async with VerifierClient(f"{shared_service.url}/nowhere") as client:
        with pytest.raises(RequestRefused, match="base URL"):
            await client.score_completions([RIGHT], gold="42")


async def test_many_completions_in_many_requests_keep_their_order(client):
    groups = [
        {"id": f"{n}", "completions": [f"\\boxed{{{n}}}", f"\\boxed{{{n + 1}}}"], "verifiers": [{"kind": "math", "gold": f"{n}"}]}
        for n in range(300)
    ]
    async with VerifierClient(client.settings.urls, chunk_work=50.0) as small:
        results = await small.score(groups)
        assert small.metrics.requests >= 12
    assert [result.id for result in results] == [f"{n}" for n in range(300)]
    assert all(result.rewards == [1.0, 0.0] for result in results)


def test_lone_surrogates_nul_and_unicode_pass_the_door(shared_service):
    with SyncVerifierClient(shared_service.url) as client:
        result = client.score_completions(["\ud800\\boxed{42}", "\x00\\boxed{42}", "\\boxed{𝟜𝟚}"], gold="42")
    assert len(result.rewards) == 3
    assert result.stats.unscored == 0


async def test_a_service_killed_and_restarted_in_the_middle_costs_no_reward(own_service):
    groups = [
        {"completions": [f"\\boxed{{{n}}}", f"\\boxed{{{n + c}}}"], "verifiers": [{"kind": "math", "gold": f"{n}"}]}
        for n in range(5000, 5600)
        for c in (0, 1)
    ]
    async with VerifierClient(own_service.url, chunk_work=16.0, max_inflight=2, deadline_s=100) as client:
        progress = []
        call = asyncio.create_task(client.score(groups, progress=lambda done, total: progress.append(done)))
        while len(progress) < 10:
            await asyncio.sleep(0.005)
        await asyncio.to_thread(own_service.kill)
        assert not call.done()
        await asyncio.to_thread(own_service.start)
        results = await call
        assert client.metrics.retries > 0
    for group, result in zip(groups, results, strict=True):
        gold = group["verifiers"][0]["gold"]
        assert result.rewards == [float(text == f"\\boxed{{{gold}}}") for text in group["completions"]]


async def test_the_reward_function_and_overlapped_scoring_on_the_real_service(shared_service):
    reward = make_reward_function(shared_service.url, ["math", {"kind": "format", "weight": 0.5}])
    scorer = OverlappedScorer.of(reward)
    for text in (RIGHT, WRONG):
        scorer.submit(text, answer="42")
    assert await scorer.gather() == [1.5, 0.5]
    log: dict[str, float] = {}
    rewards = await reward(prompts=["7*6?"] * 3, completions=[RIGHT, WRONG, BARE], answer=["42"] * 3, log_metric=log.__setitem__)
    assert rewards == [1.5, 0.5, 0.0]
    assert log["verifier/math/score"] == pytest.approx(1 / 3)
    plan = reward.keywords["reward_plan"]
    assert plan.client.metrics.cache_hits >= 4
    plan.client.close()
