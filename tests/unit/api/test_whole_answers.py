"""Answers of any shape arrive whole and in order, though their head waits for their body."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from verifier_service.server import WholeAnswers, bounded_protocol
from verifier_service.settings import Settings

LARGE = 8 << 20


async def echo(request: Request) -> Response:
    return PlainTextResponse(request.query_params["say"])


async def large(request: Request) -> Response:
    del request
    return Response(b"x" * LARGE)


async def pieces(request: Request) -> Response:
    del request

    async def body() -> AsyncIterator[bytes]:
        yield b"one,"
        yield b"two,"
        await asyncio.sleep(0.01)
        yield b"three"

    return StreamingResponse(body())


async def upload(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


APP = Starlette(
    routes=[Route("/echo", echo), Route("/large", large), Route("/pieces", pieces), Route("/upload", upload, methods=["POST"])]
)


@pytest_asyncio.fixture
async def port() -> AsyncIterator[int]:
    config = uvicorn.Config(APP, port=0, http=bounded_protocol(Settings()), ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await serving


async def answers(port: int, *requests: str) -> bytes:
    """All that comes back for these, sent at once on one connection, until the server closes it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("".join(requests).encode())
    try:
        return await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()
        await writer.wait_closed()


def get(path: str, method: str = "GET", *headers: str) -> str:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "host: here", *headers, "", ""])


LAST = "connection: close"


async def test_pipelined_requests_are_answered_in_their_order(port: int) -> None:
    got = await answers(port, *(get(f"/echo?say=n{n}.") for n in range(20)), get("/echo?say=end", "GET", LAST))
    bodies = [part.rpartition(b"\r\n\r\n")[2] for part in got.split(b"HTTP/1.1 200 OK")[1:]]
    assert bodies == [f"n{n}.".encode() for n in range(20)] + [b"end"]


async def test_a_large_answer_arrives_whole_before_the_connection_is_closed(port: int) -> None:
    head, _, body = (await answers(port, get("/large", "GET", LAST))).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert body == b"x" * LARGE


async def test_a_head_without_a_body_is_sent(port: int) -> None:
    got = await answers(port, get("/echo?say=four", "HEAD", LAST))
    assert b"content-length: 4" in got
    assert got.endswith(b"\r\n\r\n")


async def test_an_answer_in_pieces_arrives_whole(port: int) -> None:
    got = await answers(port, get("/pieces", "GET", LAST))
    assert got.endswith(b"4\r\none,\r\n4\r\ntwo,\r\n5\r\nthree\r\n0\r\n\r\n")


async def test_whoever_waits_for_leave_to_send_gets_it(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(get("/upload", "POST", "content-length: 5", "expect: 100-continue", LAST).encode())
    assert (await asyncio.wait_for(reader.readline(), 10)).startswith(b"HTTP/1.1 100")
    writer.write(b"12345")
    assert (await asyncio.wait_for(reader.read(), 10)).endswith(b"\r\n\r\n5")
    writer.close()
    await writer.wait_closed()


class Writes(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.calls.append(bytes(data))

    def is_closing(self) -> bool:
        return False


async def test_a_head_and_its_body_are_one_write_and_a_head_alone_waits_for_nothing_else() -> None:
    transport = Writes()
    whole = WholeAnswers(transport, asyncio.get_running_loop())
    whole.write(b"head")
    whole.write(b"body")
    assert transport.calls == [b"headbody"]
    whole.write(b"head alone")
    await asyncio.sleep(0)
    assert transport.calls == [b"headbody", b"head alone"]
