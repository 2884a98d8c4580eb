"""Programs that come as they are, where the code verifier expects a reply with a fenced block."""

from __future__ import annotations

import re

_BACKTICKS = re.compile("`{3,}")


def fenced(program: str, language: str = "python") -> str:
    """The program in a fence that nothing inside it can close."""
    longest = max((len(run) for run in _BACKTICKS.findall(program)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{program}\n{fence}\n"
