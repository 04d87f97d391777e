"""What one agent reads of another by naming it: knowledge and past conversations, never a conversation that goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from crash.evidence import rows
from dialogue import talk
from embedders import HashEmbedder

import recollect
from recollect import Denied, FixedClock, Home
from recollect.conversation import Conversation
from recollect.memory import Memory

pytestmark = pytest.mark.directory

SECRET = "The granite password is hunter2qz."


@pytest.fixture
def home(location: str, clock: FixedClock) -> Iterator[Home]:
    with recollect.open(location, clock=clock, embedder=HashEmbedder()) as opened:
        yield opened


def running(home: Home) -> Conversation:
    """An active conversation that was compacted without a model, and was read by upkeep."""
    conv = home.agent("ana").conversations.start()
    conv.user(SECRET)
    conv.assistant(f"I note it. {SECRET}")
    talk(conv, 12)
    assert conv.compact() is not None
    home.jobs.run("extract")
    home.jobs.run("embed")
    return conv


def read_by_ben(home: Home, session: str) -> str:
    """Everything that each read with a target agent gives to another agent."""
    ben: Memory = home.agent("ben")
    found: list[object] = []
    for mode in ("keyword", "vector", "hybrid"):
        found += ben.recall("granite password hunter2qz", limit=100, mode=mode, target_agent="ana")
        found += ben.recall("granite", limit=100, mode=mode, kinds=["archive", "chunk"], target_agent="ana")
    for store, mode in (("session", "semantic"), ("session", "text"), ("knowledge", "semantic"), ("knowledge", "text")):
        found += ben.query(store, mode, "granite password", target_agent="ana", limit=100)["results"]
    for unit in ("turn", "conversation"):
        found += ben.conversations.search("granite password", unit=unit, target_agent="ana", limit=100)
    for read in (
        lambda: ben.query("session", "session_detail", session_id=session, target_agent="ana")["results"],
        lambda: ben.conversations.detail(session, target_agent="ana"),
    ):
        with contextlib.suppress(Denied):
            found += read()
    return repr(found)


def test_an_open_conversation_is_private_also_when_it_was_compacted(home: Home) -> None:
    conv = running(home)
    assert "hunter2qz" in repr(home.agent("ana").recall("granite password", kinds=["archive"]))
    assert "hunter2qz" not in read_by_ben(home, conv.id)


def test_a_conversation_that_has_ended_can_be_read(home: Home) -> None:
    conv = running(home)
    conv.end()
    ben = home.agent("ben")
    assert "hunter2qz" in repr(ben.query("session", "semantic", "granite password", target_agent="ana"))
    assert "hunter2qz" in repr(ben.recall("granite password", kinds=["archive"], target_agent="ana"))


def test_the_name_of_another_agent_is_recorded_in_its_stored_form(home: Home, location: str) -> None:
    home.agent("ana").remember("The granite quay is closed.", name="quay")
    ben = home.agent("ben")
    for spelling in ("ana", "ana ", " ana"):
        assert [hit.entry.name for hit in ben.recall("granite", target_agent=spelling)] == ["quay"]
        assert ben.conversations.search("granite", target_agent=spelling) == []
        (found,) = ben.query("knowledge", "text", "granite", target_agent=spelling)["results"]
        assert found["source_agent"] == "ana"
    home.flush()
    log = rows(location, "access_log", "ben")
    assert len(log) == 9
    assert all("ana" in row for row in log)


def test_ones_own_name_with_a_space_is_a_read_of_ones_own_memory(home: Home, location: str) -> None:
    ana = home.agent("ana")
    conv = ana.conversations.start()
    conv.user("The granite quay is closed.")
    (found,) = ana.query("working", query="granite", conversation=conv, target_agent="ana ")["results"]
    assert found["source_agent"] == "ana"
    assert ana.conversations.detail(conv.id, target_agent=" ana")
    assert rows(location, "access_log", "ana") == []


def test_a_filter_by_lifetime_does_not_show_what_is_not_readable_without_it(home: Home) -> None:
    home.agent("ana").remember("The granite draft is rough.", name="draft", lifetime="short_term")
    home.agent("ana").remember("The granite quay is closed.", name="quay")
    ben = home.agent("ben")
    assert [hit.entry.name for hit in ben.recall("granite", target_agent="ana")] == ["quay"]
    assert ben.recall("granite", target_agent="ana", lifetimes=["short_term"]) == []
