"""Both real backends do what every backend must."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from verifier_service.sandbox.conformance import CHECKS
from verifier_service.sandbox.contract import SandboxBackend
from verifier_service.sandbox.select import make_bubblewrap_backend, make_docker_backend
from verifier_service.settings import Settings

SETTINGS = Settings(sandbox_slots=2, sandbox_spares=1)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def containers() -> AsyncIterator[SandboxBackend]:
    backend = make_docker_backend(SETTINGS)
    await backend.start()
    yield backend
    await backend.aclose()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def boxes() -> AsyncIterator[SandboxBackend]:
    backend = make_bubblewrap_backend(SETTINGS)
    await backend.start()
    yield backend
    await backend.aclose()


@pytest.mark.docker
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", CHECKS)
async def test_docker_conforms(containers: SandboxBackend, name: str) -> None:
    await CHECKS[name](containers)


@pytest.mark.bubblewrap
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", CHECKS)
async def test_bubblewrap_conforms(boxes: SandboxBackend, name: str) -> None:
    await CHECKS[name](boxes)
