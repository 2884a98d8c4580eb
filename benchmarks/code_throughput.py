"""Code submissions a second through POST /score against plain subprocess, in one run: ten stdin cases a submission, test
code around a function (G = 8), and C++ whose build is known.

    python benchmarks/code_throughput.py [--seconds 12] [--humaneval HumanEval.jsonl.gz] [--url http://127.0.0.1:8000]

Plain means `subprocess.run` with nothing around it, at the same concurrency: an interpreter for each case, an interpreter
for each solution with its tests appended, the finished binary. Every reply is made distinct, so that neither the
deduplication nor the cache of verdicts answers; C++ replies differ in their prose alone, so the compiler works once.
Plain and isolated alternate, round by round; the ratio is the median over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
from service_throughput import PLAIN_PYTHON, TRIVIAL, program, serial, service

G = 8
CPP_FLAGS = ["-std=gnu++17", "-O2"]
CPP_LIGHT = """#include <iostream>
int main() { long long x, sum = 0; while (std::cin >> x) sum += x; std::cout << sum << "\\n"; }
"""
# A chain of multiplications, which takes as long whichever compiler made it.
CPP_BUSY = """#include <iostream>
int main() {
    long long x, sum = 0;
    while (std::cin >> x) sum += x;
    unsigned long long state = 1;
    for (int i = 0; i < 20'000'000; ++i) state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::cout << sum + (state == 0) << "\\n";
}
"""
FUNCTIONS = [
    ("def add(a, b):\n    return a + b\n", "def check(f):\n    assert f(1, 2) == 3\n    assert f(-1, 1) == 0\n", "add"),
    (
        "def unique(values):\n    seen = set()\n    return [v for v in values if not (v in seen or seen.add(v))]\n",
        "def check(f):\n    assert f([3, 1, 3]) == [3, 1]\n    assert f([]) == []\n    assert f('abca') == ['a', 'b', 'c']\n",
        "unique",
    ),
    (
        "def primes(n):\n    return [p for p in range(2, n) if all(p % d for d in range(2, int(p ** 0.5) + 1))]\n",
        "def check(f):\n    assert f(12) == [2, 3, 5, 7, 11]\n    assert f(2) == []\n    assert len(f(1000)) == 168\n",
        "primes",
    ),
]


@dataclass(frozen=True)
class Work:
    """One kind of submission: how it is run plainly, and the group that a trainer would send."""

    name: str
    submissions: int  # in one group
    plain: Callable[[], None]  # one submission
    group: Callable[[], dict[str, Any]]


def run_plain(command: Sequence[str], given: bytes, expected: bytes | None) -> None:
    answer = subprocess.run(command, input=given, capture_output=True, check=True)
    assert expected is None or answer.stdout == expected, answer.stdout


def ten_cases() -> Work:
    def plain() -> None:
        code = program(TRIVIAL)
        for n in range(10):
            run_plain([PLAIN_PYTHON, "-c", code], b"1 2 %d\n" % n, b"%d\n" % (3 + n))

    def group() -> dict[str, Any]:
        cases = [{"stdin": f"1 2 {n}\n", "expected_stdout": f"{3 + n}\n"} for n in range(10)]
        spec = {"kind": "code", "tests": {"style": "stdin", "cases": cases}}
        return {"completions": [f"```python\n{program(TRIVIAL)}```" for _ in range(G)], "verifiers": [spec]}

    return Work("ten stdin cases a submission", G, plain, group)


def functions(problems: list[tuple[str, str, str]]) -> Work:
    """Solutions with test code around them: (solution, test code with `check`, entry point)."""
    plainly, grouped = cycle(problems), cycle(problems)

    def plain() -> None:
        solution, tests, entry_point = next(plainly)
        run_plain([PLAIN_PYTHON, "-c", f"{program(solution)}\n{tests}\ncheck({entry_point})\n"], b"", None)

    def group() -> dict[str, Any]:
        solution, tests, entry_point = next(grouped)
        spec = {"kind": "code", "tests": {"style": "asserts", "code": tests, "entry_point": entry_point}}
        return {"completions": [f"```python\n{program(solution)}```" for _ in range(G)], "verifiers": [spec]}

    return Work(f"test code around a function, {len(problems)} problems", G, plain, group)


def cpp(name: str, source: str, folder: Path) -> Work:
    binary = folder / name.split(",")[0].replace(" ", "-")
    binary.with_suffix(".cpp").write_text(source)
    subprocess.run(["g++", *CPP_FLAGS, "-o", binary, binary.with_suffix(".cpp")], check=True)

    def group() -> dict[str, Any]:
        spec = {
            "kind": "code",
            "language": "cpp",
            "tests": {"style": "stdin", "cases": [{"stdin": "1 2 3\n", "expected_stdout": "6\n"}]},
        }
        return {"completions": [f"Attempt {next(serial)}.\n```cpp\n{source}```" for _ in range(G)], "verifiers": [spec]}

    return Work(name, G, lambda: run_plain([str(binary)], b"1 2 3\n", b"6\n"), group)


def humaneval(path: Path) -> list[tuple[str, str, str]]:
    with gzip.open(path, "rt") as file:
        rows = [json.loads(line) for line in file]
    return [(row["prompt"] + row["canonical_solution"], row["test"], row["entry_point"]) for row in rows]


def plain_rate(work: Work, seconds: float, concurrency: int) -> float:
    start = time.monotonic()

    def one(_: int) -> int:
        done = 0
        while time.monotonic() < start + seconds:
            work.plain()
            done += 1
        return done

    with ThreadPoolExecutor(concurrency) as pool:
        return sum(pool.map(one, range(concurrency))) / (time.monotonic() - start)


async def scored_rate(url: str, work: Work, seconds: float, concurrency: int) -> float:
    start, done = time.monotonic(), 0

    async def one(http: httpx.AsyncClient) -> None:
        nonlocal done
        while time.monotonic() < start + seconds:
            answer = (await http.post("/score", json={"groups": [work.group()]})).json()
            assert answer["groups"][0]["rewards"] == [1.0] * work.submissions, answer
            done += work.submissions

    async with httpx.AsyncClient(base_url=url, timeout=300) as http:
        await asyncio.gather(*(one(http) for _ in range(concurrency)))
    return done / (time.monotonic() - start)


def compare(url: str, work: Work, seconds: float, concurrency: int, rounds: int) -> None:
    asyncio.run(scored_rate(url, work, 0.1, 1))  # the harness is loaded, the compiler has worked
    ratios = []
    for _ in range(rounds):
        plain = plain_rate(work, seconds / rounds, concurrency)
        scored = asyncio.run(scored_rate(url, work, seconds / rounds, concurrency))
        ratios.append(scored / plain)
        print(f"  {work.name}: plain {plain:6.1f}/s, through /score {scored:6.1f}/s, {ratios[-1]:.2f} times", flush=True)
    print(f"{work.name}: median {statistics.median(ratios):.2f} times plain subprocess", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a running service; else one is started")
    parser.add_argument("--seconds", type=float, default=12, help="for each side of each comparison")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=2, help="requests and subprocesses in flight, and slots")
    parser.add_argument("--humaneval", type=Path, help="HumanEval.jsonl.gz; else a few functions of our own")
    arguments = parser.parse_args()

    def all_of(url: str) -> None:
        problems = humaneval(arguments.humaneval) if arguments.humaneval else FUNCTIONS
        with tempfile.TemporaryDirectory() as folder:
            works = [ten_cases(), functions(problems)]
            if subprocess.run(["which", "g++"], capture_output=True).returncode == 0:
                works += [cpp("C++ light, known build", CPP_LIGHT, Path(folder))]
                works += [cpp("C++ busy, known build", CPP_BUSY, Path(folder))]
            else:
                print("no comparison for C++: no g++ on this machine to make the plain binary", file=sys.stderr)
            for work in works:
                compare(url, work, arguments.seconds, arguments.concurrency, arguments.rounds)

    if arguments.url:
        all_of(arguments.url)
    else:
        with service(arguments.concurrency) as url:
            all_of(url)


if __name__ == "__main__":
    main()
