"""What POST /score answers when the request is in order."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from verifier_protocol import ScoreResponse
from verifier_service.api.examples import SCORE_EXAMPLES

RIGHT = "<think>2 + 2</think>\n\\boxed{4}"
WRONG = "<think>guess</think>\n\\boxed{5}"


def post(live: Any, body: Any, path: str = "/score") -> dict[str, Any]:
    reply = live.http.post(path, json=body)
    assert reply.status_code == 200, reply.text
    ScoreResponse.model_validate_json(reply.content)
    answer: dict[str, Any] = reply.json()
    return answer


def test_the_short_form_is_one_group_of_one_completion(live: Any) -> None:
    answer = post(live, {"completion": RIGHT, "gold": "4"})
    assert answer["protocol"] == "1"
    assert [g["rewards"] for g in answer["groups"]] == [[1.0]]
    verdict = answer["groups"][0]["verdicts"][0][0]
    assert (verdict["status"], verdict["kind"], verdict["outcome"]) == ("scored", "math", "correct")
    assert verdict["verifier"]["name"] == "math"
    assert verdict["verifier"]["version"]


def test_a_group_with_a_gold_has_one_math_verifier(live: Any) -> None:
    result = post(live, {"groups": [{"completions": [RIGHT, WRONG], "gold": "4"}]})["groups"][0]
    assert result["rewards"] == [1.0, 0.0]


def test_both_paths_answer_alike(live: Any) -> None:
    body = {"completion": WRONG, "gold": "4"}
    first, second = (post(live, body, path)["groups"][0]["rewards"] for path in ("/score", "/v1/score"))
    assert first == second == [0.0]


def test_a_composite_reward_is_the_weighted_sum_in_the_order_sent(live: Any) -> None:
    group = {
        "id": "prompt-17",
        "completions": [
            RIGHT,
            WRONG,
            "The answer is 4.",
            [{"role": "user", "content": "?"}, {"role": "assistant", "content": RIGHT}],
        ],
        "verifiers": [{"kind": "math", "gold": "4"}, {"kind": "format", "weight": 0.5}],
    }
    result = post(live, {"groups": [group], "deadline_s": 30})["groups"][0]
    assert result["id"] == "prompt-17"
    assert result["rewards"] == [1.5, 0.5, 0.0, 1.5]
    assert [[v["kind"] for v in row] for row in result["verdicts"]] == [["math", "format"]] * 4
    assert result["stats"]["pass_rate"] == 0.5
    assert result["stats"]["unscored"] == 0
    assert result["stats"]["zero_variance"] is False


def test_without_a_sandbox_code_is_unscored_with_a_way_out_and_the_others_score(live: Any) -> None:
    code = {"kind": "code", "tests": {"style": "stdin", "cases": [{"expected_stdout": "1"}]}}
    group = {"completions": [f"{RIGHT}\n```python\nprint(1)\n```"], "verifiers": [{"kind": "math", "gold": "4"}, code]}
    result = post(live, {"groups": [group]})["groups"][0]
    assert result["rewards"] == [None]
    scored, unscored = result["verdicts"][0]
    assert scored["score"] == 1.0
    assert (unscored["status"], unscored["reason"], unscored["retryable"]) == ("unscored", "infrastructure", True)
    assert unscored["detail"]


def test_a_gold_that_cannot_be_read_is_a_bad_task_and_no_zero(live: Any) -> None:
    result = post(live, {"completion": RIGHT, "gold": "\\frac{"})["groups"][0]
    assert result["rewards"] == [None]
    verdict = result["verdicts"][0][0]
    assert (verdict["reason"], verdict["retryable"]) == ("bad_task", False)


@pytest.mark.parametrize(
    ("escaped", "reward"),
    [
        (r"\\boxed{\ud8004}", 0.0),
        (r"\udfff\\boxed{4}", 1.0),
        (r"\ud83d\ude00\\boxed{4}", 1.0),
        (r"\ud800\ud83d\ude00\\boxed{4}", 1.0),
        (r"\\\\ud800 \\boxed{4}", 1.0),
    ],
)
def test_a_lone_surrogate_is_a_character_like_any_other_and_costs_the_batch_nothing(
    live: Any, escaped: str, reward: float
) -> None:
    raw = f'{{"groups": [{{"completions": ["{escaped}", "\\\\boxed{{4}}"], "verifiers": [{{"kind": "math", "gold": "4"}}]}}]}}'
    reply = live.http.post("/score", content=raw, headers={"content-type": "application/json"})
    assert reply.status_code == 200, reply.text
    assert reply.json()["groups"][0]["rewards"] == [reward, 1.0]


def test_a_wrong_answer_shows_nothing_of_the_gold(live: Any) -> None:
    reply = live.http.post("/score", json={"completion": WRONG, "gold": "987654321987"})
    assert reply.json()["groups"][0]["rewards"] == [0.0]
    assert "987654321987" not in reply.text


def test_many_groups_come_back_in_order(live: Any) -> None:
    groups = [
        {"id": str(i), "completions": [f"\\boxed{{{i}}}", f"\\boxed{{{i + 1}}}"], "verifiers": [{"kind": "math", "gold": str(i)}]}
        for i in range(150)
    ]
    result = post(live, {"groups": groups})["groups"]
    assert [g["id"] for g in result] == [str(i) for i in range(150)]
    assert all(g["rewards"] == [1.0, 0.0] for g in result)


@pytest.mark.parametrize("name", sorted(SCORE_EXAMPLES))
def test_every_example_of_the_openapi_page_works_when_pasted(live: Any, name: str) -> None:
    post(live, SCORE_EXAMPLES[name]["value"])


def test_the_openapi_document_describes_what_is_sent_and_answered(live: Any) -> None:
    document = live.http.get("/openapi.json").json()
    operation = document["paths"]["/v1/score"]["post"]
    body = operation["requestBody"]["content"]["application/json"]
    resolver = {"$ref": body["schema"]["$ref"], "components": document["components"]}
    for example in body["examples"].values():
        jsonschema.validate(example["value"], resolver)
    answer = post(live, body["examples"]["group"]["value"])
    answered = operation["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.validate(answer, {"$ref": answered["$ref"], "components": document["components"]})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"groups": "all"}, resolver)


def test_liveness_needs_nothing_and_readiness_names_what_is_missing(live: Any) -> None:
    assert live.http.get("/healthz").json() == {"status": "ok"}
    reply = live.http.get("/readyz")
    assert reply.status_code == 503
    kinds = reply.json()["kinds"]
    assert kinds["math"] == {"ready": True, "detail": "ok"}
    assert kinds["format"] == {"ready": True, "detail": "ok"}
    assert kinds["code"]["ready"] is False
    assert live.http.get("/readyz", params={"kinds": "math,format"}).status_code == 200
    assert live.http.get("/readyz", params={"kinds": "astrology"}).status_code == 422


def test_verifiers_tell_their_versions(live: Any) -> None:
    found = live.http.get("/v1/verifiers").json()
    assert set(found["verifiers"]) >= {"math", "format", "code"}
    assert all(v["version"] for v in found["verifiers"].values())


def test_metrics_count_verdicts_and_never_a_client_s_words(live: Any) -> None:
    post(live, {"groups": [{"id": "secret-id", "completions": ["secret-words"], "verifiers": [{"kind": "math", "gold": "4"}]}]})
    live.http.get("/secret-path")
    text = live.http.get("/metrics").text
    assert 'verifier_verdicts_total{kind="math",outcome="no_answer"}' in text
    assert 'verifier_http_requests_total{route="none",status="404"}' in text
    assert "secret" not in text
