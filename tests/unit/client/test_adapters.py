"""The hooks of verl, OpenRLHF and slime, called as those frameworks call them."""

from __future__ import annotations

import asyncio
import inspect
import types

import httpx
import pytest

from trainer_client.adapters import endpoint as endpoints
from trainer_client.adapters import nemo_rl, openrlhf, slime, verl
from trainer_client.adapters.endpoint import endpoint
from trainer_client.client_errors import RequestRefused, VerificationAborted

URL = "http://service"


@pytest.fixture(autouse=True)
def served(service, monkeypatch):
    """Endpoints made in a test talk to its service, and are gone after it."""
    for name in ("CLIENT_URL", "CLIENT_VERIFIERS", "CLIENT_DEADLINE_S", "CLIENT_UNSCORED", "TOKEN"):
        monkeypatch.delenv(f"VERIFIER_{name}", raising=False)
    made = []
    original = endpoints.VerifierClient

    def client(urls, **options):
        options = {**options, "max_infrastructure_retries": 0}
        made.append(original(urls, transport=lambda: httpx.MockTransport(service), **options))
        return made[-1]

    monkeypatch.setattr(endpoints, "VerifierClient", client)
    endpoints._made.cache_clear()
    yield
    endpoints._made.cache_clear()
    for one in made:
        one.close()


def fail_on(service, text):
    service.verdict = lambda given, spec: service.unscored(spec) if given == text else None


# --- verl


async def verl_call(text, truth, extra=None, **options):
    """By keyword, as verl's managers call it."""
    return await verl.compute_score(
        data_source="d", solution_str=text, ground_truth=truth, extra_info=extra, verifier_url=URL, **options
    )


def test_verl_finds_the_function_to_be_async():
    assert inspect.iscoroutinefunction(verl.compute_score)


async def test_verl_gets_a_score_and_the_same_keys_for_every_sample(service):
    fail_on(service, "lost")
    samples = [
        await verl_call("42", "42"),
        await verl_call("41", "42"),
        await verl_call("42", '[{"kind": "math", "gold": "42", "weight": 3.0}]'),
        await verl_call("1", "42", {"verifiers": [{"kind": "math", "gold": "1"}], "index": 7}),
        await verl_call("lost", "42", unscored_score=0.25),
    ]
    assert [sample["score"] for sample in samples] == [1.0, 0.0, 3.0, 1.0, 0.25]
    assert [sample["acc"] for sample in samples] == [1.0, 0.0, 1.0, 1.0, 0.0]
    assert [sample["unscored"] for sample in samples] == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert len({tuple(sample) for sample in samples}) == 1


async def test_verl_has_no_null_so_an_unscored_sample_raises(service):
    fail_on(service, "lost")
    with pytest.raises(VerificationAborted, match="verl has no value for that"):
        await verl_call("lost", "42")


async def test_samples_of_verl_that_come_together_travel_together(service):
    scores = await asyncio.gather(*(verl_call(f"{n}", "7") for n in range(100)))
    assert [sample["score"] for sample in scores] == [float(n == 7) for n in range(100)]
    assert len(service.requests) <= 3


def test_verls_batch_manager_gets_one_list():
    samples = verl.compute_score_batch(
        data_sources=["d"] * 3,
        solution_strs=["1", "2", "3"],
        ground_truths=["1", "1", "3"],
        extra_infos=[None] * 3,
        verifier_url=URL,
    )
    assert [sample["score"] for sample in samples] == [1.0, 0.0, 1.0]


class Ids(list):
    """Token ids with the little of a tensor that is read."""

    @property
    def shape(self):
        return (len(self),)

    def __getitem__(self, index):
        found = super().__getitem__(index)
        return Ids(found) if isinstance(index, slice) else found

    def sum(self):
        return sum(self)


async def test_verls_reward_manager_decodes_scores_and_names_its_extras(monkeypatch):
    tokenizer = types.SimpleNamespace(decode=lambda ids, skip_special_tokens: "".join(map(str, ids)))
    config = {"reward": {"reward_kwargs": {"verifier_url": URL, "verifiers": "math"}}}
    manager = verl.VerifierRewardManager(config, tokenizer, compute_score=None, reward_router_address=None)
    item = types.SimpleNamespace(
        batch={"responses": Ids([4, 2, 0, 0]), "attention_mask": Ids([1, 1, 1, 1, 0, 0])},
        non_tensor_batch={"data_source": "d", "reward_model": {"ground_truth": "42"}, "extra_info": {}},
    )
    result = await manager.run_single([item])
    assert result == {"reward_score": 1.0, "reward_extra_info": {"score": 1.0, "acc": 1.0, "unscored": 0.0}}
    with pytest.raises(ValueError, match="VERIFIER_CLIENT_URL"):
        verl.VerifierRewardManager({}, tokenizer)


# --- OpenRLHF


async def test_openrlhf_gets_lists_as_long_as_asked():
    reward_func = openrlhf.make_reward_func(URL, "math")
    queries = ["<s>what is 6*7?42</s>", "<s>what is 6*7?41</s>"]
    answer = await asyncio.to_thread(reward_func, queries, ["what is 6*7?"] * 2, ["42", "42"])
    assert [float(value) for value in answer["rewards"]] == [1.0, 0.0]
    assert [float(value) for value in answer["scores"]] == [1.0, 0.0]
    assert [float(value) for value in answer["extra_logs"]["pass_rate"]] == [1.0, 0.0]


def test_openrlhf_may_ask_about_nothing():
    answer = openrlhf.make_reward_func(URL)([], [], [])
    assert len(answer["rewards"]) == len(answer["scores"]) == 0


