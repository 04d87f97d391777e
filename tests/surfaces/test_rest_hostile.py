"""What somebody may do who means harm, or whose client is broken: slow, silent, too many, too curious."""

from __future__ import annotations

import asyncio
import errno
import gzip
import json
import logging
import resource
import socket
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import psutil
import psycopg
import pytest
from postgres import wait_for
from prometheus_client import CollectorRegistry
from surfaces.server import Server, client, serving, settings
from surfaces.test_rest_middleware import is_problem
from surfaces.test_serve import started

import recollect
from recollect.config import Settings
from recollect.mcp.endpoint import McpEndpoint
from recollect.mcp.request_context import MemoryAccess
from recollect.rest import concurrency, feed, incoming_bodies, middleware, system
from recollect.rest import serving as process
from recollect.rest.caller import is_loopback

HALF = (
    b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 90\r\n"
    b"Expect: 100-continue\r\n\r\n{"
)


def address(url: str) -> tuple[str, int]:
    host, port = url.removeprefix("http://").split(":")
    return host, int(port)


def everything(connection: socket.socket) -> bytes:
    """What comes until the other side ends."""
    parts = []
    while part := connection.recv(65_536):
        parts.append(part)
    return b"".join(parts)


# Slow and silent


def test_a_body_that_does_not_come_makes_room_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "SENT_WITHIN", 0.2)
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(concurrency=1)) as server:
        with socket.create_connection(address(server.url), 30) as slow:
            slow.sendall(HALF % b"/v1/entries")
            assert b"HTTP/1.1 408" in everything(slow)
        assert server.client.get("/v1/entries").status_code == 200


def test_who_finds_no_place_waits_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "WAIT", 30.0)
    begun, go_on = threading.Event(), threading.Event()

    def slow(self: recollect.Memory, *given: Any, **named: Any) -> list[Any]:
        begun.set()
        go_on.wait()
        return []

    monkeypatch.setattr(recollect.Memory, "recall", slow)
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(concurrency=1)) as server:

        def asked(path: str) -> int:
            return int(httpx2.get(f"{server.url}{path}", trust_env=False, timeout=60).status_code)

        with ThreadPoolExecutor(3) as pool:
            first = pool.submit(asked, "/v1/recall?q=x")
            begun.wait()
            second, third = pool.submit(asked, "/v1/entries"), pool.submit(asked, "/v1/entries")
            refused = next(one for one in as_completed([second, third]))  # as many may wait as there are places
            assert refused.result() == 503
            go_on.set()
            assert {second.result(), third.result()} == {200, 503}
            assert first.result() == 200


def test_strangers_who_send_slowly_take_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = settings(concurrency=1, require_token=True)
    with recollect.open(tmp_path / "memory.db") as home, serving(home, chosen) as server, ExitStack() as stack:
        _, secret = home.tokens.create("laptop")
        for _ in range(3):
            slow = stack.enter_context(socket.create_connection(address(server.url), 30))
            slow.sendall(HALF % b"/v1/session")
            assert slow.recv(1_000).startswith(b"HTTP/1.1 100")  # it is being waited for
        with server.as_(secret) as laptop:
            assert laptop.get("/v1/entries").status_code == 200
        monkeypatch.setattr(middleware, "SMALL_WITHIN", 0.2)
        slow = stack.enter_context(socket.create_connection(address(server.url), 30))
        slow.sendall(HALF % b"/v1/session")
        answer = everything(slow)
        assert b"HTTP/1.1 408" in answer
        assert b"application/problem+json" in answer


