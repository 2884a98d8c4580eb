"""Runs the public test suite of math-verify against this project's math verifier.

    python benchmarks/math_verify_suite.py [--version 0.9.0] [--sdist FILE] [--min-share 0.95]

The sdist comes from the package index through pip into a temporary folder; nothing of it is kept. Its tests import a stand-in
for `math_verify` that is made here: `parse` finds the answer's text, `verify` asks this project. Every check that has a
gold, a prediction and an expectation is counted; tests of math-verify's own internals (mocked time-outs, SymPy objects that
`parse` returns, its letter finder) have no counterpart and are listed apart.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import types
from pathlib import Path
from typing import Any

import pytest

from verifier_service.faults import TaskFault
from verifier_service.verifiers.math.extract import boxes, extract
from verifier_service.verifiers.math.judge import judge_answer, prepare_gold
from verifier_service.verifiers.math.options import Options

_SPAN = re.compile(r"\$\$(.+?)\$\$|\\\[(.+?)\\\]|(?<!\\)\$((?:[^$\\\n]|\\.)+?)\$|\\\(([^\n]+?)\\\)", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,.]*(?:/\d+)?%?")
INTERNALS = (
    "test_timeout",
    "test_raise_on_error",
    "test_configs",
    "test_gamma_func",
    "test_string_extraction.py",
    "test_precision",
)


def answer_text(text: str, latex_only: bool) -> str | None:
    """The answer in a gold or a response, looked for as that suite wants: also the last number of any prose.

    The service itself never digs numbers out of prose; what is tested here is what counts as equal.
    """
    text = text.replace("<|im_start|>user", "")
    final = text.lower().rfind("final answer:")
    if boxes(text) and not boxes(text[final:] if final > 0 else text) and final > 0:
        text = text[final:]
    if boxes(text):
        return extract(text, ("boxed",)).answer or ""
    if final >= 0 or "nswer is" in text:
        found = extract(text, ("final_answer",)).answer
        if found:
            return _last_number(found) if re.search(r"[a-z]{3} [A-Za-z]{3}", found) else found
    spans = list(_SPAN.finditer(text))
    if len(spans) > 1 and re.fullmatch(r"(?:\s|and|or|,)*", _SPAN.sub(" ", text)):
        return text
    after = text[spans[-1].end() :] if spans else text
    if spans and not (_NUMBER.search(after) and re.search(r"[a-z]{3}", after)):
        return next(g for g in spans[-1].groups() if g is not None).strip()
    if latex_only and not spans:
        return None
    prose = " " in after.strip() and re.search(r"[A-Za-z]{2}", after) and "\\" not in after
    return _last_number(after) if prose else text.strip()


def _last_number(prose: str) -> str:
    numbers = _NUMBER.findall(prose)
    return str(numbers[-1]).rstrip(".,") if numbers else prose


def parse(text: str, targets: Any = (), *_: Any, **__: Any) -> list[str]:
    latex_only = bool(targets) and all(t == "LatexExtractionConfig" for t in targets)
    found = answer_text(text, latex_only)
    return [] if found is None else [found]


def verify(gold: Any, answer: Any, float_rounding: int = 6, **_: Any) -> bool:
    if not gold or not answer:
        return False
    options = Options(rel_tol=None if float_rounding == 6 else 10.0**-float_rounding)
    try:
        return judge_answer(prepare_gold(str(gold[0])), str(answer[0]), options).outcome == "correct"
    except TaskFault:
        return False


def stand_in() -> None:
    """Puts modules with math-verify's names in place."""

    top = types.ModuleType("math_verify")
    grader, parser = types.ModuleType("math_verify.grader"), types.ModuleType("math_verify.parser")
    extended = types.ModuleType("latex2sympy2_extended")
    extended.NormalizationConfig = dict  # type: ignore[attr-defined]
    for module in (top, grader, parser):
        for name, thing in (
            ("parse", parse),
            ("verify", verify),
            ("sympy_expr_eq", verify),
            ("parse_expr", None),
            ("latex2sympy", None),
        ):
            setattr(module, name, thing)
        for name in ("ExprExtractionConfig", "LatexExtractionConfig", "StringExtractionConfig"):
            setattr(module, name, lambda *_, name=name, **__: name)
    sys.modules |= {
        "math_verify": top,
        "math_verify.grader": grader,
        "math_verify.parser": parser,
        "latex2sympy2_extended": extended,
    }


class Tally:
    """A pytest plugin that keeps each check with its pair."""

    def __init__(self) -> None:
        self.agreed = 0
        self.internal = 0
        self.missed: list[tuple[str, Any, Any, Any]] = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any) -> Any:
        outcome = yield
        report = outcome.get_result()
        if report.when != "call":
            return
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if "gold" not in parameters or any(name in item.nodeid for name in INTERNALS):
            self.internal += 1
        elif report.passed:
            self.agreed += 1
        else:
            expected = parameters.get("expected", parameters.get("result"))
            self.missed.append(
                (item.nodeid.rpartition("::")[2].partition("[")[0], parameters["gold"], parameters["pred"], expected)
            )


def fetch(version: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder)]
    subprocess.run([*command, f"math-verify=={version}"], check=True)
    return next(folder.glob("math*verify-*.tar.gz"))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--version", default="0.9.0")
    arguments.add_argument("--sdist", type=Path)
    arguments.add_argument("--min-share", type=float, default=0.95)
    given = arguments.parse_args()
    sys.setrecursionlimit(3000)
    stand_in()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with tarfile.open(given.sdist or fetch(given.version, folder)) as archive:
            archive.extractall(folder, filter="data")
        root = next(path for path in folder.glob("math_verify-*") if path.is_dir())
        tally = Tally()
        sys.path.insert(0, str(root))
        quiet = [
            "-q",
            "--no-header",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            "-c",
            "/dev/null",
            "--rootdir",
            str(root),
            "-W",
            "ignore",
            "-r",
            "N",
        ]
        pytest.main([*quiet, str(root / "tests")], plugins=[tally])
    for test, gold, pred, expected in tally.missed:
        print(f"DISAGREES {test}: gold={gold!r} pred={pred!r} expected there={expected}")
    total = tally.agreed + len(tally.missed)
    share = tally.agreed / total if total else 0.0
    print(f"{tally.agreed} of {total} checks agree ({share:.1%}); {tally.internal} tests of internals not counted")
    return 0 if share >= given.min_share else 1


if __name__ == "__main__":
    sys.exit(main())
