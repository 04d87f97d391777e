"""Frequent requests are answered without FastAPI, and exactly as FastAPI answers them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from surfaces.server import Server, serving, settings

import recollect
from recollect.rest.app import ROUTERS
from recollect.rest.direct import DirectRoutes

USUAL = "application/json; charset=utf-8"
"""A content type with a parameter is left to FastAPI."""
BODIES = (
    {"query": "deploy", "limit": 2},
    {"query": "deploy", "limit": 2.0, "kinds": ["note"], "explain": True},
    {"content": "We deploy on Tuesdays.", "tags": ["ops"]},
    {"entries": [{"content": "one"}, {"content": "two"}]},
    {"op": "insert", "key": "deploy day", "content": "Tuesday"},
    {"store": "working", "query": "deploy", "conversation": "nothing"},
    {"query": "deploy", "limit": "2"},
    {"query": "deploy", "colour": "red"},
    {"content": " "},
    {"content": "a lone surrogate: \udc00"},
    {"op": "explode"},
    {},
    [],
    None,
)
SENT = [*(json.dumps(one).encode() for one in BODIES), b"", b"{", b"\xff", b'{"query": "a\\u0000b"}', b"\0"]
PATHS = sorted(DirectRoutes([route for router in ROUTERS for route in router.routes], print).paths())


def varying(text: str) -> str:
    """An answer without what differs from one request to the next."""
    text = re.sub(r'"(id|version|etag)":"[^"]*"', "", text)
    return re.sub(r'"seq":\d+|"created":\w+|"\w+_at":[0-9.]+|"score":[0-9.e-]+|\b1[0-9]{12}\b', "", text)


def test_the_frequent_routes_are_answered_directly() -> None:
    assert {"/v1/recall", "/v1/entries", "/v1/context"} <= set(PATHS)


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_is_the_one_that_fastapi_gives(server: Server, path: str) -> None:
    server.client.post("/v1/entries?agent=ana", json={"content": "We deploy on Tuesdays."})
    for query in ("?agent=ana", "?agent=ana&workspace=w", "?agent=..", "?colour=red", "?agent=a&agent=b", "?agent="):
        for body in SENT:
            direct, usual = (
                server.client.post(path + query, content=body, headers={"Content-Type": kind})
                for kind in ("application/json", USUAL)
            )
            assert direct.status_code == usual.status_code, (query, body, direct.text, usual.text)
            assert varying(direct.text) == varying(usual.text)
            assert set(direct.headers) == set(usual.headers)


def test_a_direct_request_needs_a_token_with_its_right(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        _, secret = home.tokens.create("reader", agents=["ana"], right="read")
        written = {"content": "We deploy on Tuesdays."}
        assert server.client.post("/v1/entries?agent=ana", json=written).status_code == 401
        with server.as_(secret) as reader:
            assert reader.post("/v1/entries?agent=ana", json=written).status_code == 403
            assert reader.post("/v1/recall?agent=ana", json={"query": "deploy"}).status_code == 200
            assert reader.post("/v1/recall?agent=bob", json={"query": "deploy"}).status_code == 403
            asked = {"query": "deploy", "target_agent": "bob"}
            assert reader.post("/v1/recall?agent=ana", json=asked).status_code == 403


def test_an_idempotency_key_works_for_a_direct_request(server: Server) -> None:
    sent = {"json": {"content": "once"}, "headers": {"Idempotency-Key": "k1"}}
    first, second = (server.client.post("/v1/entries", **sent) for _ in range(2))
    assert (first.json(), first.headers["etag"]) == (second.json(), second.headers["etag"])
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert len(server.client.get("/v1/entries").json()["items"]) == 1
