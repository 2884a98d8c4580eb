"""More programs than slots: each gets its own answer, whatever became of the one before it in its slot."""

from __future__ import annotations

import asyncio

from verifier_service.sandbox.conformance.programs import DEADLINE_S, SMALL, Check, limits, run, still_well
from verifier_service.sandbox.contract import Ending, Program, SandboxBackend

MANY = 48
LEAVES_A_PROCESS = """
import os, sys, time
print(input(), flush=True)
if os.fork() == 0:
    time.sleep(60)
"""
SOURCES = (
    "print(input())",
    "print(input())",
    "import sys\nprint(input())\nsys.exit(3)",
    "import time\nprint(input(), flush=True)\ntime.sleep(0.05)",
    LEAVES_A_PROCESS,
    "print(input())",
    "print(input()); 1 / 0",
)


async def of_many_at_once_each_gets_its_own_output(backend: SandboxBackend) -> None:
    ends = await asyncio.gather(
        *(run(backend, SOURCES[number % len(SOURCES)], b"%d\n" % number, wall_time_s=30.0) for number in range(MANY))
    )
    for number, end in enumerate(ends):
        assert end.stdout == b"%d\n" % number, (number, end)
        assert end.ending is Ending.EXITED, (number, end)
    await still_well(backend)


async def who_gives_up_among_many_disturbs_nobody(backend: SandboxBackend) -> None:
    tasks = []
    for number in range(MANY):
        tasks.append(asyncio.create_task(run(backend, SOURCES[number % 4], b"%d\n" % number)))
        await asyncio.sleep(0.001)
    for number in range(0, MANY, 3):
        await asyncio.sleep(0.002)
        tasks[number].cancel()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    for number, end in enumerate(ends):
        if number % 3 or not isinstance(end, asyncio.CancelledError):
            assert not isinstance(end, BaseException), (number, end)
            assert end.stdout == b"%d\n" % number, (number, end)
    await still_well(backend)


async def a_long_program_holds_up_its_own_slot_alone(backend: SandboxBackend) -> None:
    if backend.info().slots < 2:
        return
    async with backend.run(Program("python", "while True: pass"), limits(cpu_time_s=4.0), deadline_s=DEADLINE_S) as long:
        await asyncio.sleep(0.1)
        async with asyncio.timeout(3.5):  # the other slot does them all, those as well that were sent behind the long one
            ends = await asyncio.gather(*(run(backend, "print(input())", b"%d\n" % number) for number in range(12)))
        assert [end.stdout for end in ends] == [b"%d\n" % number for number in range(12)]
        (end,) = [end async for end in long]
        assert end.ending is Ending.CPU_TIME, end


async def one_left_early_among_many_costs_the_next_nothing(backend: SandboxBackend) -> None:
    async def left_early(number: int) -> None:
        program = Program("python", "import time\nprint(input(), flush=True)\ntime.sleep(20)", (b"%d\n" % number, b"x"))
        async with backend.run(program, SMALL, deadline_s=DEADLINE_S):
            await asyncio.sleep(0.02)

    async def answered(number: int) -> None:
        end = await run(backend, "print(input())", b"%d\n" % number)
        assert end.stdout == b"%d\n" % number, end

    async with asyncio.timeout(30):
        await asyncio.gather(*(left_early(n) if n % 4 == 0 else answered(n) for n in range(MANY)))


CROWDS: tuple[Check, ...] = (
    of_many_at_once_each_gets_its_own_output,
    who_gives_up_among_many_disturbs_nobody,
    a_long_program_holds_up_its_own_slot_alone,
    one_left_early_among_many_costs_the_next_nothing,
)
