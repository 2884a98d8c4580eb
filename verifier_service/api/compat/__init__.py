"""Routes of other systems, so that trainers which speak to those are pointed here unchanged (docs/compatibility.md).

Rules of all of them: unknown fields are ignored; work is queued, not shed; a completion that was not judged is never
answered with a 0 where the protocol, or the status of the answer, can say otherwise.
"""

from __future__ import annotations

from fastapi import APIRouter

from verifier_service.api.compat import (
    code_judge,
    judge0,
    nemo_gym,
    open_instruct,
    open_r1,
    openrlhf,
    piston,
    sandbox_fusion,
    scalebox,
    slime,
)


def routers() -> list[APIRouter]:
    """One router for each system."""
    modules = (sandbox_fusion, scalebox, openrlhf, slime, open_instruct, nemo_gym, open_r1, piston, code_judge, judge0)
    return [module.router for module in modules]