def test_strangers_can_send_little(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        _, secret = home.tokens.create("laptop")
        body, headers = b" " * 1_000 + json.dumps({"token": secret}).encode(), {"Content-Type": "application/json"}
        assert is_problem(server.client.post("/v1/session", content=body, headers=headers), 413)
        assert is_problem(server.client.post("/v1/session", content=iter([body]), headers=headers), 413)
        parts = iter([body[900:950], body[950:]])
        assert server.client.post("/v1/session", content=parts, headers=headers).json()["name"] == "laptop"


def test_many_who_ask_whether_it_is_ready_are_one_question_and_take_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, begun, go_on, read_times = system._read, threading.Event(), threading.Event(), list[int]()

    def slow(state: Any) -> None:
        read_times.append(1)
        begun.set()
        go_on.wait()
        read(state)

    monkeypatch.setattr(system, "_read", slow)
    monkeypatch.setattr(system, "AGAIN", 1_000.0)
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(concurrency=1)) as server:
        with ThreadPoolExecutor(5) as pool:
            asked = [pool.submit(httpx2.get, f"{server.url}/readyz", trust_env=False, timeout=60) for _ in range(5)]
            begun.wait()
            found = server.client.get("/v1/entries").status_code
            go_on.set()
        assert found == 200
        assert {one.result().text for one in asked} == {"ready\n"}
        assert len(read_times) == 1
        monkeypatch.setattr(system, "AGAIN", 0.0)
        assert server.client.get("/readyz").status_code == 200
        assert len(read_times) == 2


def test_a_part_of_an_import_that_does_not_come_ends_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "SENT_WITHIN", 0.2)
    head = b"POST /v1/import HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    with socket.create_connection(address(server.url), 30) as slow:
        slow.sendall(head + b"x")
        assert everything(slow).startswith(b"HTTP/1.1 408")


@contextmanager
def answering(tmp_path: Path, **chosen: Any) -> Iterator[str]:
    """The address of the server that `recollect serve` has, in a thread."""
    ready, host = threading.Event(), chosen.get("host", "127.0.0.1")
    with recollect.open(tmp_path / "memory.db") as home, socket.create_server((host, 0)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 10_000)  # little is taken for who reads nothing
        running = process.HomeServer(home, settings(**chosen), upkeep=False, ready=ready.set, signals=())
        thread = threading.Thread(target=running.run, args=([listening],))
        thread.start()
        ready.wait()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            running.should_exit = True
            thread.join()


def test_a_connection_on_which_nothing_is_asked_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "HEAD_TIMEOUT", 0.2)
    with answering(tmp_path) as url, socket.create_connection(address(url), 30) as silent:
        assert everything(silent) == b""


@pytest.mark.parametrize("beginning", [b"GET /healthz HTT", b"GET /healthz HTTP/1.1\r\nHost: local"])
def test_a_head_that_does_not_come_is_answered_with_408(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    monkeypatch.setattr(process, "HEAD_TIMEOUT", 0.2)
    with answering(tmp_path) as url, socket.create_connection(address(url), 30) as slow:
        slow.sendall(beginning)
        head, _, body = everything(slow).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ")
        assert json.loads(body)["status"] == 408


@pytest.mark.parametrize("sent", [b"\x16\x03\x01 hello\r\n\r\n", b"GET /" + b"x" * 65_600], ids=["no HTTP", "too long"])
def test_what_is_no_request_gets_a_problem_as_well(tmp_path: Path, sent: bytes) -> None:
    with answering(tmp_path) as url, socket.create_connection(address(url), 30) as broken:
        broken.sendall(sent)
        head, _, body = everything(broken).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"content-type: application/problem+json" in head.lower()
        assert json.loads(body)["status"] == 400


def test_a_request_after_another_must_come_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "HEAD_TIMEOUT", 2.0)
    with answering(tmp_path) as url, socket.create_connection(address(url), 30) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert slow.recv(1_000).startswith(b"HTTP/1.1 200")
        slow.sendall(b"GET /heal")
        assert everything(slow).startswith(b"HTTP/1.1 408")


