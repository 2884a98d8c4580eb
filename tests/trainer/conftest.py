"""These tests need the trainer environment (`make trainer-env`); elsewhere they are left out at collection, and CI runs
them with VERIFIER_REQUIRE_TRAINER=1, which makes a missing torch or trl an error."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INSTALLED = all(importlib.util.find_spec(name) is not None for name in ("torch", "trl"))
collect_ignore_glob = [] if INSTALLED or os.environ.get("VERIFIER_REQUIRE_TRAINER") == "1" else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.trainer)
