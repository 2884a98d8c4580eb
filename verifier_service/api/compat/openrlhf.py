"""OpenRLHF's remote reward model: `POST /get_reward`.

Its client tries five times on any failure and then trains the sample without a reward, so what was not judged is a 503
and never a number. With several URLs all but the first get empty lists, which is no error.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from verifier_protocol import Group
from verifier_service.api.compat.bodies import Lenient, check_count, check_length, json_answer, read_as
from verifier_service.api.compat.grading import Unscored, grade
from verifier_service.api.compat.labels import reply_in, score_of, specs_of
from verifier_service.api.problems import RequestRefused
from verifier_service.settings import Settings

router = APIRouter(tags=["OpenRLHF"])

DEADLINE_S = 150.0  # its client waits 180 s


class RewardRequest(Lenient):
    query: list[str]
    prompts: list[str] | None = None
    labels: list[Any] | None = None


@router.post("/get_reward", summary="Rewards for decoded samples (OpenRLHF)")
async def get_reward(request: Request) -> Response:
    """`rewards` (weighted sums), `scores` (in 0–1, for dynamic filtering) and `extra_logs`: lists of the length asked."""
    settings: Settings = request.app.state.settings
    asked, size = await read_as(request, RewardRequest)
    groups = groups_of(asked, settings)
    if not groups:
        return json_answer({"rewards": [], "scores": [], "extra_logs": {}})
    try:
        results = await grade(request, groups, min(DEADLINE_S, settings.max_deadline_s), size)
    except Unscored as e:
        return e.as_problem(503)
    scores = [score_of(r, g) for r, g in zip(results, groups, strict=True)]
    return json_answer(
        {
            "rewards": [r.rewards[0] for r in results],
            "scores": scores,
            "extra_logs": {"correct": [float(s == 1.0) for s in scores]},
        }
    )


def groups_of(asked: RewardRequest, settings: Settings) -> list[Group]:
    """Raises RequestRefused: 413 or 422."""
    count = len(asked.query)
    check_count(count, settings.max_completions, "query")
    prompts, labels = asked.prompts or [], asked.labels or []
    if len(labels) != count:
        raise RequestRefused(422, f"labels: {len(labels)} for {count} queries; each needs a gold or a spec", "labels")
    if asked.prompts is not None and len(prompts) != count:
        raise RequestRefused(422, f"prompts: {len(prompts)} for {count} queries", "prompts")
    groups = []
    for i, (query, label) in enumerate(zip(asked.query, labels, strict=True)):
        reply = reply_in(query, prompts[i] if prompts else "", f"query[{i}]")
        check_length(reply, f"query[{i}]", settings)
        groups.append(Group(completions=[reply], verifiers=specs_of(label, f"labels[{i}]", settings)))
    return groups
