"""Profiles: a program goes to the smallest that has its language, waits for one that is coming up, and is told of one
that can't be had."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from verifier_service.sandbox import profiles
from verifier_service.sandbox.contract import BackendInfo, Limits, Program, ProgramRefused, SandboxFault, SlotWaitTimeout
from verifier_service.sandbox.pooled import PooledBackend
from verifier_service.sandbox.profiles import ProfiledBackend


class Backend:
    """Stands where a PooledBackend does; starts when it is let, or fails as often as told."""

    def __init__(self, languages: tuple[str, ...], faults: int = 0) -> None:
        self.languages = languages
        self.faults = faults
        self.may_start = asyncio.Event()
        self.ran: list[str] = []

    async def start(self) -> None:
        await self.may_start.wait()
        if self.faults:
            self.faults -= 1
            raise SandboxFault("the image could not be built")

    async def aclose(self) -> None:
        self.may_start.clear()

    def info(self) -> BackendInfo:
        return BackendInfo("docker", "container", "runc", 2, self.languages)

    @asynccontextmanager
    async def run(self, program: Program, limits: Limits, *, deadline_s: float | None = None) -> AsyncIterator[str]:
        self.ran.append(program.language)
        yield "execution"


async def started(made: Mapping[str, Backend]) -> ProfiledBackend:
    backend = ProfiledBackend(cast(Mapping[str, PooledBackend], made))
    made["python"].may_start.set()
    await backend.start()
    return backend


async def run(backend: ProfiledBackend, language: str, deadline_s: float | None = 5.0) -> None:
    async with backend.run(Program(language, ""), Limits(), deadline_s=deadline_s) as execution:
        found: Any = execution
        assert found == "execution"


async def test_a_program_goes_to_the_smallest_profile_that_has_its_language() -> None:
    made = {"python": Backend(("python",)), "compiled": Backend(("python", "cpp")), "full": Backend(("python", "cpp", "ruby"))}
    for each in made.values():
        each.may_start.set()
    backend = await started(made)
    await asyncio.sleep(0)
    for language in ("python", "cpp", "ruby"):
        await run(backend, language)
    assert [made[name].ran for name in made] == [["python"], ["cpp"], ["ruby"]]
    await backend.aclose()


async def test_python_runs_while_the_other_images_are_still_built_and_their_programs_wait() -> None:
    made = {"python": Backend(("python",)), "compiled": Backend(("python", "cpp"))}
    backend = await started(made)
    await run(backend, "python")
    assert backend.info().profiles == {"python": "ready", "compiled": "made when first wanted"}
    backend.bring_up()
    assert backend.info().profiles["compiled"] == "being prepared"
    assert "cpp" in backend.info().languages
    with pytest.raises(SlotWaitTimeout, match="still being prepared"):
        await run(backend, "cpp", deadline_s=0.01)
    waiting = asyncio.create_task(run(backend, "cpp"))
    await asyncio.sleep(0)
    made["compiled"].may_start.set()
    await waiting
    assert backend.info().profiles["compiled"] == "ready"
    await backend.aclose()


async def test_a_profile_that_cannot_be_had_says_why_and_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "FIRST_PAUSE_S", 0.01)
    made = {"python": Backend(("python",)), "compiled": Backend(("python", "cpp"), faults=1)}
    made["compiled"].may_start.set()
    backend = await started(made)
    with pytest.raises(SandboxFault, match="the image could not be built"):
        await run(backend, "cpp")
    await run(backend, "python")
    await asyncio.sleep(0.05)
    await run(backend, "cpp")
    await backend.aclose()


async def test_a_language_that_no_profile_has_is_refused_by_name() -> None:
    backend = await started({"python": Backend(("python",))})
    with pytest.raises(ProgramRefused, match="esperanto"):
        await run(backend, "esperanto")
    await backend.aclose()
