"""Whether each verifier works now, told from canaries that are scored again and again.

A verifier that could not start is started again here, so that a service outlives its engine's restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from verifier_service.faults import Fault
from verifier_service.observability.metrics import Metrics
from verifier_service.verifiers.base import Verifier

log = structlog.get_logger(__name__)

CANARY_TIMEOUT_S = 60.0
FASTER_WHEN_FAILING = 10


@dataclass(frozen=True, slots=True)
class State:
    ready: bool
    detail: str


class Readiness:
    def __init__(self, verifiers: Mapping[str, Verifier], period_s: float, metrics: Metrics) -> None:
        self._verifiers = verifiers
        self._period_s = period_s
        self._metrics = metrics
        self._states = dict.fromkeys(verifiers, State(False, "not tried yet"))
        self._started: set[str] = set()

    def states(self) -> Mapping[str, State]:
        return self._states

    async def check(self, kind: str) -> None:
        """Start a verifier if need be, score its canary, keep what came of it."""
        verifier = self._verifiers[kind]
        try:
            async with asyncio.timeout(CANARY_TIMEOUT_S):
                if kind not in self._started:
                    await verifier.start()
                    self._started.add(kind)
                await verifier.canary()
            state = State(True, "ok")
        except Fault as e:
            state = State(False, str(e))
        except TimeoutError:
            state = State(False, f"the canary did not end within {CANARY_TIMEOUT_S:.0f} s")
        if state != self._states[kind]:
            log.info("readiness", kind=kind, ready=state.ready, detail=state.detail)
        self._states[kind] = state
        self._metrics.ready.labels(kind).set(state.ready)

    async def watch(self) -> None:
        """Check all verifiers for ever; each on its own, so that a slow one holds up nobody."""
        async with asyncio.TaskGroup() as group:
            for kind in self._verifiers:
                group.create_task(self._watch_one(kind))

    async def _watch_one(self, kind: str) -> None:
        while True:
            period_s = self._period_s if self._states[kind].ready else self._period_s / FASTER_WHEN_FAILING
            await asyncio.sleep(period_s)
            try:
                await self.check(kind)
            except Exception as e:  # a plug-in's bug must not end the watch over the others
                log.error("readiness check raised", kind=kind, exc_info=e)
                self._states[kind] = State(False, "an internal error of the verifier; the service's log has more")
