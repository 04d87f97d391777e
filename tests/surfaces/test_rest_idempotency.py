"""A request that comes twice with the same key is done once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import httpx2
import pytest
from surfaces.server import Server, client, serving, settings

import recollect
from recollect import Memory, Unavailable

KEY = {"Idempotency-Key": "7f3a"}


def send(server: Server, body: Any, **headers: str) -> httpx2.Response:
    return server.client.post("/v1/entries", json=body, headers={**KEY, **headers})


def count(server: Server) -> int:
    return len(server.home.agent("default").list())


def test_the_second_time_the_same_answer_comes_and_nothing_is_done(server: Server) -> None:
    first, second = (send(server, {"content": "tea"}) for _ in range(2))
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert {name: first.headers[name] for name in ("etag", "location", "content-type")} == {
        name: second.headers[name] for name in ("etag", "location", "content-type")
    }
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert count(server) == 1


def test_a_change_and_a_removal_are_done_once_as_well(server: Server) -> None:
    place = f"/v1/entries/{server.client.post('/v1/entries', json={'content': 'tea'}).json()['id']}"
    for verb, body, key in (("PATCH", {"content": "coffee"}, "a"), ("DELETE", None, "b")):
        headers = {"Idempotency-Key": key}
        first, second = (server.client.request(verb, place, json=body, headers=headers) for _ in range(2))
        assert first.status_code < 300
        assert (first.status_code, first.content) == (second.status_code, second.content)
        assert second.headers["idempotency-replayed"] == "true"
    assert server.client.delete(place).status_code == 404


def test_what_only_reads_is_read_again_and_not_kept(server: Server) -> None:
    send(server, {"content": "tea"})
    for query, found in (("tea", 1), ("coffee", 0)):
        answer = server.client.post("/v1/recall", json={"query": query}, headers=KEY)
        assert (answer.status_code, len(answer.json())) == (200, found)
    described = server.client.get("/openapi.json").json()["paths"]
    taking = {
        path for path in ("/v1/recall", "/v1/context", "/v1/entries") if "Idempotency-Key" in str(described[path])
    }
    assert taking == {"/v1/entries"}


def test_what_a_stranger_sends_is_not_kept(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        for _ in range(2):
            answer = server.client.delete("/v1/session", headers=KEY)
            assert (answer.status_code, answer.headers.get("idempotency-replayed")) == (204, None)
        assert "Idempotency-Key" not in str(server.client.get("/openapi.json").json()["paths"]["/v1/session"])


def test_a_key_belongs_to_one_request(server: Server) -> None:
    send(server, {"content": "tea"})
    for answer in (
        send(server, {"content": "coffee"}),
        server.client.post("/v1/entries?agent=bob", json={"content": "tea"}, headers=KEY),
        server.client.post("/v1/channels", json={"name": "tea"}, headers=KEY),
    ):
        assert answer.status_code == 409
        assert "'7f3a' was used for another request" in answer.json()["detail"]
    assert count(server) == 1


def test_a_request_that_failed_may_come_again(server: Server) -> None:
    assert send(server, {"content": ""}).status_code == 422
    server.client.post("/v1/entries", json={"content": "first", "name": "n"})
    assert send(server, {"content": "second", "name": "n"}).status_code == 409
    server.client.delete("/v1/entries/n")
    assert send(server, {"content": "second", "name": "n"}).status_code == 201


@pytest.mark.parametrize("error", [Unavailable("the answer to COMMIT was lost"), RuntimeError("a mistake")])
def test_a_request_that_failed_and_may_be_done_is_not_done_again(
    server: Server, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    remember = Memory.remember

    def lost(memory: Memory, *words: Any, **options: Any) -> None:
        remember(memory, *words, **options)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Memory, "remember", lost)
        assert send(server, {"content": "tea"}, Connection="close").status_code >= 500
    again = send(server, {"content": "tea"})
    assert (again.status_code, again.json()["content"]) == (201, "tea")
    assert again.headers["idempotency-replayed"] == "true"
    assert count(server) == 1
    assert send(server, {"content": "tea"}, **{"Idempotency-Key": "another"}).status_code == 201


def test_a_request_that_took_effect_without_an_entry_to_answer_with_says_so(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = Memory.apply

    def lost(memory: Memory, *words: Any, **options: Any) -> None:
        apply(memory, *words, **options)
        raise RuntimeError("a mistake")

    send(server, {"content": "tea", "name": "drink"})
    with monkeypatch.context() as patch:
        patch.setattr(Memory, "apply", lost)
        first = server.client.delete("/v1/entries/drink", headers={"Idempotency-Key": "gone", "Connection": "close"})
    assert first.status_code >= 500
    server.client.post("/v1/entries", json={"content": "coffee", "name": "drink"})
    for _ in range(2):
        again = server.client.delete("/v1/entries/drink", headers={"Idempotency-Key": "gone"})
        assert (again.status_code, "took effect" in again.json()["detail"]) == (409, True)
    assert server.home.agent("default").get("drink").content == "coffee"


def test_the_receipt_of_an_erasure_is_kept(server: Server) -> None:
    send(server, {"content": "tea", "name": "drink"})
    place, headers = "/v1/entries/drink?erase=true", {"Idempotency-Key": "erase"}
    first, second = (server.client.delete(place, headers=headers) for _ in range(2))
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert second.headers["idempotency-replayed"] == "true"


def test_of_requests_at_the_same_moment_one_is_done(server: Server) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: send(server, {"content": "tea"}), range(8)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({answer.content for answer in answers if answer.status_code == 201}) == 1
    assert count(server) == 1


def test_a_key_is_one_to_255_printable_characters(server: Server) -> None:
    for key in ("", "x" * 256, "tab\tin it"):
        assert send(server, {"content": "tea"}, **{"Idempotency-Key": key}).status_code == 422
    assert send(server, {"content": "tea"}, **{"Idempotency-Key": "x" * 255}).status_code == 201


def test_a_key_is_its_callers_own_and_good_as_long_as_the_token(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        (_, one), (_, two) = home.tokens.create("one"), home.tokens.create("two")
        with server.as_(one) as first, server.as_(two) as second:
            made = [who.post("/v1/entries", json={"content": "tea"}, headers=KEY) for who in (first, second, first)]
            assert [answer.status_code for answer in made] == [201, 201, 201]
            assert made[0].json()["id"] == made[2].json()["id"] != made[1].json()["id"]
            home.tokens.revoke("one")
            assert first.post("/v1/entries", json={"content": "tea"}, headers=KEY).status_code == 401
        with client(server.url) as nobody:
            assert nobody.post("/v1/entries", json={"content": "tea"}, headers=KEY).status_code == 401


def test_the_secret_of_a_new_token_is_not_kept(server: Server, tmp_path: Path) -> None:
    made = server.client.post("/v1/tokens", json={"name": "laptop"}, headers=KEY)
    secret = made.json()["secret"]
    assert made.headers["cache-control"] == "no-store"
    assert server.client.post("/v1/tokens", json={"name": "laptop"}, headers=KEY).status_code == 409
    server.client.post("/v1/session", json={"token": secret}, headers={"Idempotency-Key": "other"})
    server.home.close()
    assert not [file for file in tmp_path.iterdir() if secret.encode() in file.read_bytes()]


def test_a_request_that_is_under_way_says_so_in_a_word_for_programs(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go, remember = Event(), Event(), Memory.remember

    def slow(memory: Memory, *words: Any, **options: Any) -> Any:
        begun.set()
        go.wait()
        return remember(memory, *words, **options)

    monkeypatch.setattr(Memory, "remember", slow)
    with ThreadPoolExecutor(1) as pool, client(server.url) as other:
        first = pool.submit(other.post, "/v1/entries", json={"content": "tea"}, headers=KEY)
        begun.wait()
        second = send(server, {"content": "tea"})
        go.set()
        assert first.result().status_code == 201
    assert (second.status_code, second.json()["code"]) == (409, "under-way")
    assert send(server, {"content": "coffee"}).json()["code"] == "conflict"
