"""How long a trainer waits for rewards after its last completion: scored afterwards, and while others are generated.

    python benchmarks/client_overlap.py --url http://127.0.0.1:8000 [--completions 64] [--generation-s 4]

Completions "finish" one after another over --generation-s seconds, as a rollout's do. Each is a small program with three
test cases that takes 0.1 s of CPU. Needs a running service with a sandbox.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time

from trainer_client.trl_reward import make_reward_function
from trainer_client.trl_reward_overlap import OverlappedScorer

TESTS = {"inputs": ["1\n", "2\n", "3\n"], "outputs": ["2\n", "4\n", "6\n"]}


def program(serial: float) -> str:
    """Distinct each time, so that nothing comes from a cache."""
    busy = "import time\nend = time.process_time() + 0.1\nwhile time.process_time() < end:\n    pass"
    return f"```python\n# {serial}\n{busy}\nprint(2 * int(input()))\n```"


def wait_s(args: argparse.Namespace, *, overlapped: bool) -> float:
    """Seconds between the last completion and the rewards."""
    reward = make_reward_function(args.url, ["code"])
    scorer = OverlappedScorer.of(reward)
    texts = [program(random.random()) for _ in range(args.completions)]
    for text in texts:
        time.sleep(args.generation_s / args.completions)
        if overlapped:
            scorer.submit(text, tests=TESTS)
    start = time.perf_counter()
    if overlapped:
        scorer.gather_now()
    count = len(texts)
    rewards = asyncio.run(reward(completions=texts, prompts=["p"] * count, tests=[TESTS] * count))
    took = time.perf_counter() - start
    reward.keywords["reward_plan"].client.close()  # type: ignore[attr-defined]
    if rewards != [1.0] * count:
        raise SystemExit(f"wrong rewards: {rewards}")
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--completions", type=int, default=64)
    parser.add_argument("--generation-s", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    wait_s(args, overlapped=False)
    for n in range(args.rounds):
        after, during = wait_s(args, overlapped=False), wait_s(args, overlapped=True)
        print(f"round {n + 1}: {after:.2f} s scored afterwards, {during:.2f} s overlapped")


if __name__ == "__main__":
    main()
