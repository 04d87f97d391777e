"""Searching past conversations: what was said is found, by words and by what stands around them, on every database."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count

import numpy as np
import pytest
from bm25_oracle import bm25
from embedders import HashEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres import Server

import recollect
from recollect import Add, Home, Invalid, Memory, text
from recollect.engine import conversations, remember
from recollect.engine.agent_store import Store
from recollect.engine.conversation_search import search
from recollect.model.entry import Kind
from recollect.model.events import checked_event
from recollect.model.history import Event, EventType, Status, Turn
from recollect.model.operation import checked
from recollect.search import index as index_module
from recollect.search import journal as journal_module
from recollect.search.journal import document, is_turn
from recollect.search.ranking import b_for
from recollect.storage import history
from recollect.storage.history import Journal

DAY = 86_400_000
MAY_7_2023 = 19_484 * DAY
Said = str | tuple[str, str] | Event


@pytest.fixture(autouse=True, scope="module")
def small_segments() -> Iterator[None]:
    """Segments of 5 events, three to a merge, at most 45 events in one: all happens with few events."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"TAIL": 5, "FAN": 3, "SPAN": 45}.items():
            patch.setattr(index_module, name, value)
        yield


def store_of(mem: Memory) -> Store:
    return mem._workspace


def start(store: Store, *, channel: str = "general") -> str:
    return conversations.start(store, channel=channel, chat_id=None, model_id=None, participants=(), now=0).id


def say(store: Store, conversation: str, *said: Said, at: int = MAY_7_2023) -> list[Event]:
    """Append turns: a text is the user's, a pair is a speaker's."""
    new = []
    for one in said:
        if isinstance(one, str):
            one = Event(type=EventType.USER, content=one, created_at=at)
        elif isinstance(one, tuple):
            one = Event(type=EventType.USER, speaker=one[0], content=one[1], created_at=at)
        new.append(checked_event(one, conversation, at))
    return conversations.append(store, conversation, new)


def talk(store: Store, *said: Said, at: int = MAY_7_2023, channel: str = "general") -> list[Event]:
    """A whole conversation."""
    return say(store, start(store, channel=channel), *said, at=at)


def answer(content: str) -> Event:
    return Event(type=EventType.MODEL, content=content, created_at=MAY_7_2023)


def contents(hits: Sequence[Turn]) -> list[str]:
    return [hit.event.content for hit in hits]


def found(store: Store, query: str, limit: int = 10, unit: str = "turn") -> list[str]:
    return contents(search(store, query, limit=limit, unit=unit))


def segments(store: Store) -> list[tuple[int, int]]:
    with store.read() as tx:
        return [(level, size) for _, level, _, size in tx.all("turns.segments")]


def check(store: Store) -> list[str]:
    with store.read() as tx:
        return store.turns.check(tx, Journal.get(tx))


def by_words(store: Store, query: str, limit: int) -> list[tuple[int, float]]:
    """What the words alone find."""
    words = text.query_terms(query)
    with store.read() as tx:
        return store.turns.look(tx, Journal.get(tx), query, words).rank(limit)


def assert_like_the_oracle(store: Store, query: str) -> None:
    with store.read() as tx:
        every = history.events(tx, "journal_after", after=0, limit=100_000)
    said = {event.seq: document(event) for event in every if is_turn(event)}
    average = sum(sum(terms.values()) for terms in said.values()) / max(len(said), 1) or 1.0
    expected = bm25(said, text.query_terms(query), b=b_for(average))
    for limit in (1, 3, 100):
        ranked = by_words(store, query, limit)
        assert len(ranked) == min(limit, len(expected))
        for (seq, score), (_, best) in zip(ranked, expected, strict=False):
            assert math.isclose(score, dict(expected)[seq], rel_tol=1e-9)
            assert math.isclose(score, best, rel_tol=1e-9)


# What is found


def test_a_turn_is_found_with_its_conversation_and_what_was_said_around_it(mem: Memory) -> None:
    store = store_of(mem)
    said = talk(store, "good morning", "how are you", "my bicycle has a flat tyre", "oh no", "it is raining", "bye")
    talk(store, "the weather is fine")
    (hit, *_) = search(store, "what happened to the bicycle?", limit=3)
    assert hit.event == said[2]
    assert hit.conversation.id == said[0].conversation_id
    assert hit.snippet == "my bicycle has a flat tyre"
    assert contents_of(hit.before) == ["good morning", "how are you"]
    assert contents_of(hit.after) == ["oh no", "it is raining"]
    assert hit.speaker == "user"


