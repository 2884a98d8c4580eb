"""Pairs a second of this project's math verifier and of math-verify, in one run, on the same pairs, on one core.

    python benchmarks/math_speed.py [--gsm8k FILE.jsonl] [--answers FILE.json] [--rounds 3] [--version 0.9.0]

Two workloads. Grade-school: completions that end in a boxed whole number, half right, half wrong. Competition: answers in
LaTeX against themselves in another spelling and against one another. Without files both are made here; `--gsm8k` takes a
JSONL with `answer` ending in `#### n`, `--answers` a JSON of golds (a list, or an object with `expected_answer`).
math-verify comes from the package index into a virtual environment of its own and runs there as a child on the same core.
Ours is also measured by stage: mean and 99th percentile of the time that pairs decided there took.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections import defaultdict
from pathlib import Path

os.environ |= {"SYMPY_GROUND_TYPES": "python", "MPMATH_NOGMPY": "1"}

from verifier_service.faults import TaskFault
from verifier_service.verifiers.math.judge import judge, prepare_gold
from verifier_service.verifiers.math.options import Options
from verifier_service.verifiers.math.worker import warm_up

Pair = tuple[str, str]
THINKING = "<think>\n" + "We add up what is given and check each step with care. " * 20 + "\n</think>\n\n"
MADE_ANSWERS = [
    "\\frac{3}{4}", "2\\sqrt{5}", "(3,\\frac{\\pi}{2})", "x^3+3x-6", "[-2,7]", "(-\\infty,2)\\cup(3,\\infty)", "6+9i", "18+2\\pi",
    "\\begin{pmatrix}-1/3\\\\2/3\\\\5/3\\end{pmatrix}", "1\\pm\\sqrt{19}", "-\\frac{\\sqrt{3}}{2}", "\\text{Evelyn}", "(B)",
    "3,5,7",
    "5x-7y+11z+4=0", "\\{1\\pm\\sqrt{5},-2\\}", "11\\sqrt{5}+11", "4210_{5}", "y=-2x", "\\frac{9}{256}", "137\\frac{1}{2}",
    "2k+2",
]  # fmt: skip

THEIRS = r"""
import json, sys, time
from math_verify import parse, verify
pairs = json.load(open(sys.argv[1]))
for gold, completion in pairs[:5]:
    verify(parse(gold), parse(completion))
started = time.perf_counter()
right = sum(bool(verify(parse("\\boxed{" + gold + "}"), parse(completion))) for gold, completion in pairs)
print(json.dumps([len(pairs) / (time.perf_counter() - started), right]))
"""


def grade_school(path: Path | None, count: int) -> list[Pair]:
    chance = random.Random(7)
    if path is None:
        golds = [str(chance.randrange(1, 5000)) for _ in range(count)]
    else:
        golds = [json.loads(line)["answer"].rpartition("####")[2].strip() for line in path.read_text().splitlines()][:count]
    return [
        (g, f"{THINKING}So the answer is \\boxed{{{g if i % 2 else int(g.replace(',', '')) + 1}}}.") for i, g in enumerate(golds)
    ]


def competition(path: Path | None, count: int) -> list[Pair]:
    answers = MADE_ANSWERS
    if path is not None:
        data = json.loads(path.read_text())
        answers = list(data["expected_answer"].values()) if isinstance(data, dict) else data
    other = [answer.replace("\\frac", "\\dfrac").replace("(", "\\left(").replace(")", "\\right)") for answer in answers]
    pairs = [(g, f"{THINKING}\\boxed{{{o}}}") for g, o in zip(answers, other, strict=True)]
    pairs += [(g, f"{THINKING}\\boxed{{{o}}}") for g, o in zip(answers, other[1:] + other[:1], strict=True)]
    return (pairs * (count // len(pairs) + 1))[:count]


def ours(pairs: list[Pair]) -> tuple[float, int, dict[str, list[float]]]:
    """(pairs a second, how many were right, microseconds by stage). Each gold is prepared once, as a worker does."""
    options, golds, right = Options(), {}, 0
    stages: dict[str, list[float]] = defaultdict(list)
    started = time.perf_counter()
    for gold, completion in pairs:
        begun = time.perf_counter()
        try:
            prepared = golds.get(gold) or golds.setdefault(gold, prepare_gold(gold))
            done = judge(prepared, completion, options)
            stage, right = done.stage, right + (done.outcome == "correct")
        except TaskFault:
            stage = "bad task"
        stages[stage].append((time.perf_counter() - begun) * 1e6)
    return len(pairs) / (time.perf_counter() - started), right, stages


def theirs(python: Path, pairs: list[Pair], folder: Path) -> tuple[float, int]:
    work = folder / "pairs.json"
    work.write_text(json.dumps(pairs))
    script = folder / "theirs.py"
    script.write_text(THEIRS)
    done = subprocess.run([python, script, work], check=True, capture_output=True, text=True)
    rate, right = json.loads(done.stdout.splitlines()[-1])
    return rate, right


def install(folder: Path, version: str) -> Path:
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"math-verify[antlr4_13_2]=={version}"], check=True)
    return python


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--gsm8k", type=Path)
    arguments.add_argument("--answers", type=Path)
    arguments.add_argument("--pairs", type=int, default=1000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--version", default="0.9.0")
    arguments.add_argument("--python", type=Path, help="an interpreter that has math-verify already")
    given = arguments.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    sys.setrecursionlimit(3000)
    warm_up()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = given.python or install(folder, given.version)
        for title, pairs in (
            ("grade-school", grade_school(given.gsm8k, given.pairs)),
            ("competition", competition(given.answers, given.pairs)),
        ):
            rates, others, by_stage, right, right_there = [], [], {}, 0, 0
            for _ in range(given.rounds):
                rate, right, by_stage = ours(pairs)
                rates.append(rate)
                other, right_there = theirs(python, pairs, folder)
                others.append(other)
            mine, other = statistics.median(rates), statistics.median(others)
            print(f"{title}: {len(pairs)} pairs; ours {mine:,.0f}/s, math-verify {other:,.0f}/s, {mine / other:.1f} times")
            print(f"  accepted: ours {right}, math-verify {right_there}")
            for stage, times in sorted(by_stage.items(), key=lambda item: -len(item[1])):
                times.sort()
                p99 = times[min(len(times) - 1, int(len(times) * 0.99))]
                print(f"  {stage:16} {len(times):6}  mean {statistics.fmean(times):9.1f} µs  p99 {p99:9.1f} µs")


if __name__ == "__main__":
    main()
