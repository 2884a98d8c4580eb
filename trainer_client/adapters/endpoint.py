"""Clients of the adapters: one per process and configuration, made when first needed.

Frameworks load a reward function from a path and call it with one sample at a time, so what would be arguments comes
from their keyword settings or from the environment:

    VERIFIER_CLIENT_URL          base URL, or several separated by commas
    VERIFIER_TOKEN        bearer token, if the service asks for one
    VERIFIER_CLIENT_VERIFIERS    kinds separated by commas (math,format), or a JSON list of specs
    VERIFIER_CLIENT_DEADLINE_S   total seconds for one call
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer_client.answers import ScoredGroup
from trainer_client.client import VerifierClient
from trainer_client.client_coalesce import Coalescer
from trainer_client.client_errors import VerificationAborted
from trainer_client.rewards import RewardRecipe, Template, label_row, message_text
from verifier_protocol import UnscoredVerdict

URL_VARIABLE = "VERIFIER_CLIENT_URL"
VERIFIERS_VARIABLE = "VERIFIER_CLIENT_VERIFIERS"
DEADLINE_VARIABLE = "VERIFIER_CLIENT_DEADLINE_S"
DEADLINE_S = 240.0
Verifiers = str | Sequence[Template] | Template


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A service and how labels are verified there."""

    coalescer: Coalescer
    recipe: RewardRecipe

    @property
    def client(self) -> VerifierClient:
        return self.coalescer.client

    def group(self, completions: Sequence[Any], label: Any, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One group to score against a label; an `extra` that names verifiers or tests goes before the label."""
        row = label_row(label)
        for name in (self.recipe.verifiers_column, self.recipe.tests_column):
            if extra is not None and extra.get(name) is not None:
                row[name] = extra[name]
        return {"completions": [message_text(c) for c in completions], "verifiers": self.recipe.specs(row)}


def endpoint(
    url: str | Sequence[str] | None = None, verifiers: Verifiers | None = None, deadline_s: float | None = None
) -> Endpoint:
    """The endpoint with these settings, or those of the environment; made once."""
    url = url or os.environ.get(URL_VARIABLE, "")
    urls = tuple(part.strip() for part in url.split(",") if part.strip()) if isinstance(url, str) else tuple(url)
    if not urls:
        raise ValueError(f"no verifier service is named: pass its URL, or set {URL_VARIABLE}=http://HOST:8000")
    wanted = verifiers if verifiers is not None else os.environ.get(VERIFIERS_VARIABLE) or None
    seconds = deadline_s if deadline_s is not None else float(os.environ.get(DEADLINE_VARIABLE, DEADLINE_S))
    recipe = RewardRecipe.make(_templates(wanted))
    return _made(urls, json.dumps(recipe.templates, sort_keys=True), seconds)


@functools.lru_cache(maxsize=32)
def _made(urls: tuple[str, ...], templates: str, deadline_s: float) -> Endpoint:
    client = VerifierClient(urls, deadline_s=deadline_s)
    return Endpoint(Coalescer(client, deadline_s=deadline_s), RewardRecipe.make(json.loads(templates)))


def _templates(verifiers: Verifiers | None) -> Any:
    """Kinds separated by commas, or JSON, as text; anything else as plain lists and dicts (frameworks have their own)."""
    if not isinstance(verifiers, str):
        return _plain(verifiers)
    if verifiers.lstrip()[:1] in ("[", "{"):
        return json.loads(verifiers)
    return [kind.strip() for kind in verifiers.split(",") if kind.strip()]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return value


def why_unscored(result: ScoredGroup, row: int = 0) -> str:
    """The first reason why a completion has no reward."""
    for verdict in result.verdicts[row]:
        if isinstance(verdict, UnscoredVerdict):
            return f"{verdict.kind}: {verdict.reason.value}: {verdict.detail}"
    return "no verdict"


def unscored_error(framework: str, reason: str) -> VerificationAborted:
    return VerificationAborted(
        f"a completion could not be verified ({reason}). {framework} has no value for that, and a made-up one would teach "
        "the model something false. Mend the service, or choose a substitute by name (see docs/client.md)"
    )
