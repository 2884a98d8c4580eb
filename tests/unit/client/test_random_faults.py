"""Whatever goes wrong: one result per group, one reward per completion, in order, and no reward that is not the true one."""

from __future__ import annotations

import random

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainer_client.client import VerifierClient
from trainer_client.client_sync import SyncVerifierClient

texts = st.sampled_from(["42", "41", "", "a", "zwölf", "\n", "x" * 400, '"quoted"', "\\", "\ud800 lone", "𝟜𝟚"])
specs = st.lists(
    st.one_of(
        st.builds(lambda g, w: {"kind": "math", "gold": g, "weight": w}, texts.filter(str.isascii), st.floats(-2, 2)),
        st.just({"kind": "format"}),
    ),
    min_size=1,
    max_size=3,
)
groups = st.lists(st.fixed_dictionaries({"completions": st.lists(texts, min_size=1, max_size=8), "verifiers": specs}), max_size=6)


class RandomFaults:
    def __init__(self, service, seed: int, share: float) -> None:
        self.service = service
        self.chance = random.Random(seed)
        self.share = share

    def __call__(self, request, body):
        if self.chance.random() >= self.share:
            return None
        kind = self.chance.randrange(9)
        if kind == 0:
            raise httpx.ConnectError("refused")
        if kind == 1:
            raise httpx.ReadError("reset")
        if kind == 2:
            return httpx.Response(503, headers={"retry-after": self.chance.choice(["0", "0.01", "soon", "-1", "nan"])})
        if kind == 3:
            return httpx.Response(self.chance.choice([500, 502, 504, 429]))
        if kind == 4:
            return httpx.Response(408)
        if kind == 5:
            return httpx.Response(200, content=b"\x00garbage")
        answer = self.service.answer(body)
        if kind == 6:
            answer["groups"] = list(reversed(answer["groups"]))[: self.chance.randrange(len(answer["groups"]) + 1)]
        if kind == 7:
            answer["groups"][0]["verdicts"].pop()
        if kind == 8:
            answer["groups"][-1]["rewards"][0] = None
        if answer["groups"] == self.service.answer(body)["groups"]:
            return None
        return httpx.Response(200, json=answer)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(groups=groups, seed=st.integers(0, 2**32), share=st.sampled_from([0.0, 0.3, 0.8]), unscored=st.booleans())
def test_order_length_and_truth_hold_under_random_faults(kit, groups, seed, share, unscored):
    service = kit.service()
    service.faults = RandomFaults(service, seed, share)
    chance = random.Random(seed)
    if unscored:
        service.verdict = lambda text, spec: service.unscored(spec) if chance.random() < 0.3 else None
    options = {**kit.fast, "deadline_s": 0.6, "chunk_bytes": 1024, "chunk_work": 3}
    client = VerifierClient(["http://a", "http://b"], transport=lambda: httpx.MockTransport(service), **options)
    with SyncVerifierClient(client=client) as client:
        results = client.score(groups)
    assert len(results) == len(groups)
    for group, result in zip(groups, results, strict=True):
        assert len(result.rewards) == len(result.verdicts) == len(group["completions"])
        for text, reward, row in zip(group["completions"], result.rewards, result.verdicts, strict=True):
            assert [verdict.kind for verdict in row] == [spec["kind"] for spec in group["verifiers"]]
            if reward is not None:
                sent = text.replace("\ud800", "\ufffd")
                truth = sum(spec.get("weight", 1.0) * kit.true_score(sent, spec) for spec in group["verifiers"])
                assert reward == pytest.approx(truth)
        assert result.stats.unscored == result.rewards.count(None)
