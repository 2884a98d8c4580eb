"""Verdicts that need not be asked for again.

The key is the verifier's name and version, its spec without the weight, and the completion: a changed verifier is a
changed reward function, so its old verdicts are never found. Only scored verdicts are kept, and of those only what
another run would give again: a time limit may be the machine's doing. The version must have been confirmed lately
(by a verdict or by /v1/verifiers), else the cache is not used: nobody would notice a new one.

Verdicts are kept as JSON: bytes are small, and the garbage collector of a trainer does not walk over them.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from trainer_client.answers import Said, Scored, verifier_id
from verifier_protocol import Outcome, VerifierId, VerifierSpec

log = logging.getLogger(__name__)

MOST_BEGUN = 4096
UNSTABLE_OUTCOMES = (Outcome.TIME_LIMIT_EXCEEDED,)
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Scored)


def spec_key(spec: VerifierSpec) -> bytes:
    """A digest of everything in the spec that can change a score."""
    content = spec.model_dump_json(exclude={"weight"}, exclude_unset=True)
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


class VerdictCache:
    """Least recently used first out. Not locked: it belongs to the client's own thread."""

    def __init__(self, entries: int, version_ttl_s: float) -> None:
        self._entries = entries
        self._ttl_s = version_ttl_s
        self._versions: dict[str, tuple[VerifierId, float]] = {}
        self._announced: set[tuple[str, VerifierId]] = set()
        self._verdicts: OrderedDict[bytes, bytes] = OrderedDict()
        self._begun: dict[tuple[str, str, bytes], hashlib.blake2b] = {}

    @property
    def enabled(self) -> bool:
        return self._entries > 0

    def __len__(self) -> int:
        return len(self._verdicts)

    def learn(self, kind: str, verifier: VerifierId) -> None:
        """This version answers for this kind now; what another one said is no longer found."""
        known = self._versions.get(kind)
        if known is not None and (known[0].version != verifier.version or known[0].name != verifier.name):
            self._announce(kind, known[0], verifier)
        self._versions[kind] = (verifier, time.monotonic())

    def learn_all(self, verdicts: Iterable[Said]) -> None:
        """As `learn`, of the verifiers of an answer: most say the same as the one before."""
        kind, name, version = "", "", ""
        for verdict in verdicts:
            verifier = verdict.verifier
            if verifier.version != version or verdict.kind != kind or verifier.name != name:
                kind, name, version = verdict.kind, verifier.name, verifier.version
                self.learn(kind, verifier_id(name, version))

    def _announce(self, kind: str, old: VerifierId, new: VerifierId) -> None:
        if (kind, new) not in self._announced:
            self._announced.add((kind, new))
            said = "the %s verifier changed from version %r to %r: the reward function changed with it"
            log.warning(said, kind, old.version, new.version)

    def knows(self, kind: str) -> bool:
        """Whether anything may be looked up for this kind: its version is known."""
        return kind in self._versions

    def fresh(self, kind: str) -> bool:
        known = self._versions.get(kind)
        return known is not None and time.monotonic() - known[1] < self._ttl_s

    def may_have(self, kind: str, spec: bytes) -> bool:
        """False: no completion was ever judged in this way, so looking each one up is needless."""
        known = self._versions.get(kind)
        return known is not None and self.fresh(kind) and (known[0].name, known[0].version, spec) in self._begun

    def get(self, kind: str, spec: bytes, text: str) -> Scored | None:
        if not self.may_have(kind, spec):
            return None
        verifier = self._versions[kind][0]
        key = _key(self._beginning(verifier.name, verifier.version, spec), text)
        kept = self._verdicts.get(key)
        if kept is None:
            return None
        self._verdicts.move_to_end(key)
        verdict = _DECODER.decode(kept)
        verdict.cached = True
        return verdict

    def put_all(self, spec: bytes, judged: Iterable[tuple[str, Said | None]]) -> None:
        """Keep what may be kept of the verdicts by one spec, each with the completion that it judges."""
        name, version, beginning = "", "", None
        for text, verdict in judged:
            if not isinstance(verdict, Scored) or verdict.outcome in UNSTABLE_OUTCOMES:
                continue
            verifier = verdict.verifier
            if beginning is None or verifier.version != version or verifier.name != name:
                name, version = verifier.name, verifier.version
                beginning = self._beginning(name, version, spec)
            key = _key(beginning, text)
            self._verdicts[key] = _ENCODER.encode(verdict)
            self._verdicts.move_to_end(key)
        while len(self._verdicts) > self._entries:
            self._verdicts.popitem(last=False)

    def _beginning(self, name: str, version: str, spec: bytes) -> hashlib.blake2b:
        """What the keys of all completions have in common, digested once."""
        question = (name, version, spec)
        begun = self._begun.get(question)
        if begun is None:
            if len(self._begun) >= MOST_BEGUN:
                self._begun.clear()  # what they led to is no longer found, and falls out in its turn
            begun = self._begun[question] = hashlib.blake2b(repr(question).encode(), digest_size=16)
        return begun


def _key(beginning: hashlib.blake2b, text: str) -> bytes:
    digest = beginning.copy()
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()
