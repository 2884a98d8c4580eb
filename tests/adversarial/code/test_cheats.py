"""Many cheats against each usual form of test code, in real sandboxes: none is paid."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

import pytest

from verifier_protocol import CodeSpec, ScoredVerdict
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.verifier import CodeVerifier

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="session")]

CHEATS: dict[str, str] = tomllib.loads(Path(__file__).with_name("cheats.toml").read_text())
LIMITS = {"cpu_time_s": 0.8, "wall_time_s": 2.0, "memory_mb": 256}
FORMS = {
    "plain asserts": "assert f(3) == 7\nassert f(10) == 103\nassert f(2) == 4242\n",
    "lists": "assert f([3, 1, 2]) == [9, 8, 7]\nassert f([]) == [5]\n",
    "tolerances": "import pytest\nassert f(3) == pytest.approx(7.25)\nassert abs(f(2) - 8.125) < 1e-6\n",
    "unittest": """
import unittest
class T(unittest.TestCase):
    def test_a(self): self.assertEqual(f(3), 77)
    def test_b(self): self.assertAlmostEqual(f(2), 8.125)
    def test_c(self): self.assertTrue(f(1) > 100 and f(1) < 102)
    def test_d(self): self.assertIn(f(4), [991, 992])
""",
    "an expected exception": """
import pytest
def test_r():
    with pytest.raises(ValueError, match='neg-77'):
        f(-1)
""",
}


@pytest.mark.parametrize("form", FORMS)
async def test_no_cheat_is_paid(verifier: CodeVerifier, form: str) -> None:
    spec = CodeSpec.model_validate({"kind": "code", "limits": LIMITS, "tests": {"style": "asserts", "code": FORMS[form]}})
    task = verifier.prepare(spec)
    verdicts = await asyncio.gather(
        *(verifier.verify(task, f"```python\n{source}\n```", Deadline.after(110)) for source in CHEATS.values())
    )
    found = dict(zip(CHEATS, verdicts, strict=True))
    assert {name: verdict for name, verdict in found.items() if not isinstance(verdict, ScoredVerdict)} == {}
    assert {name: verdict for name, verdict in found.items() if isinstance(verdict, ScoredVerdict) and verdict.score} == {}
