"""The same client for code without an event loop. Safe to share between threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from trainer_client.answers import ScoredGroup
from trainer_client.batching import GroupLike
from trainer_client.client import VerifierClient, one_group
from trainer_client.client_metrics import ClientMetrics
from trainer_client.client_preflight import Preflight
from trainer_client.client_progress import ProgressCallback
from verifier_protocol import VerifierSpec


class SyncVerifierClient:
    """Takes what VerifierClient takes, or one of those to share its connections and cache."""

    def __init__(self, urls: str | Sequence[str] | None = None, *, client: VerifierClient | None = None, **options: Any) -> None:
        self.client = client if client is not None else VerifierClient(urls, **options)

    @property
    def metrics(self) -> ClientMetrics:
        return self.client.metrics

    def score(
        self,
        groups: Iterable[GroupLike],
        *,
        deadline_s: float | None = None,
        progress: bool | ProgressCallback = False,
    ) -> list[ScoredGroup]:
        """See VerifierClient.score. Interrupting it (Ctrl-C) cancels the requests."""
        future = self.client.submit(groups, deadline_s=deadline_s, progress=progress)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def score_completions(
        self,
        completions: Sequence[Any],
        verifiers: Sequence[VerifierSpec | Mapping[str, Any]] | None = None,
        *,
        gold: str | None = None,
        deadline_s: float | None = None,
    ) -> ScoredGroup:
        """See VerifierClient.score_completions."""
        (result,) = self.score([one_group(completions, verifiers, gold)], deadline_s=deadline_s)
        return result

    def preflight(self, kinds: Iterable[str] = (), *, wait_s: float = 0.0) -> Preflight:
        """See VerifierClient.preflight."""
        return self.client.submit_preflight(kinds, wait_s=wait_s).result()

    def close(self) -> None:
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
