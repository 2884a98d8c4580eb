"""/run_code against plain subprocesses, in one run on one machine, rounds taken in turn.

    python benchmarks/compat_run_code.py [--url http://127.0.0.1:8000] [--python /usr/bin/python3]

1. Light programs, 8 clients at a time, every run a new one (no answer comes from the cache), keep-alive: runs a second
   against `subprocess.run([python, "-c", code])` in 8 threads, and the latency's median and 99th percentile.
2. 800 requests as verl sends them, 64 at a time, one connection each: 100 tests of 8 rollouts, once with 8 different
   programs and once with 2 (rollouts repeat one another); how many were real runs, and the time.

Without --url a service of its own is started, and stopped at the end.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from urllib.parse import urlsplit

from compat_faults import service, wait_for_code

CLIENTS = 8
ROUNDS = 3
PLAIN_RUNS = 200
SERVICE_RUNS = 1200
PROGRAMS = [
    "print(sum(map(int, input().split())))",
    "n = int(input().split()[0])\nprint([i * i for i in range(n % 50)])",
    "from collections import Counter\nprint(Counter(input()).most_common(2))",
    "s = input()\nprint(s[::-1], len(s), sorted(s)[:3])",
]


def in_threads(count: int, total: int, work: Callable[[int], float]) -> tuple[float, list[float]]:
    """(seconds, each call's seconds) for `work(0) … work(total - 1)`, `count` at a time."""
    start = time.perf_counter()
    with ThreadPoolExecutor(count) as pool:
        latencies = list(pool.map(work, range(total)))
    return time.perf_counter() - start, latencies


def body_of(code: str, stdin: str) -> bytes:
    """As verl sends it."""
    fields = {"compile_timeout": 10, "run_timeout": 10, "code": code, "stdin": stdin, "memory_limit_MB": 512}
    return json.dumps(fields | {"language": "python", "files": {}, "fetch_files": []}).encode()


class Client:
    """Keep-alive connections, one a thread; or a new one for each request."""

    def __init__(self, url: str, *, keep_alive: bool) -> None:
        parts = urlsplit(url)
        self._address = parts.hostname or "127.0.0.1", parts.port or 80
        self._keep_alive = keep_alive
        self._local = threading.local()

    def post(self, body: bytes) -> dict[str, object]:
        connection = getattr(self._local, "connection", None) if self._keep_alive else None
        if connection is None:
            connection = self._local.connection = http.client.HTTPConnection(*self._address, timeout=30)
        connection.request("POST", "/run_code", body, {"content-type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        if not self._keep_alive:
            connection.close()
        if response.status != 200:
            raise SystemExit(f"{response.status}: {answer[:300]!r}")
        return dict(json.loads(answer))


def plain_runs(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as response:
        text = response.read().decode()
    lines = [line for line in text.splitlines() if line.startswith("verifier_plain_runs_total{")]
    return {line.split('"')[1]: int(float(line.rsplit(" ", 1)[1])) for line in lines}


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def light_programs(url: str, python: str) -> None:
    client = Client(url, keep_alive=True)
    nonce = time.time_ns()

    def through_service(number: int) -> float:
        start = time.perf_counter()
        got = client.post(body_of(PROGRAMS[number % len(PROGRAMS)], f"{number} {nonce}"))
        assert got["status"] == "Success", got
        return time.perf_counter() - start

    def plain(number: int) -> float:
        start = time.perf_counter()
        command = [python, "-c", PROGRAMS[number % len(PROGRAMS)]]
        subprocess.run(command, input=f"{number} {nonce}", text=True, capture_output=True, check=True)
        return time.perf_counter() - start

    in_threads(CLIENTS, 100, through_service)  # warm both
    in_threads(CLIENTS, 20, plain)
    rates: dict[str, list[float]] = {"plain": [], "service": []}
    latencies: list[float] = []
    before = plain_runs(url)
    for _ in range(ROUNDS):
        seconds, _each = in_threads(CLIENTS, PLAIN_RUNS, plain)
        rates["plain"].append(PLAIN_RUNS / seconds)
        nonce += 1
        seconds, each = in_threads(CLIENTS, SERVICE_RUNS, through_service)
        rates["service"].append(SERVICE_RUNS / seconds)
        latencies += each
    real = plain_runs(url)["real"] - before.get("real", 0)
    plain_rate, rate = statistics.median(rates["plain"]), statistics.median(rates["service"])
    p50, p99 = percentile(latencies, 0.5), percentile(latencies, 0.99)
    ratio = rate / plain_rate
    print(f"light programs, {CLIENTS} clients: {rate:.0f} runs/s, plain subprocess {plain_rate:.0f} runs/s: {ratio:.1f} times")
    print(f"  rounds: service {[round(r) for r in rates['service']]}, plain {[round(r) for r in rates['plain']]}")
    print(f"  latency: median {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms ({p99 / p50:.1f} times)")
    print(f"  real runs: {real} of {SERVICE_RUNS * ROUNDS}")


def as_verl_sends(url: str, distinct: int) -> None:
    client = Client(url, keep_alive=False)
    nonce = time.time_ns()
    programs = [f"# {nonce} {i % distinct}\nprint(sum(map(int, input().split())) + {i % distinct})" for i in range(8)]
    bodies = [body_of(program, f"{test} 1") for program in programs for test in range(100)]

    def one(number: int) -> float:
        start = time.perf_counter()
        assert client.post(bodies[number])["status"] == "Success"
        return time.perf_counter() - start

    before = plain_runs(url)
    seconds, each = in_threads(64, len(bodies), one)
    after = plain_runs(url)
    counts = {source: after[source] - before.get(source, 0) for source in after}
    print(
        f"verl, 100 tests of 8 rollouts ({distinct} different), 64 at a time, one connection each: {seconds:.2f} s "
        f"({len(bodies) / seconds:.0f} requests/s, p99 {percentile(each, 0.99) * 1000:.0f} ms); {counts}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url")
    parser.add_argument("--python", default="/usr/bin/python3", help="the interpreter of the plain runs")
    options = parser.parse_args()
    with nullcontext(options.url.rstrip("/")) if options.url else service() as url:
        wait_for_code(url)
        light_programs(url, options.python)
        as_verl_sends(url, 8)
        as_verl_sends(url, 2)


if __name__ == "__main__":
    main()