def contents_of(events: Sequence[Event]) -> list[str]:
    return [event.content for event in events]


def test_turns_are_found_in_the_tail_in_segments_and_after_every_merge_by_two_processes(location: str) -> None:
    with recollect.open(location) as one, recollect.open(location) as other:
        writer, reader = store_of(one.agent("ana")), store_of(other.agent("ana"))
        seen = []
        for number in range(24):
            talk(writer, f"number{number} is amber", f"nothing of note {number}")
            for store in (writer, reader):
                assert found(store, f"number{number}", 1) == [f"number{number} is amber"]
                assert found(store, "number0", 1) == ["number0 is amber"]
            assert_like_the_oracle(reader, f"amber number{number // 2} note")
            seen.append(segments(writer))
        assert [] in seen
        assert [(0, 5)] in seen
        assert [(1, 15), (0, 5)] in seen
        assert seen[-1] == [(2, 45)], "a full segment is merged no more"
        assert check(writer) == check(reader) == []


def test_what_stands_in_the_neighbourhood_and_in_the_conversation_counts(mem: Memory) -> None:
    store = store_of(mem)
    talk(store, "which colour did you choose for the kitchen?", "green, at last")
    talk(store, "which colour did you choose for the car?", "red, of course")
    talk(store, "green, at last")
    kitchen = found(store, "colour of the kitchen", 2)
    assert sorted(kitchen) == ["green, at last", "which colour did you choose for the kitchen?"]
    hits = search(store, "colour of the kitchen", limit=2)
    assert len({hit.conversation.id for hit in hits}) == 1, "not the one that says the same without the question"


def test_neighbours_are_those_of_the_conversation_however_talks_are_mixed(mem: Memory) -> None:
    store = store_of(mem)
    first, second = start(store), start(store)
    for number in range(12):
        say(store, first, f"alpha {number}")
        say(store, second, f"omega {number}", Event(type=EventType.INSTRUCTION, content="be kind", created_at=1))
    (hit,) = search(store, "alpha 6", limit=1)
    assert contents_of(hit.before) == ["alpha 4", "alpha 5"]
    assert contents_of(hit.after) == ["alpha 7", "alpha 8"]
    (last,) = search(store, "omega 11", limit=1)
    assert contents_of(last.before) == ["omega 9", "omega 10"]
    assert last.after == ()
    assert check(store) == []


def test_a_speaker_who_is_named_in_the_question_comes_first(mem: Memory) -> None:
    store = store_of(mem)
    talk(store, ("Nora", "I play the violin"), ("Tom", "I play the piano"), ("Nora", "nice"), ("Tom", "thanks"))
    assert found(store, "What instrument does Nora play?", 1) == ["I play the violin"]
    assert found(store, "What instrument does Tom play?", 1) == ["I play the piano"]
    assert sorted(found(store, "Tom", 2)) == ["I play the piano", "thanks"]
    talk(store, ("Tom", "Nora, Nora, you love roses"), ("Nora", "and I love tulips"), *[("Tom", "well")] * 5)
    assert found(store, "What does Nora love?", 1) == ["and I love tulips"], "not what is said to her"


def test_a_date_in_the_question_finds_what_was_said_then_although_no_word_is_shared(mem: Memory) -> None:
    store = store_of(mem)
    dishes = ["soup", "rice", "beans", "stew", "bread", "fish", "pie", "salad", "eggs", "cake", "noodles", "cheese"]
    for number, dish in enumerate(dishes):
        talk(store, f"lunch was {dish}", at=MAY_7_2023 + (number - 5) * 40 * DAY)
    assert found(store, "What was there on 7 May 2023?", 1) == ["lunch was fish"]
    assert found(store, "What was there on May 7?", 1) == ["lunch was fish"]
    assert found(store, "lunch on 7 May 2023", 1) == ["lunch was fish"]


