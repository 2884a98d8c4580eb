"""A client works from any loop, from threads, after a fork and after a pickle, and leaves nothing open."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import json
import multiprocessing
import os
import pickle
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from trainer_client.client import VerifierClient
from trainer_client.client_sync import SyncVerifierClient


def judge(request: httpx.Request) -> httpx.Response:
    """A service as a module-level function, so that it can be pickled: right is what equals the gold."""
    return httpx.Response(200, content=answer(request.content))


def answer(content: bytes) -> bytes:
    groups = []
    for group in json.loads(content)["groups"]:
        scores = [float(text == group["verifiers"][0]["gold"]) for text in group["completions"]]
        verdicts = [
            [{"status": "scored", "kind": "math", "score": s, "outcome": "correct", "verifier": {"name": "m", "version": "1"}}]
            for s in scores
        ]
        groups.append(
            {"id": group["id"], "rewards": scores, "verdicts": verdicts, "stats": {"unscored": 0, "zero_variance": True}}
        )
    return json.dumps({"protocol": "1", "groups": groups, "timing": {"total_ms": 1}}).encode()


def transport() -> httpx.MockTransport:
    return httpx.MockTransport(judge)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = answer(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def url():
    """A real socket, so that connections can be left open and inherited."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def rewards(client: VerifierClient, text: str) -> list[float | None]:
    return SyncVerifierClient(client=client).score_completions([text, "x"], gold="42").rewards


def client_threads() -> int:
    return sum(thread.name == "verifier-client" for thread in threading.enumerate())


def test_one_client_serves_many_event_loops_one_after_another(url):
    client = VerifierClient(url)

    async def ask(text):
        return (await client.score_completions([text], gold="42")).rewards

    assert [asyncio.run(ask(text)) for text in ("42", "1", "42")] == [[1.0], [0.0], [1.0]]
    client.close()


def test_one_client_serves_many_threads_and_their_loops_at_once(url):
    client = VerifierClient(url, max_inflight=4)

    def work(n):
        text = "42" if n % 3 == 0 else f"{n}"
        if n % 2:
            return rewards(client, text)[0]
        return asyncio.run(client.score_completions([text], gold="42")).rewards[0]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(60)))
    client.close()
    assert found == [float(n % 3 == 0) for n in range(60)]


def test_a_pickled_client_works_and_brings_no_live_state(url):
    client = VerifierClient(url, deadline_s=7.0)
    rewards(client, "42")
    copy = pickle.loads(pickle.dumps(client))
    assert copy.settings == client.settings
    assert copy.metrics.calls == 0
    assert rewards(copy, "42") == [1.0, 0.0]
    client.close()
    copy.close()


def test_a_pickled_client_keeps_its_transport_factory():
    copy = pickle.loads(pickle.dumps(VerifierClient("http://s", transport=transport)))
    assert rewards(copy, "42") == [1.0, 0.0]
    copy.close()


def _in_child(client, connection):
    try:
        connection.send((os.getpid(), rewards(client, "41"), rewards(client, "42")))
    finally:
        client.close()
        connection.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_client_in_use_goes_on_in_the_parent_and_in_a_child(url, method):
    client = VerifierClient(url)
    assert rewards(client, "42") == [1.0, 0.0]
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    child = context.Process(target=_in_child, args=(client, there))
    child.start()
    assert here.poll(60)
    pid, wrong, right = here.recv()
    assert pid != os.getpid()
    assert (wrong, right) == ([0.0, 0.0], [1.0, 0.0])
    child.join(20)
    assert child.exitcode == 0
    assert rewards(client, "7") == [0.0, 0.0]
    client.close()


def test_closing_leaves_no_thread_and_the_client_can_be_used_again(url):
    client = VerifierClient(url, cache_entries=0)
    rewards(client, "42")
    assert client_threads() == 1
    client.close()
    client.close()
    assert client_threads() == 0
    assert rewards(client, "42") == [1.0, 0.0]
    client.close()


def test_a_client_that_is_dropped_ends_its_thread(url):
    client = VerifierClient(url)
    rewards(client, "42")
    del client
    gc.collect()
    assert client_threads() == 0


async def test_closing_while_a_call_waits_ends_the_call(url):
    class Never(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request):
            await asyncio.sleep(60)

    client = VerifierClient("http://s", transport=Never)
    call = asyncio.create_task(client.score_completions(["42"], gold="42"))
    await asyncio.sleep(0.05)
    await client.aclose()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_cancelling_a_call_cancels_its_requests():
    cancelled = threading.Event()

    class Never(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.set()
                raise

    async with VerifierClient("http://s", transport=Never) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.score_completions(["42"], gold="42")
        assert await asyncio.to_thread(cancelled.wait, 5)


def test_a_call_from_the_clients_own_thread_is_refused_and_does_not_hang():
    client = VerifierClient("http://s", transport=transport)
    group = {"completions": ["42"], "verifiers": [{"kind": "math", "gold": "42"}]}
    with pytest.raises(RuntimeError, match="own thread"):
        SyncVerifierClient(client=client).score([group], progress=lambda done, total: client.submit([group]).result())
    client.close()


def test_the_same_replica_twice_and_no_url_are_refused():
    with pytest.raises(ValueError, match="twice"):
        VerifierClient(["http://s", "http://s/score"])
    with pytest.raises(ValueError):
        VerifierClient([])
    with pytest.raises(ValueError):
        VerifierClient("not a url")
    with pytest.raises(ValueError, match="password") as caught:
        VerifierClient("http://user:pa55word@host")
    assert "pa55word" not in str(caught.value)
