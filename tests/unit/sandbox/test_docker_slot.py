"""A container's memory limit: the program's own, and what the runner and its zygotes hold."""

from __future__ import annotations

from typing import Any

from verifier_service.sandbox.docker_backend import RUNNER_MEMORY_MB, SPARE_MEMORY_MB, DockerSlot
from verifier_service.sandbox.link import RunnerLink


class Container:
    """Remembers the limits that were set."""

    def __init__(self) -> None:
        self.limits_mb: list[int] = []

    def update(self, mem_limit: int, memswap_limit: int) -> None:
        assert mem_limit == memswap_limit
        self.limits_mb.append(mem_limit >> 20)


def slot_of(container: Any) -> DockerSlot:
    return DockerSlot(container, RunnerLink(demux=True), 512, movable=True)


async def test_a_program_has_its_memory_on_top_of_what_the_zygotes_hold() -> None:
    container = Container()
    slot = slot_of(container)
    await slot.fit_memory(512)
    slot.rests_at(10)
    await slot.fit_memory(512)
    assert container.limits_mb == []
    slot.rests_at(61)
    await slot.fit_memory(512)
    await slot.fit_memory(512)
    assert len(container.limits_mb) == 1
    assert 61 + SPARE_MEMORY_MB <= container.limits_mb[0] - 512 < 61 + SPARE_MEMORY_MB + 8
    slot.rests_at(62)
    await slot.fit_memory(512)
    assert len(container.limits_mb) == 1, "small steps move nothing"


async def test_a_slot_that_tells_nothing_keeps_the_usual_margin() -> None:
    container = Container()
    slot = slot_of(container)
    slot.rests_at(0)
    await slot.fit_memory(64)
    assert container.limits_mb == [64 + RUNNER_MEMORY_MB]
