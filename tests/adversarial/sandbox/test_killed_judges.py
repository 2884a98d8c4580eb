"""A submission that kills whoever judges it has failed; it is not left without a verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from verifier_protocol import CodeSpec, Outcome, ScoredVerdict
from verifier_service.sandbox.pooled import PooledBackend
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.verifier import CodeVerifier

pytestmark = pytest.mark.asyncio(loop_scope="module")

KILLS = """
import os, signal, time
def kill_all_but(kept):
    for _ in range(20):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) not in kept:
                try:
                    os.kill(int(name), signal.SIGKILL)
                except OSError:
                    pass
        time.sleep(0.01)
"""
# The judge is the youngest process that isn't the submission: the zygotes were there long before.
KILLS_ITS_JUDGE = (
    KILLS + "kill_all_but({1, os.getpid(), *range(2, max(int(n) for n in os.listdir('/proc') if n.isdigit()) - 1)})\n"
)
KILLS_EVERYBODY = KILLS + "kill_all_but({1, os.getpid()})\n"
ANSWER = "def answer():\n    return 42\n"
TESTS = {
    "asserts": {"style": "asserts", "code": "assert answer() == 42\nassert answer() == 42", "entry_point": "answer"},
    "function": {"style": "function", "entry_point": "answer", "cases": [{"args": [], "expected": 42}]},
    "interactive": {
        "style": "interactive",
        "interactor": {"source": "import sys\nprint(42)\nsys.exit(input() != '42')"},
        "cases": [{"stdin": ""}],
    },
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def verifier(one_slot: PooledBackend) -> AsyncIterator[CodeVerifier]:
    yield CodeVerifier(one_slot, Settings())


async def scored(verifier: CodeVerifier, style: str, source: str) -> ScoredVerdict:
    task = verifier.prepare(CodeSpec.model_validate({"kind": "code", "tests": TESTS[style]}))
    return await verifier.verify(task, f"```python\n{source}```", Deadline.after(100))


@pytest.mark.parametrize("style", TESTS)
@pytest.mark.parametrize("kills", [KILLS_ITS_JUDGE, KILLS_EVERYBODY], ids=["its judge", "everybody"])
async def test_who_kills_its_judge_is_scored_zero_and_the_next_one_as_ever(
    verifier: CodeVerifier, style: str, kills: str
) -> None:
    body = "print(input())\n" if style == "interactive" else ANSWER
    honest = await scored(verifier, style, body)
    assert honest.outcome is Outcome.CORRECT, honest
    hostile = await scored(
        verifier, style, kills + ("import sys\nsys.exit(3)\n" if style == "interactive" else "answer = lambda: 41\n")
    )
    assert hostile.score == 0, hostile
    assert (await scored(verifier, style, body)).outcome is Outcome.CORRECT
