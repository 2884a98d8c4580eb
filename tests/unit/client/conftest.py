"""A service of the tests' own, whose faults are chosen by each test. It judges by a rule that any test can repeat."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from trainer_client.client import VerifierClient
from trainer_client.client_settings import ClientSettings

FAST = {
    "backoff_base_s": 0.005,
    "backoff_cap_s": 0.02,
    "breaker_open_s": 0.02,
    "breaker_open_cap_s": 0.05,
    "attempt_floor_s": 0.2,
}


def true_score(completion: str, spec: dict[str, Any]) -> float:
    """The rule: math compares with the gold; anything else gives a score that follows from the text."""
    if spec["kind"] == "math":
        return float(completion == spec["gold"])
    return hashlib.sha256(completion.encode()).digest()[0] % 2


class FakeService:
    """An httpx handler. `faults` is asked first, with the request and its body, and may answer or raise instead."""

    def __init__(self) -> None:
        self.version = "1"
        self.requests: list[dict[str, Any]] = []
        self.headers: list[httpx.Headers] = []
        self.gets: list[str] = []
        self.down: set[str] = set()
        self.faults: Callable[[httpx.Request, dict[str, Any]], httpx.Response | None] = lambda request, body: None
        self.verdict: Callable[[str, dict[str, Any]], dict[str, Any] | None] = lambda text, spec: None
        self.change: Callable[[dict[str, Any]], dict[str, Any]] = lambda answer: answer
        self.ready: dict[str, bool] = {"math": True, "format": True, "code": True}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return self._get(request)
        body = json.loads(request.content)
        self.requests.append(body)
        self.headers.append(request.headers)
        fault = self.faults(request, body)
        return fault if fault is not None else httpx.Response(200, content=json.dumps(self.change(self.answer(body))).encode())

    def _get(self, request: httpx.Request) -> httpx.Response:
        self.gets.append(request.url.path)
        if request.url.path == "/healthz":
            if request.url.host in self.down:
                raise httpx.ConnectError("refused")
            return httpx.Response(200)
        verifiers = {kind: {"name": kind, "version": self.version} for kind in self.ready}
        if request.url.path == "/v1/verifiers":
            return httpx.Response(200, json={"protocol": "1", "verifiers": verifiers})
        kinds = request.url.params.get("kinds", ",".join(self.ready)).split(",")
        if any(kind not in self.ready for kind in kinds):
            return httpx.Response(422, json={"type": "about:blank", "title": "", "status": 422, "detail": "kinds"})
        states = {kind: {"ready": self.ready[kind], "detail": "ok" if self.ready[kind] else "no engine"} for kind in kinds}
        ready = all(state["ready"] for state in states.values())
        return httpx.Response(200 if ready else 503, json={"protocol": "1", "ready": ready, "kinds": states})

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        groups = []
        for group in body["groups"]:
            rows = [[self.judge(text, spec) for spec in group["verifiers"]] for text in group["completions"]]
            rewards = [
                None
                if any(v["status"] == "unscored" for v in row)
                else sum(v["score"] * s.get("weight", 1.0) for v, s in zip(row, group["verifiers"], strict=True))
                for row in rows
            ]
            stats = {"unscored": rewards.count(None), "zero_variance": False}
            groups.append({"id": group["id"], "rewards": rewards, "verdicts": rows, "stats": stats})
        return {"protocol": "1", "groups": groups, "timing": {"total_ms": 1.0}}

    def judge(self, text: str, spec: dict[str, Any]) -> dict[str, Any]:
        chosen = self.verdict(text, spec)
        if chosen is not None:
            return chosen
        score = true_score(text, spec)
        verifier = {"name": spec["kind"], "version": self.version}
        outcome = "correct" if score == 1.0 else "incorrect"
        return {"status": "scored", "kind": spec["kind"], "score": score, "outcome": outcome, "verifier": verifier}

    def unscored(self, spec: dict[str, Any], reason: str = "infrastructure", *, retryable: bool = True) -> dict[str, Any]:
        verifier = {"name": spec["kind"], "version": self.version}
        return {
            "status": "unscored",
            "kind": spec["kind"],
            "reason": reason,
            "retryable": retryable,
            "verifier": verifier,
            "detail": f"because of {reason}",
        }

    def sent(self) -> list[str]:
        """All completions of all requests, in the order of arrival."""
        return [text for body in self.requests for group in body["groups"] for text in group["completions"]]


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def make_client(service: FakeService) -> Iterator[Callable[..., VerifierClient]]:
    made: list[VerifierClient] = []

    def make(*urls: str, **options: Any) -> VerifierClient:
        settings = ClientSettings(urls=urls or ("http://service",), **{**FAST, "deadline_s": 5.0, **options})
        client = VerifierClient(settings=settings, transport=lambda: httpx.MockTransport(service))
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()


def group(*completions: str, gold: str = "42", **more: Any) -> dict[str, Any]:
    return {"completions": list(completions), "verifiers": [{"kind": "math", "gold": gold}], **more}


@pytest.fixture(name="group")
def group_fixture() -> Callable[..., dict[str, Any]]:
    return group


@dataclass(frozen=True)
class Kit:
    """For tests that make their own services and clients."""

    service: type[FakeService] = FakeService
    true_score: Callable[[str, dict[str, Any]], float] = field(default=true_score)
    fast: dict[str, float] = field(default_factory=lambda: FAST)


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit()
