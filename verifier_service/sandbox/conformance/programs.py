"""How a check runs programs and reads what became of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from verifier_service.sandbox.contract import Ending, Limits, Program, SandboxBackend, Termination

Check = Callable[[SandboxBackend], Awaitable[None]]

DEADLINE_S = 60.0
SMALL = Limits(cpu_time_s=5.0, wall_time_s=10.0, memory_mb=128, processes=16, output_bytes=1 << 20, file_bytes=1 << 20)


def limits(**changes: Any) -> Limits:
    values = {name: getattr(SMALL, name) for name in Limits.__slots__}
    return Limits(**{**values, **changes})


async def run_all(backend: SandboxBackend, program: Program, limit: Limits = SMALL) -> list[Termination]:
    async with backend.run(program, limit, deadline_s=DEADLINE_S) as execution:
        return [termination async for termination in execution]


async def run(backend: SandboxBackend, source: str, stdin: bytes = b"", **changes: Any) -> Termination:
    """One case with small limits, some of them changed."""
    (end,) = await run_all(backend, Program("python", source, (stdin,)), limits(**changes))
    return end


async def expect_output(backend: SandboxBackend, source: str, stdout: bytes, stdin: bytes = b"", **changes: Any) -> Termination:
    end = await run(backend, source, stdin, **changes)
    assert (end.ending, end.exit_code, end.stdout) == (Ending.EXITED, 0, stdout), end
    return end


async def expect_ending(backend: SandboxBackend, source: str, ending: Ending, **changes: Any) -> Termination:
    end = await run(backend, source, **changes)
    assert end.ending is ending, end
    return end


async def still_well(backend: SandboxBackend, times: int = 2) -> None:
    """The next programs run as ever."""
    for number in range(times):
        await expect_output(backend, "print(int(input()) + 1)", f"{number + 1}\n".encode(), f"{number}\n".encode())
