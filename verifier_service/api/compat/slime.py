"""slime's remote reward: `POST /remote_rm` answers with the reward itself, a bare number.

`?full=true` answers with an object, for `--reward-key reward`. Its client tries ten times with growing pauses and then
stops the training, so what was not judged is a 503 and never a number.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from verifier_protocol import Group, ScoredVerdict
from verifier_service.api.compat.bodies import Lenient, check_length, json_answer, read_as
from verifier_service.api.compat.grading import Unscored, grade
from verifier_service.api.compat.labels import score_of, specs_of
from verifier_service.settings import Settings

router = APIRouter(tags=["slime"])

DEADLINE_S = 100.0  # its client waits 120 s


class RemoteRequest(Lenient):
    response: str
    label: Any = None


@router.post("/remote_rm", summary="The reward of one response (slime)")
async def remote_rm(
    request: Request, full: Annotated[bool, Query(description="An object with reward, score and outcome.")] = False
) -> Response:
    settings: Settings = request.app.state.settings
    asked, size = await read_as(request, RemoteRequest)
    check_length(asked.response, "response", settings)
    group = Group(completions=[asked.response], verifiers=specs_of(asked.label, "label", settings))
    try:
        (result,) = await grade(request, [group], min(DEADLINE_S, settings.max_deadline_s), size)
    except Unscored as e:
        return e.as_problem(503)
    reward = result.rewards[0]
    if not full:
        return json_answer(reward)
    outcomes = [v.outcome.value for v in result.verdicts[0] if isinstance(v, ScoredVerdict)]
    return json_answer({"reward": reward, "score": score_of(result, group), "outcome": outcomes[0], "outcomes": outcomes})
