"""One backend over several: each profile of images has slots of its own, and a program goes to the smallest that has its
language.

The first profile (Python) is the sandbox: it starts with `start`, or `start` fails. The others come up behind it, with
`bring_up` or when a program first wants them, since their images take minutes to build at the first time; a program that
needs one waits for it, for as long as its deadline allows, or is told at once why it can't be had. What can't be had is
tried again for as long as the backend lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import structlog

from verifier_service.sandbox.contract import (
    BackendInfo,
    JudgedProgram,
    Limits,
    Program,
    ProgramRefused,
    SandboxFault,
    SlotWaitTimeout,
)
from verifier_service.sandbox.execution import Exchange, JudgedProgramExecution, ProgramExecution
from verifier_service.sandbox.pooled import PooledBackend
from verifier_service.sandbox.runner import wire
from verifier_service.sandbox.runner.languages import LANGUAGES, PROFILES

FIRST_PAUSE_S, LONGEST_PAUSE_S = 15.0, 600.0

log = structlog.get_logger(__name__)


class _Profile:
    """One profile's backend and how far it has come."""

    def __init__(self, name: str, backend: PooledBackend) -> None:
        self.name = name
        self.backend = backend
        self.trouble = ""  # why it isn't ready, once it has failed
        self.changed = asyncio.Event()  # it became ready, or failed
        self.ready = False
        self.coming: asyncio.Task[None] | None = None

    def languages(self) -> tuple[str, ...]:
        """What it runs; before its first slot has told, what the table says."""
        if self.ready:
            return self.backend.info().languages
        here = PROFILES[: PROFILES.index(self.name) + 1]
        return tuple(row.name for row in LANGUAGES.values() if row.profile in here)


def _state(profile: _Profile) -> str:
    if profile.ready:
        return "ready"
    return profile.trouble or ("being prepared" if profile.coming is not None else "made when first wanted")


class ProfiledBackend:
    """Implements SandboxBackend.

    Args:
        backends: by profile, smallest first.
    """

    def __init__(self, backends: Mapping[str, PooledBackend]) -> None:
        self._profiles = [_Profile(name, backend) for name, backend in backends.items()]
        self._known: BackendInfo | None = None  # asked for with every run; forgotten when a profile changes

    # --- life

    async def start(self) -> None:
        """Start the first profile. Raises SandboxFault."""
        await self._profiles[0].backend.start()
        self._profiles[0].ready = True
        self._known = None

    def bring_up(self) -> None:
        """Begin with the other profiles, so that the first program that wants one need not wait."""
        for profile in self._profiles[1:]:
            self._want(profile)

    async def aclose(self) -> None:
        for profile in self._profiles:
            profile.ready = False
            if profile.coming is not None:
                profile.coming.cancel()
        await asyncio.gather(*(profile.backend.aclose() for profile in self._profiles))  # ends builds, too
        await asyncio.gather(*(p.coming for p in self._profiles if p.coming is not None), return_exceptions=True)
        for profile in self._profiles:
            profile.coming = None
        self._known = None

    def _want(self, profile: _Profile) -> None:
        if profile.coming is None and profile is not self._profiles[0]:
            profile.coming = asyncio.create_task(self._bring_up(profile))
            self._known = None

    async def _bring_up(self, profile: _Profile) -> None:
        pause_s = FIRST_PAUSE_S
        log.info("preparing a profile's sandboxes; its image takes minutes to build at the first time", profile=profile.name)
        while True:
            try:
                await profile.backend.start()
            except SandboxFault as fault:
                profile.trouble = f"the sandboxes of profile {profile.name} can't be had: {fault}"
                profile.changed.set()
                self._known = None
                log.warning("a profile's sandboxes could not be started", profile=profile.name, error=str(fault))
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
                continue
            profile.ready, profile.trouble = True, ""
            profile.changed.set()
            self._known = None
            log.info("a profile's sandboxes are ready", profile=profile.name, languages=profile.languages())
            return

    # --- facts

    def info(self) -> BackendInfo:
        if self._known is None:
            self._known = self._gather_info()
        return self._known

    def _gather_info(self) -> BackendInfo:
        info = self._profiles[0].backend.info()
        languages = dict.fromkeys(name for profile in self._profiles for name in profile.languages())
        versions = {k: v for profile in reversed(self._profiles) for k, v in profile.backend.info().versions.items()}
        states = {p.name: _state(p) for p in self._profiles}
        return replace(info, languages=tuple(languages), versions=versions, profiles=states)

    def _having(self, language: str) -> _Profile:
        """The smallest profile that has a language. Raises ProgramRefused."""
        for profile in self._profiles:
            if language in profile.languages():
                return profile
        raise ProgramRefused(f"there is no {language[:40]} here; there is {', '.join(self.info().languages)}")

    async def _ready(self, language: str, deadline_s: float | None) -> PooledBackend:
        """Raises ProgramRefused, SandboxFault, SlotWaitTimeout."""
        profile = self._having(language)
        self._want(profile)
        if not profile.ready and not profile.trouble and profile is not self._profiles[0]:
            try:
                async with asyncio.timeout(deadline_s):
                    await profile.changed.wait()
            except TimeoutError:
                raise SlotWaitTimeout(f"the sandboxes for {language} are still being prepared") from None
        if profile.trouble:
            raise SandboxFault(profile.trouble)
        return profile.backend

    async def probe(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for profile in self._profiles:
            if profile.ready:
                found |= await profile.backend.probe()
        return found

    # --- programs

    @asynccontextmanager
    async def run(self, program: Program, limits: Limits, *, deadline_s: float | None = None) -> AsyncIterator[ProgramExecution]:
        backend = await self._ready(program.language, deadline_s)
        async with backend.run(program, limits, deadline_s=deadline_s) as execution:
            yield execution

    @asynccontextmanager
    async def run_judged(
        self,
        program: JudgedProgram,
        limits: Limits,
        *,
        judge_limits: Limits | None = None,
        deadline_s: float | None = None,
    ) -> AsyncIterator[JudgedProgramExecution]:
        backend = await self._ready(program.language, deadline_s)
        async with backend.run_judged(program, limits, judge_limits=judge_limits, deadline_s=deadline_s) as execution:
            yield execution

    @asynccontextmanager
    async def exchange(
        self, kind: int, body: bytes, memory_mb: int, deadline_s: float | None, harnesses: bytes = b""
    ) -> AsyncIterator[Exchange]:
        """A packed program, for the executor."""
        language = wire.language_in(kind, body).decode("ascii", "replace")
        backend = await self._ready(language, deadline_s)
        async with backend.exchange(kind, body, memory_mb, deadline_s, harnesses) as exchange:
            yield exchange
