"""What the trainer client adds to the service's own time: 512 prompts x 16 maths completions.

    python benchmarks/client_overhead.py [--url URL] [--prompts 512] [--group 16] [--rounds 8]

Two numbers are taken in each round, in turns, each on completions never sent before:
- the service's own time: one request with everything, as the service measures it (`timing.total_ms`);
- the client's time: `VerifierClient.score` on as many groups, from models to results.
Other work on the machine slows both, never speeds them up, so the fastest rounds of each are compared. Without --url a
service is started for it (no sandbox) and ended. Exits with 1 if the ratio is above --limit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from trainer_client.client import VerifierClient

TALK = "so we add the number of apples to that of pears and then double it which gives the total for the week"


def make_groups(prompts: int, size: int, chance: random.Random) -> list[dict[str, Any]]:
    """GSM8K-like completions: a few sentences of reasoning and a boxed number, half of them right."""
    groups = []
    for _ in range(prompts):
        gold = chance.randrange(10, 100_000)
        completions = []
        for _ in range(size):
            thought = " ".join(chance.choices(TALK.split(), k=chance.randrange(40, 120)))
            answer = gold if chance.random() < 0.5 else gold + chance.randrange(1, 50)
            completions.append(f"<think>{thought} {chance.random()}</think>The answer is \\boxed{{{answer}}}")
        groups.append({"completions": completions, "verifiers": [{"kind": "math", "gold": str(gold)}]})
    return groups


def service_seconds(url: str, groups: list[dict[str, Any]]) -> tuple[float, float]:
    """One request with everything: (the service's own time, the whole exchange)."""
    body = json.dumps({"groups": groups, "deadline_s": 300}).encode()
    headers = {"content-type": "application/json"}
    with httpx.Client(trust_env=False, timeout=300) as http:
        start = time.perf_counter()
        answer = http.post(f"{url}/v1/score", content=body, headers=headers)
        whole = time.perf_counter() - start
    answer.raise_for_status()
    return answer.json()["timing"]["total_ms"] / 1000, whole


async def client_seconds(client: VerifierClient, groups: list[dict[str, Any]]) -> tuple[float, float]:
    start, cpu = time.perf_counter(), time.process_time()
    results = await client.score(groups, deadline_s=300)
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    for group, result in zip(groups, results, strict=True):
        gold = group["verifiers"][0]["gold"]
        expected = [float(f"\\boxed{{{gold}}}" in text) for text in group["completions"]]
        if result.rewards != expected:
            raise SystemExit(f"wrong rewards: {result.rewards} for {expected}")
    return took, cpu


@contextmanager
def service_of_our_own() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "verifier_service", "serve", "--port", str(port), "--sandbox", "off"]
    process = subprocess.Popen(command, env=os.environ | {"VERIFIER_LOG_LEVEL": "error"}, stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                if httpx.get(f"{url}/readyz", params={"kinds": "math"}, trust_env=False).status_code == 200:
                    break
            except httpx.TransportError:
                pass
            if process.poll() is not None:
                raise SystemExit("the service ended at start")
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(30)


async def measure(url: str, args: argparse.Namespace) -> tuple[list[float], list[float]]:
    """Seconds of each round: the service's own, the client's."""
    chance = random.Random(args.seed)
    service_s, client_s = [], []
    print(f"{args.prompts} prompts x {args.group} completions, {args.rounds} rounds after one to warm up")
    print(f"{'round':>5} {'service s':>10} {'exchange s':>11} {'client s':>9} {'client CPU s':>13}")
    async with VerifierClient(url) as client:
        for n in range(args.rounds + 1):
            own, whole = await asyncio.to_thread(service_seconds, url, make_groups(args.prompts, args.group, chance))
            took, cpu = await client_seconds(client, make_groups(args.prompts, args.group, chance))
            await asyncio.sleep(0.3)  # what either side does after its answer is not to slow the other's next round
            if n:
                service_s.append(own)
                client_s.append(took)
                print(f"{n:>5} {own:>10.3f} {whole:>11.3f} {took:>9.3f} {cpu:>13.3f}")
        print({name: round(value, 3) for name, value in client.metrics.snapshot().items() if value})
    return service_s, client_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a running service; it must not have seen these completions")
    parser.add_argument("--prompts", type=int, default=512)
    parser.add_argument("--group", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--limit", type=float, default=1.2)
    args = parser.parse_args()
    if args.url:
        service_s, client_s = asyncio.run(measure(args.url, args))
    else:
        with service_of_our_own() as url:
            service_s, client_s = asyncio.run(measure(url, args))
    ratio = min(client_s) / min(service_s)
    medians = statistics.median(client_s) / statistics.median(service_s)
    print(f"client / service: {ratio:.2f} by the fastest rounds (limit {args.limit}), {medians:.2f} by the medians")
    sys.exit(ratio > args.limit)


if __name__ == "__main__":
    main()
