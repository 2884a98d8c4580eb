"""Golden requests and answers of OpenRLHF's and slime's remote rewards."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from verifier_service.settings import Settings

CODE = {
    "kind": "code",
    "tests": {
        "style": "stdin",
        "cases": [{"stdin": "2\n", "expected_stdout": "4\n"}, {"stdin": "3\n", "expected_stdout": "6\n"}],
    },
    "scoring": "fraction",
}
FORMAT = {"kind": "format", "style": "think_boxed", "weight": 0.5}
DOUBLE = "```python\nprint(int(input()) * 2)\n```"
FOUR = "```python\nprint(4)\n```"
PROMPT = "<|im_start|>user\nTwice?<|im_end|>\n<|im_start|>assistant\n"
WELL_FORMED = "<think>so</think>\n\\boxed{5}"


async def openrlhf(service: Any, query: list[str], prompts: list[str], labels: list[Any]) -> Any:
    return await service.http.post("/get_reward", json={"query": query, "prompts": prompts, "labels": labels})


async def test_openrlhf_gets_rewards_scores_and_logs_in_its_order(service: Any) -> None:
    queries = [PROMPT + DOUBLE + "<|im_end|>\n", PROMPT + FOUR + "<|im_end|>", PROMPT + "no idea<|im_end|>"]
    response = await openrlhf(service, queries, [PROMPT] * 3, [json.dumps(CODE)] * 3)
    assert response.status_code == 200
    assert response.json() == {
        "rewards": [1.0, 0.5, 0.0],
        "scores": [1.0, 0.5, 0.0],
        "extra_logs": {"correct": [1.0, 0.0, 0.0]},
    }


async def test_openrlhf_answers_empty_lists_with_empty_lists(service: Any) -> None:
    response = await openrlhf(service, [], [], [])
    assert (response.status_code, response.json()) == (200, {"rewards": [], "scores": [], "extra_logs": {}})


async def test_a_list_of_specs_is_weighed(service: Any) -> None:
    label = json.dumps([FORMAT, {"kind": "format", "style": "think_only", "weight": 1.5}])
    response = await openrlhf(service, [PROMPT + WELL_FORMED], [PROMPT], [label])
    assert response.json()["rewards"] == [2.0]
    assert response.json()["scores"] == [1.0]


async def test_openrlhf_without_labels_is_a_422(service: Any) -> None:
    response = await service.http.post("/get_reward", json={"query": ["a"], "prompts": ["a"]})
    assert response.status_code == 422
    assert "labels" in response.json()["detail"]


async def test_a_query_of_another_prompt_is_never_scored(service: Any) -> None:
    response = await openrlhf(service, ["something else \\boxed{5}"], ["a prompt"], [json.dumps(FORMAT)])
    assert response.status_code == 422


async def test_openrlhf_gets_a_503_and_no_number_from_a_dead_sandbox(
    service_with: Any, plain_backend: Any, monkeypatch: pytest.MonkeyPatch, quick_pauses: None
) -> None:
    from verifier_service.api.compat import openrlhf as route

    monkeypatch.setattr(route, "DEADLINE_S", 0.3)
    async with service_with(Settings(math_workers=1), plain_backend(fault="gone")) as service:
        response = await openrlhf(service, [PROMPT + DOUBLE], [PROMPT], [json.dumps(CODE)])
    assert response.status_code == 503
    assert "rewards" not in response.json()


async def test_a_sandbox_that_comes_back_scores_after_all(service_with: Any, plain_backend: Any, quick_pauses: None) -> None:
    backend = plain_backend(fault="restarting")
    async with service_with(Settings(math_workers=1), backend) as service:
        sent = asyncio.create_task(openrlhf(service, [PROMPT + DOUBLE], [PROMPT], [json.dumps(CODE)]))
        await asyncio.sleep(0.3)
        backend.fault = ""
        assert (await sent).json()["rewards"] == [1.0]


@pytest.mark.parametrize(
    "label",
    [
        None,
        "",
        "  ",
        True,
        [],
        {},
        [1, 2],
        '{"kind": "code"}',
        '[{"kind": "math"}]',
        json.dumps([FORMAT] * 17),
    ],
)
async def test_a_label_that_asks_for_nothing_that_can_be_done_is_a_422(service: Any, label: Any) -> None:
    response = await service.http.post("/remote_rm", json={"prompt": "p", "response": "r", "label": label})
    assert response.status_code == 422
    assert "label" in response.json()["detail"]


async def test_a_kind_that_is_not_installed_is_a_422_that_names_those_that_are(service: Any) -> None:
    response = await service.http.post("/remote_rm", json={"prompt": "p", "response": "r", "label": {"kind": "magic"}})
    assert response.status_code == 422
    assert response.json()["detail"] == "kind: no verifier of this kind; this service has code, format, math"


async def test_a_task_without_tests_is_a_422_and_never_a_one(service: Any) -> None:
    label = {"kind": "code", "tests": {"style": "stdin", "cases": []}}
    response = await service.http.post("/remote_rm", json={"prompt": "p", "response": DOUBLE, "label": label})
    assert response.status_code == 422
    assert "no tests" in response.json()["detail"]


async def test_a_limit_above_the_ceiling_is_a_422(service: Any) -> None:
    label = CODE | {"limits": {"memory_mb": 1_000_000}}
    response = await service.http.post("/remote_rm", json={"prompt": "p", "response": DOUBLE, "label": label})
    assert response.status_code == 422
    assert "memory_mb" in response.json()["detail"]


async def test_slime_gets_a_bare_number(service: Any) -> None:
    sent = {"prompt": [{"role": "user", "content": "x"}], "response": FOUR, "label": json.dumps(CODE), "extra": 1}
    response = await service.http.post("/remote_rm", json=sent)
    assert (response.status_code, response.json()) == (200, 0.5)


async def test_slime_gets_an_object_when_it_has_a_reward_key(service: Any) -> None:
    response = await service.http.post("/remote_rm?full=true", json={"prompt": "", "response": WELL_FORMED, "label": FORMAT})
    assert response.json() == {"reward": 0.5, "score": 1.0, "outcome": "correct", "outcomes": ["correct"]}


async def test_no_answer_tells_the_expected_output(service: Any) -> None:
    secret = {"kind": "code", "tests": {"style": "stdin", "cases": [{"stdin": "", "expected_stdout": "hush-4711"}]}}
    for path, body in (
        ("/remote_rm?full=true", {"prompt": "", "response": FOUR, "label": secret}),
        ("/get_reward", {"query": [FOUR], "prompts": [""], "labels": [secret]}),
    ):
        response = await service.http.post(path, json=body)
        assert response.status_code == 200
        assert "hush-4711" not in response.text


@pytest.mark.parametrize(
    ("gold", "reply", "reward"), [("1/2", "\\boxed{0.5}", 1.0), ("1/2", "\\boxed{2}", 0.0), (7, "\\boxed{7}", 1.0)]
)
async def test_a_plain_label_is_a_gold(maths: Any, gold: Any, reply: str, reward: float) -> None:
    response = await maths.http.post("/remote_rm", json={"prompt": "p", "response": reply, "label": gold})
    assert (response.status_code, response.json()) == (200, reward)


async def test_a_gold_may_look_like_json(maths: Any) -> None:
    for gold, reply in (("[0, 1)", "\\boxed{[0, 1)}"), ("{1, 2}", "\\boxed{\\{1, 2\\}}"), ("[1, 2]", "\\boxed{[1, 2]}")):
        response = await maths.http.post("/remote_rm", json={"prompt": "p", "response": reply, "label": gold})
        assert (response.status_code, response.json()) == (200, 1.0), gold


async def test_without_any_sandbox_code_is_a_503_at_once_and_the_rest_scores(service_with: Any) -> None:
    async with service_with(Settings(math_workers=1), None) as service:
        response = await asyncio.wait_for(openrlhf(service, [PROMPT + DOUBLE], [PROMPT], [json.dumps(CODE)]), 5)
        assert response.status_code == 503
        assert "no sandbox" in response.json()["detail"]
        response = await openrlhf(service, [PROMPT + WELL_FORMED], [PROMPT], [json.dumps(FORMAT)])
        assert response.json()["rewards"] == [0.5]