def test_a_feed_may_be_silent_for_as_long_as_it_likes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "HEAD_TIMEOUT", 2.0)
    monkeypatch.setattr(middleware, "SENT_WITHIN", 2.0)
    with answering(tmp_path) as url, client(url) as one, client(url) as other, one.stream("GET", "/v1/feed") as feed:
        lines = feed.iter_lines()
        while next(lines) != "data: {}":
            pass
        with socket.create_connection(address(url), 30) as silent:
            assert everything(silent) == b""  # so long has passed
        other.post("/v1/entries", json={"content": "We deploy on Tuesdays.", "name": "deploy day"})
        assert any("deploy day" in line for line in lines if line.startswith("data"))


# When it is to stop


def test_a_body_that_does_not_come_does_not_hold_up_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming_bodies, "LAST_WITHIN", 0.1)
    with ExitStack() as stack:
        with answering(tmp_path) as url:
            slow = [stack.enter_context(socket.create_connection(address(url), 30)) for _ in range(2)]
            for one, path in zip(slow, (b"/v1/entries", b"/v1/session"), strict=True):
                one.sendall(HALF % path)
                assert one.recv(1_000).startswith(b"HTTP/1.1 100")
        for one in slow:
            head, _, body = everything(one).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503")
            assert "shutting down" in json.loads(body)["detail"]


@contextmanager
def reading_nothing(url: str) -> Iterator[socket.socket]:
    """A feed that is open, and of which nothing is read."""
    with socket.socket() as deaf, client(url) as one:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        deaf.connect(address(url))
        deaf.sendall(b"GET /v1/feed?after=0.0.0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for("the feed", lambda: "recollect_feeds_open 1.0" in one.get("/metrics").text)
        yield deaf


def write(url: str, numbers: range) -> None:
    """A thousand are more than can be sent to a client that reads nothing."""
    many = [{"content": "x", "name": f"{n}{'n' * 200}"} for n in numbers]
    assert httpx2.post(f"{url}/v1/entries/batch", json={"entries": many}, trust_env=False, timeout=30).is_success


def test_a_feed_without_a_reader_does_not_delay_the_shutdown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(feed, "TAKEN_WITHIN", 0.1)
    monkeypatch.setattr(process, "SHUTDOWN_TIMEOUT", 5)
    with ExitStack() as stack:
        with answering(tmp_path) as url:
            write(url, range(1_000))
            stack.enter_context(reading_nothing(url))
        assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_a_feed_without_a_reader_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "TAKEN_WITHIN", 0.1)
    monkeypatch.setattr(feed, "WAITING", 10)
    with answering(tmp_path) as url, client(url) as one:
        write(url, range(1_000))
        with reading_nothing(url):
            write(url, range(1_000, 1_050))
            wait_for("the end of the feed", lambda: "recollect_feeds_open 0.0" in one.get("/metrics").text, seconds=10)


# Too many


def test_connections_leave_files_to_the_databases(tmp_path: Path) -> None:
    with started(tmp_path, "--no-upkeep") as server:
        assert server.client.get("/healthz").status_code == 200
        psutil.Process(server.process.pid).rlimit(psutil.RLIMIT_NOFILE, (process.SPARE + 20, process.SPARE + 20))
        many = [socket.create_connection(address(server.url), 30) for _ in range(40)]
        try:
            assert many[-1].recv(1_000).startswith(b"HTTP/1.1 503")
            assert server.client.post("/v1/entries", json={"content": "x"}).status_code == 201
        finally:
            for one in many:
                one.close()
        wait_for("room", lambda: httpx2.get(f"{server.url}/healthz", trust_env=False, timeout=60).status_code == 200)


def test_a_server_takes_as_many_open_files_as_it_may_have(tmp_path: Path) -> None:
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, most))
    try:
        with started(tmp_path, "--no-upkeep") as server:
            assert psutil.Process(server.process.pid).rlimit(psutil.RLIMIT_NOFILE)[0] == min(most, process.FILES)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))


