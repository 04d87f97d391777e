"""What holds, what held and who said so, over HTTP and through the client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from surfaces.server import Server, serving, settings

from recollect import Conflict, Denied, EventType, FixedClock, Home, Invalid, NotFound
from recollect.client import RemoteMemory, connect
from recollect.clock import milliseconds
from recollect.model.entry import State

DAY = 86_400_000
MARCH, APRIL, MAY, JUNE = (f"2026-{month:02}-02T09:00:00Z" for month in (3, 4, 5, 6))


@pytest.fixture
def server(home: Home) -> Iterator[Server]:
    with serving(home) as running:
        yield running


@pytest.fixture
def remote(server: Server) -> Iterator[RemoteMemory]:
    with connect(server.url) as there:
        yield there.agent("default")


def days(hits: list[dict[str, object]]) -> list[str]:
    return [hit["entry"]["content"].rsplit(" ", 1)[1] for hit in hits]  # type: ignore[index]


def test_rest_says_what_holds_what_held_and_who_said_so(server: Server, clock: FixedClock) -> None:
    rest = server.client
    clock.set(milliseconds(MARCH))
    draft = {"content": "We deploy on Tuesdays", "name": "deploy day", "origin": "user", "evidence": ["event:7"]}
    old = rest.post("/v1/entries", json=draft)
    assert (old.json()["origin"], old.json()["evidence"]) == ("user", ["event:7"])
    clock.set(milliseconds(MAY))
    change = {"content": "We deploy on Wednesdays", "why": "the team asked for it", "origin": "user"}
    new = rest.post("/v1/entries/deploy day/supersede", json=change)
    assert (new.status_code, new.headers["location"]) == (201, f"/v1/entries/{new.json()['id']}")
    clock.set(milliseconds(JUNE))
    for ask in (
        lambda **more: rest.post("/v1/recall", json={"query": "when do we deploy?", **more}).json(),
        lambda **more: rest.get("/v1/recall", params={"q": "when do we deploy?", **more}).json(),
        lambda **more: [{"entry": one} for one in rest.get("/v1/entries", params=more).json()["items"]],
    ):
        assert days(ask()) == ["Wednesdays"]
        assert days(ask(as_of=APRIL)) == ["Tuesdays"]
        assert days(ask(include_past=True)) == ["Wednesdays", "Tuesdays"]
    past = rest.get(f"/v1/entries/{old.json()['id']}").json()
    assert (past["superseded_by"], past["origin"]) == (new.json()["id"], "user")
    states = [hit["state"] for hit in rest.get("/v1/recall", params={"q": "deploy", "include_past": True}).json()]
    assert states == ["current", "superseded"]
    assert rest.get("/v1/recall", params={"q": "deploy", "min_origin": "user"}).json()
    written = rest.get(f"/v1/entries/{old.json()['id']}/history").json()["items"][-1]
    assert written["after"]["why"] == "the team asked for it"
    assert rest.post("/v1/entries/deploy day/restore").json()["id"] == old.json()["id"]


def test_rest_retracts_and_supersedes_with_a_new_entry(server: Server) -> None:
    rest = server.client
    rest.post("/v1/entries", json={"content": "We use npm", "name": "npm", "category": "decisions"})
    made = rest.post("/v1/entries", json={"content": "We use pnpm", "supersedes": "npm", "valid_from": MARCH}).json()
    assert (made["name"], made["category"]) == ("npm", "decisions")
    for body in ({"json": {"why": "it was a test"}}, {}):
        assert rest.post("/v1/entries/npm/retract", **body).json()["closed_at"] is not None
        assert rest.get("/v1/entries").json()["items"] == []
        assert rest.post("/v1/entries/npm/retract").status_code == 409
        assert rest.post("/v1/entries/npm/restore").status_code == 200


def test_rest_rejects_what_the_library_rejects(server: Server) -> None:
    rest = server.client
    rest.post("/v1/entries", json={"content": "We deploy on Tuesdays", "name": "deploy day", "origin": "user"})
    before = rest.get("/v1/entries", params={"include_past": True}).json()
    for path, body, status in (
        ("entries", {"content": "x", "valid_from": MAY, "valid_until": MARCH}, 422),
        ("entries", {"content": "x", "origin": "nobody"}, 422),
        ("entries", {"content": "x", "supersedes": "nothing"}, 404),
        ("entries/nothing/supersede", {"content": "x"}, 404),
        ("entries/deploy day/supersede", {"content": "x", "origin": "tool"}, 403),
        ("entries/deploy day/supersede", {"content": "x", "since": "soon"}, 422),
        ("entries/nothing/retract", {}, 404),
        ("entries/deploy day/retract?agent=ben", {}, 404),
        ("entries/deploy day/supersede?agent=ben", {"content": "x"}, 404),
    ):
        answer = rest.post(f"/v1/{path}", json=body)
        assert (answer.status_code, path) == (status, path)
    assert rest.get("/v1/entries", params={"include_past": True}).json() == before


def test_a_conditional_upsert_keeps_the_old_value(server: Server) -> None:
    rest = server.client
    first = rest.put("/v1/entries/port/knowledge", json={"content": "5432"})
    for match, value in ((first.headers["etag"], "5433"), ("*", "5434")):
        rest.put("/v1/entries/port/knowledge", json={"content": value}, headers={"If-Match": match})
    rest.post("/v1/upsert", json={"op": "update", "key": "port", "content": "5435"})
    listed = rest.get("/v1/entries", params={"include_past": True}).json()["items"]
    assert {one["content"] for one in listed} == {"5432", "5433", "5434", "5435"}
    assert rest.put("/v1/entries/x/knowledge", json={"content": "1"}, headers={"If-Match": "*"}).status_code == 404


def test_rest_and_the_client_replace_no_content_that_is_more_trusted(server: Server, remote: RemoteMemory) -> None:
    rest = server.client
    said = rest.post("/v1/entries", json={"content": "5432", "name": "port", "origin": "user"}).json()
    for method, path, body in (
        ("PUT", "entries/port/knowledge", {"content": "5433"}),
        ("PATCH", "entries/port", {"content": "5433"}),
        ("PATCH", "entries/port", {"content": "5433", "origin": "tool"}),
        ("POST", "operations", {"op": "write", "target": "port", "content": "5433"}),
        ("POST", "upsert", {"op": "update", "key": "port", "content": "5433"}),
    ):
        answer = rest.request(method, f"/v1/{path}", json=body)
        assert (answer.status_code, path) == (403, path)
    with pytest.raises(Denied):
        remote.upsert("port", "5433")
    assert rest.get("/v1/entries", params={"include_past": True}).json()["items"] == [said]
    assert rest.patch("/v1/entries/port", json={"origin": "user"}).status_code == 422
    for value, (method, path, body) in {
        "5433": ("PUT", "entries/port/knowledge", {}),
        "5434": ("PATCH", "entries/port", {}),
        "5435": ("POST", "upsert", {"op": "update", "key": "port"}),
    }.items():
        assert rest.request(method, f"/v1/{path}", json={**body, "content": value, "origin": "user"}).status_code == 200
        assert (remote.get("port").content, remote.get("port").origin) == (value, "user")
    assert remote.upsert("port", "5436", origin="user").content == "5436"


def test_the_client_has_the_calls_of_the_library(remote: RemoteMemory, clock: FixedClock) -> None:
    clock.set(milliseconds(MARCH))
    old = remote.remember("We deploy on Tuesdays", name="deploy day", origin="user", evidence=["event:7"])
    clock.set(milliseconds(MAY))
    new = remote.supersede("deploy day", "We deploy on Wednesdays", since=MAY, origin="user", why="asked for")
    clock.set(milliseconds(JUNE))
    assert [hit.entry for hit in remote.recall("deploy")] == [new]
    assert [hit.entry.id for hit in remote.recall("deploy", as_of=APRIL, min_origin="user")] == [old.id]
    assert [hit.state for hit in remote.recall("deploy", include_past=True)] == [State.CURRENT, State.SUPERSEDED]
    assert [one.id for one in remote.list(as_of=clock.now() - 60 * DAY)] == [old.id]
    assert len(remote.list(include_past=True)) == 2
    with pytest.raises(Conflict):
        remote.retract(old.id)
    with pytest.raises(Denied):
        remote.supersede("deploy day", "We deploy never", origin="external")
    with pytest.raises(NotFound):
        remote.retract("nothing")
    assert remote.retract("deploy day").state_at(clock.now()) is State.RETRACTED
    assert remote.restore("deploy day") == remote.get("deploy day")
    third = remote.remember("We deploy on Fridays", supersedes="deploy day", origin="user")
    assert remote.get("deploy day") == third


def test_a_token_cannot_claim_an_origin_that_it_may_not_claim(home: Home) -> None:
    mem = home.agent("ana")
    said = mem.remember("We deploy on Tuesdays", name="deploy day", origin="user")
    _, tool = home.tokens.create("crawler", agents=["ana"], origin="tool")
    with pytest.raises(Invalid):
        home.tokens.create("all", right="admin", origin="tool")
    assert [token.origin for token in home.tokens.list()] == ["tool"]
    with serving(home, settings(require_token=True)) as server, server.as_(tool) as rest:
        for claim in ({"origin": "user"}, {"origin": "agent"}):
            assert rest.post("/v1/entries", json={"content": "x", **claim}).status_code == 403
            assert rest.post("/v1/entries/batch", json={"entries": [{"content": "x", **claim}]}).status_code == 403
            assert rest.post("/v1/operations", json={"op": "add", "content": "x", **claim}).status_code == 403
        for method, path, body in (
            ("POST", "entries/deploy day/supersede", {"content": "never"}),
            ("POST", "entries/deploy day/retract", {}),
            ("POST", "entries", {"content": "never", "supersedes": "deploy day"}),
            ("PATCH", "entries/deploy day", {"content": "never"}),
            ("PUT", "entries/deploy day/knowledge", {"content": "never"}),
            ("POST", "upsert", {"op": "update", "key": "deploy day", "content": "never"}),
        ):
            assert (rest.request(method, f"/v1/{path}", json=body).status_code, path) == (403, path)
        assert rest.delete("/v1/entries/deploy day").status_code == 403
        for source in ("agent", "user", "tool"):
            assert rest.post("/v1/entries", json={"content": "seen", "source": source}).json()["origin"] == "tool"
        assert mem.get("deploy day") == said


def test_a_limited_token_resolves_no_pair_of_more_trusted_entries_and_appends_no_turns_in_their_name(
    home: Home,
) -> None:
    mem = home.agent("ana")
    for day in ("Tuesdays", "Wednesdays"):
        mem.remember(f"We deploy on {day}", origin="user")
        mem.remember(f"The crawler runs on {day} at night", origin="tool")
    home.jobs.run("review")
    pairs = {str(pair.older.origin): pair for pair in mem.review.list()}
    talk = mem.conversations.start()
    said = talk.user("We deploy on Tuesdays")
    mem.forget(mem.remember("a note in the trash").id)
    _, tool = home.tokens.create("crawler", origin="tool")
    with serving(home, settings(require_token=True)) as server, server.as_(tool) as rest:
        for resolution in (
            {"resolution": "newer"},
            {"resolution": "both"},
            {"resolution": "merge", "content": "never"},
        ):
            answer = rest.post(f"/v1/review/{pairs['user'].id}?agent=ana", json=resolution)
            assert (answer.status_code, resolution) == (403, resolution)
        claim = {"resolution": "merge", "content": "never", "origin": "user"}
        assert rest.post(f"/v1/review/{pairs['tool'].id}?agent=ana", json=claim).status_code == 403
        where = f"/v1/conversations/{talk.ref_code}"
        for method, path, body in (
            ("POST", "/events", {"type": str(EventType.USER), "content": "We deploy never"}),
            (
                "POST",
                "/events",
                {"type": str(EventType.USER), "content": "We deploy never", "payload": {"origin": "tool"}},
            ),
            ("POST", "/events", {"type": str(EventType.MODEL), "content": "We deploy never"}),
            ("POST", "/events", {"type": str(EventType.INSTRUCTION), "content": "We deploy never"}),
            ("POST", "/events", {"messages": [{"role": "user", "content": "We deploy never"}]}),
            ("DELETE", f"/events/{said.hash}", None),
            ("DELETE", "?erase=true", None),
        ):
            answer = rest.request(method, f"{where}{path}{'&' if '?' in path else '?'}agent=ana", json=body)
            assert (answer.status_code, path, answer.text) == (403, path, answer.text)
        assert rest.put("/v1/project?agent=ana", json={"content": "Deploy never"}).status_code == 403
        assert rest.delete("/v1/trash?agent=ana").status_code == 403
        own = {"type": str(EventType.MODEL), "content": "The crawler found nothing", "payload": {"origin": "tool"}}
        assert rest.post(f"{where}/events?agent=ana", json=own).status_code == 201
        newer = {"resolution": "newer"}
        assert rest.post(f"/v1/review/{pairs['tool'].id}?agent=ana", json=newer).status_code == 200
    assert [event.content for event in talk.events()] == ["We deploy on Tuesdays", "The crawler found nothing"]
    assert len(mem.trash()) == 1
    assert mem.project() is None
