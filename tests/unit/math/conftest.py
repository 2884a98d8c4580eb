"""Fixtures of the math tests: the project's own pairs, and a judge without processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from verifier_service.verifiers.math.judge import Judgement, judge, prepare_gold
from verifier_service.verifiers.math.options import Options

HERE = Path(__file__).parent


def pairs(name: str) -> list[tuple[str, str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [(gold, answer) for line in lines if line and not line.startswith("# ") for gold, answer in [line.split(" ;; ")]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name in ("equal", "unequal"):
        if f"{name}_pair" in metafunc.fixturenames:
            metafunc.parametrize(f"{name}_pair", pairs(f"{name}.txt"), ids=lambda pair: f"{pair[0]}~{pair[1]}")


@pytest.fixture(autouse=True)
def deep_enough() -> Iterator[None]:
    """The workers' recursion limit: the guards are set for it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(3000)
    yield
    sys.setrecursionlimit(before)


@pytest.fixture
def verdict() -> Callable[..., Judgement]:
    """Judge a boxed answer, or a whole completion."""

    def run(gold: str, answer: str | None = None, *, completion: str | None = None, **options: object) -> Judgement:
        text = completion if completion is not None else f"<think>\nwork\n</think>\n\n\\boxed{{{answer}}}"
        return judge(prepare_gold(gold), text, Options(**options))  # type: ignore[arg-type]

    return run
