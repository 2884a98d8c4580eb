"""Is the service there, does it speak our protocol, can it score what will be asked? Asked before any GPU time is spent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from trainer_client.client_errors import ServiceNotReady
from trainer_client.client_transport import LONGEST_DETAIL, Live
from trainer_client.retry import Deadline
from verifier_protocol import PROTOCOL_VERSION, VerifierId

POLL_S = 0.5
REQUEST_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class ReplicaReport:
    """What one replica said. `problem` is None when it can score everything asked for."""

    url: str
    problem: str | None
    verifiers: Mapping[str, VerifierId]


@dataclass(frozen=True, slots=True)
class Preflight:
    """The verifiers (by kind) that will decide the rewards, and each replica's report."""

    verifiers: Mapping[str, VerifierId]
    replicas: tuple[ReplicaReport, ...]

    @property
    def warnings(self) -> list[str]:
        return [f"{report.url}: {report.problem}" for report in self.replicas if report.problem is not None]


async def run_preflight(live: Live, kinds: Iterable[str], deadline: Deadline) -> Preflight:
    """Ask every replica, again and again until one is ready or the deadline has passed.

    Raises:
        ServiceNotReady: no replica can score all the kinds, or ready replicas have different verifier versions.
    """
    wanted = sorted(set(kinds))
    while True:
        reports = await asyncio.gather(*(_ask(live.http, r.url, wanted, deadline) for r in live.replicas.replicas))
        ready = [report for report in reports if report.problem is None]
        if ready:
            break
        if deadline.remaining_s() <= POLL_S:
            said = "; ".join(f"{report.url}: {report.problem}" for report in reports)
            raise ServiceNotReady(f"no verifier service is ready: {said}")
        await asyncio.sleep(POLL_S)
    chosen = ready[0].verifiers
    for report in ready[1:]:
        for kind in wanted or chosen:
            ours, theirs = chosen.get(kind), report.verifiers.get(kind)
            if ours != theirs:
                raise ServiceNotReady(
                    f"replicas disagree about {kind!r}: {ready[0].url} has {_name(ours)}, {report.url} has {_name(theirs)}. "
                    "Their rewards could differ: run one version on all replicas"
                )
    return Preflight(chosen, tuple(reports))


async def fetch_versions(live: Live, timeout_s: float) -> dict[str, VerifierId]:
    """The versions that some replica has now; empty if none answers in time."""
    for replica in sorted(live.replicas.replicas, key=lambda r: (r.failures, r.last_used)):
        try:
            async with asyncio.timeout(timeout_s):
                response = await live.http.get(f"{replica.url}/v1/verifiers")
        except (httpx.TransportError, TimeoutError):
            continue
        if response.status_code == 200:
            return _verifiers(response.content)
    return {}


async def _ask(http: httpx.AsyncClient, url: str, kinds: list[str], deadline: Deadline) -> ReplicaReport:
    try:
        async with asyncio.timeout(max(0.1, min(REQUEST_TIMEOUT_S, deadline.remaining_s()))):
            ready = await http.get(f"{url}/readyz", params={"kinds": ",".join(kinds)} if kinds else None)
            described = await http.get(f"{url}/v1/verifiers")
    except TimeoutError:
        return ReplicaReport(url, "no answer; is the service overloaded, or the address a firewalled one?", {})
    except httpx.TransportError as error:
        hint = "start it (`verifier-service serve`) or correct the URL"
        return ReplicaReport(url, f"{type(error).__name__}: {error}"[:LONGEST_DETAIL] + f"; {hint}", {})
    if described.status_code in (401, 403):
        return ReplicaReport(url, "it asks for a bearer token; pass token=, or set VERIFIER_TOKEN", {})
    verifiers = _verifiers(described.content) if described.status_code == 200 else {}
    return ReplicaReport(url, _problem_of(ready, kinds, verifiers), verifiers)


def _problem_of(ready: httpx.Response, kinds: list[str], verifiers: Mapping[str, VerifierId]) -> str | None:
    body = _object(ready.content)
    protocol = body.get("protocol")
    if protocol is None:
        if ready.status_code == 422:
            missing = [kind for kind in kinds if kind not in verifiers]
            return f"it has no verifier of kind {', '.join(missing) or ', '.join(kinds)}; it has {', '.join(sorted(verifiers))}"
        return f"/readyz answered {ready.status_code}, and not as a verifier service does; is this its base URL?"
    if protocol != PROTOCOL_VERSION:
        return f"it speaks protocol {protocol!s:.20}, this client {PROTOCOL_VERSION}; upgrade the older of the two"
    states = body.get("kinds")
    states = states if isinstance(states, dict) else {}
    down = [
        f"{kind}: {str(state.get('detail', 'not ready'))[:LONGEST_DETAIL]}"
        for kind, state in sorted(states.items())
        if isinstance(state, dict) and state.get("ready") is not True
    ]
    if down:
        return f"not ready: {'; '.join(down)}"
    if ready.status_code != 200:
        return f"/readyz answered {ready.status_code}"
    missing = [kind for kind in kinds if kind not in verifiers]
    return f"it names no version of {', '.join(missing)}" if missing else None


def _verifiers(content: bytes) -> dict[str, VerifierId]:
    found = _object(content).get("verifiers")
    versions = {}
    for kind, facts in found.items() if isinstance(found, dict) else ():
        if isinstance(facts, dict) and isinstance(facts.get("name"), str) and isinstance(facts.get("version"), str):
            versions[kind] = VerifierId(name=facts["name"], version=facts["version"])
    return versions


def _object(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _name(verifier: VerifierId | None) -> str:
    return f"{verifier.name} {verifier.version}" if verifier else "none"
