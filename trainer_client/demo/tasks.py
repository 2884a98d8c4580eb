"""What the tiny model learns. Both tasks are made here, with seeds; nothing is downloaded.

A warm start shows the model how completions look, spoiled on purpose: what the answer is, and that the format has to be
right every time, is left for the reward to teach.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Task:
    """rows: the data set; pairs(rng): warm-start examples; whole: strings that are one token each.

    environment: settings of the service started for it.
    """

    name: str
    rows: list[Row]
    pairs: list[Pair]
    whole: tuple[str, ...]
    verifiers: list[Any]
    completion_tokens: int
    hidden: int
    layers: int
    warm_steps: int
    train_steps: int
    prompts_per_batch: int
    group_size: int
    learning_rate: float
    beta: float
    curriculum: bool = False
    heads: int = 4
    environment: dict[str, str] = field(default_factory=dict)


def arithmetic(seed: int) -> Task:
    """`37+5=` → `<think>37+5</think>\\boxed{42}`, scored by the math verifier (1) and the format verifier (0.2)."""
    rng = random.Random(seed)  # noqa: S311 - makes exercises
    sums = [(a, b) for a in range(1, 20) for b in range(1, 20)]
    rng.shuffle(sums)
    rows = [{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a, b in sums]
    pairs = [(f"{a}+{b}=", _spoiled_solution(a, b, rng)) for a, b in sums for _ in range(4)]
    return Task(
        name="arithmetic",
        rows=rows,
        pairs=pairs,
        whole=("<think>", "</think>", "\\boxed{"),
        verifiers=["math", {"kind": "format", "weight": 0.2}],
        completion_tokens=20,
        hidden=96,
        layers=3,
        warm_steps=400,
        train_steps=150,
        prompts_per_batch=32,
        group_size=8,
        learning_rate=5e-4,
        beta=0.02,
        # Nothing here runs code, so no sandbox is prepared.
        environment={"VERIFIER_SANDBOX": "off"},
    )


def _spoiled_solution(a: int, b: int, rng: random.Random) -> str:
    """The answer is off by up to 3 in three of four cases, and four of ten have a fault of format."""
    answer = a + b if rng.random() < 0.25 else max(0, a + b + rng.randint(-3, 3))
    thought, box = f"<think>{a}+{b}</think>", f"\\boxed{{{answer}}}"
    faults: list[Callable[[], str]] = [
        lambda: f"<think>{a}+{b}{box}",
        lambda: f"{thought}{answer}",
        lambda: f"{box}",
        lambda: f"{thought}{box}{answer}",
    ]
    return rng.choice(faults)() if rng.random() < 0.4 else thought + box


# Each task: how it is written in the prompt, and the expression in a and b that solves it.
OPERATIONS = {"s": "a+b", "d": "a-b", "p": "a*b", "m": "max(a,b)", "n": "min(a,b)", "r": "b-a"}
CONSTANTS = 2
PROGRAM_START = "```python\na,b=map(int,input().split())\n"


def code(seed: int) -> Task:
    """`s:3` → a program of two lines for stdin, scored by the code verifier on three hidden cases.

    The letter says what to print of the two numbers read (their sum, difference, product, maximum …), the digit which
    constant to add. The warm start writes a program with any expression; which one is right is told by the tests alone.
    """
    rng = random.Random(seed)  # noqa: S311 - makes exercises
    rows: list[Row] = [
        {"prompt": f"{letter}:{constant}\n", "tests": json.dumps(_tests(letter, constant, rng))}
        for letter in OPERATIONS
        for constant in range(CONSTANTS)
    ]
    pairs = [(row["prompt"], _any_program(rng)) for row in rows for _ in range(60)]
    return Task(
        name="code",
        rows=rows,
        pairs=pairs,
        whole=(PROGRAM_START, "print(", "```", *OPERATIONS.values()),
        verifiers=["code"],
        completion_tokens=14,
        hidden=96,
        layers=2,
        warm_steps=250,
        train_steps=80,
        prompts_per_batch=12,
        group_size=16,
        learning_rate=7e-4,
        beta=0.0,
    )


def _tests(letter: str, constant: int, rng: random.Random) -> Row:
    solve: dict[str, Callable[[int, int], int]] = {
        "s": lambda a, b: a + b,
        "d": lambda a, b: a - b,
        "p": lambda a, b: a * b,
        "m": max,
        "n": min,
        "r": lambda a, b: b - a,
    }
    pairs = [(9, 4), (2, 7), (rng.randint(10, 99), rng.randint(10, 99))]
    cases = [{"stdin": f"{a} {b}\n", "expected_stdout": f"{solve[letter](a, b) + constant}\n"} for a, b in pairs]
    return {"style": "stdin", "cases": cases}


def _any_program(rng: random.Random) -> str:
    """Some expression and some constant, and one in five forgets a bracket."""
    expression, constant = rng.choice(list(OPERATIONS.values())), rng.randrange(CONSTANTS)
    closing = ")" if rng.random() < 0.8 else ""
    return f"{PROGRAM_START}print({expression}+{constant}{closing}\n```"


TASKS: dict[str, Callable[[int], Task]] = {"arithmetic": arithmetic, "code": code}
