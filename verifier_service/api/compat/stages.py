"""The compile stage and the run stage of one `run` of the sandbox.

The sandbox compiles where a language wants it and tells how the last stage ended. Most protocols have a result for each
stage: here they are told apart, and from here on no ending is a COMPILE_ERROR any more.
"""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import NamedTuple

from verifier_service.api.compat.languages import COMPILED
from verifier_service.sandbox.contract import Ending, Termination

TIMED_OUT = frozenset({Ending.CPU_TIME, Ending.WALL_TIME})
COMPILED_WELL = Termination(Ending.EXITED, 0, None, 0.0, 0.0, 0.0, b"", b"")


class Stages(NamedTuple):
    """How each stage ended: `compile` is None for a language without that stage, `run` for a program that didn't compile.

    Of a compilation that went well neither output nor time is known: the build may be an earlier one's.
    """

    compile: Termination | None
    run: Termination | None


def stages_of(ended: Termination, language: str) -> Stages:
    """An interpreted program that doesn't compile has run, and failed as its interpreter does: with status 1."""
    if ended.ending is not Ending.COMPILE_ERROR:
        return Stages(COMPILED_WELL if language in COMPILED else None, ended)
    if language not in COMPILED:
        return Stages(None, replace(ended, ending=Ending.EXITED, exit_code=ended.exit_code or 1))
    if ended.exit_code is not None:
        return Stages(replace(ended, ending=Ending.EXITED, exit_code=ended.exit_code or 1), None)
    by_time = ended.signal == signal.SIGXCPU
    return Stages(replace(ended, ending=Ending.CPU_TIME if by_time else Ending.SIGNALLED, signal=int(signal.SIGKILL)), None)
