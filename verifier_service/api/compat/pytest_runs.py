"""SandboxFusion's language `pytest`: a Python text with tests in it, passed when pytest passes."""

from __future__ import annotations

from dataclasses import replace

from verifier_service.api.problems import RequestRefused
from verifier_service.sandbox.contract import Ending
from verifier_service.scoring.flights import Run
from verifier_service.scoring.runs import Runs
from verifier_service.verifiers.base import Deadline

NAME = "pytest"
FILE = "test_submission.py"

_PROBE = "import pytest"
_DRIVER = f"""
import sys, pytest
sys.exit(int(pytest.main(["-p", "no:cacheprovider", {FILE!r}])))
"""


async def as_pytest(run: Run, runs: Runs, deadline: Deadline) -> Run:
    """The run of pytest on that program's text.

    Raises:
        RequestRefused: 422; there is no pytest where programs run. Every test would fail, which would look like a verdict.
        DeadlineExceeded, InfrastructureFault: as `Runs.run`.
    """
    there = await runs.run(Run("python", _PROBE, run.limits), deadline)
    if there.ending is Ending.EXITED and there.exit_code:
        raise RequestRefused(422, "language: pytest is not installed where this service runs programs", "language")
    return replace(run, source=_DRIVER, files=(*run.files, (FILE, run.source.encode("utf-8", "surrogatepass"))))
