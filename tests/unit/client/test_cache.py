"""When a verdict may be given without asking: same verifier, same version, confirmed lately."""

from __future__ import annotations

import asyncio


async def test_a_scored_verdict_is_asked_for_once(make_client, service, group):
    client = make_client()
    (first,) = await client.score([group("42", "1")])
    (second,) = await client.score([group("1", "42", "2")])
    assert service.sent() == ["42", "1", "2"]
    assert second.rewards == [0.0, 1.0, 0.0]
    assert [row[0].cached for row in second.verdicts] == [True, True, None]
    assert first.verdicts[0][0].cached is None
    assert client.metrics.cache_hits == 2


async def test_the_weight_is_no_part_of_the_question(make_client, service):
    client = make_client()
    await client.score_completions(["42"], [{"kind": "math", "gold": "42", "weight": 1.0}])
    result = await client.score_completions(["42"], [{"kind": "math", "gold": "42", "weight": 3.0}])
    assert result.rewards == [3.0]
    assert len(service.requests) == 1


async def test_another_gold_or_option_is_another_question(make_client, service):
    client = make_client()
    for spec in (
        {"kind": "math", "gold": "42"},
        {"kind": "math", "gold": "43"},
        {"kind": "math", "gold": "42", "options": {"precision": "exact"}},
    ):
        await client.score_completions(["42"], [spec])
    assert len(service.requests) == 3


async def test_unscored_verdicts_are_never_kept(make_client, service, group):
    service.verdict = lambda text, spec: (
        service.unscored(spec, "bad_task", retryable=False) if len(service.requests) < 2 else None
    )
    client = make_client()
    (first,) = await client.score([group("42")])
    (second,) = await client.score([group("42")])
    assert (first.rewards, second.rewards) == ([None], [1.0])


async def test_a_time_limit_is_not_kept_since_the_machine_may_be_to_blame(make_client, service, group):
    late = {"status": "scored", "kind": "math", "score": 0.0, "outcome": "time_limit_exceeded"}
    service.verdict = lambda text, spec: late | {"verifier": {"name": "math", "version": "1"}}
    client = make_client()
    await client.score([group("42")])
    await client.score([group("42")])
    assert len(service.requests) == 2


async def test_a_new_version_makes_the_old_verdicts_unfindable(make_client, service, group, caplog):
    client = make_client()
    await client.score([group("42", "1")])
    service.version = "2"
    await client.score([group("7")])  # its verdict tells of version 2
    (result,) = await client.score([group("42", "1")])
    assert {row[0].verifier.version for row in result.verdicts} == {"2"}
    assert service.sent() == ["42", "1", "7", "42", "1"]
    assert "the reward function changed" in caplog.text


async def test_a_version_not_confirmed_lately_is_asked_for_before_the_cache_is_used(make_client, service, group):
    client = make_client(version_ttl_s=0.05)
    await client.score([group("42")])
    await asyncio.sleep(0.06)
    await client.score([group("42")])
    assert service.gets == ["/v1/verifiers"]
    assert len(service.requests) == 1
    service.version = "2"
    await asyncio.sleep(0.06)
    (result,) = await client.score([group("42")])
    assert result.verdicts[0][0].verifier.version == "2"
    assert len(service.requests) == 2


async def test_the_cache_forgets_the_least_used_and_can_be_switched_off(make_client, service, group):
    small = make_client(cache_entries=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await small.score([group(text)])
    assert service.sent() == ["a", "b", "c", "b"]
    service.requests.clear()
    off = make_client(cache_entries=0)
    await off.score([group("a")])
    await off.score([group("a")])
    assert service.sent() == ["a", "a"]


async def test_what_fits_the_cache_in_part_is_asked_in_part(make_client, service):
    client = make_client()
    await client.score_completions(["42"], [{"kind": "math", "gold": "42"}])
    result = await client.score_completions(["42"], [{"kind": "math", "gold": "42"}, {"kind": "format"}])
    assert [spec["kind"] for spec in service.requests[1]["groups"][0]["verifiers"]] == ["format"]
    assert [verdict.kind for verdict in result.verdicts[0]] == ["math", "format"]
