"""What is refused at the door, and that the reply says one thing to mend and repeats nothing."""

from __future__ import annotations

import gzip
import json
import socket
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from verifier_service.settings import Settings

OK = {"completion": "\\boxed{4}", "gold": "4"}
CODE = {"kind": "code", "tests": {"style": "stdin", "cases": [{"expected_stdout": "1"}]}}


def refusal(live: Any, status: int, **request: Any) -> dict[str, Any]:
    reply = live.http.post("/score", **request)
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = reply.json()
    assert problem["status"] == status
    assert problem["detail"]
    return problem


def one(**changes: Any) -> dict[str, Any]:
    return {"groups": [{"completions": ["x"], "verifiers": [{"kind": "math", "gold": "4"}]} | changes]}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"completion": "x", "gold": "4", "reward": 1}, "reward"),
        (one(reward=1), "groups[0].reward"),
        (one(verifiers=[{"kind": "math", "gold": "4", "score": 1}]), "groups[0].verifiers[0].score"),
        (one(verifiers=[{"kind": "math"}]), "groups[0].verifiers[0].gold"),
        (one(verifiers=[{"kind": "math", "gold": None}]), "groups[0].verifiers[0].gold"),
        (one(verifiers=[{"kind": "bash", "gold": "4"}]), "groups[0].verifiers[0].kind"),
        (one(verifiers=[{"kind": None}]), "groups[0].verifiers[0].kind"),
        (one(verifiers=[{"gold": "4"}]), "groups[0].verifiers[0].kind"),
        (one(verifiers=[]), "groups[0].verifiers"),
        (one(completions=[]), "groups[0].completions"),
        (one(completions=[None]), "groups[0].completions[0]"),
        (one(completions=[["x"]]), "groups[0].completions[0][0]"),
        (one(id="n" * 5000), "groups[0].id"),
        (one(verifiers=[CODE | {"limits": {"cpu_time_s": 1e9}}]), "groups[0].verifiers[0].limits.cpu_time_s"),
        (one(verifiers=[CODE | {"limits": {"memory_mb": "5; rm -rf /"}}]), "groups[0].verifiers[0].limits.memory_mb"),
        (one(verifiers=[CODE | {"limits": {"cpu_time_s": -1}}]), "groups[0].verifiers[0].limits.cpu_time_s"),
        (one(verifiers=[CODE | {"language": "cobol"}]), "groups[0].verifiers[0].language"),
        ({"groups": [{"completions": ["x"], "gold": "4", "verifiers": [{"kind": "math", "gold": "4"}]}]}, "groups[0].gold"),
        ({"groups": [{"completions": ["x"]}]}, "groups[0].verifiers"),
        ({"groups": []}, None),
        ({"completion": "x"}, None),
        ({"completion": "x", "gold": "4", "groups": []}, None),
        ([], None),
        ("score me", None),
        (0, None),
    ],
)
def test_a_wrong_field_is_named_by_its_path(live: Any, body: Any, field: str | None) -> None:
    problem = refusal(live, 422, json=body)
    assert problem.get("field") == field
    assert "pydantic" not in json.dumps(problem)


def test_an_unknown_kind_is_answered_with_those_there_are(live: Any) -> None:
    assert "code, format, math" in refusal(live, 422, json=one(verifiers=[{"kind": "bash", "gold": "4"}]))["detail"]


def test_a_ceiling_is_named(live: Any) -> None:
    problem = refusal(live, 422, json=one(verifiers=[CODE | {"limits": {"memory_mb": 10**6}}]))
    assert str(Settings().code_memory_ceiling_mb) in problem["detail"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"{} {}",
        b'{"completion": "\xff\xfe", "gold": "4"}',
        b'{"completion": "x", "gold": "4", "deadline_s": NaN}',
        b'{"completion": "x", "gold": "4", "deadline_s": -Infinity}',
        b"[" * 100_000 + b"]" * 100_000,
        b'{"completion": "x", "gold": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
        b'{"deadline_s": ' + b"7" * 5000 + b"}",
    ],
    ids=[
        "empty",
        "cut off",
        "two documents",
        "no UTF-8",
        "NaN",
        "-Infinity",
        "deep arrays",
        "deep objects",
        "digits",
    ],
)
def test_what_is_no_json_is_400(live: Any, raw: bytes) -> None:
    refusal(live, 400, content=raw, headers={"content-type": "application/json"})


@pytest.mark.parametrize("number", ["1e999", "-1e999", "0", "-3", '"4"', "true"])
def test_a_deadline_is_a_positive_finite_number(live: Any, number: str) -> None:
    raw = f'{{"completion": "x", "gold": "4", "deadline_s": {number}}}'
    assert refusal(live, 422, content=raw, headers={"content-type": "application/json"})["field"] == "deadline_s"


def test_an_expected_value_out_of_range_is_refused(live: Any) -> None:
    tests = '{"style": "function", "entry_point": "f", "cases": [{"args": [1], "expected": 1e999}]}'
    raw = f'{{"completion": "x", "verifiers": [{{"kind": "code", "tests": {tests}}}]}}'
    refusal(live, 422, content=raw, headers={"content-type": "application/json"})


