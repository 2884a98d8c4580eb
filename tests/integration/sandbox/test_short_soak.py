"""A short form of benchmarks/soak.py: mixed submissions, a good part of them hostile, while slots are thrown away all the
time; every verdict is as it must be, none is missing, and nothing stays."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import pytest_asyncio

from verifier_protocol import CodeSpec, ScoredVerdict
from verifier_service.sandbox.select import make_bubblewrap_backend, make_docker_backend
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.verifier import CodeVerifier

SETTINGS = Settings(sandbox_slots=2, sandbox_spares=1, sandbox_recycle_after=10)
CASES = Path(__file__).parents[3] / "benchmarks" / "soak_cases.py"
COUNT, SIZE = 72, 6
MAKERS = [
    pytest.param(make_docker_backend, marks=pytest.mark.docker, id="docker"),
    pytest.param(make_bubblewrap_backend, marks=pytest.mark.bubblewrap, id="bubblewrap"),
]


@pytest.fixture(scope="module")
def cases() -> ModuleType:
    spec = importlib.util.spec_from_file_location("soak_cases", CASES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["soak_cases"] = module
    spec.loader.exec_module(module)
    return module


@pytest_asyncio.fixture(params=MAKERS)
async def verifier(request: pytest.FixtureRequest) -> AsyncIterator[CodeVerifier]:
    made = CodeVerifier(request.param(SETTINGS), SETTINGS)
    try:
        await made.start()
        yield made
    finally:
        await made.aclose()


@pytest.mark.timeout(300)
async def test_no_verdict_is_wrong_or_missing_while_a_third_attacks(verifier: CodeVerifier, cases: ModuleType) -> None:
    wrong: list[Any] = []

    async def verify(group: Any) -> None:
        task = verifier.prepare(CodeSpec.model_validate(group.verifiers[0]))
        for submission in group.submissions:
            found = await verifier.verify(task, submission.completion, Deadline.after(200))
            if not isinstance(found, ScoredVerdict) or found.score != submission.reward:
                wrong.append((submission.name, submission.reward, found))

    code = [group for group in cases.groups(COUNT, 7, SIZE, 0.35) if group.verifiers[0]["kind"] == "code"]
    hostile = sum(submission.hostile for group in code for submission in group.submissions)
    assert hostile > COUNT // 6
    await asyncio.gather(*(verify(group) for group in code))
    assert wrong == []


def test_the_mix_is_as_hostile_as_it_says_and_knows_each_verdict(cases: ModuleType) -> None:
    made = [submission for group in cases.groups(20_000, 1, 8, 0.1) for submission in group.submissions]
    assert len(made) == 20_000
    assert 0.08 < sum(submission.hostile for submission in made) / len(made) < 0.12
    assert {submission.reward for submission in made} == {0.0, 0.5, 1.0, 1.5}
    assert len({submission.completion for submission in made}) == len(made)
