"""The OCI runtime that the settings name: whether the engine has it, and whether it is gVisor.

gVisor is a kernel of its own between a program and the host's, and asks for another container: its processes are the
host's too, so that the engine's limits hold the sandbox as a whole and the runner has to hold the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verifier_service.sandbox.contract import SandboxFault

Runtimes = Mapping[str, Mapping[str, Any]]  # `Runtimes` of an engine's /info


class RuntimeMissing(SandboxFault):
    """The engine has no such runtime."""


def lack_of_runtime(name: str, runtimes: Runtimes) -> str | None:
    """Why an engine with these runtimes can't make containers with this one, and how to mend it; or None.

    A shim's name or path need not be registered: the engine looks for it when it makes the first container.
    """
    if name in runtimes or "." in name or "/" in name:
        return None
    there = ", ".join(sorted(runtimes)) or "none"
    return (
        f"the engine has no runtime named {name} (it has {there}): register it in /etc/docker/daemon.json and restart"
        " the engine (docs/sandbox.md says how), or unset VERIFIER_SANDBOX_RUNTIME"
    )


def is_gvisor(name: str, runtimes: Runtimes) -> bool:
    """By the name, or by the program or shim that the engine has for it."""
    entry = runtimes.get(name, {})
    return any("runsc" in str(word) for word in (name, entry.get("path", ""), entry.get("runtimeType", "")))
