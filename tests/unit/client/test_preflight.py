"""Before any GPU time is spent: what is wrong, and what to do."""

from __future__ import annotations

import time

import httpx
import pytest

from trainer_client.client_errors import ServiceNotReady


async def test_a_ready_service_tells_its_versions(make_client, service):
    report = await make_client().preflight(["math", "format"])
    assert report.verifiers["math"].version == "1"
    assert report.warnings == []


async def test_a_kind_that_is_not_ready_says_why(make_client, service):
    service.ready["code"] = False
    client = make_client()
    assert (await client.preflight(["math"])).warnings == []
    with pytest.raises(ServiceNotReady, match="code: no engine"):
        await client.preflight(["math", "code"])


async def test_an_unknown_kind_is_named_with_those_there_are(make_client):
    with pytest.raises(ServiceNotReady, match="no verifier of kind lean; it has code, format, math"):
        await make_client().preflight(["lean"])


async def test_a_service_that_comes_up_is_waited_for(make_client, service):
    service.ready["math"] = False
    client = make_client()
    asked = []

    def come_up():
        asked.append(1)
        service.ready["math"] = len(asked) > 2

    plain = service._get
    service._get = lambda request: (come_up() if request.url.path == "/readyz" else None) or plain(request)
    await client.preflight(["math"], wait_s=10)
    assert len(asked) == 3


async def test_nobody_there_fails_in_the_time_given(make_client, service):
    def refuse(request):
        raise httpx.ConnectError("refused")

    service._get = refuse
    start = time.monotonic()
    with pytest.raises(ServiceNotReady, match="start it"):
        await make_client().preflight(["math"], wait_s=0.6)
    assert time.monotonic() - start < 2


async def test_another_protocol_is_told_from_another_server(make_client, service):
    service._get = lambda request: httpx.Response(200, json={"protocol": "9", "kinds": {}, "verifiers": {}})
    with pytest.raises(ServiceNotReady, match="protocol 9"):
        await make_client().preflight()
    service._get = lambda request: httpx.Response(200, text="<html>hello</html>")
    with pytest.raises(ServiceNotReady, match="is this its base URL"):
        await make_client().preflight()


async def test_a_missing_token_is_asked_for(make_client, service):
    service._get = lambda request: httpx.Response(401, json={})
    with pytest.raises(ServiceNotReady, match="VERIFIER_TOKEN"):
        await make_client().preflight(["math"])


async def test_one_ready_replica_is_enough_and_the_other_is_told_of(make_client, service):
    plain = service._get
    service._get = lambda request: httpx.Response(500) if request.url.host == "b" else plain(request)
    report = await make_client("http://a", "http://b").preflight(["math"])
    assert len(report.warnings) == 1
    assert "http://b" in report.warnings[0]


async def test_replicas_with_different_versions_are_refused(make_client, service):
    plain = service._get

    def by_host(request):
        service.version = "1" if request.url.host == "a" else "2"
        return plain(request)

    service._get = by_host
    with pytest.raises(ServiceNotReady, match="replicas disagree about 'math'"):
        await make_client("http://a", "http://b").preflight(["math"])