def test_a_standing_rule_comes_first_for_a_question_about_what_it_is_for(mem: Memory) -> None:
    store = store_of(mem)
    rule = "Always use APA when I ask about references."
    start_of = ["I read two papers on tides.", answer("Which ones?"), rule, answer("I will.")]
    rest = [turn for n in range(6) for turn in (f"Paper {n} lists its references in draft {n}.", answer("Noted."))]
    talk(store, *start_of, *rest)
    assert found(store, "how do I list references in a paper?")[0] == rule
    assert rule not in found(store, "which tides?", limit=1)


def test_a_rule_that_the_assistant_or_a_person_among_people_states_has_no_advantage(mem: Memory) -> None:
    store = store_of(mem)
    rule = "Always use APA when I ask about references."
    talk(store, "Paper one lists its references in a draft.", answer(rule), "Good.")
    assert found(store, "how do I list references in a paper?")[0] != rule
    talk(store, ("Ana", "Paper one lists its references in a draft."), ("Rui", rule), ("Ana", "Good."))
    assert found(store, "how do I list references in a paper?")[0] != rule


def test_the_assistant_s_turns_come_first_only_when_they_are_asked_for(mem: Memory) -> None:
    store = store_of(mem)
    talk(store, "my favourite soup is leek soup", answer("leek soup is a favourite soup of many"))
    assert found(store, "favourite soup", 1) == ["my favourite soup is leek soup"]
    assert found(store, "which favourite soup did you mention?", 1) == ["leek soup is a favourite soup of many"]


def test_only_what_people_and_models_say_aloud_is_found(mem: Memory) -> None:
    store = store_of(mem)
    call = {"id": "c1", "type": "function", "function": {"name": "login", "arguments": '{"key": "hunter2"}'}}
    talk(
        store,
        "please look it up",
        Event(type=EventType.MODEL, content="one moment", tool_calls=[call], created_at=1),
        Event(type=EventType.TOOL, content="secret hunter2", tool_call_id="c1", created_at=2),
        Event(type=EventType.INSTRUCTION, content="hunter2 is secret", created_at=3),
        Event(type=EventType.USER, content="hunter2 secret machinery", internal=True, created_at=4),
        "done?",
    )
    for _ in range(2):
        assert not any("hunter2" in content for content in found(store, "secret hunter2 login key"))
        (hit, *_) = search(store, "please look it up", limit=1)
        assert contents_of(hit.after) == ["one moment", "done?"]
        talk(store, *["filler"] * 9)  # from the tail into a segment
    assert segments(store)


def test_the_beginning_and_the_end_of_a_turn_of_megabytes_are_found(mem: Memory) -> None:
    filler = "nothing happened at noon. " * 40_000
    long = mem.conversations.start()
    long.user(f"The log of Aveiro follows. {filler} Then Braga answered. {filler} It ends in Coimbra.")
    long.assistant("I see.")

    def found(word: str) -> bool:
        return any(word in turn.event.content for turn in mem.conversations.search(word)[:1])

    assert found("Aveiro")
    assert found("Coimbra")
    assert not found("Braga")
    assert "The log of Aveiro" in mem.context("what follows from Aveiro?").text


def test_whole_conversations_come_once_each_by_their_best_turn(mem: Memory) -> None:
    store = store_of(mem)
    talk(store, "the ferry to the island", "the ferry again", "ferry ferry")
    talk(store, "a train and a ferry", "trains are slow")
    talk(store, "cheese")
    hits = search(store, "ferry", limit=10, unit="conversation")
    assert len(hits) == len({hit.conversation.id for hit in hits}) == 2
    turns = search(store, "ferry", limit=10)
    assert hits[0].event == turns[0].event
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(search(store, "ferry", limit=1, unit="conversation")) == 1


# Vectors


@pytest.fixture
def seeing(location: str) -> Iterator[Store]:
    """A store with an embedder of three dimensions."""
    with recollect.open(location, embedder=HashEmbedder(3)) as home:
        yield store_of(home.agent("ana"))


def about(
    store: Store, vector: Sequence[float], first: Event, last: Event | None = None, kind: Kind = Kind.CHUNK
) -> None:
    """A text about a part of a conversation, or about all of it, with its vector."""
    draft = Add(
        f"about {first.seq}",
        kind=kind,
        conversation=first.conversation_id,
        channel="general",
        first_event=None if last is None else first.seq,
        last_event=None if last is None else last.seq,
    )
    with store.write() as work:
        made = remember.apply(work, checked(draft), actor="ana", now=0)
        assert store.vectors is not None
        store.vectors.put(work.tx, work.counters, made.id, np.array(vector, np.float32))


