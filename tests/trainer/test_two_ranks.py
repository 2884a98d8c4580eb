from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainer_client.demo.tiny_model import make_model, make_tokenizer, save

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(540),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning"),
]


def test_ranks_that_share_groups_know_the_same_and_draw_the_same(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(["0123456789="], ())
    save(make_model(tokenizer, hidden=32, layers=1, positions=32, seed=0), tokenizer, tmp_path / "model")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command += [str(Path(__file__).with_name("two_ranks.py")), str(tmp_path / "model"), str(tmp_path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    finished = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=500, check=False
    )
    assert finished.returncode == 0, finished.stdout.decode(errors="replace")[-3000:]
    first, second = (json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(2))
    assert first == second
    records = first["tracker"]["records"].values()
    # Four batches of three groups of four; of the twelve rows two have no reward.
    assert sum(r["solved"] + r["failed"] for r in records) == 4 * 10
    assert sum(r["solved"] for r in records) == 4 * 6
    assert sum(r["visits"] for r in records) == 4 * 3
