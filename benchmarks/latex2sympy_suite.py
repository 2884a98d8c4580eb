"""Runs the tests of latex2sympy2_extended against this project's math verifier.

    python benchmarks/latex2sympy_suite.py [--source URL_OR_FOLDER] [--revision COMMIT] [--min-share 0.9]

Its sdist holds no tests, so they come from its git repository (a URL or a folder, bare or not), cloned into a temporary
folder; nothing of them is kept. They say which SymPy expression a LaTeX text is. Here each of those assertions is a pair:
the expression, printed by SymPy, is the gold, and the text is the answer. Texts that must not parse are checks as well: they
must not be verifiable as golds. What tests the converter itself (values for variables, its own command \\variable, its
normaliser's text) has no counterpart and is left out.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import pytest
import sympy

from verifier_service.faults import TaskFault
from verifier_service.verifiers.math.explain import check_gold
from verifier_service.verifiers.math.judge import judge_answer, prepare_gold
from verifier_service.verifiers.math.options import Options

REPOSITORY = "https://github.com/huggingface/latex2sympy2_extended"
OPTIONS = Options(allow_unevaluated=True)
INTERNALS = ("normalization_test.py", "variable_test.py")


class Tally:
    """Counts every assertion, and keeps those that went the other way. It is a pytest plugin to know the running test."""

    def __init__(self) -> None:
        self.test = ""
        self.agreed = 0
        self.not_counted = 0
        self.missed: collections.Counter[tuple[str, str, str]] = collections.Counter()

    def pytest_runtest_setup(self, item: Any) -> None:
        self.test = item.nodeid.rpartition("/")[2].partition("[")[0]

    def note(self, agrees: bool, answer: str, gold: str) -> None:
        if agrees:
            self.agreed += 1
        else:
            self.missed[self.test, answer, gold] += 1


class Text:
    """What the stand-in for `latex2sympy` returns: the text, which equals another when the verifier says so."""

    def __init__(self, latex: str, tally: Tally) -> None:
        self.latex, self.tally = latex, tally

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Text)
        self.tally.note(agree(other.latex, self.latex), self.latex, other.latex)
        return True

    __hash__ = None  # type: ignore[assignment]


def agree(gold: str, answer: str) -> bool:
    try:
        return judge_answer(prepare_gold(gold), answer, OPTIONS).outcome == "correct"
    except TaskFault:
        return False


def printed(expression: Any, answer: str) -> str:
    """A SymPy expression as LaTeX, with what SymPy's printer or those tests leave unsaid said.

    Natural logarithms are ln; a logarithm's base, which the printer drops, is divided by; `bar{x}` is a name in those tests for
    a letter with a bar; SymPy takes a limit that names no side from the right, which no reader of the text would.
    """
    expression = sympy.sympify(expression)
    if isinstance(expression, sympy.Basic):
        expression = expression.replace(
            lambda e: isinstance(e, sympy.log) and len(e.args) == 2, lambda e: sympy.log(e.args[0]) / sympy.log(e.args[1])
        )
    text = sympy.latex(expression, ln_notation=True)
    if "^" not in answer:
        text = re.sub(r"(\\to [^{}]*)\^[+-]\}", r"\1}", text)
    return re.sub(r"(?<![\\a-z])bar\{", r"\\overline{", text)


def stand_in(root: Path, tally: Tally) -> None:
    """Puts modules with latex2sympy2_extended's names in place, and our assertion in the place of its tests' own."""

    def assert_equal(latex: str, expr: Any, symbolically: bool = False, variables: dict[str, Any] | None = None) -> None:
        del symbolically  # here every comparison is by meaning
        if variables:
            tally.not_counted += 1
            return
        gold = printed(expr, latex)
        tally.note(agree(gold, latex), latex, gold)

    def latex2sympy(latex: str, *_: Any, **__: Any) -> Text:
        if "all_bad" in tally.test:
            refused = not check_gold(latex).ok
            tally.note(refused, latex, "(must not parse)")
            raise ValueError("counted")
        return Text(latex, tally)

    for name in ("latex2sympy2_extended", "latex2sympy2_extended.latex2sympy2"):
        module = types.ModuleType(name)
        module.latex2sympy = latex2sympy  # type: ignore[attr-defined]
        sys.modules[name] = module
    sys.path.insert(0, str(root))
    importlib.import_module("tests.context").__dict__["assert_equal"] = assert_equal


def fetch(source: str, revision: str, folder: Path) -> Path:
    root = folder / "tests_of_latex2sympy"
    subprocess.run(["git", "clone", "--quiet", source, str(root)], check=True)
    subprocess.run(["git", "-C", str(root), "checkout", "--quiet", revision], check=True)
    return root


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--source", default=REPOSITORY)
    arguments.add_argument("--revision", default="02999f5")
    arguments.add_argument("--min-share", type=float, default=0.8)
    given = arguments.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        root = fetch(given.source, given.revision, Path(name))
        stand_in(root, tally)
        quiet = [
            "-q",
            "--no-header",
            "--tb=line",
            "-p",
            "no:cacheprovider",
            "-c",
            "/dev/null",
            "--rootdir",
            str(root),
            "-W",
            "ignore",
        ]
        files = sorted(str(path) for path in (root / "tests").glob("*_test.py") if path.name not in INTERNALS)
        status = pytest.main([*quiet, "-r", "N", *files], plugins=[tally])
    for (test, answer, gold), times in sorted(tally.missed.items()):
        print(f"DISAGREES {test}: {answer!r} expected there={gold!r}" + (f" ({times} times)" if times > 1 else ""))
    total = tally.agreed + tally.missed.total()
    share = tally.agreed / total if total else 0.0
    print(
        f"{tally.agreed} of {total} assertions agree ({share:.1%}); {tally.not_counted} not counted; pytest ended with {status}"
    )
    return 0 if share >= given.min_share else 1


if __name__ == "__main__":
    sys.exit(main())
