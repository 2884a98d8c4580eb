"""These tests need the vLLM environment (`make vllm-env`); elsewhere they are left out at collection. `make test-vllm` sets
VERIFIER_REQUIRE_VLLM=1, which makes a missing vLLM an error."""

from __future__ import annotations

import importlib.util
import os

INSTALLED = importlib.util.find_spec("vllm") is not None
collect_ignore_glob = [] if INSTALLED or os.environ.get("VERIFIER_REQUIRE_VLLM") == "1" else ["test_*.py"]
