"""The code verifier on real Docker sandboxes, brought up once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from verifier_service.sandbox.select import make_docker_backend
from verifier_service.settings import Settings
from verifier_service.verifiers.code.verifier import CodeVerifier


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def verifier(started_verifier: Any) -> AsyncIterator[CodeVerifier]:
    settings = Settings(sandbox_slots=2)
    async with started_verifier(make_docker_backend(settings), settings) as verifier:
        yield verifier
