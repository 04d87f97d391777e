"""The feed: what happens in a memory, while it happens, to everybody who may know."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from surfaces.server import Server, client, serving, settings

import recollect
from recollect.home import Home
from recollect.rest import feed
from recollect.rest.feed import Feeds, Listener


@dataclass(frozen=True)
class Received:
    """One message of a feed."""

    event: str
    data: dict[str, Any]
    id: str


class Listening:
    """A feed that is read message by message."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        assert self.next("ping") is not None  # from here on nothing is missed

    def next(self, *kinds: str) -> Received:
        """The next message of these kinds, or of any but a ping."""
        fields: dict[str, str] = {}
        for line in self._lines:
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
            elif fields:
                received = Received(fields["event"], json.loads(fields["data"]), fields.get("id", ""))
                fields = {}
                if received.event in kinds or (not kinds and received.event != "ping"):
                    return received
        raise EOFError


@contextmanager
def listening(server: Server, query: str = "", **headers: str) -> Iterator[Listening]:
    with client(server.url) as one, one.stream("GET", f"/v1/feed{query}", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Listening(answer.iter_lines())


def test_a_pair_for_review_is_published_when_it_is_found_and_when_it_is_resolved(server: Server) -> None:
    mem = server.home.agent("default")
    mem.remember("We deploy on Tuesdays")
    mem.remember("We deploy on Wednesdays")
    with listening(server) as received:
        server.home.jobs.run("review")
        (pair,) = mem.review.list()
        assert received.next("review").data == {"id": pair.id}
        mem.review.resolve(pair, "both")
        assert received.next("review").data == {"id": None}


def test_a_pair_for_review_of_another_agent_or_workspace_is_not_published(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory") as home, serving(home) as server, listening(server) as received:
        mem = home.agent("default")
        for one in (home.agent("other"), home.agent("default", "elsewhere"), mem):
            one.remember("We deploy on Tuesdays")
            one.remember("We deploy on Wednesdays")
            home.jobs.run("review")
            assert len(one.review.list()) == 1
        assert received.next("review").data == {"id": mem.review.list()[0].id}


def test_a_write_is_published_as_it_happens_without_its_text(server: Server) -> None:
    mem = server.home.agent("default")
    mem.remember("before")
    with listening(server) as received:
        made = server.client.post("/v1/entries", json={"content": "heliotrope", "name": "n"}).json()
        first = received.next()
        assert (first.event, first.id) == ("operation", "2.0.0")
        assert first.data == {
            "seq": 2,
            "at": made["created_at"],
            "actor": "default",
            "operation": "add",
            "entry_id": made["id"],
            "name": "n",
        }
        mem.forget("n")
        assert received.next().data["operation"] == "remove"


def test_writes_of_another_process_are_published_too(server: Server, tmp_path: Path) -> None:
    with listening(server) as received, recollect.open(tmp_path / "memory.db") as other:
        other.agent("default").remember("tea", name="n")
        assert received.next().data["name"] == "n"


def test_reconnecting_with_the_last_id_misses_nothing(server: Server) -> None:
    mem = server.home.agent("default")
    talk = mem.conversations.start()
    with listening(server) as received:
        mem.remember("one", name="one")
        last = received.next().id
    mem.remember("two", name="two")
    said = talk.user("hello")
    mem.remember("three", name="three")
    for query, headers in (("", {"Last-Event-ID": last}), (f"?after={last}", {})):
        with listening(server, query, **headers) as received:
            missed = [received.next() for _ in range(3)]
            assert [one.data.get("name") or one.data["hash"] for one in missed] == ["two", "three", said.hash]
            with listening(server, **{"Last-Event-ID": missed[1].id}) as again:
                assert again.next() == missed[2]
    with listening(server, **{"Last-Event-ID": missed[2].id}) as received:
        mem.remember("four", name="four")
        assert received.next().data["name"] == "four"


@pytest.mark.directory
def test_changes_of_the_account_are_published_once_wherever_they_are_stored(home: Home) -> None:
    ana, bob = home.agent("ana"), home.agent("bob")
    ana.remember("before", name="before", scope="account")
    with serving(home) as server:
        with listening(server, "?agent=ana") as received:
            bob.remember("not for ana", name="bob's", scope="account")
            style = ana.remember("Short answers.", name="style", scope="account")
            day = ana.remember("We deploy on Tuesdays", name="deploy day")
            first, second = received.next(), received.next()
            assert {first.data["name"], second.data["name"]} == {"style", "deploy day"}
        ana.forget("style")
        said = ana.conversations.start().user("hello")
        ana.apply(recollect.Write("deploy day", "We deploy on Mondays"))
        with listening(server, "?agent=ana", **{"Last-Event-ID": second.id}) as received:
            missed = [received.next() for _ in range(3)]
            what = [one.data.get("hash") or (one.data["operation"], one.data["entry_id"]) for one in missed]
            assert set(what) == {("remove", style.id), ("write", day.id), said.hash}
            ana.restore("style")
            last = received.next().data
            assert last["name"] == "style"
        for place, known in enumerate(missed):
            with listening(server, f"?agent=ana&after={known.id}") as received:
                rest = [one.data for one in missed[place + 1 :]] + [last]
                heard = [received.next().data for _ in rest]
                assert sorted(heard, key=str) == sorted(rest, key=str)  # the order of different logs is not fixed


@pytest.mark.directory
def test_an_id_of_two_numbers_is_still_known_and_hears_of_the_account_from_now_on(home: Home) -> None:
    ana = home.agent("default")
    ana.remember("before", name="before")
    with serving(home) as server, listening(server, "?after=0.0") as received:
        assert received.next().data["name"] == "before"
        ana.remember("Short answers.", name="style", scope="account")
        assert received.next().data["name"] == "style"


def test_missing_more_than_a_page_is_reported(server: Server) -> None:
    mem = server.home.agent("default")
    mem.remember_many([recollect.Add(f"note {number}") for number in range(450)])
    with listening(server, "?after=0.0") as received:
        assert [received.next().data["seq"] for _ in range(450)] == list(range(1, 451))


def test_a_conversation_and_a_reminder_are_published(server: Server) -> None:
    mem = server.home.agent("default")
    with listening(server) as received:
        event = mem.conversations.start().user("heliotrope")
        heard = received.next("event")
        assert (heard.data["hash"], heard.data["type"]) == (event.hash, "UserMsg")
        assert "heliotrope" not in json.dumps(heard.data)
        reminder = mem.reminders.add(0, "drink tea")
        assert received.next("reminder").data["id"] == reminder.id
    with listening(server) as received:  # it still waits for events
        assert received.next("reminder").data["id"] == reminder.id


def test_other_memories_are_not_heard(server: Server) -> None:
    with listening(server, "?agent=ana") as received:
        server.home.agent("bob").remember("secret", name="bob's")
        server.home.agent("ana").remember("own", name="ana's")
        assert received.next().data["name"] == "ana's"


@pytest.mark.parametrize("last", ["x", "1", "1.", "-1.0", "1.0.0.0", "1.0.", "9" * 30 + ".0"])
def test_an_id_that_no_feed_gave_is_refused(server: Server, last: str) -> None:
    assert server.client.get("/v1/feed", headers={"Last-Event-ID": last}).status_code == 422


@pytest.mark.directory
@pytest.mark.parametrize("last", ["999.999.999", "999.999"])
def test_an_id_that_is_yet_to_come_hears_everything_from_now_on(home: Home, last: str) -> None:
    ana = home.agent("default")
    ana.remember("before", name="before")
    with serving(home) as server, listening(server, **{"Last-Event-ID": last}) as received:
        ana.remember("We deploy on Tuesdays", name="deploy day")
        assert received.next("operation", "ping").data["name"] == "deploy day"
        ana.remember("Short answers.", name="style", scope="account")
        assert received.next("operation", "ping").data["name"] == "style"
        said = ana.conversations.start().user("hello")
        assert received.next("event", "ping").data["hash"] == said.hash


def test_a_feed_ends_when_the_server_stops(tmp_path: Path) -> None:
    ended = []
    with recollect.open(tmp_path / "memory.db") as home, client("http://127.0.0.1") as one:
        with serving(home) as server:
            answer = one.send(httpx2.Request("GET", f"{server.url}/v1/feed"), stream=True)
            received = Listening(answer.iter_lines())
            reader = threading.Thread(target=lambda: ended.append(received.next("end")))
            reader.start()
        reader.join()
        answer.close()
    assert "last id" in ended[0].data["reason"]


def open_feeds(server: Server) -> int:
    line = next(line for line in server.client.get("/metrics").text.splitlines() if line.startswith("recollect_feeds"))
    return int(float(line.split()[1]))


def test_a_client_that_hangs_up_is_gone_at_once(server: Server) -> None:
    with listening(server) as one, listening(server) as two:
        assert open_feeds(server) == 2, (one, two)
    while open_feeds(server):
        pass


def test_many_listeners_need_no_threads_of_their_own(server: Server) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    before = threading.active_count()
    connections = [socket.create_connection((host, int(port)), 30) for _ in range(200)]
    try:
        for connection in connections:
            connection.sendall(b"GET /v1/feed HTTP/1.1\r\nHost: localhost\r\n\r\n")
        heard = [b""] * len(connections)
        for number, connection in enumerate(connections):
            while b"event: ping" not in heard[number]:
                heard[number] += connection.recv(65_536)
        server.home.agent("default").remember("tea", name="for everybody")
        for number, connection in enumerate(connections):
            while b"for everybody" not in heard[number]:
                heard[number] += connection.recv(65_536)
        assert threading.active_count() - before < 60  # those of the pool, at most
    finally:
        for connection in connections:
            connection.close()


def test_a_listener_that_is_too_slow_is_sent_away_and_can_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "WAITING", 3)

    async def slow(home: recollect.Home) -> list[bytes]:
        stopping = asyncio.Event()
        feeds = Feeds(home, stopping)
        now = await feeds.now("default", "ana")
        received = feeds.stream("default", "ana", Listener(None), now, now)
        heard = [await anext(received)]
        notes = [recollect.Add(f"note {number}") for number in range(10)]
        await asyncio.to_thread(home.agent("ana").remember_many, notes)  # at once, so that one look finds them all
        feeds.wake()
        async for message in received:
            heard.append(message)
        stopping.set()
        return heard

    with recollect.open(tmp_path / "memory.db") as home:
        heard = asyncio.run(slow(home))
    assert heard[-1].startswith(b"event: end")
    assert 2 <= len(heard) <= 6


def test_who_knows_more_than_others_who_listen_hears_nothing_twice(tmp_path: Path) -> None:
    async def ahead(home: recollect.Home) -> list[dict[str, Any]]:
        stopping, ana = asyncio.Event(), home.agent("ana")
        feeds = Feeds(home, stopping)
        before = await feeds.now("default", "ana")
        ana.remember("one", name="one")
        ana.remember("two", name="two", scope="account")
        ana.conversations.start().user("three")
        now = await feeds.now("default", "ana")
        received = feeds.stream("default", "ana", Listener(None), replace(now, event=before.event), before)
        assert (await anext(received)).startswith(b"retry")
        heard = [await anext(received)]
        ana.remember("four", name="four")
        feeds.wake()
        heard.append(await anext(received))
        stopping.set()
        await received.aclose()
        return [json.loads(message.split(b"data: ")[1]) for message in heard]

    with recollect.open(tmp_path / "home") as home:
        heard = asyncio.run(ahead(home))
    assert [one.get("type") or one["name"] for one in heard] == ["UserMsg", "four"]


def test_a_feed_ends_when_its_token_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "PING", 0.0)
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        _, secret = home.tokens.create("laptop")
        with listening(server, Authorization=f"Bearer {secret}") as received:
            home.tokens.revoke("laptop")
            assert received.next("end")