def test_a_question_that_shares_no_word_with_its_answer_is_answered_through_the_chunk_it_stands_in(
    seeing: Store,
) -> None:
    # Two talks at the same time, so that the numbers of a chunk's events enclose those of the other talk.
    one, other = start(seeing), start(seeing)
    puppy = say(seeing, one, "we adopted a puppy")
    bank = say(seeing, other, "the bank was closed")
    puppy += say(seeing, one, "he is so small")
    bank += say(seeing, other, "a pity")
    about(seeing, (0.9, 0.1, 0.0), puppy[0], puppy[1])
    about(seeing, (0.0, 1.0, 0.0), bank[0], bank[1])
    query = "animals at home"
    assert search(seeing, query, limit=9) == []
    near = search(seeing, query, limit=2, vector=np.array((1.0, 0.0, 0.0), np.float32))
    assert sorted(contents(near)) == ["he is so small", "we adopted a puppy"]
    (best,) = search(seeing, query, limit=1, unit="conversation", vector=np.array((0, 1.0, 0), np.float32))
    assert best.conversation.id == other
    only_stop_words = search(seeing, "what is it", limit=1, vector=np.array((0, 1.0, 0), np.float32))
    assert only_stop_words[0].conversation.id == other


def test_an_archive_speaks_for_its_whole_conversation(seeing: Store) -> None:
    sea = talk(seeing, *[f"waves {number}" for number in range(9)])
    talk(seeing, "numbers all day", "and coffee")
    about(seeing, (1.0, 0.0, 0.0), sea[0], kind=Kind.ARCHIVE)
    hits = search(seeing, "a holiday", limit=9, vector=np.array((1.0, 0.0, 0.0), np.float32))
    assert sorted(contents(hits)) == [f"waves {number}" for number in range(9)]


def test_vectors_of_notes_and_of_unrelated_texts_bring_no_turns(seeing: Store) -> None:
    said = talk(seeing, "waves all day")
    about(seeing, (0.0, 0.0, 1.0), said[0], said[0])
    with seeing.write() as work:
        note = remember.apply(work, checked(Add("a note")), actor="ana", now=0)
        assert seeing.vectors is not None
        seeing.vectors.put(work.tx, work.counters, note.id, np.array((1.0, 0.0, 0.0), np.float32))
    assert search(seeing, "a holiday", limit=9, vector=np.array((1.0, 0.0, 0.0), np.float32)) == []


# Filters


def test_filters_choose_before_the_best_are_cut_off(mem: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "CANDIDATES", 3)
    store = store_of(mem)
    old = talk(store, "amber and something else", at=MAY_7_2023, channel="quiet")
    for number in range(20):
        talk(store, "amber amber", at=MAY_7_2023 + (number + 1) * DAY)
    with store.database.write(store.agent) as tx:
        conversations.transition(tx, old[0].conversation_id, Status.IDLE, MAY_7_2023)

    def matching(**filters: object) -> list[str]:
        return contents(search(store, "amber", limit=5, **filters))  # type: ignore[arg-type]

    assert matching() == ["amber amber"] * 3
    assert matching(until=MAY_7_2023 + 1) == ["amber and something else"]
    assert matching(until=MAY_7_2023) == []
    assert len(matching(since=MAY_7_2023 + 19 * DAY)) == 2
    assert matching(channel="quiet") == ["amber and something else"]
    assert matching(statuses=[Status.IDLE]) == ["amber and something else"]
    assert matching(statuses=[Status.ACTIVE], channel="quiet") == []
    assert matching(statuses=[]) == matching(channel="nowhere") == matching(conversations=[]) == []
    assert matching(statuses=list(Status)) == ["amber amber"] * 3
    assert matching(conversations=[old[0].conversation_id, "unknown"]) == ["amber and something else"]
    assert matching(conversations=[old[0].conversation_id], statuses=[Status.ACTIVE]) == []


def test_a_turn_beside_a_hit_is_none_when_a_filter_leaves_it_out(mem: Memory) -> None:
    store = store_of(mem)
    conversation = start(store)
    say(store, conversation, "amber?", at=MAY_7_2023)
    say(store, conversation, "yes", at=MAY_7_2023 + DAY)
    assert contents(search(store, "amber", limit=5, until=MAY_7_2023 + 1)) == ["amber?"]
    assert contents(search(store, "amber", limit=5)) == ["amber?", "yes"]


