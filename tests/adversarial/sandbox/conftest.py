"""Backends of one slot without spares, so that what one program leaves the next one meets.

Three of them: containers, boxes as root makes them, and boxes as an ordinary user makes them, where runner, submission
and judge share one uid. Root tries the last one, too, by starting bwrap as somebody else.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from verifier_service.sandbox import bubblewrap_backend
from verifier_service.sandbox.pooled import PooledBackend
from verifier_service.sandbox.select import make_bubblewrap_backend, make_docker_backend
from verifier_service.settings import Settings

ONE_SLOT = Settings(sandbox_slots=1, sandbox_spares=0, sandbox_recycle_after=10**6)
NOBODY = 65534
KINDS = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param("bubblewrap of an ordinary user", marks=pytest.mark.bubblewrap),
]


def _as_an_ordinary_user(patch: pytest.MonkeyPatch) -> None:
    if os.getuid() != 0:
        return
    if not os.access("/usr/bin/python3", os.X_OK) or shutil.which("setpriv") is None:
        pytest.skip("needs setpriv and /usr/bin/python3, which others than root can start")
    command = bubblewrap_backend.bwrap_command
    change = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    patch.setattr(bubblewrap_backend, "bwrap_command", lambda tmpfs_mb: [*change, *command(tmpfs_mb)])
    patch.setattr(sys, "base_prefix", "/usr")  # root's own Python may be out of others' reach
    patch.setattr(os, "getuid", lambda: NOBODY)


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=KINDS)
async def one_slot(request: pytest.FixtureRequest) -> AsyncIterator[PooledBackend]:
    with pytest.MonkeyPatch.context() as patch:
        made: PooledBackend
        if request.param == "docker":
            made = make_docker_backend(ONE_SLOT)
        else:
            if request.param != "bubblewrap":
                _as_an_ordinary_user(patch)
            made = make_bubblewrap_backend(ONE_SLOT)
        await made.start()
        yield made
        await made.aclose()
