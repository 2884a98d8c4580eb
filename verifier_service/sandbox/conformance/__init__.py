"""The conformance suite: what every backend must do, as named checks that run against a started backend.

    from verifier_service.sandbox.conformance import CHECKS
    await CHECKS["a right program exits with 0 and its output"](backend)

A check returns if the backend conforms and raises AssertionError otherwise. Checks that plant something and look for it
afterwards run several programs, so that they meet every slot.
"""

from __future__ import annotations

from verifier_service.sandbox.conformance.crowds import CROWDS
from verifier_service.sandbox.conformance.isolation import ISOLATION
from verifier_service.sandbox.conformance.judged import JUDGED
from verifier_service.sandbox.conformance.limits import LIMITS
from verifier_service.sandbox.conformance.programs import Check
from verifier_service.sandbox.conformance.semantics import SEMANTICS

CHECKS: dict[str, Check] = {
    check.__name__.replace("_", " "): check for check in (*SEMANTICS, *LIMITS, *ISOLATION, *JUDGED, *CROWDS)
}

__all__ = ["CHECKS", "Check"]
