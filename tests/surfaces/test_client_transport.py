"""The client's connection to servers and to what only looks like one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

import recollect
from recollect.client.transport import HttpTransport
from recollect.errors import (
    ConfigError,
    Conflict,
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    RecollectError,
    Stale,
    Unavailable,
)


class Quiet(BaseHTTPRequestHandler):
    """A server that logs nothing to the terminal."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def linked(answer: type[Quiet], token: str | None = None) -> Iterator[HttpTransport]:
    """A link to a server that answers in this way."""
    with ThreadingHTTPServer(("127.0.0.1", 0), answer) as server:
        threading.Thread(target=server.serve_forever).start()
        link = HttpTransport(f"http://127.0.0.1:{server.server_address[1]}", token, 30)
        try:
            yield link
        finally:
            link.close()
            server.shutdown()


@contextmanager
def standing_in(status: int, body: bytes, together: int = 1) -> Iterator[HttpTransport]:
    """A link to a server that answers the same to everybody, and cuts each connection off without a word."""
    barrier = threading.Barrier(together)

    class Answer(Quiet):
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

    with linked(Answer, "rcl_secret") as link:
        yield link


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
) -> Iterator[tuple[HttpTransport, list[tuple[str, str | None]]]]:
    """A transport to a server that closes the connection after reading each of the first requests, and what it read."""
    read: list[tuple[str, str | None]] = []

    class Answer(Quiet):
        def do_GET(self) -> None:
            read.append((self.command, self.headers.get("Idempotency-Key")))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if len(read) > lost:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

        do_DELETE = do_PATCH = do_POST = do_PUT = do_GET

    with linked(Answer) as link:
        yield link, read


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
    monkeypatch.setattr("recollect.client.transport.PATIENCE", 0.3)
    received: list[int] = []

    class Answer(Quiet):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            key = self.headers["Idempotency-Key"]
            status, body = 201, b'{"done": true}'
            try:
                if home.requests.begin(key, "fingerprint") is None:
                    gone.wait()  # longer than the client waits
                    return
            except Conflict:
                status, body = 409, b'{"code": "under-way", "detail": "broken off"}'
                if len(received) == 1 and not broken:
                    home.requests.finish(key, 201, "{}")
            received.append(status)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

    gone = threading.Event()
    with (
        recollect.open(tmp_path / "memory.db") as home,
        ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server,
    ):
        threading.Thread(target=server.serve_forever).start()
        link = HttpTransport(f"http://127.0.0.1:{server.server_address[1]}", None, 0.2)
        try:
            if broken:
                with pytest.raises(Conflict, match="broken off"):
                    link.ask("POST", "/v1/entries", body={"content": "x"})
            else:
                assert link.ask("POST", "/v1/entries", body={"content": "x"}) == {"done": True}
                assert received == [409, 409, 201]
        finally:
            gone.set()
            link.close()
            server.shutdown()


def test_a_real_conflict_is_raised_at_once() -> None:
    with losing_answers(1, status=409, body=b'{"detail": "the name is taken"}') as (link, read):
        with pytest.raises(Conflict, match="taken"):
            link.ask("POST", "/v1/entries", body={"content": "x"})
        assert len(read) == 2


def test_a_token_is_sent_to_the_server_only() -> None:
    with standing_in(200, b"[]") as link:
        padded = HttpTransport(f"http://{link._host}:{link._port}", " rcl_secret\n", 30)
        assert padded.ask("GET", "/") == []
        padded.close()
    for wrong in ("rcl_se\ncret", "rcl_sécret"):
        with pytest.raises(ConfigError) as received:
            HttpTransport("http://127.0.0.1:1", wrong, 30)
        assert "rcl_s" not in str(received.value)
    with pytest.raises(ConfigError, match="address"):
        HttpTransport("http://127.0.0.1:99999", None, 30)


