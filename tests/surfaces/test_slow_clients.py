"""Clients that send or read slowly hold no slot: another client of the same caller is answered beside them."""

from __future__ import annotations

import asyncio
import json
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx2
import pytest
from postgres import wait_for
from starlette.exceptions import HTTPException
from starlette.types import Message
from surfaces.server import Server, client, serving, settings
from surfaces.test_rest_hostile import address, answering, everything

import recollect
from recollect.rest import concurrency, incoming_bodies, middleware
from recollect.rest import serving as process
from recollect.rest.incoming_bodies import IncomingBodies, ShutdownEvent

MANY = 40
"""Far more clients than there are slots."""
LONG = "x" * 400_000
"""The content of an entry whose response fits into no buffer of a socket."""


def half(path: str, secret: str | None = None) -> bytes:
    """The head of a request, and half of its body. The server asks for the rest."""
    token = f"Authorization: Bearer {secret}\r\n" if secret else ""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 90\r\n"
    return f"{head}{token}Expect: 100-continue\r\n\r\n{{".encode()


@contextmanager
def connected(url: str, number: int) -> Iterator[list[socket.socket]]:
    """Connections of clients whose buffers are small."""
    with ExitStack() as stack:
        made = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in made:
            one.settimeout(30)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            one.connect(address(url))
        yield made


def works(healthy: httpx2.Client) -> None:
    """Requests of a client that sends and reads at once are answered."""
    assert healthy.post("/v1/entries", json={"content": "We deploy on Tuesdays."}).status_code == 201
    assert healthy.get("/v1/recall", params={"q": "deploy"}).status_code == 200
    assert healthy.post("/v1/recall", json={"query": "deploy"}).status_code == 200


@pytest.mark.parametrize("path", ["/v1/entries", "/v1/import", "/api/memory/notes", "/mcp"])
@pytest.mark.parametrize("tokens", [False, True])
def test_half_a_body_holds_no_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, tokens: bool) -> None:
    monkeypatch.setattr(concurrency, "WAIT", 0.1)
    chosen = settings(concurrency=2, require_token=tokens)
    with recollect.open(tmp_path / "memory.db") as home, serving(home, chosen) as server:
        secret = home.tokens.create("laptop", right="admin", workspace="*")[1] if tokens else None
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        with connected(server.url, MANY) as slow, client(server.url, headers=headers) as healthy:
            for one in slow:
                one.sendall(half(path, secret))
            assert {one.recv(1_000)[:12] for one in slow} == {b"HTTP/1.1 100"}
            works(healthy)


def test_the_rest_of_a_body_is_answered_when_it_comes(server: Server) -> None:
    body = json.dumps({"content": "We deploy on Tuesdays."}).encode().ljust(90)
    with connected(server.url, 1) as (slow,):
        slow.sendall(half("/v1/entries"))
        assert slow.recv(1_000).startswith(b"HTTP/1.1 100")
        slow.sendall(body[1:])
        assert slow.recv(1_000).startswith(b"HTTP/1.1 201")


def test_half_a_head_holds_no_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "WAIT", 0.1)
    with answering(tmp_path, concurrency=2) as url, connected(url, MANY) as slow, client(url) as healthy:
        for one in slow:
            one.sendall(b"POST /v1/entries HTTP/1.1\r\nHost: lo")
        works(healthy)


@pytest.mark.parametrize("path", ["/v1/entries/long", "/v1/export", "pipelined", "/mcp"])
def test_an_unread_response_holds_no_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(concurrency, "WAIT", 0.1)
    monkeypatch.setattr(middleware, "MOST_DOWNLOADS", 2 * MANY)
    with answering(tmp_path, concurrency=2) as url, connected(url, MANY) as deaf, client(url) as healthy:
        assert healthy.post("/v1/entries", json={"content": LONG, "name": "long"}).status_code == 201
        request = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode()
        if path == "pipelined":
            request = b"GET /v1/entries/long HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2
        if path == "/mcp":
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
            called = {"name": "memory_read", "arguments": {"command": "get", "name": "long"}}
            body = json.dumps({**message, "params": called}).encode()
            request = (
                b"GET /v1/entries/long HTTP/1.1\r\nHost: localhost\r\n\r\nPOST /mcp HTTP/1.1\r\nHost: localhost\r\n"
            )
            request += b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            request += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        for one in deaf:
            one.sendall(request)
            # Its response has begun.
            assert one.recv(12) == b"HTTP/1.1 200"
        works(healthy)


