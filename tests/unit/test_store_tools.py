"""What a model is given as tools: plain mappings in and out, and an error for what a tool cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dialogue import talk

import recollect
from recollect import Conflict, Denied, FixedClock, Home, Invalid, Memory, NotFound
from recollect.compat import store_tools
from recollect.compat.store_tools import MODES, compact, query, upsert

NOW = "2026-01-01T00:00:00Z"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with recollect.open(tmp_path / "memory.db", clock=FixedClock()) as opened:
        yield opened


@pytest.fixture
def mem(home: Home) -> Memory:
    return home.agent("ana")


# query


def test_knowledge_is_what_was_written_to_stay(home: Home, mem: Memory) -> None:
    kept = mem.remember("The granite quay is closed.", name="quay")
    mem.remember("granite, for now", lifetime="short_term")
    for mode in (None, *MODES["knowledge"]):
        assert query(mem, "knowledge", mode, "granite quay") == {
            "ok": True,
            "results": [
                {
                    "id": kept.id,
                    "store": "knowledge",
                    "tier": "knowledge",
                    "key": "quay",
                    "content": "The granite quay is closed.",
                    "origin": "agent",
                    "created_at": NOW,
                    "source_agent": "ana",
                }
            ],
        }
    assert query(home.agent("ben"), query="granite")["results"] == []
    (found,) = query(home.agent("ben"), query="granite", target_agent="ana")["results"]
    assert (found["id"], found["source_agent"]) == (kept.id, "ana")


def test_working_memory_is_read_by_words_and_by_hash(mem: Memory) -> None:
    conv = mem.conversations.start()
    event = conv.user("The granite quay is closed.", speaker="Marta")
    expected = {
        "id": event.id,
        "store": "working",
        "session_id": conv.id,
        "hash": event.hash,
        "role": "user",
        "speaker": "Marta",
        "content": event.content,
        "origin": "user",
        "created_at": NOW,
        "source_agent": "ana",
    }
    assert query(mem, "working", query="granite", conversation=conv) == {"ok": True, "results": [expected]}
    assert query(mem, "working", "hash", hash=event.hash[:10], conversation=conv.ref_code)["results"] == [expected]
    assert mem.query("working", "hash", event.hash, conversation=conv)["results"] == [expected]
    assert query(mem, "working", query="basalt", conversation=conv)["results"] == []


def test_a_conversation_is_shown_without_the_markers_of_compaction(mem: Memory) -> None:
    conv = mem.conversations.start()
    for number in range(3):
        conv.user(f"question {number}")
        conv.assistant(f"answer {number}")
        compact(conv)
    assert sum(event.type == "CompactMarker" for event in conv.events()) > 1
    received = query(mem, "session", "session_detail", session_id=conv.id, limit=5)["results"]
    assert [one["content"] for one in received] == ["question 0", "answer 0", "question 1", "answer 1", "question 2"]


def test_past_conversations_are_read_by_meaning_by_words_and_whole(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    first = conv.user("Which quay is closed?")
    conv.assistant("The granite quay.")
    conv.end()
    (chunk,) = query(mem, "session", query="granite quay")["results"]
    assert (chunk["tier"], chunk["session_id"], chunk["store"]) == ("mid_term", conv.id, "session")
    assert chunk["content"] == "User: Which quay is closed?\nAgent: The granite quay."
    texts = query(mem, "session", "text", "granite quay")["results"]
    assert {one["content"] for one in texts} == {"Which quay is closed?", "The granite quay."}
    detail = query(mem, "session", "session_detail", session_id=conv.ref_code)["results"]
    assert [one["content"] for one in detail] == ["Which quay is closed?", "The granite quay."]
    assert detail[0]["hash"] == first.hash
    assert len(query(mem, "session", "session_detail", session_id=conv.id, limit=1)["results"]) == 1
    ben = home.agent("ben")
    for mode in MODES["session"]:
        (result, *_) = query(ben, "session", mode, "granite quay", session_id=conv.id, target_agent="ana", limit=5)[
            "results"
        ]
        assert result["source_agent"] == "ana"


def test_long_ago_has_tiers_of_its_own(mem: Memory) -> None:
    for number in range(12):
        conv = mem.conversations.start()
        conv.user(f"The granite quay of day {number} is closed.")
        conv.end()
    found = query(mem, "session", query="granite quay", limit=100)["results"]
    assert {one["tier"] for one in found} <= {"mid_term", "long_term_summary", "long_term_detail"}
    assert "long_term_summary" in {one["tier"] for one in found}


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ({"store": "cellar"}, Invalid, "not a store"),
        ({"store": "working", "mode": "semantic", "query": "x"}, Invalid, "no mode"),
        ({"store": "knowledge", "mode": "hash", "query": "x"}, Invalid, "no mode"),
        ({"store": "session", "mode": "keyword", "query": "x"}, Invalid, "no mode"),
        ({"store": "session", "mode": "session_detail"}, Invalid, "session_id"),
        ({"store": "session", "mode": "session_detail", "session_id": "nobody"}, NotFound, "nobody"),
        ({"store": "session"}, Invalid, "needs a query"),
        ({"store": "knowledge"}, Invalid, "needs a query"),
        ({"store": "working", "query": "x"}, Invalid, "conversation"),
        ({"store": "working", "query": "x", "conversation": "nobody"}, NotFound, "nobody"),
        ({"store": "working", "query": "x", "target_agent": "ben"}, Denied, "another agent"),
        ({"query": "x", "limit": -1}, Invalid, "limit"),
        ({"store": "session", "mode": "text", "query": "x", "limit": "5"}, Invalid, "limit"),
        ({"query": "x", "target_agent": "../ben"}, Invalid, "agent"),
        ({"query": 7}, Invalid, "query"),
    ],
)
def test_a_query_that_makes_no_sense_says_why(
    mem: Memory, arguments: dict[str, Any], error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        query(mem, **arguments)


def test_a_long_conversation_is_read_page_by_page(mem: Memory) -> None:
    conv = mem.conversations.start()
    talk(conv, 12)
    conv.compact()
    conv.end()
    seen: list[str] = []
    page = query(mem, "session", "session_detail", session_id=conv.id)
    seen += [one["content"] for one in page["results"]]
    while "next" in page:
        page = query(mem, "session", "session_detail", session_id=conv.id, after=page["next"])
        seen += [one["content"] for one in page["results"]]
    assert seen == [f"{what} {number}" for number in range(12) for what in ("question", "answer")]
    whole = query(mem, "session", "session_detail", session_id=conv.id, limit=24)
    assert "next" not in whole


def test_words_that_a_tool_said_are_found_and_nothing_that_lacks_them(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("Which quay is free?")
    conv.assistant("", tool_calls=[{"id": "c1", "name": "piers", "arguments": {"harbour": "Porto"}}])
    result = conv.tool("quay 7: basalt", "c1")
    conv.assistant("Number seven.")
    conv.user("Thanks")
    (found,) = query(mem, "working", "keyword", "basalt", conversation=conv)["results"]
    assert (found["hash"], found["role"]) == (result.hash, "tool")
    (found,) = query(mem, "working", "keyword", "porto", conversation=conv)["results"]
    assert found["role"] == "assistant"
    both = query(mem, "working", "keyword", "quay", conversation=conv)["results"]
    assert [one["content"] for one in both] == ["quay 7: basalt", "Which quay is free?"]
    assert query(mem, "working", "keyword", "granite", conversation=conv)["results"] == []
    conv.end()
    (block,) = query(mem, "session", "text", "basalt")["results"]
    assert "basalt" in block["content"]
    for result in query(mem, "session", "text", "thanks")["results"]:
        assert "thanks" in result["content"].lower()


def test_working_memory_needs_words_or_a_hash(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("hello")
    for mode in ("keyword", "hash"):
        with pytest.raises(Invalid, match="needs a"):
            query(mem, "working", mode, conversation=conv)
    with pytest.raises(NotFound):
        query(mem, "working", "hash", hash="ffff", conversation=conv)


# upsert


def test_knowledge_is_inserted_updated_by_key_and_deleted(mem: Memory) -> None:
    made = upsert(mem, "insert", "quay", "It is open.", ["harbour"])
    assert made == {"ok": True, "id": mem.get("quay").id, "created": True}
    assert upsert(mem, "insert", "quay", "It is closed.") == {"ok": True, "id": made["id"], "created": False}
    assert upsert(mem, "update", "quay", "It is gone.") == {"ok": True, "id": made["id"], "created": False}
    entry = mem.get("quay")
    assert (entry.content, "harbour" in entry.tags, entry.lifetime) == ("It is gone.", True, "long_term")
    assert upsert(mem, "delete", "quay") == {"ok": True, "id": made["id"], "created": False}
    with pytest.raises(NotFound):
        mem.get("quay")
    without = upsert(mem, "insert", content="No key.")
    assert (without["created"], mem.get(without["id"]).content) == (True, "No key.")
    assert query(mem, query="key")["results"][0]["id"] == without["id"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"op": "shout"}, Invalid),
        ({"op": "insert"}, Invalid),
        ({"op": "insert", "key": "k"}, Invalid),
        ({"op": "insert", "key": "k", "content": " "}, Invalid),
        ({"op": "update", "content": "x"}, Invalid),
        ({"op": "update", "key": "k", "content": "x"}, NotFound),
        ({"op": "delete"}, Invalid),
        ({"op": "delete", "key": "k"}, NotFound),
        ({"op": "insert", "content": "x", "agent": "ben"}, TypeError),
        ({"op": "insert", "content": "x", "target_agent": "ben"}, TypeError),
    ],
)
def test_an_upsert_that_makes_no_sense_changes_nothing(
    mem: Memory, arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        upsert(mem, **arguments)
    assert mem.list() == []


def test_an_upsert_reaches_notes_only_and_leaves_archives_chunks_and_hand_offs_alone(mem: Memory) -> None:
    conv = mem.conversations.start()
    talk(conv, 3)
    conv.compact()
    conv.end()
    mem.remember("Where we stopped.", name="stopped", category="handoffs")
    past = [one for one in mem.list(limit=100) if one.kind != "note" or one.category == "handoffs"]
    assert {one.kind for one in past} == {"archive", "chunk", "note"}
    for entry in past:
        for key in filter(None, (entry.id, entry.name)):
            for op in ("insert", "update", "delete"):
                with pytest.raises(Conflict, match="not knowledge"):
                    upsert(mem, op, key, None if op == "delete" else "overwritten")
            with pytest.raises(Conflict, match="not knowledge"):
                mem.upsert(key, "overwritten")
        assert mem.get(entry.id) == entry


# compact


def test_compact_says_how_much_left(mem: Memory) -> None:
    conv = mem.conversations.start()
    assert compact(conv) == {"ok": True, "started": False, "folded": 0}
    talk(conv, 3)
    assert compact(conv) == {"ok": True, "started": True, "folded": 4}
    assert compact(conv, "core") == {"ok": True, "started": False, "folded": 0}
    with pytest.raises(Invalid, match="lane"):
        compact(conv, "left")
    conv.end()
    with pytest.raises(Conflict):
        compact(mem.conversations.get(conv.id))


def test_the_names_are_the_documented_ones() -> None:
    assert store_tools.__all__ == ["MODES", "compact", "query", "upsert"]