def test_no_agent_finds_what_another_one_heard(home: Home) -> None:
    for name in ("ana", "Ana", "an"):
        talk(store_of(home.agent(name)), *[f"{name} likes amber {number}" for number in range(12)])
    for name in ("ana", "Ana", "an"):
        heard = found(store_of(home.agent(name)), "amber ana likes", 100)
        assert len(heard) == 12
        assert all(content.startswith(f"{name} ") for content in heard)
    assert found(store_of(home.agent("ben")), "amber", 100) == []


# Odd questions


@contextmanager
def unchanged(store: Store) -> Iterator[None]:
    with store.read() as tx:
        before = Journal.get(tx)
    yield
    with store.read() as tx:
        assert Journal.get(tx) == before


@pytest.mark.parametrize("filled", [False, True])
def test_any_text_is_a_question(mem: Memory, filled: bool) -> None:
    store = store_of(mem)
    if filled:
        talk(store, 'the fox\'s "den" (north) 100% AND NOT near*', *["filler"] * 6)
    with unchanged(store):
        for query in (
            "",
            " \n",
            "?!",
            "' OR 1=1 --",
            '"',
            "fox AND (",
            "NEAR(*)",
            "%_",
            "\x00",
            "🦊" * 9,
            "a" * 100_000,
        ):
            hits = search(store, query, limit=5)
            assert all(isinstance(hit.event.content, str) for hit in hits)
        assert found(store, "fox " * 25_000, 1) == (['the fox\'s "den" (north) 100% AND NOT near*'] if filled else [])
        assert found(store, "wolf " * 2_000 + "fox") == [], "what follows 10,000 characters does not count"
        assert search(store, "fox", limit=0) == search(store, "fox", limit=-1) == []


def test_an_unknown_unit_is_refused(mem: Memory) -> None:
    with pytest.raises(Invalid, match="unknown unit 'word'; use one of turn, conversation"):
        search(store_of(mem), "fox", limit=1, unit="word")


def test_a_memory_without_conversations_finds_nothing_and_stays_unwritten(location: str) -> None:
    with recollect.open(location) as home:
        store = store_of(home.agent("ana"))
        assert search(store, "fox", limit=1) == []
        assert check(store) == []


# The index


def test_many_events_at_once_become_as_many_segments_as_one_by_one(mem: Memory) -> None:
    store = store_of(mem)
    talk(store, *[f"amber {number} birch" for number in range(23)])
    assert segments(store) == [(1, 15), (0, 5)]
    assert_like_the_oracle(store, "amber 7 birch")
    assert check(store) == []


