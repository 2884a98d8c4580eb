"""A traceback in the log never shows what the code held: golds, tests and programs are among it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, structlog
from verifier_service.observability.logs import configure_logs
from verifier_service.settings import Settings

configure_logs(Settings(log_format=sys.argv[1]))

def judge(gold):
    raise TypeError("boom")

try:
    judge("gold-" + str(4700 + 11))
except TypeError as error:
    structlog.get_logger("judge").error("verifier raised", exc_info=error)
"""


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_a_traceback_shows_no_values(log_format: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, log_format], capture_output=True, text=True, timeout=60, check=True)
    assert "boom" in done.stderr
    assert "Traceback" in done.stderr
    assert "gold-4711" not in done.stderr
