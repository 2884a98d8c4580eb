"""What the markers `docker`, `bubblewrap` and `trainer` mean.

A machine without a Docker engine or bubblewrap skips those tests and says so; where VERIFIER_REQUIRE_DOCKER=1 or
VERIFIER_REQUIRE_BUBBLEWRAP=1 is set (CI), the same lack fails them: a skipped isolation test is how isolation is lost.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from verifier_service.sandbox.contract import SandboxBackend
    from verifier_service.settings import Settings
    from verifier_service.verifiers.code.verifier import CodeVerifier

DEFAULT_DOCKER = "unix:///var/run/docker.sock"


@functools.cache
def lack_of_docker() -> str | None:
    """Why no engine can be used here, or None."""
    address = os.environ.get("DOCKER_HOST") or DEFAULT_DOCKER
    scheme, _, rest = address.partition("://")
    transport = httpx.HTTPTransport(uds=rest) if scheme == "unix" else None
    url = "http://docker" if scheme == "unix" else f"http://{rest}"
    try:
        with httpx.Client(transport=transport, timeout=5) as client:
            client.get(f"{url}/_ping").raise_for_status()
    except httpx.HTTPError as error:
        return f"no Docker engine answers at {address} ({error}); scripts/docker-engine.sh brings one up"
    return None


@functools.cache
def lack_of_bubblewrap() -> str | None:
    if shutil.which("bwrap") is None:
        return "bwrap is not installed (apt-get install bubblewrap)"
    command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    return None if done.returncode == 0 else f"bwrap can't make namespaces here: {done.stderr.strip()}"


def lack_of_trainer() -> str | None:
    missing = [name for name in ("torch", "trl") if importlib.util.find_spec(name) is None]
    return f"{' and '.join(missing)} missing: these run in the trainer's environment (make test-trainer)" if missing else None


LACKS = {
    "docker": (lack_of_docker, "VERIFIER_REQUIRE_DOCKER"),
    "bubblewrap": (lack_of_bubblewrap, "VERIFIER_REQUIRE_BUBBLEWRAP"),
    "trainer": (lack_of_trainer, "VERIFIER_REQUIRE_TRAINER"),
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, (lack, required) in LACKS.items():
        if item.get_closest_marker(marker) is None or (reason := lack()) is None:
            continue
        if os.environ.get(required) == "1":
            pytest.fail(f"{required}=1, but {reason}", pytrace=False)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def started_verifier() -> Callable[[SandboxBackend, Settings], AbstractAsyncContextManager[CodeVerifier]]:
    """How a code verifier is brought up on a backend and taken down again."""

    @asynccontextmanager
    async def started(backend: SandboxBackend, settings: Settings) -> AsyncIterator[CodeVerifier]:
        from verifier_service.verifiers.code.verifier import CodeVerifier

        verifier = CodeVerifier(backend, settings)
        try:
            await verifier.start()
            yield verifier
        finally:
            await verifier.aclose()

    return started
