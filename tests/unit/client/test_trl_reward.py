"""The reward function as TRL calls it: columns in, floats and None out, all ranks stop together or none."""

from __future__ import annotations

import asyncio
import inspect
import pickle

import httpx
import pytest

from trainer_client import trl_reward
from trainer_client.client import VerifierClient
from trainer_client.client_errors import RequestRefused, ServiceNotReady, VerificationAborted
from trainer_client.rewards import RewardRecipe
from trainer_client.trl_reward import RewardPlan, Tolerance, make_reward_function, make_reward_functions, verified_reward
from trainer_client.trl_reward_overlap import OverlappedScorer

BOTH = ["math", {"kind": "format", "weight": 0.5}]


@pytest.fixture
def reward(kit, service):
    made = []

    def make(verifiers=BOTH, maker=make_reward_function, **options):
        options = {"deadline_s": 2.0, "ready_wait_s": 0.0, **kit.fast} | options
        functions = maker("http://service", verifiers, **options)
        for function in functions if isinstance(functions, list) else [functions]:
            client = function.keywords["reward_plan"].client
            client._transport = lambda: httpx.MockTransport(service)
            made.append(client)
        return functions

    yield make
    for client in made:
        client.close()


def step(*texts, gold="42", **columns):
    """The arguments of one call, as TRL makes them."""
    return {
        "prompts": ["p"] * len(texts),
        "completions": list(texts),
        "completion_ids": [[1]] * len(texts),
        "answer": [gold] * len(texts),
        "trainer_state": object(),
    } | columns


class Log:
    def __init__(self):
        self.metrics, self.extra = {}, {}

    def __call__(self):
        return {"log_metric": self.metrics.__setitem__, "log_extra": self.extra.__setitem__}


async def test_plain_and_chat_completions_get_the_same_rewards(reward, kit):
    texts = ["42", "41", "42"]
    chat = [[{"role": "assistant", "content": text}] for text in texts]
    expected = [float(t == "42") + 0.5 * kit.true_score(t, {"kind": "format"}) for t in texts]
    assert await reward()(**step(*texts)) == expected
    assert await reward()(**step(*texts, completions=chat)) == expected


def test_trl_finds_the_function_to_be_async_and_knows_its_name(reward):
    function = reward()
    assert inspect.iscoroutinefunction(function)
    assert function.func.__name__ == "verified_reward"


def test_the_function_survives_a_pickle(reward):
    function = make_reward_function("http://127.0.0.1:1", BOTH, deadline_s=7.0)
    copy = pickle.loads(pickle.dumps(function))
    plan = copy.keywords["reward_plan"]
    assert plan.deadline_s == 7.0
    assert plan.recipe == function.keywords["reward_plan"].recipe
    assert inspect.iscoroutinefunction(copy)
    pair = pickle.loads(pickle.dumps(make_reward_functions("http://127.0.0.1:1")))
    assert pair[0].keywords["reward_plan"] is pair[1].keywords["reward_plan"]


async def test_an_unscored_row_is_none_and_its_siblings_keep_their_rewards(reward, service):
    service.verdict = lambda text, spec: service.unscored(spec) if text == "3" else None
    assert await reward("math", max_infrastructure_retries=0)(**step("42", "1", "2", "3", "4")) == [1.0, 0.0, 0.0, None, 0.0]


async def test_each_row_may_bring_its_own_verifiers(reward):
    own = ['[{"kind": "math", "gold": "1"}]', '[{"kind": "math", "gold": "2", "weight": 4.0}]', None]
    assert await reward("math")(**step("1", "2", "42", verifiers=own)) == [1.0, 4.0, 1.0]


async def test_the_answer_may_change_within_a_call_and_groups_may_be_torn(reward, service):
    call = step("a", "b", "b", "a") | {"answer": ["a", "b", "a", "a"], "prompts": ["p", "q", "p", "p"]}
    assert await reward("math")(**call) == [1.0, 1.0, 0.0, 1.0]


async def test_components_go_to_the_log(reward, service):
    log = Log()
    service.verdict = lambda text, spec: (
        service.unscored(spec, "bad_task", retryable=False) if text == "bad" and spec["kind"] == "math" else None
    )
    await reward()(**step("42", "1", "2", "bad"), **log())
    assert log.metrics["verifier/math/score"] == pytest.approx(1 / 3)
    assert log.metrics["verifier/math/correct_share"] == 0.25
    assert log.metrics["verifier/bad_task_share"] == 0.25
    assert log.metrics["verifier/unscored_share"] == 0.0
    assert log.metrics["verifier/zero_variance_share"] == 0.0
    assert len(log.extra["verdict"]) == 4
    assert log.extra["verdict"][0].startswith("math:correct format:")
    assert log.extra["verdict"][3].startswith("math:unscored(bad_task)")
    assert all(isinstance(value, float) for value in log.metrics.values())


