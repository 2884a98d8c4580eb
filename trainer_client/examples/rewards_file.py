"""Score a file of groups against a running service, without a trainer: `python rewards_file.py GROUPS.jsonl [URL]`.

Each line is a group as `POST /score` takes it. Prints the mean reward, the pass rate and what stayed unscored.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from trainer_client.client_sync import SyncVerifierClient

DEADLINE_S = 3600.0


def main(path: str, url: str = "http://127.0.0.1:8000") -> None:
    groups = [json.loads(line) for line in Path(path).read_text().splitlines() if line.strip()]
    kinds = {spec["kind"] for group in groups for spec in group["verifiers"]}
    with SyncVerifierClient(url) as client:
        client.preflight(kinds, wait_s=30)
        results = client.score(groups, deadline_s=DEADLINE_S, progress=True)
    rewards = [reward for result in results for reward in result.rewards]
    known = [reward for reward in rewards if reward is not None]
    pass_rates = [result.stats.pass_rate for result in results if result.stats.pass_rate is not None]
    lines = [f"{len(results)} groups, {len(rewards)} completions, {len(rewards) - len(known)} unscored"]
    if known:
        lines.append(f"mean reward {statistics.fmean(known):.3f}, pass rate {statistics.fmean(pass_rates):.1%}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
