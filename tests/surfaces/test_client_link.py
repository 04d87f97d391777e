"""The client's connection to servers and to what only looks like one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import recollect
from recollect.client.link import Link
from recollect.errors import ConfigError, Conflict


@contextmanager
def standing_in(status: int, body: bytes, together: int = 1) -> Iterator[Link]:
    """A link to a server that answers the same to everybody, and cuts each connection off without a word."""
    barrier = threading.Barrier(together)

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == "/together":
                barrier.wait()
            self.send_response(status)
            self.send_header("Location", "https://elsewhere.example/")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True

        do_DELETE = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever).start()
        link = Link(f"http://127.0.0.1:{server.server_address[1]}", "rcl_secret", 30)
        try:
            yield link
        finally:
            link.close()
            server.shutdown()


def test_connections_that_were_cut_off_meanwhile_do_not_matter() -> None:
    with standing_in(200, b"[]", together=6) as link:
        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(lambda _: link.ask("GET", "/together"), range(6))) == [[]] * 6
        assert link.ask("GET", "/") == []  # six connections were kept, and none of them is good any more


@pytest.mark.parametrize(("status", "body"), [(301, b"<html>"), (308, b""), (200, b"<html>Hello</html>")])
def test_what_is_no_recollect_server_is_not_taken_for_one(status: int, body: bytes) -> None:
    with standing_in(status, body) as link, pytest.raises(ConfigError, match="recollect serve"):
        link.ask("DELETE", "/v1/entries/deploy%20day")


@contextmanager
def losing_answers(
    lost: int, status: int = 204, body: bytes = b""
) -> Iterator[tuple[Link, list[tuple[str, str | None]]]]:
    """A link to a server that hangs up on the first so many requests after it has read them, and what it read."""
    read: list[tuple[str, str | None]] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            read.append((self.command, self.headers.get("Idempotency-Key")))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if len(read) > lost:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

        do_DELETE = do_PATCH = do_POST = do_PUT = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever).start()
        link = Link(f"http://127.0.0.1:{server.server_address[1]}", None, 30)
        try:
            yield link, read
        finally:
            link.close()
            server.shutdown()


@pytest.mark.parametrize("verb", ["DELETE", "PATCH", "POST", "PUT"])
def test_whatever_changes_something_is_sent_again_under_the_same_key(verb: str) -> None:
    with losing_answers(2) as (link, read):
        link.ask(verb, "/v1/entries/deploy%20day", body=None if verb == "DELETE" else {"content": "Tuesday"})
        assert [one for one, _ in read] == [verb] * 3
        first, *others = {key for _, key in read}
        assert first is not None
        assert others == []
        link.ask(verb, "/v1/entries/deploy%20day")
        assert read[-1][1] not in (first, None)  # another change has another key


@pytest.mark.parametrize("broken", [False, True])
def test_what_is_still_being_done_when_it_is_sent_again_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    monkeypatch.setattr("recollect.client.link.PATIENCE", 0.3)
    told: list[int] = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            key = self.headers["Idempotency-Key"]
            status, body = 201, b'{"done": true}'
            try:
                if home.requests.begin(key, "fingerprint") is None:
                    gone.wait()  # longer than the client waits
                    return
            except Conflict as error:
                status, body = 409, json.dumps({"detail": str(error)}).encode()
                if len(told) == 1 and not broken:
                    home.requests.finish(key, 201, "{}")
            told.append(status)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    gone = threading.Event()
    with (
        recollect.open(tmp_path / "memory.db") as home,
        ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server,
    ):
        threading.Thread(target=server.serve_forever).start()
        link = Link(f"http://127.0.0.1:{server.server_address[1]}", None, 0.2)
        try:
            if broken:
                with pytest.raises(Conflict, match="broken off"):
                    link.ask("POST", "/v1/entries", body={"content": "x"})
            else:
                assert link.ask("POST", "/v1/entries", body={"content": "x"}) == {"done": True}
                assert told == [409, 409, 201]
        finally:
            gone.set()
            link.close()
            server.shutdown()


def test_a_conflict_of_its_own_is_told_at_once() -> None:
    with losing_answers(1, status=409, body=b'{"detail": "the name is taken"}') as (link, read):
        with pytest.raises(Conflict, match="taken"):
            link.ask("POST", "/v1/entries", body={"content": "x"})
        assert len(read) == 2


def test_a_token_is_told_to_nobody_but_the_server() -> None:
    with standing_in(200, b"[]") as link:
        padded = Link(f"http://{link._host}:{link._port}", " rcl_secret\n", 30)
        assert padded.ask("GET", "/") == []
        padded.close()
    for wrong in ("rcl_se\ncret", "rcl_sécret"):
        with pytest.raises(ConfigError) as told:
            Link("http://127.0.0.1:1", wrong, 30)
        assert "rcl_s" not in str(told.value)
    with pytest.raises(ConfigError, match="address"):
        Link("http://127.0.0.1:99999", None, 30)


def test_what_only_reads_needs_no_key() -> None:
    with losing_answers(1) as (link, read):
        assert link.ask("GET", "/v1/entries") is None
        assert read == [("GET", None)] * 2
