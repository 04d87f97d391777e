"""What a request says is taken as it was meant, or refused: times, numbers, truth values and letters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from surfaces.server import Server

from recollect.clock import milliseconds
from recollect.rest.app import NOUNS
from recollect.rest.types import Body

MARCH = milliseconds("2026-03-16")


@pytest.mark.parametrize(
    ("at", "means"),
    [
        ("20260316", MARCH),
        ("2026-03-16", MARCH),
        ("2026-W12-1", MARCH),
        (MARCH, MARCH),
        (5, 5),
        (0, 0),
        (5.0, 5),  # which is the same number in JSON
        ("20260316T143200Z", milliseconds("2026-03-16T14:32:00Z")),
        ("2026-03-16 14:32+01:00", MARCH + 48_720_000),
    ],
)
def test_a_time_in_a_body_means_what_it_means_in_the_library(server: Server, at: float | str, means: int) -> None:
    made = server.client.post("/v1/entries", json={"content": "x", "at": at})
    assert made.json()["created_at"] == means
    assert isinstance(at, float) or milliseconds(at) == means
    assert server.client.post("/v1/reminders", json={"message": "x", "at": at}).json()["due_at"] == means


@pytest.mark.parametrize(
    "at", ["2026", "5", "1767225600000", "soon", "", 5.5, 1e300, True, -1, 10**15, "1969-12-31", []]
)
def test_what_is_no_time_in_the_library_is_none_in_a_body(server: Server, at: Any) -> None:
    for path, body in (("entries", {"content": "x"}), ("reminders", {"message": "x"})):
        refused = server.client.post(f"/v1/{path}", json={**body, "at": at})
        assert (refused.status_code, server.client.get(f"/v1/{path}").json()["items"]) == (422, [])
        assert "Value error" not in refused.text


def test_digits_in_an_address_are_milliseconds_only_if_they_are_many(server: Server) -> None:
    mem = server.home.agent("default")
    mem.remember("oak", at=MARCH - 1)
    mem.remember("elm", at=MARCH)
    for since in ("20260316", "2026-03-16", str(MARCH), "2026-03-16T00:00:00Z"):
        for path in (f"/v1/entries?since={since}", f"/v1/recall?q=oak+elm&since={since}"):
            found = server.client.get(path).json()
            found = found["items"] if isinstance(found, dict) else [hit["entry"] for hit in found]
            assert [one["content"] for one in found] == ["elm"], path
    assert len(server.client.get("/v1/entries?since=00000000005").json()["items"]) == 2
    for wrong in ("2026", "5", "0", "1767225600", "1e12", "99999999999999999"):
        for name in ("since", "until"):
            assert server.client.get(f"/v1/entries?{name}={wrong}").status_code == 422, wrong


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("entries", {"content": "x", "importance": "0.5"}),
        ("entries", {"content": "x", "importance": True}),
        ("recall", {"query": "x", "limit": "5"}),
        ("recall", {"query": "x", "limit": 5.5}),
        ("recall", {"query": "x", "explain": "yes"}),
        ("recall", {"query": "x", "record": "off"}),
        ("recall", {"query": "x", "prefix": 1}),
        ("recall", {"query": "x", "fuzzy": "0.2"}),
        ("reminders/claim", {"limit": "5"}),
        ("reminders/claim", {"limit": True}),
        ("check", {"repair": "no"}),
        ("backfill", {"limit": "5"}),
        ("context", {"command": "x", "budget": "5"}),
        ("jobs/age/run", {"dry_run": "true"}),
        ("vault/sync", {"everyone": "false"}),
    ],
)
def test_a_number_or_a_truth_value_as_text_is_refused(server: Server, path: str, body: dict[str, Any]) -> None:
    assert server.client.post(f"/v1/{path}", json=body).status_code == 422
    assert server.client.get("/v1/entries").json()["items"] == []


def test_a_whole_number_is_good_where_parts_of_one_are(server: Server) -> None:
    made = server.client.post("/v1/entries", json={"content": "x", "importance": 1, "category": "tasks"}).json()
    assert (made["importance"], made["category"]) == (1.0, "tasks")
    assert server.client.post("/v1/recall", json={"query": "x", "fuzzy": 0, "kinds": ["note"]}).status_code == 200


def bodies(kind: type[Body] = Body) -> Iterator[type[Body]]:
    for one in kind.__subclasses__():
        yield one
        yield from bodies(one)


def test_every_body_tells_numbers_and_truth_values_from_text() -> None:
    assert NOUNS  # with which all bodies are there
    looked, taken = 0, []
    for body in bodies():
        for name, described in body.model_json_schema()["properties"].items():
            kinds = {one.get("type") for one in (described, *described.get("anyOf", ()))}
            if kinds & {"boolean", "integer", "number"} and "string" not in kinds:
                looked += 1
                try:
                    body.model_validate({name: "1"})
                except ValueError as wrong:
                    found = {one["loc"][0] for one in wrong.errors()}  # type: ignore[attr-defined]
                    taken += [] if name in found else [(body.__name__, name)]
                else:
                    taken.append((body.__name__, name))
    assert looked > 20
    assert taken == []


@pytest.mark.parametrize(
    "address",
    [
        "/v1/entries?agent=%ff",
        "/v1/entries?workspace=%ff%fe",
        "/v1/entries?agent=a%C3",
        "/v1/recall?q=%ff",
        "/v1/entries/%ff",
        "/v1/entries/a%2Fb%E9",
        "/v1/feed?agent=%ff",
        "/mcp?agent=%ff",
    ],
)
def test_an_address_that_is_not_utf_8_is_refused(server: Server, address: str) -> None:
    for method in ("GET", "POST"):
        refused = server.client.request(method, address, json={"content": "x"})
        assert (refused.status_code, refused.json()["title"]) == (400, "Bad Request")
        assert "UTF-8" in refused.json()["detail"]
    assert server.home.workspaces() == []


def test_an_address_with_letters_of_any_script_is_good(server: Server) -> None:
    assert server.client.post("/v1/entries?agent=Z%C3%BCrich", json={"content": "x"}).status_code == 201
    assert server.home.agents() == ["Zürich"]
