"""The index against the oracle: whatever was written, removed, merged or rebuilt, the ranking is that of plain BM25."""

import math
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from bm25_oracle import bm25
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres import Server

import recollect
from recollect import Add, FixedClock, Home, Memory, Rename, Write, text
from recollect.engine import agent_store
from recollect.engine.agent_store import Store, document, reindex
from recollect.search import index as index_module
from recollect.search.lookup import Statistics
from recollect.search.ranking import b_for
from recollect.storage import entries
from recollect.storage.counters import Counters
from recollect.storage.history import Journal

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "kelp", "larch"]
QUERIES = [
    "amber",
    "larch amber",
    "fjord amber birch",
    "cedar delta kelp",
    "grove amber birch cedar",
    " ".join(WORDS),
    "heron zebra",
    "zebra",
]


@pytest.fixture(autouse=True, scope="module")
def small_segments() -> Iterator[None]:
    """A tail of 3 documents, three segments to a merge, at most 30 documents in one: all happens with few entries."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"TAIL": 3, "FAN": 3, "SPAN": 30, "FOLD": 5}.items():
            patch.setattr(index_module, name, value)
        yield


@pytest.fixture(scope="module")
def database_url(postgres_server: Server) -> Iterator[str]:
    url = postgres_server.fresh_database()
    yield url
    postgres_server.drop_database(url)


def store_of(mem: Memory) -> Store:
    return mem._workspace


def documents(mem: Memory) -> tuple[dict[int, dict[str, int]], dict[str, int]]:
    """The living documents by number, and the numbers by entry."""
    with store_of(mem).read() as tx:
        stored = entries.after(tx, "", 1_000_000)
    return {found.doc: document(found.entry) for found in stored}, {found.entry.id: found.doc for found in stored}


def assert_ranked_like_the_oracle(
    mem: Memory, queries: Sequence[str] = QUERIES, limits: Sequence[int] = range(21)
) -> None:
    living, number_of = documents(mem)
    store = store_of(mem)
    for query in queries:
        words = text.query_terms(query)
        average = sum(sum(terms.values()) for terms in living.values()) / max(len(living), 1) or 1.0
        expected = bm25(living, words, b=b_for(average))
        for limit in limits:
            with store.search() as (tx, counters):
                assert_same_ranking(store.index.search(tx, counters, words, limit), expected, limit, living)
        every_second = dict(sorted(living.items())[::2])
        with store.search() as (tx, counters):
            look = store.index.look(tx, counters, words)
            among = look.among(every_second.keys(), Statistics([look]))
        expected_among = [one for one in expected if one[0] in every_second]
        assert_same_ranking(among, expected_among, len(expected), every_second)
        exact = dict(expected)
        for hit in mem.recall(query, limit=5, explain=True):
            assert hit.why is not None
            assert hit.why.words is not None
            assert math.isclose(hit.why.words[1], exact[number_of[hit.entry.id]], rel_tol=1e-9)


def assert_same_ranking(
    found: list[tuple[int, float]], expected: list[tuple[int, float]], limit: int, living: dict[int, dict[str, int]]
) -> None:
    exact = dict(expected)
    assert len(found) == min(limit, len(expected)), (found, expected)
    assert len({doc for doc, _ in found}) == len(found)
    for (doc, score), (_, best) in zip(found, expected, strict=False):
        assert math.isclose(score, exact[doc], rel_tol=1e-9), (doc, score, exact[doc])
        assert math.isclose(score, best, rel_tol=1e-9), (found, expected)
    for (newer, high), (older, low) in pairwise(found):
        assert high > low or (high == low and newer > older), found
    # Of documents with the same words the newest have the places.
    kept = {doc for doc, _ in found}
    for doc in kept:
        twins = [other for other in exact if living[other] == living[doc] and other > doc]
        assert kept.issuperset(twins), (found, twins)


def ranked(mem: Memory, query: str, limit: int) -> list[tuple[int, str, float]]:
    """What the index finds, as number, content and score of the entry."""
    store = store_of(mem)
    with store.search() as (tx, counters):
        found = store.index.search(tx, counters, text.query_terms(query), limit)
        entry_of = entries.read_docs(tx, [doc for doc, _ in found])[0]
    return [(entry_of[doc].seq, entry_of[doc].content, score) for doc, score in found]


def segments(mem: Memory) -> list[tuple[int, int]]:
    """Level and size of each segment, oldest first."""
    with store_of(mem).read() as tx:
        return [(level, size) for _, level, _, size in tx.all("index.segments")]


def removals(mem: Memory) -> int:
    with store_of(mem).read() as tx:
        return int(tx.all("index.removals_count")[0][0])


def rebuild(mem: Memory) -> None:
    with store_of(mem).write() as work:
        reindex(work)


# Step by step


@pytest.mark.slow
def test_the_ranking_is_right_after_every_step_of_an_index_s_life_seen_from_everywhere(
    location: str, home: Home
) -> None:
    with ExitStack() as stack:
        other = stack.enter_context(recollect.open(location, clock=FixedClock()))
        mem, seen = home.agent("ana"), other.agent("ana")
        home.agent("anna").remember("amber amber amber larch zebra")
        numbers = count()

        def add(size: int) -> None:
            mem.remember_many(
                Add(" ".join(WORDS[: 1 + n % 12]) + " amber" * (n % 3) + " larch" * (n % 5 == 0), name=f"n{n}")
                for _, n in zip(range(size), numbers, strict=False)
            )

        def agrees() -> None:
            for witness in (mem, seen):
                assert_ranked_like_the_oracle(witness, limits=(1, 2, 3, 5, 20))
            with recollect.open(location) as fresh:
                assert_ranked_like_the_oracle(fresh.agent("ana"), limits=(4, 40))
            assert home.check().findings == ()

        agrees()
        add(2)
        assert segments(mem) == []
        agrees()
        add(1)
        assert segments(mem) == [(0, 3)]
        agrees()
        add(8)
        assert segments(mem) == [(1, 9)]
        agrees()
        mem.forget("n9")
        mem.forget("n0")
        assert removals(mem) == 2, "one in the tail, one in a segment"
        agrees()
        mem.apply(Write("n1", content="fjord grove"))
        assert segments(mem) == [(1, 9), (0, 3)]
        assert removals(mem) == 2, "those in the segment"
        agrees()
        add(15)
        assert segments(mem) == [(2, 27)]
        assert removals(mem) == 0
        agrees()
        for number in range(11, 20):
            mem.forget(f"n{number}")
        assert segments(mem) == [(2, 27)]
        assert removals(mem) < 9, "folded: the segment was rewritten without them"
        agrees()
        mem.forget("n5", erase=True)
        agrees()
        add(32)
        assert segments(mem) == [(2, 27), (2, 27), (0, 3)], "a full segment is merged no more"
        agrees()
        mem.apply(Rename("n50", "zebra heron"))
        mem.restore("n12")
        agrees()
        rebuild(mem)
        agrees()
        add(17)
        agrees()
        for entry in mem.list():
            mem.forget(entry.id)
        agrees()
        add(2)
        agrees()


def test_many_documents_are_written_to_a_larger_segment_which_leaves_no_smaller_one_before_it(mem: Memory) -> None:
    def add(first: int, size: int) -> None:
        mem.remember_many(
            Add(f"{WORDS[n % 12]} {WORDS[n % 7]}" + " amber" * (n % 5)) for n in range(first, first + size)
        )

    add(0, 2)
    add(2, 20)
    assert segments(mem) == [(1, 9), (1, 9), (0, 3)]
    assert_ranked_like_the_oracle(mem)
    add(22, 12)
    assert segments(mem) == [(2, 27), (0, 3), (0, 3)], "the documents after a small segment were merged with it"
    assert_ranked_like_the_oracle(mem)
    mem.remember_many([Add("kelp" + " kelp" * 250), Add("kelp larch")])
    assert_ranked_like_the_oracle(mem, ["kelp", "larch kelp"])


def test_a_segment_that_was_rewritten_is_merged_in_the_order_of_its_documents(mem: Memory) -> None:
    # The first segment gets a newer number than the second one by losing a document, then all three are merged.
    mem.remember_many(Add(f"amber birch {WORDS[n % 12]} {WORDS[n % 7]}", name=f"n{n}") for n in range(6))
    mem.forget("n1", erase=True)
    mem.remember_many(Add(f"amber birch {WORDS[n % 12]} {WORDS[n % 7]}", name=f"n{n}") for n in range(6, 9))
    assert segments(mem) == [(1, 9)]
    # Newer documents raise the bar, so that in the merged segment the common words only finish the scores.
    mem.remember_many(Add(f"amber amber birch birch cedar delta {WORDS[n]}") for n in (4, 5))
    assert_ranked_like_the_oracle(mem, [f"{rare} amber birch" for rare in WORDS[2:]])


def test_an_index_of_another_analysis_is_rebuilt_by_the_first_search(
    location: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.agent("ana").remember_many(Add(f"amber {word}") for word in WORDS)
    home.close()
    monkeypatch.setattr(text, "ANALYSIS_VERSION", text.ANALYSIS_VERSION + 1)
    monkeypatch.setattr(text, "terms", lambda content: {word.upper(): 1 for word in content.split()})
    monkeypatch.setattr(text, "query_terms", lambda query: [(word.upper(),) for word in query.split()])
    with recollect.open(location) as again:
        mem = again.agent("ana")
        assert [hit.entry.content for hit in mem.recall("heron")] == ["amber heron"]
        assert_ranked_like_the_oracle(mem)
        assert again.check().findings == ()


def test_a_check_does_not_take_an_index_of_another_analysis_for_damaged(
    location: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.agent("ana").remember_many(Add(f"amber {word}") for word in WORDS)
    home.close()
    monkeypatch.setattr(text, "ANALYSIS_VERSION", text.ANALYSIS_VERSION + 1)
    monkeypatch.setattr(text, "terms", lambda content: {word.upper(): 1 for word in content.split()})
    with recollect.open(location) as again:
        assert again.check().findings == ()


def test_a_large_index_of_another_analysis_is_searched_while_the_background_rebuilds_it(
    location: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem = home.agent("ana")
    mem.remember_many(Add(f"amber {word}") for word in WORDS)
    conversation = mem.conversations.start()
    for word in WORDS:
        conversation.user(f"birch {word}")
    home.close()
    monkeypatch.setattr(agent_store, "REBUILT_AT_ONCE", 3)
    monkeypatch.setattr(text, "ANALYSIS_VERSION", text.ANALYSIS_VERSION + 1)
    monkeypatch.setattr(text, "terms", lambda content: dict.fromkeys(f"{content} {content.upper()}".split(), 1))
    monkeypatch.setattr(text, "query_terms", lambda query: [(word,) for word in query.split()])

    def contents(query: str) -> tuple[list[str], list[str]]:
        turns = mem.conversations.search(query)
        return [hit.entry.content for hit in mem.recall(query)], [turn.event.content for turn in turns]

    with recollect.open(location) as again, ThreadPoolExecutor() as threads:
        mem = again.agent("ana")
        with mem._workspace.database.write("ana") as tx:  # the rebuilds wait for its locks, the searches do not
            Counters.lock(tx, text.ANALYSIS_VERSION)
            Journal.advance(tx, 0, text.ANALYSIS_VERSION)
            entries, turns = threads.submit(contents, "heron").result(60)
            assert entries == ["amber heron"]
            assert turns[0] == "birch heron"
            assert threads.submit(contents, "HERON").result(60) == ([], [])
        again._shared.background.wait()
        entries, turns = contents("HERON")
        assert entries == ["amber heron"]
        assert turns[0] == "birch heron"
        assert again.check().findings == ()


def test_equal_documents_in_many_segments_come_newest_first(mem: Memory) -> None:
    made = mem.remember_many(Add("amber birch") for _ in range(43))
    for limit in (1, 2, 10, 42, 43, 100):
        hits = ranked(mem, "amber birch", limit)
        assert [number for number, _, _ in hits] == [entry.seq for entry in reversed(made)][:limit]
        assert len({score for _, _, score in hits}) == 1


def test_an_entry_without_any_word_is_kept_and_found_by_none(home: Home) -> None:
    mem = home.agent("ana")
    mem.remember_many(Add("…!?" if n % 2 else "amber") for n in range(9))
    mem.remember("—", name="?!")
    assert len(ranked(mem, "amber", 20)) == 5
    assert mem.recall("…!? —", limit=20) == []
    mem.forget("?!")
    assert_ranked_like_the_oracle(mem, ["amber"])
    assert home.check().findings == ()


def test_words_that_only_removed_entries_had_leave_no_weight_behind(mem: Memory) -> None:
    mem.remember_many(Add(f"amber {WORDS[n % 12]}", name=f"n{n}") for n in range(10))
    for number in range(8):
        mem.forget(f"n{number}")
    mem.remember("amber birch")
    assert_ranked_like_the_oracle(mem)


# Whatever happens

zipf = st.sampled_from([word for place, word in enumerate(WORDS) for _ in range(max(1, 24 // (place + 1)))])
contents = st.lists(zipf, min_size=1, max_size=14).map(" ".join)
agents = st.sampled_from(["ana", "ana", "ana", "ana", "Ana", "an"])
places = st.integers(0, 10_000)
additions = st.tuples(st.just("add"), agents, st.lists(contents, min_size=2, max_size=12))
changes = st.one_of(
    st.tuples(st.just("write"), agents, places, contents),
    st.tuples(st.just("tag"), agents, places, st.lists(zipf, max_size=3)),
    st.tuples(st.just("rename"), agents, places, contents),
    st.tuples(st.just("remove"), agents, places, st.integers(1, 6)),
    st.tuples(st.just("erase"), agents, places),
    st.tuples(st.just("erase"), agents, places),
    st.tuples(st.just("restore"), agents, places),
    st.tuples(st.just("rebuild"), agents),
    st.tuples(st.just("look"), agents, contents),
)
chapters = st.tuples(additions, st.lists(changes, max_size=4)).map(lambda chapter: [chapter[0], *chapter[1]])
stories = st.lists(chapters, min_size=3, max_size=9).map(
    lambda received: [step for chapter in received for step in chapter]
)
AGENTS = ("ana", "Ana", "an")


class Life:
    """One home under the steps of a story, and one that only looks now and then."""

    def __init__(self, writer: Home, watcher: Home, workspace: str) -> None:
        self.writer, self.watcher, self.workspace = writer, watcher, workspace
        self.removed: dict[str, list[str]] = {agent: [] for agent in AGENTS}
        self.seen: list[Any] = []
        """What the looks and the erasures gave, without ids: the same on every database."""

    def mem(self, agent: str, home: Home | None = None) -> Memory:
        return (home or self.writer).agent(agent, self.workspace)

    def do(self, step: tuple[Any, ...]) -> None:
        kind, agent, *rest = step
        mem = self.mem(agent)
        there = sorted(mem.list(limit=10_000), key=lambda entry: entry.seq)
        if kind == "add":
            mem.remember_many(Add(content) for content in rest[0])
        elif kind == "rebuild":
            rebuild(mem)
        elif kind == "look":
            for home in (self.writer, self.watcher):
                self.seen.append(ranked(self.mem(agent, home), rest[0], 7))
        elif kind == "restore":
            if self.removed[agent]:
                mem.restore(self.removed[agent].pop(rest[0] % len(self.removed[agent])))
        elif there:
            entry = there[rest[0] % len(there)]
            if kind == "write":
                mem.apply(Write(entry.id, content=rest[1]))
            elif kind == "tag":
                mem.apply(Write(entry.id, tags=rest[1]))
            elif kind == "rename":
                try:
                    mem.apply(Rename(entry.id, rest[1]))
                except recollect.Conflict:
                    self.seen.append("taken")
            elif kind == "erase":
                mem.forget(entry.id, erase=True)
            elif kind == "remove":
                for gone in there[rest[0] % len(there) :][: rest[1]]:
                    mem.forget(gone.id)
                    self.removed[agent].append(gone.id)

    def assert_in_order(self, limits: Sequence[int]) -> None:
        for agent in AGENTS:
            for home in (self.writer, self.watcher):
                assert_ranked_like_the_oracle(self.mem(agent, home), QUERIES[:6], limits)
        assert self.writer.check().findings == ()

    def ranking(self) -> list[Any]:
        return [ranked(self.mem(agent), query, 20) for agent in AGENTS for query in QUERIES]


@pytest.mark.slow
@settings(max_examples=40)
@given(stories, st.integers(1, 20))
def test_whatever_was_done_the_ranking_is_that_of_the_oracle(story: list[tuple[Any, ...]], limit: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        recollect.open(Path(folder) / "memory.db", clock=FixedClock()) as writer,
        recollect.open(Path(folder) / "memory.db") as watcher,
    ):
        life = Life(writer, watcher, "default")
        for step in story:
            life.do(step)
        life.assert_in_order([1, 2, 3, limit])
        with recollect.open(Path(folder) / "memory.db") as fresh:
            for agent in AGENTS:
                assert_ranked_like_the_oracle(fresh.agent(agent), QUERIES, [limit])


stories_told = count()


@settings(max_examples=8)
@given(stories, st.integers(1, 20))
def test_both_databases_rank_the_same_after_the_same_story(
    database_url: str, story: list[tuple[Any, ...]], limit: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        lives = []
        for location, workspace in ((str(Path(folder) / "home"), "same"), (database_url, f"story{next(stories_told)}")):
            writer = stack.enter_context(recollect.open(location, clock=FixedClock()))
            watcher = stack.enter_context(recollect.open(location))
            lives.append(Life(writer, watcher, workspace))
        for step in story:
            for life in lives:
                life.do(step)
        lives[1].assert_in_order([1, limit])
        assert lives[0].seen == lives[1].seen
        assert lives[0].ranking() == lives[1].ranking()
        if lives[1].workspace in lives[1].writer.workspaces():
            lives[1].writer.delete_workspace(lives[1].workspace)
