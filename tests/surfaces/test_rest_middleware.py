"""What never reaches a route: pages that should not be here, too much, too often, the wrong method or place."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from surfaces.server import Server, client, serving, settings

import recollect
from recollect.rest import concurrency
from recollect.rest.serving import HEAD_SIZE


def is_problem(answer: httpx2.Response, status: int) -> bool:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    received = answer.json()
    assert set(received) >= {"type", "title", "status", "detail", "instance", "code"}
    return answer.status_code == received["status"] == status


def raw(server: Server, request: bytes) -> bytes:
    """What a server answers to these very bytes."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(request)
        parts = []
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(
    "name", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "[", "", "10.0.0.7"]
)
def test_a_name_that_an_attacker_points_here_is_refused(server: Server, name: str) -> None:
    assert is_problem(server.client.get("/v1/entries", headers={"Host": name}), 421)


@pytest.mark.parametrize(
    "name",
    ["localhost:8377", "127.0.0.1", "[::1]:8377", "LOCALHOST", "box.lan:80", "port.lan", "page.lan", "[fd00::7]:80"],
)
def test_its_own_names_are_answered_however_they_are_written(tmp_path: Path, name: str) -> None:
    chosen = settings(hosts="other.lan, Box.lan, port.lan:8377, https://page.lan/, fd00::7, [")
    with recollect.open(tmp_path / "memory.db") as home, serving(home, chosen) as server:
        assert server.client.get("/v1/entries", headers={"Host": name}).status_code == 200
        assert is_problem(server.client.get("/v1/entries", headers={"Host": ""}), 421)


@pytest.mark.parametrize(
    "forwarded",
    [
        {"X-Forwarded-For": "203.0.113.9"},
        {"X-Forwarded-For": "127.0.0.1, 203.0.113.9"},
        {"X-Real-IP": "203.0.113.9"},
        {"Forwarded": "for=203.0.113.9;proto=https"},
    ],
)
def test_without_tokens_no_remote_client_behind_a_proxy_is_answered(tmp_path: Path, forwarded: dict[str, str]) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home) as server:
        for answer in (
            server.client.get("/v1/entries", headers=forwarded),
            server.client.post("/v1/entries", json={"content": "x"}, headers=forwarded),
            server.client.post("/v1/tokens", json={"name": "mine"}, headers=forwarded),
            server.client.post("/mcp", json={}, headers=forwarded),
        ):
            assert is_problem(answer, 403)
            assert "--require-token" in answer.json()["detail"]
        assert server.client.get("/v1/entries").json()["items"] == []
        assert server.client.get("/v1/entries", headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 200
        _, secret = home.tokens.create("laptop")
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        assert server.client.get("/v1/entries", headers=forwarded).status_code == 401
        with server.as_(secret) as laptop:
            assert laptop.get("/v1/entries", headers=forwarded).status_code == 200


def test_of_two_lines_that_say_where_a_request_comes_from_both_count(server: Server) -> None:
    for lines in (b"203.0.113.9\r\nX-Forwarded-For: ::1", b"::1\r\nX-Forwarded-For: 203.0.113.9"):
        head = b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Forwarded-For: %s\r\n\r\n" % lines
        assert raw(server, head).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "file://", "http://[", "x"])
def test_a_page_of_another_origin_changes_nothing(server: Server, origin: str) -> None:
    for call in (server.client.post, server.client.put, server.client.patch, server.client.delete):
        assert is_problem(call("/v1/entries/n", headers={"Origin": origin}), 403)
    assert server.client.post("/v1/session", json={"token": "x"}, headers={"Origin": origin}).status_code == 403


def test_its_own_page_may_change_things(server: Server) -> None:
    made = server.client.post("/v1/entries", json={"content": "x"}, headers={"Origin": server.url})
    assert made.status_code == 201