def test_who_reads_nothing_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "READ_WITHIN", 0.2)
    with answering(tmp_path) as url, connected(url, 1) as (deaf,), client(url) as healthy:
        assert healthy.post("/v1/entries", json={"content": LONG, "name": "long"}).status_code == 201
        deaf.sendall(b"GET /v1/entries/long HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for("the response", lambda: len(process.HttpConnection.unread) == 1)
        wait_for("the end", lambda: not process.HttpConnection.unread)
        assert len(everything(deaf)) < len(LONG)


def test_unread_responses_are_limited_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "UNREAD", 1_000_000)
    with answering(tmp_path) as url, connected(url, 6) as deaf, client(url) as healthy:
        assert healthy.post("/v1/entries", json={"content": LONG, "name": "long"}).status_code == 201
        for one in deaf:
            one.sendall(b"GET /v1/entries/long HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert one.recv(12) == b"HTTP/1.1 200"
        assert 1 <= len(process.HttpConnection.unread) <= 2
        assert len(everything(deaf[0])) < len(LONG)  # the first one was cut off
        assert everything_of(deaf[-1]).endswith(b"}")
        assert len(healthy.get("/v1/entries/long").json()["content"]) == len(LONG)


def everything_of(connection: socket.socket) -> bytes:
    """A response whose first bytes were read, by its length."""
    received = connection.recv(65_536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        part = connection.recv(65_536)
        assert part
        body += part
    return body


def test_downloads_are_limited_because_each_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "MOST_DOWNLOADS", 2)
    with answering(tmp_path) as url, connected(url, 2) as deaf, client(url) as healthy:
        assert healthy.post("/v1/entries", json={"content": LONG}).status_code == 201
        for one in deaf:
            one.sendall(b"GET /v1/export HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert one.recv(12) == b"HTTP/1.1 200"
        assert healthy.get("/v1/export").status_code == 503
        works(healthy)


def test_bodies_that_arrive_are_limited_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming_bodies, "UNCOUNTED_BYTES", 1_000)
    chosen = settings(body_limit=100_000)
    head = b"POST /v1/entries HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with (
        recollect.open(tmp_path / "memory.db") as home,
        serving(home, chosen) as server,
        connected(server.url, 12) as slow,
    ):
        for one in slow:
            one.sendall(head + b"Content-Length: 90000\r\n\r\n" + b" " * 80_000)
        refused: list[socket.socket] = []
        while len(refused) < 2:  # eight times the limit of one is room for ten
            refused, _, _ = select.select(slow, [], [], 30)
            assert refused
        for one in refused:
            with suppress(ConnectionResetError):  # it was still sending
                assert one.recv(1_000).startswith(b"HTTP/1.1 503")
        works(server.client)
        assert len(refused) == 2


def part(size: int, *, more: bool = True) -> Message:
    return {"type": "http.request", "body": b"x" * size, "more_body": more}


def test_the_body_that_began_first_is_refused_and_a_short_one_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming_bodies, "UNCOUNTED_BYTES", 10)

    async def run() -> None:
        bodies = IncomingBodies(100, ShutdownEvent())  # together they may have 800 that count
        sent = [asyncio.Queue[Message]() for _ in range(11)]
        arriving = [bodies.of(one.get, 100, 60.0) for one in sent]
        for queue, body in zip(sent[:10], arriving, strict=False):
            queue.put_nowait(part(89))
            await body.receive()
        assert bodies.bytes == 790
        waiting = asyncio.create_task(arriving[0].receive())
        await asyncio.sleep(0)
        sent[1].put_nowait(part(11, more=False))
        await arriving[1].receive()  # which makes 801: the first one has to go
        with pytest.raises(HTTPException) as refused:
            await waiting
        assert refused.value.status_code == 503
        assert bodies.bytes == 801 - 79
        sent[10].put_nowait(part(10, more=False))
        await arriving[10].receive()
        assert bodies.bytes == 801 - 79
        for body in arriving:
            body.close()
        assert bodies.bytes == 0

    asyncio.run(run())
