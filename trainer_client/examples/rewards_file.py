"""Score a file against a running service, without a trainer: `python rewards_file.py GROUPS.jsonl [URL]`.

Reads what `verifier-service score` reads. Each line is a group with `completions` (or one `completion`), and `verifiers`,
or `gold` for the math verifier (with its `options`, if any). `labels` (or `label`), whether each completion is right, are
compared with the verdicts; `meta` is ignored. Prints the mean reward, the pass rate and what stayed unscored.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trainer_client.answers import ScoredGroup
from trainer_client.client_errors import VerifierClientError
from trainer_client.client_sync import SyncVerifierClient

DEADLINE_S = 3600.0
Labels = list[bool | None]


def read_line(line: str) -> tuple[dict[str, Any], Labels]:
    """The group of one line, and the label of each of its completions. Raises ValueError for what is no group."""
    row = json.loads(line)
    if isinstance(row, dict):
        row = {name: value for name, value in row.items() if value is not None}
    if not isinstance(row, dict) or ("completion" in row) == ("completions" in row) or ("gold" in row) == ("verifiers" in row):
        raise ValueError("a line needs completion or completions, and gold or verifiers")
    completions = row["completions"] if "completions" in row else [row["completion"]]
    verifiers = row["verifiers"] if "verifiers" in row else [math_spec(row)]
    labels = row.get("labels") or [row.get("label")] * len(completions)
    if len(labels) != len(completions):
        raise ValueError(f"{len(labels)} labels for {len(completions)} completions")
    group = {"completions": completions, "verifiers": verifiers}
    return group | ({"id": str(row["id"])} if "id" in row else {}), labels


def math_spec(row: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "math", "gold": row["gold"]} | ({"options": row["options"]} if "options" in row else {})


def read_file(path: str) -> tuple[list[dict[str, Any]], list[Labels]]:
    groups, labels = [], []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            group, its_labels = read_line(line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
        groups.append(group)
        labels.append(its_labels)
    return groups, labels


def kinds_of(groups: list[dict[str, Any]]) -> set[str]:
    """What the service must be ready for. A spec without a kind is left to the client's own check."""
    return {spec["kind"] for group in groups for spec in group["verifiers"] if isinstance(spec, dict) and "kind" in spec}


def summary(results: Iterable[ScoredGroup], labels: Iterable[Labels]) -> str:
    rewards: list[float | None] = []
    passed: list[bool] = []
    agreed: list[bool] = []
    groups = 0
    for result, its_labels in zip(results, labels, strict=True):
        groups += 1
        rewards += result.rewards
        for reward, row, label in zip(result.rewards, result.verdicts, its_labels, strict=True):
            if reward is None:  # neither passed nor failed
                continue
            full = all(verdict.status == "scored" and verdict.score == 1.0 for verdict in row)
            passed.append(full)
            if label is not None:
                agreed.append(full == label)
    known = [reward for reward in rewards if reward is not None]
    lines = [f"{groups} groups, {len(rewards)} completions, {len(rewards) - len(known)} unscored"]
    if known:
        lines.append(f"mean reward {statistics.fmean(known):.3f}, pass rate {statistics.fmean(passed):.1%}")
    if agreed:
        lines.append(f"{sum(agreed)} of {len(agreed)} verdicts as labelled")
    return "\n".join(lines)


def main(path: str, url: str = "http://127.0.0.1:8000") -> None:
    try:
        groups, labels = read_file(path)
        with SyncVerifierClient(url) as client:
            client.preflight(kinds_of(groups), wait_s=30)
            results = client.score(groups, deadline_s=DEADLINE_S, progress=True)
    except (OSError, ValueError, VerifierClientError) as error:
        sys.exit(str(error))
    sys.stdout.write(summary(results, labels) + "\n")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python rewards_file.py GROUPS.jsonl [URL]")
    main(*sys.argv[1:])
