"""What other systems call the languages that we have."""

from __future__ import annotations

from collections.abc import Collection

from verifier_service.api.problems import RequestRefused
from verifier_service.sandbox.runner.languages import LANGUAGES
from verifier_service.verifiers.code.naming import language_named

# Those whose replies tell of a compilation beside the run.
COMPILED = frozenset(row.name for row in LANGUAGES.values() if row.compile)


def language_of(name: str, available: Collection[str], field: str = "language") -> str:
    """Our name of a language.

    Raises:
        RequestRefused: 422; this service doesn't have it.
    """
    ours = language_named(name, available)
    if ours not in available and available:
        raise RequestRefused(422, f"{field}: this service runs {', '.join(sorted(available))}", field)
    return ours
