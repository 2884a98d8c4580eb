"""Code rewards from real sandboxes, by the columns that data sets have."""

from __future__ import annotations

import json

import pytest

from trainer_client.adapters.verl import compute_score
from trainer_client.client import VerifierClient
from trainer_client.client_sync import SyncVerifierClient
from trainer_client.trl_reward import make_reward_function

pytestmark = pytest.mark.docker

DOUBLE = "```python\nprint(2 * int(input()))\n```"
HALF_RIGHT = "```python\nn = int(input())\nprint(2 * n if n < 10 else n)\n```"
CRASH = "```python\nraise SystemExit(3)\n```"
PAIRS = {"inputs": ["1\n", "5\n", "20\n"], "outputs": ["2\n", "10\n", "40\n"]}


@pytest.mark.parametrize(
    "tests",
    [
        PAIRS,
        json.dumps(PAIRS),
        [{"input": i, "output": o} for i, o in zip(PAIRS["inputs"], PAIRS["outputs"], strict=True)],
        {"style": "stdin", "cases": [{"stdin": "3", "expected_stdout": "6"}, {"stdin": "30", "expected_stdout": "60"}]},
    ],
    ids=["inputs and outputs", "as JSON text", "pairs", "the protocol's own"],
)
async def test_programs_are_rewarded_by_their_tests(docker_service, tests):
    reward = make_reward_function(docker_service.url, ["code"])
    texts = [DOUBLE, HALF_RIGHT, CRASH, "no program"]
    log = {}
    rewards = await reward(completions=texts, prompts=["p"] * 4, tests=[tests] * 4, log_metric=log.__setitem__)
    reward.keywords["reward_plan"].client.close()
    assert rewards == [1.0, 0.0, 0.0, 0.0]
    assert log["verifier/code/no_answer_share"] == 0.25
    assert log["verifier/unscored_share"] == 0.0


async def test_a_fraction_may_be_asked_for(docker_service):
    reward = make_reward_function(docker_service.url, [{"kind": "code", "scoring": "fraction"}])
    rewards = await reward(completions=[DOUBLE, HALF_RIGHT], prompts=["p"] * 2, tests=[PAIRS] * 2)
    reward.keywords["reward_plan"].client.close()
    assert rewards == [1.0, pytest.approx(2 / 3)]


def test_functions_are_called_and_compared(docker_service):
    tests = {"inputs": [[[1, 2]], [[]]], "outputs": [[2, 1], []], "fn_name": "flip"}
    from trainer_client.rewards import RewardRecipe

    (spec,) = RewardRecipe.make().specs({"tests": tests})
    good, bad = "```python\ndef flip(x):\n    return x[::-1]\n```", "```python\ndef flip(x):\n    return x\n```"
    with SyncVerifierClient(docker_service.url) as client:
        assert client.score_completions([good, bad], [spec]).rewards == [1.0, 0.0]


async def test_verl_samples_with_tests_as_ground_truth(docker_service):
    sample = await compute_score("d", DOUBLE, json.dumps(PAIRS), verifier_url=docker_service.url)
    assert sample == {"score": 1.0, "acc": 1.0, "unscored": 0.0}
    from trainer_client.adapters.endpoint import endpoint

    endpoint(docker_service.url).client.close()


async def test_a_mixed_batch_in_many_requests(docker_service):
    groups = []
    for n in range(12):
        tests = {"style": "stdin", "cases": [{"stdin": f"{n}", "expected_stdout": f"{2 * n}"}]}
        groups.append({"completions": [DOUBLE, CRASH, DOUBLE], "verifiers": [{"kind": "code", "tests": tests}]})
        groups.append({"completions": [f"\\boxed{{{n}}}", "\\boxed{99}"], "verifiers": [{"kind": "math", "gold": f"{n}"}]})
    async with VerifierClient(docker_service.url, chunk_work=30.0) as client:
        results = await client.score(groups, deadline_s=60)
        assert client.metrics.requests > 5
    assert [result.rewards for result in results] == [[1.0, 0.0, 1.0], [1.0, 0.0]] * 12