@pytest.mark.parametrize("name", ["__import__('os').system", "f\nimport os", "", "os.system", "f;print(1)", "f" * 5000])
def test_an_entry_point_is_an_identifier(live: Any, name: str) -> None:
    tests = {"style": "function", "entry_point": name, "cases": [{"args": [1], "expected": 1}]}
    problem = refusal(live, 422, json=one(verifiers=[{"kind": "code", "tests": tests}]))
    assert problem["field"] == "groups[0].verifiers[0].tests.entry_point"


@pytest.mark.parametrize("media", ["text/plain", "application/xml", "multipart/form-data; boundary=x"])
def test_another_content_type_is_415(live: Any, media: str) -> None:
    refusal(live, 415, content=json.dumps(OK), headers={"content-type": media})


def test_a_compressed_body_is_415_and_never_unfolded(live: Any) -> None:
    packed = gzip.compress(b"0" * 10_000_000)
    refusal(live, 415, content=packed, headers={"content-type": "application/json", "content-encoding": "gzip"})


def test_too_much_is_413_before_it_is_read(live: Any) -> None:
    refusal(live, 413, content=b" " * 3_000_000, headers={"content-type": "application/json"})
    refusal(live, 413, content=(b" " * 100_000 for _ in range(30)), headers={"content-type": "application/json"})
    refusal(live, 413, json=one(completions=["x" * 100_001]))
    refusal(live, 413, json={"groups": one()["groups"] * 201})
    refusal(live, 413, json=one(completions=["x"] * 1001))
    many = {"style": "stdin", "cases": [{"expected_stdout": "1"}] * 11}
    refusal(live, 413, json=one(verifiers=[{"kind": "code", "tests": many}]))


def test_ten_thousand_unknown_fields_are_one_problem(live: Any) -> None:
    problem = refusal(live, 422, json=OK | {f"f{i}": i for i in range(10_000)})
    assert len(json.dumps(problem)) < 1000


def test_nothing_that_was_sent_comes_back_but_a_field_s_name_cut_short(live: Any) -> None:
    reply = live.http.post("/score", json=OK | {"k" * 10_000: "the-value"})
    assert "the-value" not in reply.text
    assert len(reply.content) < 1000


def test_a_long_url_is_414_and_large_headers_are_431(live: Any) -> None:
    assert live.http.post("/score?x=" + "y" * 20_000, json=OK).status_code == 414
    assert live.http.post("/score", json=OK, headers={"x-big": "h" * 60_000, "x-bigger": "h" * 60_000}).status_code in (400, 431)


def test_other_methods_and_paths_are_problems_too(live: Any) -> None:
    assert live.http.get("/score").status_code == 405
    assert live.http.request("TRACE", "/score").status_code == 405
    reply = live.http.get("/score/..%2f..%2fetc%2fpasswd")
    assert reply.status_code == 404
    assert reply.headers["content-type"] == "application/problem+json"


def raw_reply(live: Any, *parts: bytes, pause_s: float = 0.0, wait_s: float = 10.0) -> bytes:
    with socket.create_connection((live.host, live.port), timeout=wait_s) as s:
        for part in parts:
            s.sendall(part)
            time.sleep(pause_s)
        received = b""
        while chunk := s.recv(65536):
            received += chunk
        return received


def test_a_head_that_never_ends_is_cut_off_with_408(live: Any) -> None:
    reply = raw_reply(live, b"POST /score HTTP/1.1\r\nhost: x\r\nx-slow: ")
    assert reply.startswith(b"HTTP/1.1 408 ")


def test_a_body_that_never_ends_is_cut_off_with_408(live: Any) -> None:
    head = b"POST /score HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    assert raw_reply(live, head).startswith(b"HTTP/1.1 408 ")


def test_a_length_and_chunks_at_once_are_refused(live: Any) -> None:
    head = b"POST /score HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
    reply = raw_reply(live, head)
    assert reply.startswith(b"HTTP/1.1 400 ")
    assert reply.count(b"HTTP/1.1") == 1


def test_a_bad_request_leaves_the_connection_good_for_the_next(live: Any) -> None:
    assert live.http.post("/score", content=b"{", headers={"content-type": "application/json"}).status_code == 400
    assert live.http.post("/score", json=OK).json()["groups"][0]["rewards"] == [1.0]


def test_a_service_with_tokens_asks_for_one_everywhere_but_at_its_health(tmp_path: Path, serve_with: Any) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# of the trainer\n{sha256(b'right').hexdigest()}\n", "utf-8")
    with serve_with(Settings(sandbox="off", math_workers=1, tokens_file=file)) as live:
        assert live.http.get("/healthz").status_code == 200
        assert live.http.get("/readyz").status_code == 503
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic right"}, {"authorization": "right"}):
            reply = live.http.post("/score", json=OK, headers=headers)
            assert reply.status_code == 401
            assert reply.headers["www-authenticate"] == "Bearer"
            assert live.http.get("/metrics", headers=headers).status_code == 401
        assert live.http.post("/score", json=OK, headers={"authorization": "Bearer right"}).status_code == 200
