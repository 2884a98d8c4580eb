"""The limits of a task: what it asks for, else the service's default; nothing above the service's ceiling."""

from __future__ import annotations

from verifier_protocol import CodeLimits
from verifier_service.sandbox.contract import Limits
from verifier_service.sandbox.ranges import ceilings, defaults
from verifier_service.settings import Settings
from verifier_service.verifiers.base import SpecRefused

NAMES = ("cpu_time_s", "wall_time_s", "memory_mb", "processes", "output_bytes", "file_bytes")


def resolve(asked: CodeLimits, settings: Settings) -> Limits:
    """The limits that hold.

    Raises:
        SpecRefused: one is above its ceiling; the message names both.
    """
    default, ceiling = defaults(settings), ceilings(settings)
    values = {}
    for name in NAMES:
        value, highest = getattr(asked, name), getattr(ceiling, name)
        if value is None:
            value = min(getattr(default, name), highest)
        elif value > highest:
            raise SpecRefused(f"limits.{name}", f"{name} is {value:g}; this service allows at most {highest:g}")
        values[name] = value
    return Limits(**values)
