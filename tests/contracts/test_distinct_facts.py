"""Recall hides no fact: entries that differ in anything that may matter are all found, by every mode."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recollect
from recollect import Add, FixedClock, Home, Memory
from recollect.providers.local import LocalEmbedder
from recollect.storage import entries
from recollect.storage.database import NamedQuery, Transaction

MODES = ("keyword", "vector", "hybrid")
EMBEDDER = LocalEmbedder()
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@pytest.fixture
def home(location: str, clock: FixedClock) -> Iterator[Home]:
    with recollect.open(location, embedder=EMBEDDER, clock=clock) as opened:
        yield opened


def found(mem: Memory, query: str, mode: str, limit: int = 20) -> list[str]:
    return [hit.entry.content for hit in mem.recall(query, limit=limit, mode=mode)]


FACTS = [
    ("meeting with Anna", [f"Meeting with Anna on {day}" for day in WEEKDAYS]),
    ("office of the team", [f"The office of team {letter} is in the north wing" for letter in "ABCDEFGH"]),
    ("migration", ["The migration of the database succeeded", "The migration of the database failed"]),
    ("who reports to Ana", ["Ana reports to Ben", "Ben reports to Ana"]),
    ("seats of the room", ["Room 3 has 5 seats", "Room 5 has 3 seats"]),
    ("deploy", ["We deploy on Fridays", "We do not deploy on Fridays"]),
    ("田中", ["田中さんは営業部の部長です", "田中さんは開発部の部長です"]),
    ("the compiler is written in C", [f"The compiler is written in {name}" for name in ("C", "C++", "C#")]),
    ("the offset", ["The offset is 5", "The offset is -5", "The offset is 1.5", "The offset is 15"]),
    ("mood of the release", ["The mood of the release 👍", "The mood of the release 👎"]),
]


def test_facts_that_differ_in_little_are_all_found(mem: Memory) -> None:
    for query, facts in FACTS:
        made = mem.remember_many([Add(fact) for fact in facts])
        for mode in MODES:
            assert sorted(found(mem, query, mode)) == sorted(facts), mode
        for entry in made:
            mem.forget(entry.id)


def test_the_same_value_under_two_names_is_found_under_both(mem: Memory) -> None:
    mem.upsert("port of service alpha", "8080")
    mem.upsert("port of service beta", "8080")
    for mode in MODES:
        hits = mem.recall("port of service" if mode != "vector" else "8080", mode=mode)
        assert {hit.entry.name for hit in hits} == {"port of service alpha", "port of service beta"}, mode


def test_a_repetition_is_found_once(mem: Memory) -> None:
    mem.remember("We deploy on Fridays")
    mem.remember("We deploy, on  Fridays!")
    for mode in MODES:
        assert len(found(mem, "deploy", mode)) == 1, mode


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_text_of_which_there_are_many_copies_is_read_once(
    mem: Memory, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    every = entries.read_docs

    def counted(tx: Transaction, docs: Sequence[int], *queries: NamedQuery, named: bool) -> object:
        read.extend(docs)
        return every(tx, docs, *queries, named=named)

    monkeypatch.setattr(entries, "read_docs", counted)
    others = [f"The kettle of room {number} is in cupboard {letter}" for number, letter in enumerate("ABCDEFGHIJK")]
    mem.remember_many([Add(text) for text in others])
    mem.remember_many([Add("The kettle is hot", kind="chunk")] * 300)
    hits = mem.recall("kettle hot", mode=mode, limit=10)
    assert len(hits) == 10
    assert [hit.entry.content for hit in hits].count("The kettle is hot") == 1
    assert len(read) <= 2 * 12, "the distinct texts, and a few"


def test_copies_with_names_of_their_own_are_all_found(mem: Memory) -> None:
    """A note is addressed by its name, so its text repeats no other one; without a name it does."""
    mem.remember_many([Add("The kettle is hot")] * 3)
    named = [mem.remember("The kettle is hot", name=f"kettle-{letter}") for letter in "abc"]
    for mode in MODES:
        hits = mem.recall("kettle", mode=mode)
        assert sorted(hit.entry.name or "" for hit in hits) == ["", *(entry.name or "" for entry in named)], mode


def test_a_text_is_a_copy_of_one_of_the_same_reader_or_of_shared_alone(home: Home, mem: Memory) -> None:
    """What `_shared` knows is the reader's own; another agent's text is not read at all."""
    home.agent("ben").remember_many([Add("The kettle is hot")] * 40)
    home.agent("_shared").remember_many([Add("The kettle is hot")] * 40)
    mem.remember_many([Add("The kettle is hot")] * 40)
    mem.remember("The kettle is cold")
    hits = mem.recall("kettle", limit=10)
    assert sorted((hit.agent in ("ana", "_shared"), hit.entry.content) for hit in hits) == [
        (True, "The kettle is cold"),
        (True, "The kettle is hot"),
    ]
    assert len(home.agent("ben").recall("kettle", limit=10)) == 1


words = st.sampled_from(
    ["Ana", "Ben", "ships", "owns", "not", "the", "gate", "a", "b", "7", "8", "-7", "C++", "東京", "🎉"]
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.lists(words, min_size=1, max_size=6), data=st.data())
def test_two_notes_that_differ_in_one_word_are_both_found_by_every_mode(
    tmp_path_factory: pytest.TempPathFactory, said: list[str], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(said)))
    change = data.draw(st.sampled_from(["replace", "insert"]))
    word = data.draw(words.filter(lambda one: change == "insert" or place == len(said) or one != said[place]))
    other = [*said[:place], word, *said[place + (change == "replace") :]]
    notes = {f"beacon {' '.join(said)}", f"beacon {' '.join(other)}"}
    with recollect.open(tmp_path_factory.mktemp("notes") / "memory.db", embedder=EMBEDDER) as home:
        mem = home.agent("ana")
        mem.remember_many([Add(note) for note in sorted(notes)])
        for mode in MODES:
            assert set(found(mem, "beacon", mode)) == notes, mode


# Groups


def test_near_facts_name_each_other_and_the_newest_comes_first(mem: Memory, clock: FixedClock) -> None:
    old = mem.remember("We deploy on Fridays")
    clock.advance(60_000)
    new = mem.remember("We do not deploy on Fridays")
    mem.remember("Lunch is at noon")
    for mode in MODES:
        for limit in (1, 5):
            hits = mem.recall("when do we deploy?", mode=mode, limit=limit)
            assert (hits[0].entry.id, hits[0].similar) == (new.id, (old.id,)), (mode, limit)
        assert hits[1].similar == (new.id,), mode
        assert all(hit.similar == () for hit in hits[2:]), mode


def test_an_edit_makes_a_fact_the_newest_of_its_group(mem: Memory, clock: FixedClock) -> None:
    edited = mem.remember("We deploy on Thursdays")
    clock.advance(60_000)
    mem.remember("We deploy on Fridays")
    clock.advance(60_000)
    mem.apply(recollect.Write(edited.id, content="We do not deploy on Fridays"))
    for mode in MODES:
        assert mem.recall("deploy", mode=mode)[0].entry.id == edited.id, mode


def test_what_the_query_names_stays_before_what_is_newer(mem: Memory, clock: FixedClock) -> None:
    for day in WEEKDAYS:
        mem.remember(f"Meeting with Anna on {day}")
        clock.advance(60_000)
    for mode in ("keyword", "hybrid"):
        assert found(mem, "meeting with Anna on Monday", mode)[0] == "Meeting with Anna on Monday", mode
        assert found(mem, "meeting with Anna", mode) == [f"Meeting with Anna on {day}" for day in reversed(WEEKDAYS)], (
            mode
        )


def test_without_vectors_there_are_no_groups(location: str) -> None:
    with recollect.open(location) as home:
        mem = home.agent("ana")
        mem.remember("We deploy on Fridays")
        mem.remember("We do not deploy on Fridays")
        hits = mem.recall("deploy")
        assert [hit.similar for hit in hits] == [(), ()]
