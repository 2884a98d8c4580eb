"""What recycling and looping submissions cost the others.

    python benchmarks/recycling_latency.py [--runs 2000] [--recycle-after 50] [--slots 2] [--rate 40]

1. The 99th percentile of a trivial run, relative to its median, while each slot is thrown away after every
   `--recycle-after` submissions, beside the same without recycling: with one run after another in each slot, where the
   making of containers is itself what the machine is busy with, and with runs that arrive at random, `--rate` a second.
2. Runs a second with one submission in a hundred looping to its time limit, relative to what the slots' time that is left
   would give: 1.0 when the loops cost nothing but the slot's time.

Both are ratios of one session of one machine; only a quiet machine gives the first one its meaning.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import statistics
import time
from collections.abc import Awaitable

from verifier_service.sandbox.contract import Limits, Program, SandboxBackend
from verifier_service.sandbox.pooled import PooledBackend
from verifier_service.sandbox.select import make_bubblewrap_backend, make_docker_backend
from verifier_service.settings import Settings

TRIVIAL = "print(sum(map(int, input().split())))"
LOOP = "while True: pass"
LOOP_S = 1.0
NEVER = 10**9
serial = itertools.count()


async def one_run(backend: SandboxBackend, source: str, limits: Limits) -> float:
    """Milliseconds from asking for a slot to its being given back."""
    start = time.perf_counter()
    async with backend.run(Program("python", f"{source}  # {next(serial)}", (b"1 2 3\n",)), limits) as execution:
        ends = [end async for end in execution]
    assert source is LOOP or ends[0].stdout == b"6\n", ends
    return (time.perf_counter() - start) * 1000


def make(arguments: argparse.Namespace, recycle_after: int) -> PooledBackend:
    settings = Settings(
        sandbox_slots=arguments.slots,
        sandbox_spares=arguments.spares,
        sandbox_recycle_after=recycle_after,
        sandbox_profiles="python",
    )
    return make_docker_backend(settings) if arguments.sandbox == "docker" else make_bubblewrap_backend(settings)


async def latencies(backend: PooledBackend, runs: int, in_flight: int) -> list[float]:
    """Of so many trivial runs."""
    left = iter(range(runs))

    async def work() -> list[float]:
        return [await one_run(backend, TRIVIAL, Limits()) for _ in left]

    return [value for values in await asyncio.gather(*(work() for _ in range(in_flight))) for value in values]


async def arriving(backend: PooledBackend, runs: int, rate: float) -> list[float]:
    """Of so many trivial runs that come at random times, this many a second."""
    chance = random.Random(1)
    tasks = []
    for _ in range(runs):
        tasks.append(asyncio.create_task(one_run(backend, TRIVIAL, Limits())))
        await asyncio.sleep(chance.expovariate(rate))
    return await asyncio.gather(*tasks)


async def show(backend: PooledBackend, how: str, measured: Awaitable[list[float]]) -> None:
    """Print what these runs took, and how often a slot was thrown away meanwhile."""
    before = backend.stats().recycles["worn"]
    values = sorted(await measured)
    recycles = backend.stats().recycles["worn"] - before
    median, p99 = statistics.median(values), values[int(len(values) * 0.99)]
    print(
        f"  {how} ({recycles} times): median {median:.2f} ms, p99 {p99:.2f} ms, {p99 / median:.2f} times;"
        f" slowest {values[-1]:.1f} ms",
        flush=True,
    )


async def recycling(arguments: argparse.Namespace) -> None:
    for recycle_after in (NEVER, arguments.recycle_after):
        how = "not recycled" if recycle_after == NEVER else f"recycled every {recycle_after}"
        backend = make(arguments, recycle_after)
        await backend.start()
        try:
            await latencies(backend, 50, arguments.slots)
            await show(backend, f"one after another, {how}", latencies(backend, arguments.runs, arguments.slots))
            paced = arriving(backend, arguments.runs // 2, arguments.rate)
            await show(backend, f"{arguments.rate:.0f} a second, {how}", paced)
        finally:
            await backend.aclose()


async def throughput(backend: PooledBackend, runs: int, in_flight: int, loops: bool) -> tuple[float, float]:
    """(trivial runs a second, seconds of one slot that loops took)."""
    left = iter(range(runs))
    lost_s = 0.0

    async def work() -> int:
        nonlocal lost_s
        done = 0
        for number in left:
            if loops and number % 100 == 99:
                took_ms = await one_run(backend, LOOP, Limits(cpu_time_s=LOOP_S, wall_time_s=3 * LOOP_S))
                lost_s += took_ms / 1000  # not across the await: another's loss would be lost
            else:
                await one_run(backend, TRIVIAL, Limits())
                done += 1
        return done

    start = time.perf_counter()
    done = sum(await asyncio.gather(*(work() for _ in range(in_flight))))
    return done / (time.perf_counter() - start), lost_s


async def looping(arguments: argparse.Namespace) -> None:
    backend = make(arguments, NEVER)
    await backend.start()
    try:
        await latencies(backend, 50, arguments.slots)
        plain, _ = await throughput(backend, arguments.runs, arguments.slots, loops=False)
        start = time.perf_counter()
        mixed, lost_s = await throughput(backend, arguments.runs, arguments.slots, loops=True)
        wall_s = time.perf_counter() - start
    finally:
        await backend.aclose()
    share_left = 1 - lost_s / (wall_s * arguments.slots)
    print(f"  1 % loop for {LOOP_S:.0f} s: {mixed:.1f} trivial runs a second against {plain:.1f} without;")
    print(
        f"  loops took {lost_s:.1f} of {wall_s * arguments.slots:.1f} slot seconds, so that {plain * share_left:.1f} were left:"
    )
    print(f"  {mixed / (plain * share_left):.2f} of what their slots' time alone would cost")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="trivial runs of each part")
    parser.add_argument("--recycle-after", type=int, default=50)
    parser.add_argument("--rate", type=float, default=40, help="runs a second, where they arrive at random")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--spares", type=int, default=1)
    parser.add_argument("--sandbox", choices=("docker", "bubblewrap"), default="docker")
    arguments = parser.parse_args()
    asyncio.run(recycling(arguments))
    asyncio.run(looping(arguments))


if __name__ == "__main__":
    main()