async def test_over_a_share_of_failures_the_run_is_stopped(reward, service):
    service.verdict = lambda text, spec: service.unscored(spec) if text in ("1", "2") else None
    call = step("42", "1", "2", "3")
    with pytest.raises(VerificationAborted, match=r"2 of 4.*because of infrastructure"):
        await reward("math", max_infrastructure_retries=0)(**call)
    lenient = reward("math", max_infrastructure_retries=0, tolerance=Tolerance(unscored_share=0.5))
    assert await lenient(**call) == [1.0, None, None, 0.0]


async def test_broken_golds_have_a_tolerance_of_their_own(reward, service):
    service.verdict = lambda text, spec: service.unscored(spec, "bad_task", retryable=False) if text != "42" else None
    assert await reward("math")(**step("42", "1")) == [1.0, None]
    with pytest.raises(VerificationAborted, match="right column"):
        await reward("math")(**step("42", "1", "2"))


async def test_a_dead_service_stops_the_run_with_what_to_do(reward, service):
    function = reward("math", deadline_s=0.5)
    assert await function(**step("42")) == [1.0]

    def refuse(request, body):
        raise httpx.ConnectError("refused")

    service.faults = refuse
    with pytest.raises(VerificationAborted, match="doctor"):
        await function(**step("1"))


async def test_readiness_is_asked_before_the_first_step_only(reward, service):
    function = reward("math")
    await function(**step("42"))
    await function(**step("1"))
    assert service.gets.count("/readyz") == 1
    service.ready["math"] = False
    with pytest.raises(ServiceNotReady):
        await reward("math")(**step("42"))


async def test_a_data_set_without_golds_is_a_clear_error(reward):
    with pytest.raises(RequestRefused, match="says nothing about how to verify"):
        await reward("math")(prompts=["p"], completions=["42"], level=[3])


async def test_a_rank_with_a_fault_tells_the_others_before_it_raises(reward, monkeypatch):
    told = []
    monkeypatch.setattr(trl_reward, "sum_over_ranks", lambda values: told.append(values) or list(values))
    with pytest.raises(RequestRefused):
        await reward("math")(prompts=["p"], completions=["42"])
    assert told == [[0, 0, 0, True]]


async def test_a_fault_of_another_rank_stops_this_one_too(reward, monkeypatch):
    monkeypatch.setattr(trl_reward, "sum_over_ranks", lambda values: [values[0] * 2, values[1], values[2], 1.0])
    with pytest.raises(VerificationAborted, match="1 other rank"):
        await reward("math")(**step("42"))


async def test_the_share_is_that_of_all_ranks(reward, service, monkeypatch):
    service.verdict = lambda text, spec: service.unscored(spec) if text == "1" else None
    function = reward("math", max_infrastructure_retries=0)
    monkeypatch.setattr(trl_reward, "sum_over_ranks", lambda values: [values[0] + 14, *values[1:]])
    assert await function(**step("42", "1")) == [1.0, None]
    monkeypatch.setattr(trl_reward, "sum_over_ranks", lambda values: [values[0] + 2, values[1] + 2, *values[2:]])
    with pytest.raises(VerificationAborted, match="3 of 4"):
        await function(**step("42", "1"))


async def test_separate_functions_add_up_to_the_composite_and_ask_once(reward, service):
    accuracy, form = reward(maker=make_reward_functions)
    assert [function.func.__name__ for function in (accuracy, form)] == ["accuracy_reward", "format_reward"]
    texts = ["42", "1", "2", "3", "unlucky"]
    service.verdict = lambda text, spec: (
        service.unscored(spec, "bad_task", retryable=False) if text == "unlucky" and spec["kind"] == "math" else None
    )
    call = step(*texts)
    first, second = await asyncio.gather(accuracy(**call), form(**call))
    assert len(service.requests) == 1
    assert first[-1] is None
    assert second[-1] is None, "None in one function alone would be read as 0 by the trainer"
    together = await reward()(**step(*texts))
    assert [None if a is None else a + b for a, b in zip(first, second, strict=True)] == together