def test_an_origin_from_the_settings_may_call_from_a_browser(tmp_path: Path) -> None:
    app, chosen = "https://app.example.org", settings(origins="https://App.example.org/", body_limit=50)
    with recollect.open(tmp_path / "memory.db") as home, serving(home, chosen) as server:
        asked = {"Origin": app, "Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "if-match"}
        preflight = server.client.options("/v1/entries/n", headers=asked)
        assert preflight.headers["access-control-allow-origin"] == app
        assert "PATCH" in preflight.headers["access-control-allow-methods"]
        assert "if-match" in preflight.headers["access-control-allow-headers"].lower()
        made = server.client.post("/v1/entries", json={"content": "x"}, headers={"Origin": app})
        assert (made.status_code, made.headers["access-control-allow-origin"]) == (201, app)
        shown = {name.strip() for name in made.headers["access-control-expose-headers"].split(",")}
        assert shown == {
            "Conversations-Have-More",
            "ETag",
            "Idempotency-Replayed",
            "Location",
            "Mcp-Session-Id",
            "Retry-After",
        }
        refused = server.client.post("/v1/entries", json={"content": "x" * 50}, headers={"Origin": app})
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (413, app)
        other = server.client.options("/v1/entries", headers={**asked, "Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers


def test_a_body_over_the_limit_is_refused_with_and_without_a_length(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(body_limit=1_000)) as server:
        body = json.dumps({"content": "x" * 2_000}).encode()
        headers = {"Content-Type": "application/json"}

        def parts() -> Iterator[bytes]:
            yield body[:900]
            yield body[900:]

        assert is_problem(server.client.post("/v1/entries", content=body, headers=headers), 413)
        assert is_problem(server.client.post("/v1/entries", content=parts(), headers=headers), 413)
        assert server.client.get("/v1/entries").json()["items"] == []


def test_a_client_over_the_rate_limit_is_asked_to_wait(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(rate=1.0)) as server:
        _, secret = home.tokens.create("busy")
        with server.as_(secret) as busy:
            answers = [busy.get("/v1/session") for _ in range(4)]
        refused = [answer for answer in answers if answer.status_code != 200]
        assert refused
        assert is_problem(refused[0], 429)
        assert refused[0].headers["retry-after"] == "1"
        assert server.client.get("/healthz").status_code == 200


def test_a_token_is_counted_as_one_however_it_is_written(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(rate=1.0)) as server:
        _, secret = home.tokens.create("busy")
        written = [{"Authorization": f"Bearer{' ' * blanks}{secret}"} for blanks in range(1, 6)]
        written += [{"Authorization": f"bearer {secret}"}]
        written += [{"Cookie": f"{name}=1; recollect_token={secret}"} for name in "abcde"]
        answers = [server.client.get("/v1/session", headers=headers) for headers in written * 2]
        assert {answer.status_code for answer in answers} == {200, 429}


def test_a_server_with_too_much_to_do_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "WAIT", 0.1)
    begun, go_on = threading.Event(), threading.Event()

    def slow(self: recollect.Memory, *given: Any, **named: Any) -> list[Any]:
        begun.set()
        go_on.wait()
        return []

    monkeypatch.setattr(recollect.Memory, "recall", slow)
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(concurrency=1, feeds=1)) as server:
        with ThreadPoolExecutor(1) as pool, client(server.url) as other:
            asked = pool.submit(server.client.get, "/v1/recall?q=x")
            begun.wait()
            try:
                answer = other.get("/v1/entries")
                assert is_problem(answer, 503)
                assert answer.headers["retry-after"] == "1"
                assert other.get("/healthz").status_code == 200
            finally:
                go_on.set()
            assert asked.result().status_code == 200
        with client(server.url) as first, client(server.url) as second, first.stream("GET", "/v1/feed"):
            assert is_problem(second.get("/v1/feed"), 503)


def test_a_route_that_is_not_there_is_a_problem(server: Server) -> None:
    assert is_problem(server.client.get("/v1/nothing"), 404)
    assert is_problem(server.client.get("/v1/entries/"), 404)


def test_a_wrong_method_is_answered_with_the_allowed_ones(server: Server) -> None:
    answer = server.client.put("/v1/entries/n")
    assert is_problem(answer, 405)
    assert answer.headers["allow"] == "DELETE, GET, HEAD, PATCH"
    assert server.client.delete("/v1/entries").headers["allow"] == "GET, HEAD, POST"
    assert server.client.request("TRACE", "/v1/recall").headers["allow"] == "GET, HEAD, POST"
    assert server.client.options("/openapi.json").headers["allow"] == "GET, HEAD"


def test_a_path_of_its_own_takes_its_own_methods_only(server: Server) -> None:
    # /v1/reminders/{id} is deleted, and /v1/conversations/{ref} read: these are no such things.
    for path, methods in (
        ("reminders/due", "GET, HEAD"),
        ("reminders/claim", "POST"),
        ("conversations/end-stale", "POST"),
    ):
        assert server.client.options(f"/v1/{path}").headers["allow"] == methods


def test_a_head_is_what_a_get_would_begin_with(server: Server) -> None:
    server.client.post("/v1/entries", json={"content": "x", "name": "n"})
    for path in ("/healthz", "/v1/entries", "/v1/entries/n", "/v1/export", "/openapi.json", "/v1/feed"):
        head = server.client.head(path)
        assert (head.status_code, head.content) == (200, b""), path
    head, get = server.client.head("/v1/entries/n"), server.client.get("/v1/entries/n")
    assert [head.headers[name] for name in ("etag", "content-length")] == [
        get.headers[name] for name in ("etag", "content-length")
    ]
    assert server.client.head("/v1/entries/m").status_code == 404


def test_a_request_that_is_no_http_ends_without_harm(server: Server) -> None:
    assert raw(server, b"\x16\x03\x01 hello\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert raw(server, b"GET /v1/entries%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").startswith(
        b"HTTP/1.1 404"
    )
    assert server.client.get("/healthz").status_code == 200


def test_a_request_whose_head_is_wrong_is_answered_with_a_problem(server: Server) -> None:
    begun = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    for wrong in (
        b"BREW /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        begun + b"Host: example.org\r\n\r\n",
        begun + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        begun + b"X-Long: ".ljust(HEAD_SIZE + 1 - len(begun), b"x"),
    ):
        answer = raw(server, wrong)
        assert answer.startswith(b"HTTP/1.1 400"), wrong[:100]
        assert b"application/problem+json" in answer


def test_an_address_that_cannot_be_decoded_is_refused(server: Server) -> None:
    for wrong in (b"/%ff", b"?agent=%ff", b"?agent=\xc3\xa9"):
        request = b"GET /v1/entries" + wrong + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        assert raw(server, request).startswith(b"HTTP/1.1 400")
    assert server.client.get("/healthz").status_code == 200


def test_no_secret_and_no_content_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        _, secret = home.tokens.create("laptop")
        with server.as_(secret) as one:
            one.post("/v1/entries", json={"content": "the word is heliotrope"})
            one.get("/v1/recall", params={"q": "heliotrope"})
            one.post("/v1/entries", json={"content": "heliotrope", "colour": "heliotrope"})
            one.post("/v1/session", json={"token": secret})
        server.client.get("/v1/entries", headers={"Cookie": f"recollect_token={secret}x"})
        server.client.get("/v1/entries", headers={"Authorization": f"Bearer {secret}x"})
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("recollect")]
    assert any("POST '/v1/entries' 201" in line and "'laptop'" in line for line in ours)
    assert not [line for line in ours if secret in line or "heliotrope" in line]