def test_what_only_reads_needs_no_key() -> None:
    with losing_answers(1) as (link, read):
        assert link.ask("GET", "/v1/entries") is None
        assert read == [("GET", None)] * 2


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how long the client would have waited each time."""
    waited: list[float] = []
    monkeypatch.setattr("recollect.client.transport.time", SimpleNamespace(sleep=waited.append))
    return waited


@contextmanager
def too_busy(
    status: int, body: bytes, wait: str | None, times: int
) -> Iterator[tuple[HttpTransport, list[str | None]]]:
    """A link to a server that has no time for the first so many requests, and under which keys they came."""
    keys: list[str | None] = []

    class Answer(Quiet):
        def do_GET(self) -> None:
            keys.append(self.headers.get("Idempotency-Key"))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status if len(keys) <= times else 200)
            if wait is not None:
                self.send_header("Retry-After", wait)
            self.end_headers()
            self.wfile.write(body if len(keys) <= times else b"[]")

        do_POST = do_GET

    with linked(Answer) as link:
        yield link, keys


@pytest.mark.parametrize("verb", ["GET", "POST"])
@pytest.mark.parametrize(("status", "body"), [(429, b'{"code": "busy"}'), (503, b'{"code": "busy"}'), (503, b"<html>")])
def test_a_server_that_has_no_time_is_asked_again_under_the_same_key(
    verb: str, status: int, body: bytes, waits: list[float]
) -> None:
    with too_busy(status, body, "2", 5) as (link, keys):
        assert link.ask(verb, "/v1/entries") == []
        assert len(keys) == 6
        assert len(set(keys)) == 1
    assert len(waits) == 5
    assert all(2 <= wait <= 4 for wait in waits)


@pytest.mark.parametrize("wait", ["0", "1", "7"])
def test_a_server_that_never_has_time_is_given_up(wait: str, waits: list[float]) -> None:
    with too_busy(503, b'{"code": "busy", "detail": "no"}', wait, 10_000) as (link, keys):
        with pytest.raises(Unavailable, match="no"):
            link.ask("GET", "/v1/entries")
        assert len(keys) == len(waits) + 1
    assert 40 < sum(waits) <= 60


@pytest.mark.parametrize(
    ("status", "body", "wait"),
    [
        (503, b'{"code": "busy", "detail": "no"}', None),
        (503, b'{"code": "busy", "detail": "no"}', "Wed, 21 Oct 2026 07:28:00 GMT"),
        (503, b'{"code": "busy", "detail": "no"}', "3600"),
        (503, b'{"code": "unavailable", "detail": "no"}', "0"),  # its key is taken: the outcome is unknown
        (500, b'{"detail": "no"}', "0"),
    ],
)
def test_an_error_that_waiting_does_not_help_is_raised_at_once(
    status: int, body: bytes, wait: str | None, waits: list[float]
) -> None:
    with too_busy(status, body, wait, 5) as (link, keys):
        with pytest.raises(Unavailable if status == 503 else RecollectError, match="no"):
            link.ask("POST", "/v1/entries", body={"content": "x"})
        assert (len(keys), waits) == (1, [])


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (409, "config", ConfigError),
        (500, "corrupt", Corrupt),
        (409, "conflict", Conflict),
        (409, "new", Conflict),
        (412, "stale", Stale),
        (404, "not-found", NotFound),
        (503, "config", ConfigError),
        (418, "invalid", Invalid),
        (500, "failed", RecollectError),
        (403, "denied", Denied),
        (404, None, NotFound),
        (503, None, Unavailable),
    ],
)
def test_an_error_is_known_by_its_code_and_else_by_its_status(
    status: int, code: str | None, error: type[Exception]
) -> None:
    body = '{"detail": "no"}' if code is None else f'{{"detail": "no", "code": "{code}"}}'
    with losing_answers(0, status, body.encode()) as (link, _):
        with pytest.raises(error, match=r"^no$") as received:
            link.ask("GET", "/v1/entries")
        assert type(received.value) is error