def test_clients_of_mcp_that_listen_leave_room_for_requests(tmp_path: Path) -> None:
    speaks = {"Accept": "application/json, text/event-stream"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    with answering(tmp_path, concurrency=2) as url, ExitStack() as stack:
        one = stack.enter_context(client(url, headers=speaks))
        for _ in range(3):
            begun = one.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
            session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-06-18"}
            listener = stack.enter_context(client(url, headers={**speaks, **session}))
            assert stack.enter_context(listener.stream("GET", "/mcp")).status_code == 200
        assert one.get("/v1/entries").status_code == 200


def test_memories_that_are_not_there_take_no_room(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home, serving(home) as server:

        def ask(names: range) -> int:
            for n in names:
                assert server.client.get("/v1/entries", params={"workspace": f"w{n}"}).json()["items"] == []
            return psutil.Process().memory_info().rss

        before = ask(range(50))
        assert ask(range(50, 250)) - before < 40_000_000  # an empty database for each would take 120,000,000 bytes


def refused(server: Server, *shown: dict[str, str], path: str = "/v1/session") -> bool:
    return 429 in [server.client.get(path, headers=headers).status_code for headers in shown]


def elsewhere(number: int = 7) -> dict[str, str]:
    """A header by which the proxy on this machine says that the request came from another one."""
    return {"X-Forwarded-For": f"10.0.0.{number}"}


def busy() -> Settings:
    """Tokens are needed, and little may be asked."""
    return settings(rate=2.0, require_token=True)


def test_who_makes_up_tokens_is_counted_by_address(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, busy()) as server:
        assert refused(server, *({**elsewhere(), "Authorization": f"Bearer rcl_{n}"} for n in range(20)))
        assert refused(server, *({**elsewhere(8), "Cookie": f"recollect_token=rcl_{n}"} for n in range(20)))
        assert refused(server, *({**elsewhere(9), "Authorization": "127.0.0.1"} for n in range(20)))


def test_who_makes_up_addresses_is_counted_by_the_one_that_the_proxy_saw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    with answering(tmp_path, rate=2.0, require_token=True) as url, client(url) as one:
        for made_up in (["127.0.0.1"] * 20, [f"10.0.0.{n}" for n in range(20)]):
            shown = [{"X-Forwarded-For": f"{address}, 203.0.113.9"} for address in made_up]
            assert 429 in [one.get("/v1/session", headers=headers).status_code for headers in shown]


def test_another_machine_cannot_pass_for_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [one.address for many in psutil.net_if_addrs().values() for one in many if one.family == socket.AF_INET]
    elsewhere = [address for address in found if not is_loopback(address)]
    if not elsewhere:
        pytest.skip("this machine has no address but the loopback one")
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    with recollect.open(tmp_path / "memory.db") as home:
        _, secret = home.tokens.create("owner", right="admin")
    headers = {"Authorization": f"Bearer {secret}", "X-Forwarded-For": "127.0.0.1"}
    with answering(tmp_path, host="0.0.0.0", rate=2.0) as url:
        port = address(url)[1]
        with client(f"http://{elsewhere[0]}:{port}") as other, client(url) as here:
            assert here.post("/v1/compact", headers=headers).status_code == 200
            assert is_problem(other.post("/v1/compact", headers=headers), 403)
            made_up = [{"X-Forwarded-For": "127.0.0.1"}] * 20
            assert 429 in [other.get("/v1/session", headers=shown).status_code for shown in made_up]


def test_strangers_cannot_ask_for_ever_whether_it_is_ready(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, busy()) as server:
        assert refused(server, *([elsewhere()] * 20), path="/readyz")
        assert not refused(server, *([elsewhere()] * 20), path="/healthz")
        assert not refused(server, *([{}] * 20), path="/readyz")


def test_a_good_token_is_counted_by_itself(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, busy()) as server:
        _, secret = home.tokens.create("laptop")
        good = {**elsewhere(), "Authorization": f"Bearer {secret}"}
        assert not refused(server, good)
        assert refused(server, *({**elsewhere(), "Authorization": f"Bearer rcl_{n}"} for n in range(20)))
        assert not refused(server, good)
        assert refused(server, *([good] * 20))


# Too curious


def test_a_page_of_another_origin_that_does_not_say_so_changes_nothing(server: Server) -> None:
    for site in ("cross-site", "same-site"):
        assert is_problem(server.client.post("/v1/flush", headers={"Sec-Fetch-Site": site}), 403)
    for site in ("same-origin", "none"):
        assert server.client.post("/v1/flush", headers={"Sec-Fetch-Site": site}).status_code == 204


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_origin_cannot_find_out_what_is_there(server: Server, site: str) -> None:
    server.client.post("/v1/entries", json={"content": "x", "name": "there"})
    picture = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    script = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors", "Origin": "https://evil.example"}
    for headers in (picture, script):
        for name in ("there", "missing"):
            assert is_problem(server.client.get(f"/v1/entries/{name}", headers=headers), 403)
    link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    assert server.client.get("/", headers=link).status_code == 200
    assert is_problem(server.client.post("/v1/flush", headers=link), 403)
    own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    assert server.client.get("/v1/entries/there", headers=own).status_code == 200


def test_a_page_from_the_settings_may_still_ask(tmp_path: Path) -> None:
    app = {"Origin": "https://app.example.org", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
    with (
        recollect.open(tmp_path / "memory.db") as home,
        serving(home, settings(origins="https://app.example.org")) as server,
    ):
        assert server.client.get("/v1/entries", headers=app).status_code == 200
        asked = {**app, "Access-Control-Request-Method": "PATCH"}
        assert server.client.options("/v1/entries/n", headers=asked).status_code == 200


def test_only_an_encoded_slash_is_a_slash_in_a_name(server: Server) -> None:
    server.client.post("/v1/entries", json={"content": "x", "name": "a/b"})
    assert server.client.get("/v1/entries/a%2Fb").json()["name"] == "a/b"
    assert is_problem(server.client.get("/v1/entries/a%1Fb"), 422)
    assert server.client.get("/v1/entries/a%2Fc").json()["instance"] == "/v1/entries/a%2Fc"
    assert server.client.get("/v1%2Fentries").json()["detail"].startswith("there is nothing at /v1%2Fentries;")


def test_who_has_lost_its_token_hears_of_nothing_that_comes_later(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        _, secret = home.tokens.create("laptop")
        with server.as_(secret) as one, one.stream("GET", "/v1/feed") as feed:
            lines = feed.iter_lines()
            while next(lines) != "data: {}":
                pass
            home.tokens.revoke("laptop")
            home.agent("default").remember("We deploy on Tuesdays.", name="deploy day")
            rest = list(lines)
    assert "event: end" in rest
    assert not any("deploy day" in line for line in rest)


def damaged(folder: Path) -> Path:
    """A memory that is none."""
    path = folder / "memory.db"
    path.write_bytes(b"no database" * 1_000)
    return path


@pytest.mark.parametrize("require_token", [False, True])
def test_who_asks_whether_it_is_ready_does_not_learn_where_things_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, require_token: bool
) -> None:
    path = damaged(tmp_path)
    with recollect.open(path) as home, serving(home, settings(require_token=require_token)) as server:
        answer = server.client.get("/readyz")
        assert is_problem(answer, 503)
        assert str(tmp_path) not in answer.text
        assert "log" in answer.json()["detail"]
    assert str(path) in caplog.text


def test_who_asks_whether_it_is_ready_learns_neither_user_nor_host_of_the_database(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    other, name = postgres_url.rsplit("/", 1)
    with recollect.open(postgres_url) as home, serving(home) as server:
        with psycopg.connect(f"{other}/postgres", autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        answer = server.client.get("/readyz")
        assert is_problem(answer, 503)
        assert not [word for word in ("postgres", "127.0.0.1", name) if word in answer.text]
    assert f"127.0.0.1:{other.rpartition(':')[2]}" in caplog.text


def test_paths_are_shown_to_local_clients_only(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    with recollect.open(path) as home, serving(home) as server:
        assert str(path) in server.client.get("/v1/entries").json()["detail"]
    with recollect.open(path) as home, serving(home, settings(require_token=True)) as server:
        answer = server.client.get("/v1/session", headers={"Authorization": "Bearer rcl_x"})
        assert is_problem(answer, 500)
        assert str(path) not in answer.text


def test_an_unexpected_error_is_counted_as_a_500() -> None:
    async def broken(scope: object, receive: object, send: object) -> None:
        raise RuntimeError("unexpected")

    async def never() -> dict[str, object]:
        raise AssertionError

    async def away(message: object) -> None:
        raise AssertionError

    registry = CollectorRegistry()
    made = middleware.Guard(
        broken,
        settings=settings().server,
        needs_token=True,
        registry=registry,
        stopping=incoming_bodies.ShutdownEvent(),
    )
    scope = {"type": "http", "method": "GET", "path": "/v1/entries", "client": None, "headers": []}
    with pytest.raises(RuntimeError):
        asyncio.run(made(scope, never, away))
    labels = {"method": "GET", "route": "-", "status": "500"}
    assert registry.get_sample_value("recollect_requests_total", labels) == 1


# Files that are sent


@pytest.mark.parametrize(
    "body",
    [
        '{"content": "x"}'.encode("utf-16"),
        '{"content": "x"}'.encode("utf-16-le"),
        '{"content": "x"}'.encode("utf-32"),
        '{"content": "\xe9"}'.encode("latin-1"),
        b'{"content": "\xff"}',
        gzip.compress(b'{"content": "x"}'),
        b'{"content": "x"} {}',
        b"[" * 100_000,
        b'{"content": "x", "at": ' + b"9" * 5_000 + b"}",
    ],
    ids=["utf-16", "utf-16-le", "utf-32", "latin-1", "bytes", "gzip", "two values", "deep", "long number"],
)
def test_a_body_that_is_not_one_json_value_in_utf_8_is_refused(server: Server, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    assert is_problem(server.client.post("/v1/entries", content=body, headers=headers), 400)
    assert server.client.get("/v1/entries").json()["items"] == []


def test_an_error_of_an_import_names_the_file_that_was_sent(server: Server) -> None:
    for query in ("name=notes.json", "name=notes.json&format=mem0", "name=notes.json&format=mcp-memory"):
        detail = server.client.post(f"/v1/import?{query}", content=b'{"nothing": 1}').json()["detail"]
        assert "notes.json" in detail
        assert tempfile.gettempdir() not in detail


def test_a_name_that_no_file_can_have_is_refused(server: Server) -> None:
    assert is_problem(server.client.post(f"/v1/import?name={quote('é' * 200)}", content=b"x"), 422)


def test_a_server_without_room_for_files_says_so(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    for answer in (server.client.post("/v1/import", content=b"x"), server.client.get("/v1/export")):
        assert is_problem(answer, 503)
        assert str(tmp_path) not in answer.text


def test_mcp_that_could_not_be_loaded_once_is_loaded_by_the_next_request(tmp_path: Path) -> None:
    class Short(McpEndpoint):
        """It has too little of something, the first time."""

        tried = 0

        def _load(self) -> Any:
            self.tried += 1
            if self.tried == 1:
                raise OSError(errno.EMFILE, "Too many open files")
            return super()._load()

    async def anybody(request: object) -> MemoryAccess:
        return MemoryAccess(home=home, workspace="default", agent="default")

    async def ask(method: str) -> int:
        received: list[int] = []

        async def send(message: Any) -> None:
            received.append(message.get("status", 0))

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        await made(
            {"type": "http", "method": method, "path": "/mcp", "headers": [], "query_string": b""}, receive, send
        )
        return received[0]

    async def twice() -> None:
        async with made.running():
            with pytest.raises(OSError, match="Too many open files"):
                await ask("POST")
            assert await ask("PATCH") == 405

    with recollect.open(tmp_path / "memory.db") as home:
        made = Short(anybody, hosts=["*"])
        asyncio.run(twice())