def test_openrlhf_hears_of_an_unscored_sample_by_an_exception(service):
    fail_on(service, "42")
    with pytest.raises(VerificationAborted, match="OpenRLHF"):
        openrlhf.make_reward_func(URL)(["p42"], ["p"], ["42"])


@pytest.mark.parametrize(
    ("query", "prompt", "response"),
    [
        ("What?42", "What?", "42"),
        ("<s>What?42</s>", "What?", "42"),
        ("<|im_start|>user\nWhat?<|im_end|>\n<|im_start|>assistant\n42<|im_end|>\n", "other", "42"),
        ("What?42<|im_end|><|endoftext|><|endoftext|>", "What?", "42"),
        ("What?<think>a</think>\\boxed{42}", "What?", "<think>a</think>\\boxed{42}"),
        ("no prompt in it", "What?", "no prompt in it"),
        ("What? What? 42", "What?", " What? 42"),
        ("", "", ""),
    ],
)
def test_the_response_is_cut_out_of_a_decoded_query(query, prompt, response):
    assert openrlhf.response_text(query, prompt) == response


# --- slime

ARGS = types.SimpleNamespace(rm_url=URL)


def sample(text, label="42", **metadata):
    return types.SimpleNamespace(prompt="p", response=text, label=label, metadata=metadata, remove_sample=False)


async def test_slime_gets_a_number_for_a_sample_and_a_list_for_a_group():
    assert await slime.custom_rm(ARGS, sample("42")) == 1.0
    assert await slime.custom_rm(ARGS, sample("1", verifiers=[{"kind": "math", "gold": "1"}]), evaluation=True) == 1.0
    assert await slime.custom_rm(ARGS, [sample("1"), sample("42"), sample("1")]) == [0.0, 1.0, 0.0]


async def test_slime_raises_for_what_stays_unscored(service):
    fail_on(service, "lost")
    with pytest.raises(VerificationAborted, match="slime"):
        await slime.custom_rm(ARGS, sample("lost"))
    with pytest.raises(VerificationAborted, match="slime"):
        await slime.custom_rm(ARGS, [sample("42"), sample("lost")])


async def test_a_neutral_substitute_leaves_the_groups_mean_and_is_taken_out_of_the_loss(service, monkeypatch):
    monkeypatch.setenv("VERIFIER_CLIENT_UNSCORED", "neutral")
    fail_on(service, "lost")
    group = [sample("42"), sample("1"), sample("2"), sample("3"), sample("lost")]
    assert await slime.custom_rm(ARGS, group) == [1.0, 0.0, 0.0, 0.0, 0.25]
    assert [one.remove_sample for one in group] == [False] * 4 + [True]
    with pytest.raises(VerificationAborted):
        await slime.custom_rm(ARGS, [sample("lost")])


# --- endpoints


def test_an_endpoint_is_made_once_and_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("VERIFIER_CLIENT_URL", "http://a, http://b")
    monkeypatch.setenv("VERIFIER_CLIENT_VERIFIERS", "math,format")
    monkeypatch.setenv("VERIFIER_CLIENT_DEADLINE_S", "33")
    at = endpoint()
    assert at is endpoint()
    assert at.client.settings.urls == ("http://a", "http://b")
    assert at.client.settings.deadline_s == 33
    assert [spec["kind"] for spec in at.recipe.templates] == ["math", "format"]
    monkeypatch.setenv("VERIFIER_CLIENT_VERIFIERS", '[{"kind": "math", "weight": 2}]')
    assert endpoint().recipe.templates == ({"kind": "math", "weight": 2},)


def test_an_endpoint_needs_a_url():
    with pytest.raises(ValueError, match="VERIFIER_CLIENT_URL"):
        endpoint()


async def test_a_label_that_cannot_be_verified_is_the_callers_bug():
    with pytest.raises(RequestRefused):
        await verl_call("x", None)


def test_deadlines_of_single_samples_are_those_of_the_endpoint(service):
    at = endpoint(URL, deadline_s=50)
    at.coalescer.submit({"completions": ["42"], "verifiers": [{"kind": "math", "gold": "42"}]}).result()
    assert 20 < service.requests[0]["deadline_s"] < 50


# --- NeMo-RL


@pytest.fixture
def nemo_rl_modules(monkeypatch):
    """The two modules that the environment needs of its framework, with what it needs of them."""
    import collections
    import sys

    names = "observations metadata next_stop_strings rewards terminateds answers"
    interfaces = types.SimpleNamespace(EnvironmentReturn=collections.namedtuple("EnvironmentReturn", names))
    torch = types.SimpleNamespace(tensor=lambda values, dtype: values, ones=lambda n: [1.0] * n, float32="float32")
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "nemo_rl", types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "nemo_rl.environments", types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "nemo_rl.environments.interfaces", interfaces)


def conversation(text):
    return [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}]


def test_nemo_rls_environment_ends_each_episode_with_a_reward(service, nemo_rl_modules):
    environment = nemo_rl.VerifierEnvironment({"verifier_url": URL, "verifiers": ["math"]})
    metadata = [{"ground_truth": "42"}, {"ground_truth": "42"}, {"verifiers": [{"kind": "math", "gold": "7"}]}]
    answer = environment.step([conversation("42"), conversation("1"), conversation("7")], metadata)
    assert answer.rewards == [1.0, 0.0, 1.0]
    assert answer.terminateds == [1.0] * 3
    assert len(answer.observations) == len(answer.next_stop_strings) == len(answer.answers) == 3
    fail_on(service, "lost")
    with pytest.raises(VerificationAborted, match="NeMo-RL"):
        environment.step([conversation("lost")], [{"ground_truth": "42"}])
