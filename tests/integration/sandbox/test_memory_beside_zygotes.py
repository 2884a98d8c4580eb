"""However much a slot has loaded for its programs, each has the memory that it was promised, and not much more."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from verifier_service.sandbox.conformance.programs import run
from verifier_service.sandbox.contract import Ending, JudgedProgram, JudgedTermination, Limits
from verifier_service.sandbox.docker_backend import DockerBackend
from verifier_service.sandbox.select import make_docker_backend
from verifier_service.settings import Settings
from verifier_service.verifiers.code.harness import bundle

pytestmark = pytest.mark.docker
MEMORY_MB = 128
TAKES = "data = bytearray({mb} << 20)\nfor i in range(0, len(data), 4096): data[i] = 1\nprint('there')"
KINDS = ("", "import numpy\n", "import asyncio\n", "import asyncio, numpy\n")


@pytest_asyncio.fixture
async def backend() -> AsyncIterator[DockerBackend]:
    made = make_docker_backend(Settings(sandbox_slots=1, sandbox_spares=0, sandbox_profiles="python"))
    await made.start()
    yield made
    await made.aclose()


async def judged(backend: DockerBackend, imports: str) -> None:
    """Has the slot load the zygotes of tests of this kind."""
    payload = {"style": "asserts", "code": f"{imports}def check(f):\n    assert f(1) == 1\n", "entry_point": "f", "stop": True}
    program = JudgedProgram(
        "python",
        f"{imports}def f(x): return x\n",
        bundle.submission_harness(),
        bundle.judge_harness(),
        (json.dumps(payload).encode(),),
    )
    async with backend.run_judged(program, Limits(memory_mb=MEMORY_MB)) as execution:
        ends = [event async for event in execution if isinstance(event, JudgedTermination)]
    assert ends[0].judge.exit_code == 0, ends


async def test_a_program_has_its_memory_whatever_the_slot_has_loaded(backend: DockerBackend) -> None:
    for imports in KINDS:
        await judged(backend, imports)
        end = await run(backend, TAKES.format(mb=MEMORY_MB - 12), memory_mb=MEMORY_MB)
        assert (end.ending, end.stdout) == (Ending.EXITED, b"there\n"), (imports, end)


async def test_a_program_is_not_given_what_others_had_loaded_before(backend: DockerBackend) -> None:
    for imports in KINDS:
        await judged(backend, imports)
    end = await run(backend, TAKES.format(mb=MEMORY_MB + 48), memory_mb=MEMORY_MB)
    assert end.ending is Ending.MEMORY, end