async def test_separate_functions_ask_again_in_the_next_step(reward):
    accuracy, form = reward(maker=make_reward_functions)
    for texts, expected in ((["42", "1"], [1.0, 0.0]), (["1", "42"], [0.0, 1.0])):
        call = step(*texts)
        assert await accuracy(**call) == expected
        assert len(await form(**call)) == 2


async def test_overlapped_scores_are_ready_when_the_reward_function_asks(reward, service):
    function = reward("math")
    scorer = OverlappedScorer.of(function)
    positions = [scorer.submit(text, answer="42") for text in ("42", "1", "42")]
    assert positions == [0, 1, 2]
    assert await scorer.gather() == [1.0, 0.0, 1.0]
    assert scorer.waiting == 0
    sent = len(service.sent())
    assert await function(**step("42", "1", "42")) == [1.0, 0.0, 1.0]
    assert len(service.sent()) == sent
    assert await scorer.gather() == []


async def test_what_stayed_unscored_while_overlapped_is_asked_again_by_the_reward_function(reward, service):
    function = reward("math", max_infrastructure_retries=0)
    service.verdict = lambda text, spec: service.unscored(spec) if len(service.requests) < 2 else None
    scorer = OverlappedScorer.of(function)
    scorer.submit("42", answer="42")
    assert await scorer.gather() == [None]
    assert await function(**step("42")) == [1.0]


async def test_overlapped_submissions_travel_together_and_a_refused_one_fails_alone(reward, service):
    service.faults = lambda request, body: (
        httpx.Response(422, json={"type": "", "title": "", "status": 422, "detail": "bad gold"})
        if any(spec["gold"] == "bad" for group in body["groups"] for spec in group["verifiers"])
        else None
    )
    scorer = OverlappedScorer.of(reward("math"))
    good = [scorer._coalescer.submit({"completions": ["7"], "verifiers": [{"kind": "math", "gold": "7"}]}) for _ in range(5)]
    bad = scorer._coalescer.submit({"completions": ["7"], "verifiers": [{"kind": "math", "gold": "bad"}]})
    assert [(await asyncio.wrap_future(future)).rewards for future in good] == [[1.0]] * 5
    with pytest.raises(RequestRefused, match="bad gold"):
        await asyncio.wrap_future(bad)
    service.requests.clear()
    for n in range(50):
        scorer.submit(f"{n}", answer="7")
    assert sum(reward == 1.0 for reward in await asyncio.to_thread(scorer.gather_now)) == 1
    assert len(service.requests) <= 5


def test_a_scorer_needs_one_of_our_functions():
    with pytest.raises(TypeError, match="make_reward_function"):
        OverlappedScorer.of(lambda **columns: [])


async def test_rewards_are_scored_in_the_clients_thread_from_any_loop(reward):
    function = reward("math")
    first = await function(**step("42"))
    second = await asyncio.to_thread(asyncio.run, function(**step("42", "1")))
    assert (first, second) == ([1.0], [1.0, 0.0])


def test_a_client_option_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="max_inflights"):
        make_reward_function("http://s", max_inflights=3)
    assert isinstance(make_reward_function("http://s").keywords["reward_plan"].client, VerifierClient)


async def test_a_client_closed_in_the_middle_of_a_step_is_a_fault_that_the_other_ranks_hear_of(monkeypatch):
    class Never(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request):
            await asyncio.sleep(60)

    told = []
    monkeypatch.setattr("trainer_client.trl_reward.sum_over_ranks", lambda values: told.append(list(values)) or list(values))
    client = VerifierClient("http://s", transport=Never)
    plan = RewardPlan(client, RewardRecipe.make("math"), checked={"math"})
    call = asyncio.create_task(verified_reward(completions=["x"], answer=["4"], reward_plan=plan))
    await asyncio.sleep(0.1)
    await client.aclose()
    with pytest.raises(VerificationAborted, match="closed"):
        await call
    assert told == [[0, 0, 0, True]]


async def test_a_cancelled_step_is_cancelled(monkeypatch):
    class Never(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request):
            await asyncio.sleep(60)

    client = VerifierClient("http://s", transport=Never)
    plan = RewardPlan(client, RewardRecipe.make("math"), checked={"math"})
    call = asyncio.create_task(verified_reward(completions=["x"], answer=["4"], reward_plan=plan))
    await asyncio.sleep(0.1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await client.aclose()
