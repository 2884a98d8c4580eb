"""Verdicts of earlier requests, by what decided them: the verifier with its version, the task, the completion.

Only outcomes that the same input must bring again are kept. A limit exceeded depends on the machine's load, and what is
unscored was never judged: neither is kept. The key is a 128-bit keyed hash, so that nobody can prepare two inputs with
one key.
"""

from __future__ import annotations

import secrets
from hashlib import blake2b

from cachetools import LRUCache

from verifier_protocol import Outcome, ScoredVerdict, VerifierId

REPEATABLE = frozenset(
    {
        Outcome.CORRECT,
        Outcome.INCORRECT,
        Outcome.PARTIAL,
        Outcome.NO_ANSWER,
        Outcome.MALFORMED_ANSWER,
        Outcome.ANSWER_TOO_COMPLEX,
        Outcome.COMPILE_ERROR,
        Outcome.RUNTIME_ERROR,
    }
)
FIXED_BYTES = 1200  # of a verdict and its entry, without its texts
TEST_BYTES = 600

_KEY = secrets.token_bytes(32)


def task_key(verifier: VerifierId, spec_json: bytes) -> bytes:
    """The part of a key that a whole group shares."""
    head = f"{verifier.name}\0{verifier.version}\0".encode()
    return blake2b(head + spec_json, digest_size=16, key=_KEY).digest()


def verdict_key(task: bytes, completion: str) -> bytes:
    return blake2b(task + completion.encode("utf-8", "surrogatepass"), digest_size=16, key=_KEY).digest()


def size_of(verdict: ScoredVerdict) -> int:
    """About how many bytes an entry takes."""
    tests = verdict.tests or []
    texts = len(verdict.detail) + len(verdict.extracted or "") + sum(len(t.stdout_tail) + len(t.stderr_tail) for t in tests)
    return FIXED_BYTES + TEST_BYTES * len(tests) + texts


class VerdictCache:
    """Least recently used go first, once `max_bytes` are full."""

    def __init__(self, max_bytes: int) -> None:
        self._entries: LRUCache[bytes, ScoredVerdict] | None = LRUCache(max_bytes, getsizeof=size_of) if max_bytes else None

    def get(self, key: bytes) -> ScoredVerdict | None:
        return self._entries.get(key) if self._entries is not None else None

    def put(self, key: bytes, verdict: ScoredVerdict) -> None:
        if self._entries is None or verdict.outcome not in REPEATABLE or size_of(verdict) > self._entries.maxsize // 16:
            return
        self._entries[key] = verdict
