"""Programs a second through POST /score against plain subprocess, and maths completions a second, in one run.

    python benchmarks/service_throughput.py [--seconds 8] [--url http://127.0.0.1:8000]

Without --url a service is started on a free port and stopped at the end. Every program and answer is made distinct, so
that neither the deduplication nor the cache answers for the sandbox. Plain means `subprocess.run([python3, "-c", code])`
with nothing around it, at the same concurrency. Machines are noisy: plain and isolated alternate, round by round, and
the ratio is the median over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

PLAIN_PYTHON = "/usr/bin/python3"
GROUP_SIZE = 16
serial = itertools.count(random.SystemRandom().randrange(10**9))

TRIVIAL = "import sys\nprint(sum(int(x) for x in sys.stdin.read().split()))\n"
NUMPY = "import sys\nimport numpy as np\nprint(int(np.array(sys.stdin.read().split(), dtype=int).sum()))\n"


def program(body: str) -> str:
    return f"{body}# {next(serial)}\n"


def profiles_of(url: str) -> dict[str, str]:
    """How far each profile of sandboxes has come."""
    verifiers: dict[str, Any] = httpx.get(f"{url}/v1/verifiers", timeout=10).json()["verifiers"]
    profiles: dict[str, str] = verifiers["code"].get("profiles", {})
    return profiles


@contextmanager
def service(slots: int) -> Iterator[str]:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = os.environ | {"VERIFIER_PORT": str(port), "VERIFIER_SANDBOX_SLOTS": str(slots), "VERIFIER_LOG_LEVEL": "warning"}
    process = subprocess.Popen([sys.executable, "-m", "verifier_service", "serve"], env=env)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                if httpx.get(f"{url}/readyz", timeout=2).status_code == 200:
                    break
            except httpx.HTTPError:
                pass
            time.sleep(0.2)
        else:
            raise SystemExit("the service did not become ready in two minutes")
        for _ in range(150):  # sandboxes of other profiles are made behind readiness, and would take their share of it
            if set(profiles_of(url).values()) <= {"ready"}:
                break
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(60)


def plain_rate(body: str, seconds: float, concurrency: int) -> tuple[float, float]:
    """(runs a second, CPU milliseconds a run)"""
    end = time.monotonic() + seconds
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    def work() -> int:
        done = 0
        while time.monotonic() < end:
            answer = subprocess.run([PLAIN_PYTHON, "-c", program(body)], input=b"1 2 3\n", capture_output=True, check=True)
            assert answer.stdout == b"6\n"
            done += 1
        return done

    start = time.monotonic()
    with ThreadPoolExecutor(concurrency) as pool:
        runs = sum(pool.map(lambda _: work(), range(concurrency)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return runs / (time.monotonic() - start), cpu_s / runs * 1000


def code_group(body: str) -> dict[str, object]:
    tests = {"style": "stdin", "cases": [{"stdin": "1 2 3\n", "expected_stdout": "6\n"}]}
    completions = [f"```python\n{program(body)}```\n" for _ in range(GROUP_SIZE)]
    return {"completions": completions, "verifiers": [{"kind": "code", "language": "python", "tests": tests}]}


async def scored_rate(url: str, body: str, seconds: float, concurrency: int, groups: int) -> float:
    """Runs a second, with `concurrency` requests of `groups` groups each in flight."""
    end = time.monotonic() + seconds
    done = 0

    async def work(http: httpx.AsyncClient) -> None:
        nonlocal done
        while time.monotonic() < end:
            answer = (await http.post("/score", json={"groups": [code_group(body) for _ in range(groups)]})).json()
            rewards = [reward for group in answer["groups"] for reward in group["rewards"]]
            assert rewards == [1.0] * GROUP_SIZE * groups, rewards
            done += len(rewards)

    start = time.monotonic()
    async with httpx.AsyncClient(base_url=url, timeout=120) as http:
        await asyncio.gather(*(work(http) for _ in range(concurrency)))
    return done / (time.monotonic() - start)


def compare(url: str, name: str, body: str, seconds: float, concurrency: int, rounds: int, groups: int) -> None:
    name += f", {groups} groups of {GROUP_SIZE} a request" if groups > 1 else f", one group of {GROUP_SIZE} a request"
    ratios = []
    for _ in range(rounds):
        plain, cpu_ms = plain_rate(body, seconds / rounds, concurrency)
        scored = asyncio.run(scored_rate(url, body, seconds / rounds, concurrency, groups))
        ratios.append(scored / plain)
        print(
            f"  {name}: plain {plain:6.1f}/s ({cpu_ms:.1f} ms CPU each), through /score {scored:6.1f}/s, {ratios[-1]:.2f} times"
        )
    print(f"{name}: median {statistics.median(ratios):.2f} times plain subprocess")


def maths(url: str) -> None:
    groups = []
    for _ in range(512):
        gold = random.randrange(10**6)
        thought = "First we add the apples, then the pears. " * 12
        texts = [f"<think>\n{thought}{next(serial)}\n</think>\n\n\\boxed{{{gold + n % 3 // 2}}}" for n in range(16)]
        groups.append(
            {"completions": texts, "verifiers": [{"kind": "math", "gold": str(gold)}, {"kind": "format", "weight": 0.5}]}
        )
    body = json.dumps({"groups": groups}).encode()
    times = []
    for n in range(3):
        payload = body.replace(b"<think>", f"<think>{n}".encode())
        start = time.perf_counter()
        answer = httpx.post(f"{url}/score", content=payload, headers={"content-type": "application/json"}, timeout=120).json()
        times.append(time.perf_counter() - start)
        assert all(r is not None for g in answer["groups"] for r in g["rewards"])
    print(
        f"8,192 maths completions with a format reward, 512 groups of 16, one request: {', '.join(f'{t:.2f}' for t in times)} s"
    )


def memory(port: int) -> None:
    """Resident memory of the process that listens on `port` of this machine."""
    wanted = f"{port:04X}"
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        part = line.split()
        if part[3] == "0A" and part[1].endswith(wanted):
            inodes.add(f"socket:[{part[9]}]")
    for process in Path("/proc").glob("[0-9]*"):
        try:
            held = {str(fd.readlink()) for fd in (process / "fd").iterdir()}
        except OSError:
            continue
        if held & inodes:
            pages = int((process / "statm").read_text().split()[1])
            print(f"the HTTP process {process.name}: {pages * resource.getpagesize() / 2**20:.0f} MiB resident")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a running service; else one is started")
    parser.add_argument("--seconds", type=float, default=12, help="for each side of each comparison")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=2, help="requests and subprocesses in flight, and slots")
    parser.add_argument("--groups", type=int, default=8, help="groups in a request, as a trainer sends a step's together")
    arguments = parser.parse_args()

    def all_of(url: str) -> None:
        for groups in (1, arguments.groups):
            compare(url, "trivial program", TRIVIAL, arguments.seconds, arguments.concurrency, arguments.rounds, groups)
        if subprocess.run([PLAIN_PYTHON, "-c", "import numpy"], capture_output=True).returncode == 0:
            compare(url, "program that imports numpy", NUMPY, arguments.seconds, arguments.concurrency, arguments.rounds, 1)
        else:
            print(f"no comparison with numpy: {PLAIN_PYTHON} has none (Debian's package python3-numpy brings it)")
        maths(url)
        memory(httpx.URL(url).port or 80)

    if arguments.url:
        all_of(arguments.url)
    else:
        with service(arguments.concurrency) as url:
            all_of(url)


if __name__ == "__main__":
    main()
