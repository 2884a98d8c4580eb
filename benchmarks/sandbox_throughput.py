"""Runs a second and CPU per run: a sandbox slot against plain `subprocess.run(["/usr/bin/python3", "-c", code])`.

    python benchmarks/sandbox_throughput.py [--backend docker|bubblewrap] [--seconds 4] [--rounds 3]

Both sides do the same programs at the same concurrency, in turns, so that what else the machine does meets both. The
numbers to look at are ratios within one run. CPU is that of everything involved: this process, the engine's processes
and the containers' cgroups on one side, this process's children on the other. A bubblewrap box has no cgroup to read it from.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from verifier_service.sandbox.contract import Limits, Program
from verifier_service.sandbox.pooled import PooledBackend
from verifier_service.sandbox.select import core_count, make_bubblewrap_backend, make_docker_backend
from verifier_service.settings import Settings

TRIVIAL = "import sys\nn = int(input())\nprint(sum(int(x) for x in input().split()[:n]))\n"
USUAL = """
import sys
from collections import Counter, deque
import heapq, math
def main():
    data = sys.stdin.read().split()
    n, values = int(data[0]), list(map(int, data[1:]))
    heap = []
    for value in values:
        heapq.heappush(heap, value)
    queue = deque(heapq.heappop(heap) for _ in range(n))
    counts = Counter(queue)
    print(sum(queue), max(counts.values()), math.gcd(*values))
main()
"""
NUMPY = "import numpy as np\nn = int(input())\nprint(int(np.array(input().split(), dtype=int)[:n].sum()))\n"
STDIN = b"50\n" + b" ".join(b"%d" % i for i in range(50)) + b"\n"
PYTHON = "/usr/bin/python3"
ENGINE = ("dockerd", "containerd", "containerd-shim")
TICK = os.sysconf("SC_CLK_TCK")


def engine_cpu_s() -> float:
    """CPU seconds that the engine's processes have used so far."""
    total = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if (folder / "comm").read_text().strip().startswith(ENGINE):
                    total += sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:13]))
            except OSError:
                continue
    return total / TICK


def containers_cpu_s() -> float:
    """CPU seconds of all containers that live now; recycling is kept out of the measured span."""
    total = 0
    for path in Path("/sys/fs/cgroup").glob("cpuacct/docker/*/cpuacct.usage"):
        total += int(path.read_text())
    for path in Path("/sys/fs/cgroup").glob("system.slice/docker-*.scope/cpu.stat"):
        total += 1000 * int(path.read_text().split()[1])
    return total / 1e9


def own_cpu_s(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def measure_plain(code: str, seconds: float, width: int) -> tuple[float, float]:
    """Runs a second, CPU seconds a run."""
    end = time.monotonic() + seconds

    def work(_: int) -> int:
        done = 0
        while time.monotonic() < end:
            run = subprocess.run([PYTHON, "-c", code], input=STDIN, capture_output=True, check=True)
            assert run.stdout
            done += 1
        return done

    started, cpu = time.monotonic(), own_cpu_s(resource.RUSAGE_CHILDREN) + own_cpu_s(resource.RUSAGE_SELF)
    with ThreadPoolExecutor(width) as pool:
        runs = sum(pool.map(work, range(width)))
    cpu = own_cpu_s(resource.RUSAGE_CHILDREN) + own_cpu_s(resource.RUSAGE_SELF) - cpu
    return runs / (time.monotonic() - started), cpu / runs


async def measure_sandbox(backend: PooledBackend, code: str, seconds: float, width: int) -> tuple[float, float, list[float]]:
    """Runs a second, CPU seconds a run, and each run's seconds."""
    spans: list[float] = []
    end = time.monotonic() + seconds
    limits = Limits()

    async def work() -> None:
        while time.monotonic() < end:
            began = time.perf_counter()
            async with backend.run(Program("python", code, (STDIN,)), limits) as execution:
                async for termination in execution:
                    assert termination.exit_code == 0, termination
            spans.append(time.perf_counter() - began)

    started = time.monotonic()
    cpu = own_cpu_s(resource.RUSAGE_SELF) + engine_cpu_s() + containers_cpu_s()
    await asyncio.gather(*(work() for _ in range(width)))
    cpu = own_cpu_s(resource.RUSAGE_SELF) + engine_cpu_s() + containers_cpu_s() - cpu
    return len(spans) / (time.monotonic() - started), cpu / len(spans), spans


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("docker", "bubblewrap"), default="docker")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("trivial", "usual", "numpy"))
    arguments = parser.parse_args()
    width = core_count()
    settings = Settings(sandbox_slots=width, sandbox_spares=0, sandbox_recycle_after=10**6)
    backend = (make_docker_backend if arguments.backend == "docker" else make_bubblewrap_backend)(settings)
    await backend.start()
    try:
        await asyncio.sleep(3)  # containers that the probe wore out are being replaced
        for name, code in (("trivial", TRIVIAL), ("usual", USUAL), ("numpy", NUMPY)):
            if arguments.only not in (None, name):
                continue
            await measure_sandbox(backend, code, 0.5, width)
            plain, sandboxed, spans = [], [], []
            for _ in range(arguments.rounds):
                sandboxed.append(await measure_sandbox(backend, code, arguments.seconds, width))
                plain.append(await asyncio.to_thread(measure_plain, code, arguments.seconds, width))
                spans += sandboxed[-1][2]
            spans.sort()
            rate, plain_rate = statistics.median(s[0] for s in sandboxed), statistics.median(p[0] for p in plain)
            cpu, plain_cpu = statistics.median(s[1] for s in sandboxed), statistics.median(p[1] for p in plain)
            middle, slow = spans[len(spans) // 2], spans[int(len(spans) * 0.99)]
            held = arguments.backend == "docker"
            used = f"{cpu * 1e3:5.2f} ms CPU, {cpu / plain_cpu:4.2f} of plain's" if held else "CPU not known"
            print(
                f"{name:8} sandbox {rate:6.1f}/s ({used})   plain {plain_rate:6.1f}/s ({plain_cpu * 1e3:5.2f} ms CPU)"
                f"   ratio {rate / plain_rate:5.2f}"
                f"   p50 {middle * 1e3:.2f} ms  p99 {slow * 1e3:.2f} ms"
            )
    finally:
        await backend.aclose()


if __name__ == "__main__":
    asyncio.run(main())
