"""Scores of all stores that a query reads are made with the same statistics, so that they can be compared."""

from pathlib import Path

import pytest

import recollect
from recollect import Add, FixedClock, Home, Memory
from recollect.memory import SHARED, search_notes
from recollect.model.entry import Category

NOTES = [
    *(f"deploy the service number {number} with care" for number in range(12)),
    "deploy window of the harbour crane",
    "the harbour is closed on Sundays",
]
PREFERENCES = [*(f"prefers tea of kind {number}" for number in range(40)), "prefers to deploy late"]
QUERY = "deploy harbour crane"


def scores(memory: Memory, query: str = QUERY) -> list[tuple[str, float]]:
    hits = memory.recall(query, limit=50, mode="keyword", record=False)
    return [(hit.entry.content, round(hit.score, 9)) for hit in hits]


def in_one_store(folder: Path, clock: FixedClock, *notes: str | Add) -> list[tuple[str, float]]:
    """What a store that holds everything gives."""
    with recollect.open(folder / "one.db", clock=clock) as home:
        home.agent("ana").remember_many([note if isinstance(note, Add) else Add(note) for note in notes])
        return scores(home.agent("ana"))


@pytest.mark.directory
def test_the_account_and_the_workspace_are_measured_together(
    mem: Memory, clock: FixedClock, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mem.remember_many([Add(text) for text in NOTES])
    mem.remember_many([Add(text, scope="account") for text in PREFERENCES])
    found = scores(mem)
    expected = in_one_store(tmp_path_factory.mktemp("one"), clock, *NOTES, *PREFERENCES)
    assert found[0][0] == "deploy window of the harbour crane"
    assert dict(found) == dict(expected)


def test_what_is_shared_is_measured_with_what_is_the_agents_own(
    home: Home, mem: Memory, clock: FixedClock, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mem.remember_many([Add(text) for text in NOTES])
    home.agent(SHARED).remember_many([Add(text) for text in PREFERENCES])
    expected = in_one_store(tmp_path_factory.mktemp("one"), clock, *NOTES, *PREFERENCES)
    assert dict(scores(mem)) == dict(expected)


def test_an_agent_that_is_not_read_does_not_count(
    home: Home, mem: Memory, clock: FixedClock, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mem.remember_many([Add(text) for text in NOTES])
    alone = scores(mem)
    named = [Add(text, name=str(place)) for place, text in enumerate(PREFERENCES)]
    home.agent("dev").remember_many(named)
    assert scores(mem) == alone
    expected = in_one_store(tmp_path_factory.mktemp("one"), clock, *named)
    hits = mem.recall(QUERY, limit=50, mode="keyword", target_agent="dev")
    assert [(hit.entry.content, round(hit.score, 9)) for hit in hits] == expected


def test_notes_of_several_agents_are_measured_together(home: Home, mem: Memory) -> None:
    dev, every = home.agent("dev"), home.agent("every")
    notes = [Add(text, category="decisions") for text in NOTES]
    wishes = [Add(text, category="lessons") for text in PREFERENCES]
    mem.remember_many(notes)
    dev.remember_many(wishes)
    home.agent("other").remember_many([Add(f"harbour crane {number}", category="tasks") for number in range(30)])
    every.remember_many([*notes, *wishes])

    def searched(*memories: Memory) -> dict[str, float]:
        hits = search_notes(memories, QUERY, limit=50, categories=Category, fuzzy=0.2)
        return {hit.entry.content: round(hit.score, 9) for hit in hits}

    together = searched(mem, dev)
    assert next(iter(together)) == "deploy window of the harbour crane"
    assert together == searched(every)
    assert searched() == {}


def test_notes_of_two_agents_that_say_the_same_are_both_found(home: Home, mem: Memory) -> None:
    for memory in (mem, home.agent("dev")):
        memory.remember("the harbour is closed", category="lessons")
    hits = search_notes([mem, home.agent("dev")], "harbour", limit=5, categories=Category, fuzzy=0.2)
    assert sorted(hit.agent for hit in hits) == ["ana", "dev"]


def test_a_word_that_one_store_lacks_is_expanded_in_the_other_by_the_same_measure(home: Home, mem: Memory) -> None:
    mem.remember("auth is down")
    mem.remember("lunch is at noon")
    home.agent(SHARED).remember("Authentication is by token")
    hits = [hit.entry.content for hit in mem.recall("auth", prefix=True)]
    assert hits == ["auth is down", "Authentication is by token"]
