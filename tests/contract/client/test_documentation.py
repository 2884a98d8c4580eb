"""The page of the client keeps its word: every Python block compiles, and those that need no trainer run."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/client.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
# What a reader has and this environment hasn't: a trainer's names, an ellipsis to fill in.
NEEDS_A_TRAINER = ("GRPOTrainer", "import ray", "completions_as_they_finish")
RUNNABLE = [block for block in BLOCKS if not any(name in block for name in NEEDS_A_TRAINER)]
EXAMPLE = ROOT / "trainer_client/examples/rewards_file.py"


def test_the_page_has_blocks_of_both_sorts():
    assert len(BLOCKS) >= 5
    assert len(RUNNABLE) >= 3


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_python_block_of_the_page_compiles(block):
    compile(block, "docs/client.md", "exec")


@pytest.mark.parametrize("block", RUNNABLE, ids=range(len(RUNNABLE)))
def test_a_block_that_needs_no_trainer_runs_and_prints_what_its_comments_say(block, shared_service):
    source = block.replace("http://127.0.0.1:8000", shared_service.url)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "docs/client.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue().splitlines() == re.findall(r"print\(.*\)  # (.*)", block)


def test_the_reward_function_of_the_page_is_made_as_written(shared_service):
    block = next(block for block in BLOCKS if "GRPOTrainer" in block).replace("http://127.0.0.1:8000", shared_service.url)
    made: dict[str, object] = {}
    names = {"GRPOTrainer": lambda **given: made.update(given), "GRPOConfig": lambda *_: None, "dataset": None}
    exec(compile(block, "docs/client.md", "exec"), names)
    assert made["reward_funcs"] is names["reward"]


def run_example(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(EXAMPLE), *arguments], capture_output=True, text=True, timeout=60)


def test_the_example_reads_every_form_that_score_reads(tmp_path, shared_service):
    lines = [
        {
            "id": 7,
            "completions": ["\\boxed{4}", "\\boxed{5}"],
            "verifiers": [{"kind": "math", "gold": "4"}],
            "labels": [True, True],
        },
        {"completion": "\\boxed{6}", "gold": "6", "label": True, "meta": {"source": "own"}},
        {"completions": ["\\boxed{0.34}"], "gold": "1/3", "options": {"rel_tol": 0.1}},
        {"completion": "\\boxed{1}", "gold": "\\frac{1}{", "label": True},
    ]
    file = tmp_path / "groups.jsonl"
    file.write_text("\n\n".join(json.dumps(line) for line in lines) + "\n")
    done = run_example(str(file), shared_service.url)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "4 groups, 5 completions, 1 unscored",
        "mean reward 0.750, pass rate 75.0%",
        "2 of 3 verdicts as labelled",
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 1: "),
        ('{"completion": "x"}', "gold or verifiers"),
        ('{"completion": "x", "gold": "1", "labels": [true, false]}', "2"),
    ],
)
def test_the_example_names_the_line_that_it_cannot_read(tmp_path, line, said):
    file = tmp_path / "groups.jsonl"
    file.write_text(line)
    done = run_example(str(file))
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
