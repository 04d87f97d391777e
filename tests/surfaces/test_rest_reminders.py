"""Reminders over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from surfaces.server import Server, serving

import recollect
from recollect.clock import FixedClock

MINUTE = 60_000


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def server(tmp_path: Path, clock: FixedClock) -> Iterator[Server]:
    """A server whose time moves only when a test says so."""
    with recollect.open(tmp_path / "memory.db", clock=clock) as home, serving(home) as running:
        yield running


def added(server: Server, at: object, message: str = "Stand up") -> str:
    answer = server.client.post("/v1/reminders", json={"at": at, "message": message})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_a_reminder_becomes_due_is_claimed_and_delivered_once(server: Server, clock: FixedClock) -> None:
    reminder = added(server, "10m")
    assert server.client.get("/v1/reminders/due").json() == {"items": [], "next": None}
    clock.advance(10 * MINUTE)
    assert [one["id"] for one in server.client.get("/v1/reminders/due").json()["items"]] == [reminder]
    (claimed,) = server.client.post("/v1/reminders/claim", json={}).json()
    assert server.client.post("/v1/reminders/claim").json() == []
    held = {"claim": claimed["claim"]}
    assert server.client.post(f"/v1/reminders/{reminder}/deliver", json=held).status_code == 204
    assert server.client.post(f"/v1/reminders/{reminder}/deliver", json=held).status_code == 409
    assert server.client.get("/v1/reminders").json()["items"] == []
    (received,) = server.client.get("/v1/reminders", params={"include_delivered": True}).json()["items"]
    assert received["delivered_at"] == clock.now()


def test_only_who_claimed_a_reminder_may_deliver_or_release_it(server: Server, clock: FixedClock) -> None:
    reminder = added(server, 0)
    (claimed,) = server.client.post("/v1/reminders/claim", json={"limit": 1}).json()
    for step in ("deliver", "release"):
        for body in (None, {}, {"claim": "somebody else's"}):
            assert server.client.post(f"/v1/reminders/{reminder}/{step}", json=body).status_code == 409, (step, body)
    released = server.client.post(f"/v1/reminders/{reminder}/release", json={"claim": claimed["claim"]})
    assert released.status_code == 204
    assert len(server.client.get("/v1/reminders/due").json()["items"]) == 1
    server.client.post("/v1/reminders/claim")
    clock.advance(6 * MINUTE)  # the claim has expired
    assert server.client.post(f"/v1/reminders/{reminder}/deliver").status_code == 204


def test_reminders_come_in_pages_in_the_order_in_which_they_are_due(server: Server, clock: FixedClock) -> None:
    made = [added(server, clock.now() + minutes * MINUTE) for minutes in (3, 1, 2, 2)]
    found, cursor = [], None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        answer = server.client.get("/v1/reminders", params=query).json()
        found += [one["id"] for one in answer["items"]]
        cursor = answer["next"]
        if cursor is None:
            break
    assert found == [made[1], made[2], made[3], made[0]]
    assert server.client.get("/v1/reminders", params={"cursor": "nothing"}).status_code == 422


def test_a_reminder_can_be_cancelled_until_it_is_delivered(server: Server) -> None:
    reminder = added(server, "1h30m")
    assert server.client.delete(f"/v1/reminders/{reminder}").status_code == 204
    assert server.client.delete(f"/v1/reminders/{reminder}").status_code == 404
    delivered = added(server, 0)
    assert server.client.post(f"/v1/reminders/{delivered}/deliver").status_code == 204
    assert server.client.delete(f"/v1/reminders/{delivered}").status_code == 404
    assert server.client.post("/v1/reminders/nothing/deliver").status_code == 409
    assert server.client.post("/v1/reminders/nothing/release").status_code == 409


def test_a_wrong_reminder_is_refused_and_nothing_is_kept(server: Server) -> None:
    for body in (
        {},
        [],
        {"at": "10m"},
        {"message": "no time"},
        {"at": "soon", "message": "x"},
        {"at": "", "message": "x"},
        {"at": -1, "message": "x"},
        {"at": 300_000_000_000_000, "message": "x"},
        {"at": None, "message": "x"},
        {"at": "2026-13-01", "message": "x"},
        {"at": "10m", "message": ""},
        {"at": "10m", "message": " "},
        {"at": "10m", "message": "a\0b"},
        {"at": "10m", "message": "x" * 1_000_001},
        {"at": "10m", "message": "x", "plugin": "p" * 257},
        {"at": "10m", "message": "x", "recipient": "two\nlines"},
        {"at": "10m", "message": "x", "session_id": 5},
        {"at": "10m", "message": "x", "color": "red"},
    ):
        assert server.client.post("/v1/reminders", json=body).status_code == 422, str(body)[:80]
    for body in ({"limit": -1}, {"limit": "many"}, {"limit": 5.5}, {"most": 5}):
        assert server.client.post("/v1/reminders/claim", json=body).status_code == 422, body
    assert server.client.get("/v1/reminders").json()["items"] == []


def test_moments_are_milliseconds_or_text(server: Server, clock: FixedClock) -> None:
    for at, due in (
        ("2026-03-16T14:32:00Z", 1_773_671_520_000),
        ("2026-03-16T14:32:00+02:00", 1_773_664_320_000),
        (1_773_671_520_000, 1_773_671_520_000),
        ("1d 2h", clock.now() + 26 * 60 * MINUTE),
    ):
        answer = server.client.post("/v1/reminders", json={"at": at, "message": "x"})
        assert answer.json()["due_at"] == due, answer.text


def test_reminders_of_another_agent_are_not_there_and_a_token_does_not_reach_them(server: Server) -> None:
    reminder = added(server, 0)
    assert server.client.get("/v1/reminders", params={"agent": "bob"}).json()["items"] == []
    assert server.client.post("/v1/reminders/claim", params={"agent": "bob"}).json() == []
    assert server.client.delete(f"/v1/reminders/{reminder}", params={"agent": "bob"}).status_code == 404
    _, bobs = server.home.tokens.create("bob", agents=("bob",), right="write")
    _, reading = server.home.tokens.create("looks", right="read")
    with server.as_(bobs) as bob:
        assert bob.get("/v1/reminders", params={"agent": "default"}).status_code == 403
        assert bob.post("/v1/reminders/claim", params={"agent": "default"}).status_code == 403
        assert bob.get("/v1/reminders").json()["items"] == []
    with server.as_(reading) as reader:
        assert len(reader.get("/v1/reminders/due").json()["items"]) == 1
        assert reader.post("/v1/reminders/claim").status_code == 403
        assert reader.delete(f"/v1/reminders/{reminder}").status_code == 403
