"""The harness modules as two self-contained source texts, as the sandbox loads them.

The modules are plain files that the type checker and the linter read; here their imports of one another are taken out
and their texts are put one after the other, in order of dependence.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PEER = ("codec", "channel", "described", "lent", "proxies", "restraint", "making", "peer")
TESTS = ("mini_pytest", "pytest_run", "task_code", "class_use", "task_plan", "submission_module", "unittest_run", "asserts")
SUBMISSION = (*PEER, "nodes", "submission_side", "rehearsal_submission")
JUDGE = (*PEER, "agree", *TESTS, "interactive_greeting", "interactive_idle", "interactive_judge", "judge_side", "rehearsal_judge")
INTERACTIVE_SUBMISSION = ("interactive_greeting", "interactive_submission")
PACKAGE = "verifier_service"


@cache
def submission_harness() -> str:
    """Source that defines `serve(source, channel_fd)`."""
    return _bundled(SUBMISSION)


@cache
def judge_harness() -> str:
    """Source that defines `judge(payload, channel_fd, emit)`."""
    return _bundled(JUDGE)


@cache
def in_process_harness() -> str:
    """Source of a submission's end that can also run the tests by itself, in the submission's process."""
    return _bundled((*SUBMISSION, *TESTS, "in_process"))


@cache
def interactive_submission_harness() -> str:
    """Source that defines `serve(source, channel_fd)` for a program that talks to an interactor."""
    return _bundled(INTERACTIVE_SUBMISSION)


def _bundled(names: tuple[str, ...]) -> str:
    parts = ["from __future__ import annotations"]
    for name in names:
        source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
        parts.append(_without_own_imports(source))
    return "\n\n".join(parts) + "\n"


def _without_own_imports(source: str) -> str:
    """The text without `from __future__` and without imports of this package, line numbers kept."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module == "__future__" or str(node.module).startswith(PACKAGE)):
            assert node.end_lineno is not None
            for index in range(node.lineno - 1, node.end_lineno):
                lines[index] = "    pass" if node.col_offset else ""
    return "\n".join(lines)
