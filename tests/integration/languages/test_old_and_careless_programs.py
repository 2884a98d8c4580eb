"""Programs that contest sites take, though a compiler or its conventions might not."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from verifier_service.sandbox.contract import Ending, Limits, Program, SandboxBackend
from verifier_service.sandbox.select import make_docker_backend
from verifier_service.settings import Settings

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]

MAIN = "{ public static void main(String[] a) { System.out.println(42); } }"
PROGRAMS = {
    "C without includes": ("c", 'main() { char line[9]; gets(line); printf("%d\\n", 2 * atoi(line)); exit(0); }'),
    "C with pointers of another type": (
        "c",
        '#include <stdio.h>\nint main(void) { int n; char *p = &n; scanf("%d", p); printf("%d\\n", 2 * n); return 0; }',
    ),
    "Java that speaks of a public class": ("java", f"// a public class to begin with\npublic class Answer {MAIN}"),
    "Java with public types inside another": ("java", f"class A {{ public enum B {{ C }} }}\npublic class Answer {MAIN}"),
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def backend() -> AsyncIterator[SandboxBackend]:
    backend = make_docker_backend(Settings(sandbox_slots=1, sandbox_spares=1), profile="compiled")
    await backend.start()
    yield backend
    await backend.aclose()


@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_program_that_contest_sites_take_runs(backend: SandboxBackend, name: str) -> None:
    language, source = PROGRAMS[name]
    async with backend.run(Program(language, source, (b"21\n",)), Limits(cpu_time_s=5, wall_time_s=60)) as execution:
        (end,) = [termination async for termination in execution]
    assert (end.ending, end.exit_code, end.stdout) == (Ending.EXITED, 0, b"42\n"), end.stderr
