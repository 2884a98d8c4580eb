"""gVisor does what every sandbox must, but for the promises named here, each with its reason.

Run once for each of the engine's runtimes that is gVisor; docs/sandbox.md says how one is registered. An engine without
one has no such tests: which runtime a deployment uses is its own choice, and `runc` is tested by test_conformance.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import docker.errors
import pytest
import pytest_asyncio
import requests.exceptions

import docker
from verifier_service.sandbox.conformance import CHECKS
from verifier_service.sandbox.conformance.programs import expect_ending, expect_output, run, still_well
from verifier_service.sandbox.contract import Ending
from verifier_service.sandbox.docker_backend import DockerBackend
from verifier_service.sandbox.oci_runtime import is_gvisor
from verifier_service.sandbox.select import make_docker_backend
from verifier_service.settings import Settings

TRIED = "20240729"  # the newest build that these lists were made with; a later one may do more than they say

EXCEPTIONS = {
    "denied system calls are told": "its seccomp has no notifications: refused all the same, and no tamper sign",
    "other processes can not be read": "environ, maps and the names of descriptors are open to all users; memory is not",
    "priority can not be raised": "any process may; its scheduler takes no notice",
}
EXCEPTIONS_BEFORE_2024 = {
    "input comes by every way": "a pipe can't be given to another user, so that /dev/stdin can be read and not opened anew",
}


def gvisors() -> dict[str, str]:
    """The engine's runtimes that are gVisor, and the programs behind them; none where there is no engine."""
    try:
        with closing(docker.from_env(timeout=5)) as client:
            runtimes = client.info().get("Runtimes") or {}
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError):
        return {}
    return {name: str(entry.get("path", "")) for name, entry in runtimes.items() if is_gvisor(name, runtimes)}


def build_date(program: str) -> str:
    """YYYYMMDD of a runsc; a build that does not tell, or is another machine's, counts as new."""
    if not program or not Path(program).exists():
        return "99999999"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    found = re.search(r"\b(20\d{6})\b", said)
    return found[1] if found is not None else "99999999"


def exception(runtime: str, name: str) -> pytest.MarkDecorator | None:
    """How a listed exception is marked: it must fail in the builds that the list was made with."""
    date = build_date(GVISORS[runtime])
    reason = (EXCEPTIONS | (EXCEPTIONS_BEFORE_2024 if date < "2024" else {})).get(name)
    return None if reason is None else pytest.mark.xfail(raises=AssertionError, reason=reason, strict=date <= TRIED)


GVISORS = gvisors()


def test_an_exception_names_a_check_that_there_is() -> None:
    assert set(EXCEPTIONS) | set(EXCEPTIONS_BEFORE_2024) <= set(CHECKS)


if GVISORS:

    @pytest_asyncio.fixture(loop_scope="module", scope="module")
    async def inside(request: pytest.FixtureRequest) -> AsyncIterator[DockerBackend]:
        backend = make_docker_backend(Settings(sandbox_slots=2, sandbox_spares=1, sandbox_runtime=request.param))
        await backend.start()
        yield backend
        await backend.aclose()

    @pytest.mark.docker
    @pytest.mark.asyncio(loop_scope="module")
    @pytest.mark.parametrize("name", CHECKS)
    @pytest.mark.parametrize("inside", GVISORS, indirect=True)
    async def test_gvisor_conforms(inside: DockerBackend, name: str, request: pytest.FixtureRequest) -> None:
        if mark := exception(inside.info().runtime, name):
            request.applymarker(mark)
        await CHECKS[name](inside)

    @pytest.mark.docker
    @pytest.mark.asyncio(loop_scope="module")
    @pytest.mark.parametrize("inside", GVISORS, indirect=True)
    class TestHeldByTheRunner:
        """What its own cgroup would hold elsewhere."""

        async def test_programs_see_another_kernel(self, inside: DockerBackend) -> None:
            await expect_output(inside, "import os\nprint(os.path.exists('/proc/sentry-meminfo'))", b"True\n")

        async def test_fork_bombs_at_the_highest_process_limit_do_not_bring_it_down(self, inside: DockerBackend) -> None:
            for source in (
                "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
                "import os\nwhile True:\n    try:\n        if os.fork() == 0: os._exit(0)\n    except OSError: pass",
            ):
                end = await run(inside, source, processes=64, cpu_time_s=3.0, wall_time_s=4.0)
                assert end.ending in (Ending.PROCESSES, Ending.CPU_TIME, Ending.WALL_TIME), end
            await still_well(inside)

        async def test_memory_taken_by_many_at_once_ends_the_program_alone(self, inside: DockerBackend) -> None:
            source = (
                "import os\nfor _ in range(8):\n    if os.fork() == 0:\n        x = bytearray(b'x') * (900 << 20)\n"
                "        break\nelse:\n    os.wait()"
            )
            await expect_ending(inside, source, Ending.MEMORY, wall_time_s=30.0, cpu_time_s=30.0)
            await still_well(inside)

        async def test_more_files_than_inodes_elsewhere_are_the_programs_end(self, inside: DockerBackend) -> None:
            source = "n = 0\nwhile True:\n    open(str(n), 'w').close()\n    n += 1"
            await expect_ending(inside, source, Ending.FILE_SIZE, cpu_time_s=60.0, wall_time_s=60.0)
            await still_well(inside)
