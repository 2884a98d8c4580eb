"""Which verifiers this process has: the three built-in ones, and those of installed packages.

A package adds a verifier under the entry-point group `verifier_service.verifiers`: its name is the kind, its value a
callable that takes the `Settings` and returns a `Verifier` (see `verifiers.base`). Two verifiers of one kind are an
error at start: which of them decides a reward must never depend on the order of installation.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

from verifier_protocol.request import BUILTIN_KINDS
from verifier_service.sandbox.contract import SandboxBackend
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Verifier
from verifier_service.verifiers.code.verifier import CodeVerifier
from verifier_service.verifiers.format.verifier import FormatVerifier
from verifier_service.verifiers.math.verifier import MathVerifier

GROUP = "verifier_service.verifiers"


class VerifierCollision(ValueError):
    """Two installed verifiers claim one kind."""


def make_verifiers(settings: Settings, backend: SandboxBackend | None, unavailable: str = "") -> Mapping[str, Verifier]:
    """The verifiers by kind, not started.

    Args:
        backend: where programs run; None when this machine has no sandbox, and `unavailable` then says why and how to
            mend it (code completions are unscored with that text).

    Raises:
        VerifierCollision: a plug-in claims a kind that is taken.
    """
    verifiers: dict[str, Verifier] = {
        "math": MathVerifier(settings),
        "format": FormatVerifier(),
        "code": CodeVerifier(backend, settings, unavailable=unavailable),
    }
    for entry in entry_points(group=GROUP):
        if entry.name in verifiers:
            taken = "built in" if entry.name in BUILTIN_KINDS else "already added by another package"
            raise VerifierCollision(f"verifier kind {entry.name!r} of {entry.value!r} is {taken}; uninstall one or rename it")
        verifiers[entry.name] = entry.load()(settings)
    return verifiers