def test_a_log_of_json_has_one_object_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(log_format="json")) as server:
        server.client.get("/v1/entries/a%0Ab")
    (line,) = [record.getMessage() for record in caplog.records if record.name == "recollect.requests"]
    received = json.loads(line)
    assert (received["method"], received["path"], received["status"], received["caller"]) == (
        "GET",
        "/v1/entries/a\nb",
        422,
        "-",
    )


def test_figures_count_answers_by_route(server: Server) -> None:
    server.client.get("/v1/entries/no such thing")
    server.client.request("PURGE", "/v1/entries")
    server.client.post("/mcp?agnt=bob", json={})
    server.client.get("/openapi.json")
    figures = server.client.get("/metrics").text
    assert 'recollect_requests_total{method="GET",route="/v1/entries/{name_or_id}",status="404"} 1.0' in figures
    assert 'recollect_requests_total{method="POST",route="/mcp",status="422"} 1.0' in figures
    assert 'recollect_requests_total{method="GET",route="/openapi.json",status="200"} 1.0' in figures
    assert 'method="-"' in figures
    assert "no such thing" not in figures
    assert "worker=" not in figures


def test_figures_tell_what_the_memory_holds_and_how_upkeep_stands(server: Server) -> None:
    for content in ("We deploy on Tuesdays", "The port is 8080"):
        server.client.post("/v1/entries", json={"content": content})
    server.client.post("/v1/conversations", json={"chat_id": "c"})
    server.client.post("/v1/recall", json={"query": "port"})
    figures = server.client.get("/metrics").text
    assert 'recollect_entries{workspace="default"} 2.0' in figures
    assert 'recollect_conversations{status="active",workspace="default"} 1.0' in figures
    assert 'recollect_job_failures{job="consolidate",workspace="default"} 0.0' in figures
    assert "recollect_job_overdue_seconds{" in figures
    assert 'recollect_review{workspace="default"} 0.0' in figures
    assert "recollect_vectors_missing{" in figures
    assert re.search(r'^recollect_connections\{state="idle"\} [1-9]', figures, re.MULTILINE)
    assert re.search(r'^recollect_cache_reads_total\{cache="index",outcome="missed"\} [1-9]', figures, re.MULTILINE)
    assert "Tuesdays" not in figures


def test_figures_of_the_memory_are_for_an_admin_of_everything(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        home.agent("ben").remember("The port is 8080")
        owner = home.tokens.create("owner", right="admin")[1]
        ana = home.tokens.create("ana", agents=["ana"], right="admin", workspace="default")[1]
        texts = {
            secret: server.client.get("/metrics", headers={"Authorization": f"Bearer {secret}"}).text
            for secret in (owner, ana)
        }
    assert 'recollect_entries{workspace="default"} 1.0' in texts[owner]
    assert "recollect_requests_total" in texts[ana]
    assert "recollect_entries" not in texts[ana]
    assert "recollect_job" not in texts[ana]


def test_figures_of_one_of_several_processes_say_so(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(workers=2)) as server:
        server.client.get("/version")
        lines = server.client.get("/metrics").text.splitlines()
    figures = [line for line in lines if line.startswith(("recollect_request", "recollect_feeds"))]
    assert len(figures) > 10
    assert [line for line in figures if f'worker="{os.getpid()}"' not in line] == []


def test_requests_under_way_are_answered_before_the_server_ends(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        with serving(home) as server:
            asked = threading.Thread(target=lambda: server.client.post("/v1/entries", json={"content": "last words"}))
            asked.start()
            asked.join()
        assert [entry.content for entry in home.agent("default").list()] == ["last words"]


def test_a_parameter_that_is_not_known_is_refused(server: Server) -> None:
    answer = server.client.get("/v1/entries", params={"limt": 5})
    assert is_problem(answer, 422)
    assert "'limt'" in answer.json()["detail"]
    assert "limit" in answer.json()["detail"]
