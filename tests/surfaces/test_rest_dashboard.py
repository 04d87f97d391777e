"""The routes of the dashboard under /api/memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from surfaces.server import Server, serving

import recollect
from recollect.clock import FixedClock
from recollect.errors import Denied
from recollect.rest.caller import local_only

DAY = 86_400_000
TALK = [
    {"role": "user", "text": "SSE or WebSockets?"},
    {"role": "agent", "text": "We decided to use SSE instead of WebSockets."},
    {"role": "agent", "text": "tool output: 200 OK", "internal": True},
    {"role": "user", "text": "Good. Anything else?"},
    {"role": "agent", "text": "I learned that proxies buffer streams."},
]
KEPT = [{"role": one["role"], "text": one["text"]} for one in TALK if not one.get("internal")]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(1_773_679_871_839)


@pytest.fixture
def server(tmp_path: Path, clock: FixedClock) -> Iterator[Server]:
    """A server over a directory with a vault, whose time moves only when a test says so."""
    with recollect.open(tmp_path / "home", clock=clock) as home, serving(home) as running:
        yield running


def said(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": one["role"], "text": one["text"]} for one in messages]


def noted(server: Server, content: str, category: str = "decisions", agent: str = "dev", **more: Any) -> dict[str, Any]:
    body = {"agentId": agent, "category": category, "content": content, **more}
    answer = server.client.post("/api/memory/vault", json=body)
    assert answer.status_code == 201, answer.text
    entry: dict[str, Any] = answer.json()["entry"]
    return entry


# Conversations


def test_a_conversation_that_is_saved_again_and_again_is_kept_once(server: Server) -> None:
    for length in (2, 2, 5, 5):
        answer = server.client.post("/api/memory", json={"agentId": "dev", "messages": TALK[:length]})
        assert answer.json() == {"ok": True, "saved": ["dev"]}
    (saved,) = server.client.get("/api/memory", params={"agentId": "dev"}).json()["conversations"]
    assert (saved["agentId"], saved["savedAt"], saved["chatId"]) == ("dev", "2026-03-16T16:51:11.839Z", None)
    assert said(saved["messages"]) == KEPT
    assert len(server.home.agent("dev").conversations.list()) == 1


def test_a_talk_and_its_checkpoints_that_come_at_the_same_moment_are_one_conversation(server: Server) -> None:
    body = {"agentId": "dev", "messages": TALK}
    with ThreadPoolExecutor(8) as pool:
        paths = ["/api/memory", "/api/memory/checkpoint"] * 4
        answers = list(pool.map(lambda path: server.client.post(path, json=body), paths))
    assert [answer.status_code for answer in answers] == [200] * 8
    (info,) = server.home.agent("dev").conversations.list()
    assert len(list(server.home.agent("dev").conversations.get(info.id).events())) == len(KEPT)


def test_several_conversations_are_saved_at_once_and_all_are_loaded(server: Server) -> None:
    talks = [{"agentId": agent, "messages": TALK[:1], "chatId": f"chat_{agent}"} for agent in ("dev", "pm")]
    answer = server.client.post("/api/memory", json={"conversations": talks})
    assert answer.json() == {"ok": True, "saved": ["dev", "pm"]}
    loaded = server.client.get("/api/memory").json()["conversations"]
    assert [(one["agentId"], one["chatId"]) for one in loaded] == [("dev", "chat_dev"), ("pm", "chat_pm")]
    assert server.client.get("/api/memory", params={"agentId": "nobody"}).json() == {"conversations": []}


def test_several_conversations_are_saved_all_or_none(server: Server) -> None:
    talks = [{"agentId": agent, "messages": TALK[:1]} for agent in ("dev", "con")]
    refused = server.client.post("/api/memory", json={"conversations": talks})
    assert (refused.status_code, "reserved" in refused.json()["detail"]) == (422, True)
    assert server.client.get("/api/memory", params={"agentId": "dev"}).json() == {"conversations": []}


def test_a_page_that_stays_open_after_its_talk_was_ended_does_not_begin_it_again(
    server: Server, clock: FixedClock
) -> None:
    body = {"agentId": "dev", "messages": TALK}
    server.client.post("/api/memory", json=body)
    clock.advance(2 * DAY)
    dev = server.home.agent("dev")
    assert len(dev.conversations.end_stale()) == 1
    for _ in range(2):
        server.client.post("/api/memory", json=body)
        server.client.post("/api/memory/checkpoint", json=body)
    assert len(dev.conversations.list()) == 1
    server.client.post("/api/memory", json=body | {"messages": [*TALK, {"role": "user", "text": "One more thing."}]})
    assert [info.status for info in dev.conversations.list()] == ["active", "idle"]


def test_nothing_said_is_nothing_saved(server: Server) -> None:
    for messages in ([], [TALK[2]], [{"role": "user", "text": " "}]):
        body = {"agentId": "dev", "messages": messages}
        assert server.client.post("/api/memory", json=body).status_code == 200
        answer = server.client.post("/api/memory/checkpoint", json=body)
        assert answer.json() == {"ok": True, "conversation": None, "closed": False}
    assert server.client.get("/api/memory").json() == {"conversations": []}


def loaded(server: Server, agent: str = "dev") -> list[dict[str, Any]]:
    (saved,) = server.client.get("/api/memory", params={"agentId": agent}).json()["conversations"]
    return said(saved["messages"])


@pytest.mark.parametrize("chat", [{}, {"chatId": "chat_1"}], ids=["without a chat id", "with a chat id"])
def test_what_loads_is_what_was_saved_last(server: Server, clock: FixedClock, chat: dict[str, str]) -> None:
    question, answer = {"role": "user", "text": "SSE or WebSockets?"}, {"role": "agent", "text": "SSE."}
    other = {"role": "agent", "text": "WebSockets."}
    for route in ("", "/checkpoint"):
        for messages in (
            [question, {"role": "agent", "text": "SS"}],
            [question, answer],
            [question, other],
            [question, answer, {"role": "user", "text": "Thanks."}],
            [question],
            [],
            [question, other],
        ):
            clock.advance(1)
            body = {"agentId": "dev", "messages": messages, **chat}
            assert server.client.post(f"/api/memory{route}", json=body).json()["ok"] is True
            assert loaded(server) == messages
            found = server.client.get("/api/memory/checkpoint", params={"agentId": "dev"}).json()["checkpoint"]
            assert said(found["messages"]) == messages
    (info,) = server.home.agent("dev").conversations.list()
    kept = [event.content for event in server.home.agent("dev").conversations.get(info.id).events()]
    assert kept == ["SSE or WebSockets?", "SS", "SSE.", "WebSockets.", "Thanks."]


def test_a_new_talk_without_a_chat_id_is_a_conversation_of_its_own(server: Server, clock: FixedClock) -> None:
    first, second = KEPT, [{"role": "user", "text": "Good morning."}, {"role": "agent", "text": "Good morning!"}]
    for messages in (first, second, first, second):  # two pages that are open at once
        clock.advance(1)
        server.client.post("/api/memory", json={"agentId": "dev", "messages": messages})
        assert loaded(server) == messages
    dev = server.home.agent("dev")
    talks = [dev.conversations.get(info.id) for info in dev.conversations.list()]
    assert sorted(len(list(talk.events())) for talk in talks) == [2, 4]


def test_a_chat_that_is_saved_again_after_another_one_is_what_loads(server: Server, clock: FixedClock) -> None:
    for chat in ("one", "two", "one"):
        clock.advance(1)
        body = {"agentId": "dev", "chatId": chat, "modelId": f"model of {chat}", "messages": TALK[:1]}
        server.client.post("/api/memory", json=body)
        (saved,) = server.client.get("/api/memory", params={"agentId": "dev"}).json()["conversations"]
        assert (saved["chatId"], saved["modelId"]) == (chat, f"model of {chat}")


def test_an_ended_talk_is_cleared_by_an_empty_list(server: Server) -> None:
    server.client.post("/api/memory/checkpoint", json={"agentId": "dev", "messages": TALK, "close": True})
    server.client.post("/api/memory", json={"agentId": "dev", "messages": []})
    assert loaded(server) == []


def test_a_note_is_appended_and_the_project_is_described_once(server: Server) -> None:
    append = {"action": "append", "agentId": "dev", "content": "Proxies buffer streams. #sse"}
    entry = server.client.post("/api/memory", json=append).json()["entry"]
    assert (entry["category"], entry["tags"]) == ("lessons", ["sse"])
    init = {"action": "init-project", "agentId": "dev", "content": "A dashboard for agents."}
    assert server.client.post("/api/memory", json=init).json() == {"ok": True, "created": True}
    again = server.client.post("/api/memory", json=init | {"content": "Something else."})
    assert again.json() == {"ok": True, "created": False}
    assert "A dashboard for agents." in server.home.agent("dev").context("anything").text


# Checkpoints


def test_a_checkpoint_gives_back_the_last_messages_without_internal_ones_for_seven_days(
    server: Server, clock: FixedClock
) -> None:
    asked = {"agentId": "dev"}
    assert server.client.get("/api/memory/checkpoint", params=asked).json() == {"checkpoint": None}
    body = {"agentId": "dev", "messages": TALK, "chatId": "chat_abc123", "modelId": "claude-opus-4-6"}
    answer = server.client.post("/api/memory/checkpoint", json=body).json()
    assert (answer["ok"], answer["closed"]) == (True, False)
    clock.advance(7 * DAY - 1)
    found = server.client.get("/api/memory/checkpoint", params=asked).json()["checkpoint"]
    assert (found["savedAt"], found["chatId"], found["modelId"]) == (
        1_773_679_871_839,
        "chat_abc123",
        "claude-opus-4-6",
    )
    assert said(found["messages"]) == KEPT
    clock.advance(2)
    assert server.client.get("/api/memory/checkpoint", params=asked).json() == {"checkpoint": None}


def test_a_checkpoint_holds_the_last_fifty_messages(server: Server) -> None:
    messages = [{"role": "user", "text": f"line {number}"} for number in range(60)]
    server.client.post("/api/memory/checkpoint", json={"agentId": "dev", "messages": messages})
    found = server.client.get("/api/memory/checkpoint", params={"agentId": "dev"}).json()["checkpoint"]
    assert [one["text"] for one in found["messages"]] == [f"line {number}" for number in range(10, 60)]


def test_closing_leaves_a_hand_off_decisions_and_lessons_with_their_tags(server: Server) -> None:
    body = {"agentId": "dev", "messages": TALK, "close": True}
    assert server.client.post("/api/memory/checkpoint", json=body).json()["closed"] is True
    assert server.client.post("/api/memory/checkpoint", json=body).json()["closed"] is False

    def notes(category: str) -> list[tuple[str, list[str]]]:
        found = server.client.get("/api/memory/vault", params={"agentId": "dev", "category": category}).json()
        return [(one["content"], one["tags"]) for one in found["entries"]]

    lines = [f"[{'User' if one['role'] == 'user' else 'Agent'}]: {one['text']}" for one in KEPT]
    assert notes("handoffs") == [("\n".join(lines), ["auto-handoff", "session-close"])]
    assert notes("decisions") == [(KEPT[1]["text"], ["auto-extract", "session-close"])]
    assert notes("lessons") == [(KEPT[3]["text"], ["auto-extract", "session-close"])]


# Notes


def test_a_note_is_written_read_changed_and_forgotten(server: Server, clock: FixedClock) -> None:
    first = noted(server, "We decided to use SSE. #sse #arch")
    assert first == {
        "id": "1773679871839",
        "date": "2026-03-16T16:51",
        "content": "We decided to use SSE. #sse #arch",
        "tags": ["sse", "arch"],
        "agentId": "dev",
        "category": "decisions",
    }
    clock.advance(1)
    second = noted(server, "We chose Tuesdays. #days", tags=["auto-handoff"])
    assert (second["id"], second["tags"]) == ("1773679871840", ["auto-handoff"])
    where = {"agentId": "dev", "category": "decisions"}
    listed = server.client.get("/api/memory/vault", params=where).json()
    assert listed == {"entries": [second, first]}
    changed = server.client.put("/api/memory/vault", json=first | {"content": "We use SSE. #streams", "tags": None})
    assert changed.json()["entry"] == first | {"content": "We use SSE. #streams", "tags": ["streams"]}
    kept = server.client.put("/api/memory/vault", json=where | {"id": second["id"], "content": "Tuesdays, at ten."})
    assert kept.json()["entry"]["tags"] == ["auto-handoff"]
    assert server.client.get("/api/memory/vault").json() == {"agents": ["dev"]}
    counts = server.client.get("/api/memory/vault", params={"agentId": "dev"}).json()["counts"]
    assert counts == {"decisions": 2, "lessons": 0, "tasks": 0, "projects": 0, "handoffs": 0}
    assert server.client.delete("/api/memory/vault", params=where | {"id": first["id"]}).json() == {"ok": True}
    assert server.client.delete("/api/memory/vault", params=where | {"id": first["id"]}).status_code == 404
    left = server.client.get("/api/memory/vault", params=where).json()["entries"]
    assert [one["id"] for one in left] == [second["id"]]


@pytest.mark.parametrize("kind", ["file", "postgres"])
def test_notes_that_are_written_at_once_get_unique_ids_that_stay_listed(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock, kind: str
) -> None:
    """The clock stands still, so that all of them are of the same millisecond."""
    place = tmp_path / "memory.db" if kind == "file" else request.getfixturevalue("postgres_url")
    with recollect.open(place, clock=clock) as home, serving(home) as server:
        with ThreadPoolExecutor(8) as pool:
            given = [one["id"] for one in pool.map(lambda number: noted(server, f"note {number}"), range(64))]
        assert sorted(given) == [str(1_773_679_871_839 + number) for number in range(64)]
        where = {"agentId": "dev", "category": "decisions"}
        listed = server.client.get("/api/memory/vault", params=where).json()["entries"]
        assert {one["id"] for one in listed} == set(given)
        for gone in given[:8]:
            assert server.client.delete("/api/memory/vault", params=where | {"id": gone}).status_code == 200
        listed = server.client.get("/api/memory/vault", params=where).json()["entries"]
        assert {one["id"] for one in listed} == set(given[8:])


def test_notes_of_one_moment_are_distinguished(server: Server) -> None:
    noted(server, "the first")
    noted(server, "the second")
    where = {"agentId": "dev", "category": "decisions"}
    entries = server.client.get("/api/memory/vault", params=where).json()["entries"]
    assert len({one["id"] for one in entries}) == 2
    for one in entries:
        changed = server.client.put(
            "/api/memory/vault", json=where | {"id": one["id"], "content": one["content"] + "!"}
        )
        assert changed.json()["entry"]["content"] == one["content"] + "!"
        assert server.client.delete("/api/memory/vault", params=where | {"id": one["id"]}).status_code == 200
    assert server.client.get("/api/memory/vault", params=where).json() == {"entries": []}


def test_notes_have_the_numbers_of_their_files_where_there_is_a_vault(server: Server) -> None:
    vault = server.home.vault()
    noted(server, "before the vault was made")
    vault.sync()
    made = [noted(server, content) for content in ("the second of this moment", "the third")]
    assert [one["id"] for one in made] == ["1773679871840", "1773679871841"]
    vault.flush()
    text = (vault.folder / "dev" / "decisions.md").read_text(encoding="utf-8")
    assert "<!-- id:1773679871841 -->" in text


def test_an_unknown_note_is_not_found_also_under_another_agent_or_category(server: Server) -> None:
    note = noted(server, "We decided.")
    for change in ({"id": "1"}, {"agentId": "pm"}, {"category": "lessons"}):
        assert server.client.put("/api/memory/vault", json=note | change).status_code == 404, change
        where = {key: (note | change)[key] for key in ("agentId", "category", "id")}
        assert server.client.delete("/api/memory/vault", params=where).status_code == 404, change


# Search


def test_a_search_finds_notes_of_all_agents_or_one_by_words_beginnings_and_slips(server: Server) -> None:
    noted(server, "We decided to use streaming with SSE for the dashboard.")
    noted(server, "Streaming through proxies is buffered.", "lessons", "pm")
    noted(server, "Nothing to see here.", "lessons")

    def found(**query: object) -> list[tuple[str, str]]:
        answer = server.client.get("/api/memory/search", params=query)
        assert answer.status_code == 200, answer.text
        return [(one["entry"]["agentId"], one["entry"]["category"]) for one in answer.json()["results"]]

    assert sorted(found(q="streaming")) == [("dev", "decisions"), ("pm", "lessons")]
    assert found(q="streaming", agentId="pm") == [("pm", "lessons")]
    assert found(q="streaming", category="decisions") == [("dev", "decisions")]
    assert found(q="dashb") == [("dev", "decisions")]
    assert found(q="dashbaord") == [("dev", "decisions")]
    assert found(q="streaming", agentId="nobody") == []
    first, near = server.client.get("/api/memory/search", params={"q": "SSE"}).json()["results"]
    assert first["score"] > near["score"] > 0
    assert "SSE" in first["snippet"]
    assert "see" in near["snippet"]


def test_a_search_over_all_agents_puts_the_best_note_first(server: Server) -> None:
    for number in range(40):
        noted(server, f"The log of day {number} is complete.", "lessons", "pm")
    noted(server, "Harbour crane.", "lessons", "pm")
    for number in range(15):
        noted(server, f"Crane {number} of the harbour was given as much oil as it takes.", "decisions", "dev")
    noted(server, "The harbour crane needs oil.", "decisions", "dev")
    results = server.client.get("/api/memory/search", params={"q": "oil for the harbour crane"}).json()["results"]
    assert results[0]["entry"]["content"] == "The harbour crane needs oil."
    assert [one["score"] for one in results] == sorted((one["score"] for one in results), reverse=True)


def test_a_search_needs_a_question_and_takes_any_limit(server: Server) -> None:
    dev = server.home.agent("dev")
    dev.remember_many([recollect.Add(f"lesson {number} about deploys", category="lessons") for number in range(105)])
    for query in ({}, {"q": ""}, {"q": "  "}, {"limit": "5"}):
        assert server.client.get("/api/memory/search", params=query).status_code == 400, query
    for limit, count in (
        (None, 10),
        ("", 10),
        ("abc", 10),
        ("0", 10),
        ("-3", 10),
        ("2.5", 10),
        ("3", 3),
        ("100", 100),
        ("1000", 100),
    ):
        query = {"q": "deploys"} | ({} if limit is None else {"limit": limit})
        results = server.client.get("/api/memory/search", params=query).json()["results"]
        assert len(results) == count, limit
    assert server.client.get("/api/memory/search", params={"q": "x", "category": "jokes"}).status_code == 422


# Upkeep


def test_a_compaction_leaves_the_last_twenty_messages_to_load(server: Server) -> None:
    talk = [{"role": ("user", "agent")[number % 2], "text": f"message {number}"} for number in range(30)]
    server.client.post("/api/memory", json={"agentId": "dev", "messages": talk})
    assert server.client.post("/api/memory/compact").json()["conversationsTrimmed"] == 1
    assert [message["text"] for message in loaded(server)] == [f"message {number}" for number in range(10, 30)]
    assert server.client.post("/api/memory/compact").json()["conversationsTrimmed"] == 0
    recovered = server.client.get("/api/memory/checkpoint", params={"agentId": "dev"}).json()
    assert len(recovered["checkpoint"]["messages"]) == 30


def test_a_compaction_says_what_it_did_and_the_last_one_is_remembered(server: Server) -> None:
    assert server.client.get("/api/memory/compact").json() == {"lastCompaction": None}
    for number in range(31):
        server.home.agent("dev").remember(f"decision {number}", category="decisions")
    done = server.client.post("/api/memory/compact")
    assert done.json() == {
        "timestamp": "2026-03-16T16:51:11.839Z",
        "checkpointsCleaned": 0,
        "conversationsTrimmed": 0,
        "vaultEntriesMerged": 11,
        "indexRebuilt": True,
        "legacyFilesCleaned": 0,
    }
    assert server.client.get("/api/memory/compact").json() == {"lastCompaction": done.json()}


def test_flat_files_become_notes_once(server: Server) -> None:
    folder = server.home.vault().folder
    assert server.client.post("/api/memory/migrate").json() == {"migrated": [], "skipped": []}
    folder.mkdir(parents=True)
    (folder / "dev.md").write_text(
        "# dev\n\n## Decisões\n\nUsamos SSE.\n\n## Tasks\n\n- [ ] Write it down\n", encoding="utf-8"
    )
    assert server.client.post("/api/memory/migrate").json() == {"migrated": ["dev.md"], "skipped": []}
    counts = server.client.get("/api/memory/vault", params={"agentId": "dev"}).json()["counts"]
    assert (counts["decisions"], counts["tasks"]) == (1, 1)
    assert server.client.post("/api/memory/migrate").json()["migrated"] == []


@pytest.mark.parametrize("route", ["compact", "migrate"])
def test_upkeep_is_for_this_machine_only_whatever_the_headers_say(server: Server, route: str) -> None:
    for headers in (
        {"X-Forwarded-For": "203.0.113.9"},
        {"X-Forwarded-For": "127.0.0.1, 203.0.113.9"},
        {"X-Forwarded-For": "203.0.113.9, 127.0.0.1"},
        {"X-Forwarded-For": "unknown"},
        {"X-Real-IP": "203.0.113.9"},
        {"Forwarded": "for=203.0.113.9;proto=https"},
        {"Forwarded": 'for="[2001:db8::1]:443"'},
        {"Forwarded": "proto=https; For = 203.0.113.9"},
        {"Forwarded": "for=127.0.0.1, for=203.0.113.9;for=127.0.0.1"},
        {"Forwarded": "for=127.0.0.1, proto=https"},
    ):
        answer = server.client.post(f"/api/memory/{route}", headers=headers)
        assert (answer.status_code, answer.json()["title"]) == (403, "Forbidden"), headers
    for headers in ({"X-Forwarded-For": "127.0.0.1"}, {"X-Real-IP": "::1"}, {"Forwarded": "for=127.0.0.1"}):
        assert server.client.post(f"/api/memory/{route}", headers=headers).status_code != 403, headers


def test_a_peer_from_elsewhere_cannot_pass_for_this_machine_by_a_header() -> None:
    for forwarded in ([], [(b"x-forwarded-for", b"127.0.0.1")], [(b"x-real-ip", b"127.0.0.1")]):
        request = Request({"type": "http", "client": ("203.0.113.9", 4711), "headers": forwarded})
        with pytest.raises(Denied):
            asyncio.run(local_only(request))
    asyncio.run(local_only(Request({"type": "http", "client": ("127.0.0.1", 4711), "headers": []})))


# Who may, and what is wrong


def test_a_token_reaches_the_agents_that_it_is_for_and_no_others(server: Server) -> None:
    noted(server, "dev decided on deploys")
    noted(server, "pm decided on deploys", agent="pm")
    noted(server, "qa decided on deploys", agent="qa")
    _, secret = server.home.tokens.create("two", agents=("dev", "pm"), right="write")
    with server.as_(secret) as client:
        assert client.get("/api/memory/vault").json() == {"agents": ["dev", "pm"]}
        entries = client.get("/api/memory/vault", params={"category": "decisions"}).json()["entries"]
        assert [one["agentId"] for one in entries] == ["dev", "pm"]
        results = client.get("/api/memory/search", params={"q": "deploys"}).json()["results"]
        assert sorted(one["entry"]["agentId"] for one in results) == ["dev", "pm"]
        note = {"agentId": "qa", "category": "decisions", "content": "mine now"}
        where = {"agentId": "qa", "category": "decisions", "id": "1"}
        talk = {"agentId": "qa", "messages": TALK}
        for answer in (
            client.get("/api/memory", params={"agentId": "qa"}),
            client.post("/api/memory", json=talk),
            client.post("/api/memory", json={"conversations": [{"agentId": "dev", "messages": TALK}, talk]}),
            client.post("/api/memory", json={"action": "append", "agentId": "qa", "content": "x"}),
            client.post("/api/memory", json={"action": "init-project", "agentId": "qa", "content": "x"}),
            client.get("/api/memory/vault", params={"agentId": "qa"}),
            client.post("/api/memory/vault", json=note),
            client.put("/api/memory/vault", json=note | {"id": "1"}),
            client.delete("/api/memory/vault", params=where),
            client.get("/api/memory/search", params={"q": "deploys", "agentId": "qa"}),
            client.get("/api/memory/checkpoint", params={"agentId": "qa"}),
            client.post("/api/memory/checkpoint", json=talk),
            client.get("/api/memory/compact"),
            client.post("/api/memory/compact"),
            client.post("/api/memory/migrate"),
        ):
            assert answer.status_code == 403, (answer.request.url, answer.text)
        assert client.get("/api/memory").json() == {"conversations": []}
    _, reading = server.home.tokens.create("looks", right="read")
    with server.as_(reading) as client:
        assert client.get("/api/memory/vault", params={"agentId": "qa"}).status_code == 200
        assert client.post("/api/memory/vault", json=note).status_code == 403
        assert client.post("/api/memory", json=talk).status_code == 403


def test_a_wrong_body_is_refused_and_nothing_is_kept(server: Server) -> None:
    note = {"agentId": "dev", "category": "decisions", "content": "x"}
    talk = {"agentId": "dev", "messages": TALK}
    wrong: list[tuple[str, str, object]] = [
        *(("POST", "/vault", {key: value for key, value in note.items() if key != left}) for left in note),
        *(("POST", "/vault", note | {key: 5}) for key in note),
        ("POST", "/vault", note | {"agentId": "../dev"}),
        ("POST", "/vault", note | {"agentId": ".vault"}),
        ("POST", "/vault", note | {"agentId": "conversations"}),
        ("POST", "/vault", note | {"agentId": "d" * 65}),
        ("POST", "/vault", note | {"category": "jokes"}),
        ("POST", "/vault", note | {"content": " "}),
        ("POST", "/vault", note | {"content": "x" * 1_000_001}),
        ("POST", "/vault", note | {"tags": "sse"}),
        ("POST", "/vault", note | {"tags": ["t" * 65]}),
        ("PUT", "/vault", note),
        *(
            ("POST", where, {key: value for key, value in talk.items() if key != left})
            for where in ("", "/checkpoint")
            for left in talk
        ),
        ("POST", "", []),
        ("POST", "", {"action": "dance"}),
        ("POST", "", {"action": "append", "agentId": "dev"}),
        ("POST", "", {"action": "init-project"}),
        ("POST", "", {"conversations": {"dev": TALK}}),
        ("POST", "", talk | {"messages": [{"role": "king", "text": "x"}]}),
        ("POST", "", talk | {"messages": [{"role": "user"}]}),
        ("POST", "", talk | {"messages": [{"role": "user", "text": 5}]}),
        ("POST", "", talk | {"messages": [{"role": "user", "text": "a\0b"}]}),
        ("POST", "", talk | {"messages": [{"role": "user", "text": "x", "internal": "no"}]}),
        ("POST", "/checkpoint", talk | {"chatId": "c" * 257}),
        ("POST", "/checkpoint", talk | {"modelId": ["m"]}),
        ("POST", "/checkpoint", talk | {"close": "yes"}),
    ]
    for verb, where, body in wrong:
        answer = server.client.request(verb, f"/api/memory{where}", json=body)
        assert answer.status_code == 422, (verb, where, str(body)[:120], answer.text)
    for where in (
        "?agentId=..",
        "/vault?agentId=a%2Fb",
        "/vault?category=jokes",
        "/checkpoint",
        "/checkpoint?agentId=.",
    ):
        assert server.client.get(f"/api/memory{where}").status_code == 422, where
    for left in ("agentId", "category", "id"):
        query = {"agentId": "dev", "category": "decisions", "id": "1"}
        del query[left]
        assert server.client.delete("/api/memory/vault", params=query).status_code == 422, left
    assert server.client.get("/api/memory/vault").json() == {"agents": []}


def test_the_dashboard_works_on_postgresql_without_a_vault(postgres_url: str) -> None:
    with recollect.open(postgres_url) as home, serving(home) as server:
        body = {"agentId": "dev", "messages": TALK, "chatId": "chat_1", "close": True}
        assert server.client.post("/api/memory/checkpoint", json=body).json()["closed"] is True
        found = server.client.get("/api/memory/search", params={"q": "WebSockets"}).json()["results"]
        assert {one["entry"]["category"] for one in found} == {"decisions", "handoffs"}
        checkpoint = server.client.get("/api/memory/checkpoint", params={"agentId": "dev"}).json()["checkpoint"]
        assert said(checkpoint["messages"]) == KEPT
        assert server.client.post("/api/memory/migrate").json() == {"migrated": [], "skipped": []}


def test_where_there_is_no_folder_there_is_nothing_to_migrate(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home) as server:
        assert server.client.post("/api/memory/migrate").json() == {"migrated": [], "skipped": []}


def test_notes_of_the_account_are_counted_listed_and_found_like_others(server: Server) -> None:
    server.home.agent("dev").remember("Boats are blue.", category="lessons", scope="account")
    where = {"agentId": "dev", "category": "lessons"}
    (shown,) = server.client.get("/api/memory/vault", params=where).json()["entries"]
    counts = server.client.get("/api/memory/vault", params={"agentId": "dev"}).json()["counts"]
    assert (shown["id"], counts["lessons"]) == ("1773679871839", 1)
    changed = server.client.put("/api/memory/vault", json=where | {"id": shown["id"], "content": "Boats are red."})
    assert changed.json()["entry"] == shown | {"content": "Boats are red."}
    (found,) = server.client.get("/api/memory/search", params={"q": "boats", "agentId": "dev"}).json()["results"]
    assert found["entry"] == changed.json()["entry"]


@pytest.mark.parametrize("first", [True, False], ids=["before it is closed", "after it was closed"])
def test_a_hand_off_that_the_page_posts_itself_is_the_only_one(server: Server, first: bool) -> None:
    server.client.post("/api/memory", json={"agentId": "dev", "messages": TALK})
    lines = [f"[{'User' if one['role'] == 'user' else 'Agent'}]: {one['text']}" for one in KEPT]
    text = "Where we stopped." if first else "\n".join(lines)
    steps = [
        lambda: noted(server, text, "handoffs", tags=["auto-handoff", "session-close"]),
        lambda: server.client.post("/api/memory/checkpoint", json={"agentId": "dev", "messages": TALK, "close": True}),
    ]
    for step in steps if first else reversed(steps):
        step()
    assert [one.content for one in server.home.agent("dev").list(category="handoffs")] == [text]
    noted(server, "Another day.", "handoffs", tags=["auto-handoff", "session-close"])
    assert len(server.home.agent("dev").list(category="handoffs")) == 2


def test_a_search_without_a_category_finds_notes_of_all_of_them(server: Server) -> None:
    for category in ("decisions", "lessons", "tasks", "projects", "handoffs"):
        noted(server, f"the harbour in {category}", category)
    server.home.agent("dev").remember("the harbour in no category")
    found = server.client.get("/api/memory/search", params={"q": "harbour"}).json()["results"]
    assert {one["entry"]["category"] for one in found} == {"decisions", "lessons", "tasks", "projects", "handoffs"}
    assert len(found) == 5
    assert len(server.client.get("/api/memory/search", params={"q": "harbour", "limit": 2}).json()["results"]) == 2


def test_the_project_is_described_in_the_vaults_file(server: Server) -> None:
    server.home.vault().sync()
    init = {"action": "init-project", "agentId": "dev", "content": "A dashboard for agents."}
    assert server.client.post("/api/memory", json=init).json() == {"ok": True, "created": True}
    assert server.client.post("/api/memory", json=init).json() == {"ok": True, "created": False}
    server.home.flush()
    assert (server.home.vault().folder / "_project.md").read_text() == "A dashboard for agents.\n"
    assert "A dashboard for agents." in server.home.agent("pm").context("anything").text


def test_conversations_are_what_a_body_is_about_and_the_description_says_so(server: Server) -> None:
    body = {"action": "init-project", "content": "A shop for tea", "conversations": []}
    assert server.client.post("/api/memory", json=body).status_code == 200
    assert server.client.get("/v1/project").json() == {"content": None}
    schemas = server.client.get("/openapi.json").json()["components"]["schemas"]
    assert [schemas[name]["not"] for name in ("SaveChat", "AppendNote", "InitProject")] == [
        {"required": ["conversations"]}
    ] * 3