def test_an_index_of_another_analysis_is_rebuilt_by_the_first_search_or_the_next_segment(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def analyse_otherwise(version: int) -> None:
        monkeypatch.setattr(text, "ANALYSIS_VERSION", version)
        monkeypatch.setattr(text, "terms", lambda content: {f"{word}{version}": 1 for word in content.split()})
        monkeypatch.setattr(text, "query_terms", lambda query: [(f"{word}{version}",) for word in query.split()])

    with recollect.open(location) as home:
        talk(store_of(home.agent("ana")), *[f"amber {number}" for number in range(11)])
    analyse_otherwise(text.ANALYSIS_VERSION + 1)
    with recollect.open(location) as home:
        store = store_of(home.agent("ana"))
        assert len(found(store, "amber", 100)) == 11
        assert check(store) == []
    analyse_otherwise(text.ANALYSIS_VERSION + 1)
    with recollect.open(location) as home:
        store = store_of(home.agent("ana"))
        talk(store, *[f"birch {number}" for number in range(6)])
        with store.read() as tx:
            assert Journal.get(tx).analysis == text.ANALYSIS_VERSION
        assert len(by_words(store, "amber", 100)) == 11
        assert check(store) == []


DAMAGE = {
    "a term": ("postings_drop", "event 1 is not indexed as it was said"),
    "a segment": ("segments_drop", "event 1 is not indexed as it was said"),
}


@pytest.mark.parametrize(("query", "problem"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_reported_and_mended_by_rebuilding_the_index(mem: Memory, query: str, problem: str) -> None:
    store = store_of(mem)
    talk(store, *[("Nora", f"amber {number}") for number in range(17)])
    with store.database.write(store.agent) as tx:
        numbers = [segment for segment, *_ in tx.all("turns.segments")]
        tx.run(f"turns.{query}", segments=numbers)
        journal = Journal.get(tx)
        journal.layout += 1
        journal.save(tx)
    assert problem in check(store)
    with store.database.write(store.agent) as tx:
        journal = Journal.advance(tx, 0, text.ANALYSIS_VERSION)
        store.turns.rebuild(tx, journal)
        journal.save(tx)
    assert check(store) == []
    assert len(found(store, "amber", 100)) == 17
    assert segments(store) == [(1, 15)]


def test_wrong_counts_and_records_are_reported(mem: Memory) -> None:
    store = store_of(mem)
    talk(store, ("Nora", "amber"), ("Tom", "birch"), ("Nora", "cedar"), ("Tom", "delta"), ("Nora", "ember"))
    with store.database.write(store.agent) as tx:
        journal = Journal.get(tx)
        journal.live, journal.tokens = 4, 9
        journal.save(tx)
        ((segment, level, first, size),) = tx.all("turns.segments")
        ((blob,),) = tx.all("turns.lengths", segment=segment)
        records = np.frombuffer(blob, journal_module.RECORD).copy()
        records["speaker"][2] = 2  # Tom's
        records["before"][3] = 1
        tx.run("turns.segments_drop", segments=[segment])
        tx.run("turns.segment_put", segment=segment, level=level, first=first, size=size, lengths=records.tobytes())
    assert check(store) == [
        "the index over the journal counts 4 turns and 9 terms; there are 5 and 10",
        "event 3 is not indexed as it was said",
        "event 4 is not indexed as it was said",
    ]
    with store.database.write(store.agent) as tx:
        tx.run("turns.segments_drop", segments=[segment])
        tx.run("turns.segment_put", segment=segment, level=level, first=first, size=size + 1, lengths=b"")
    assert check(store) == [f"segment {segment} of the index over the journal does not fit the journal"]


# Whatever is said

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord"]
sentences = st.lists(st.sampled_from(WORDS + WORDS[:2] * 4), min_size=1, max_size=9).map(" ".join)
turns = st.tuples(st.integers(0, 2), st.sampled_from(["user", "user", "Nora", "model", "tool", "quiet"]), sentences)
stories = st.lists(st.lists(turns, min_size=1, max_size=8), min_size=1, max_size=12)


def recorded(store: Store, story: Sequence[Sequence[tuple[int, str, str]]]) -> None:
    talks = [start(store) for _ in range(3)]
    for batch in story:
        for place, who, content in batch:
            kind = EventType.MODEL if who == "model" else EventType.USER
            if who == "tool":
                kind = EventType.INSTRUCTION
            speaker = who if who == "Nora" else None
            event = Event(type=kind, content=content, speaker=speaker, internal=who == "quiet", created_at=0)
            say(store, talks[place], event)
        found(store, batch[0][2], 3)  # so that a process has read some of it, at any moment


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory, postgres_server: Server) -> Iterator[list[Home]]:
    """A home in a file, and one on PostgreSQL."""
    url = postgres_server.fresh_database()
    with recollect.open(tmp_path_factory.mktemp("past") / "memory.db") as file, recollect.open(url) as server:
        yield [file, server]
    postgres_server.drop_database(url)


numbers = count()


@settings(max_examples=20)
@given(story=stories, query=sentences)
def test_whatever_is_said_the_words_rank_like_the_oracle_and_both_databases_find_the_same(
    homes: list[Home], story: list[list[tuple[int, str, str]]], query: str
) -> None:
    agent = f"agent-{next(numbers)}"
    seen = []
    for home in homes:
        store = store_of(home.agent(agent))
        recorded(store, story)
        assert_like_the_oracle(store, query)
        assert check(store) == []
        hits = search(store, query, limit=10)
        seen.append([(hit.event.seq, hit.score, [*map(seq_of, hit.before)], [*map(seq_of, hit.after)]) for hit in hits])
    assert seen[0] == seen[1]


def seq_of(event: Event) -> int:
    return event.seq


def test_more_hits_than_a_search_gives_are_refused(mem: Memory) -> None:
    with pytest.raises(Invalid, match="at most 1,000 hits, not 1,001"):
        mem.conversations.search("anything", limit=1_001)
