"""Vectors: beside their entries in one transaction, found as plain cosine finds them, made later when need be."""

import logging
import threading
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from faulty_embedder import FAULTS, FaultyEmbedder, Rows, Scattered, raising, well
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres import wait_for

import recollect
from recollect import Add, ConfigError, Conflict, Home, Memory, Rename, Settings, Unavailable, Write
from recollect.config import EmbedderSettings
from recollect.providers.base import Embedder, embed
from recollect.search import vectors as module
from recollect.storage import entries

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packs of 16 vectors and an index from 16 on: both are there with few entries."""
    for name, value in {"PACK": 16, "SIFTED": 16, "INDEXED": 16, "DEEPEST": 12}.items():
        monkeypatch.setattr(module, name, value)


@pytest.fixture
def embedder() -> FaultyEmbedder:
    """One that answers at once."""
    return FaultyEmbedder()


@pytest.fixture
def home(location: str, embedder: FaultyEmbedder) -> Iterator[Home]:
    with recollect.open(location, embedder=embedder) as opened:
        yield opened


@pytest.fixture
def mem(home: Home) -> Memory:
    return home.agent("ana")


def rows(mem: Memory, table: str) -> list[dict[str, Any]]:
    """What is in a table of the agent."""
    with mem._workspace.database.admin.dump(mem.agent) as tables:
        return [
            dict(zip(columns, row, strict=True)) for name, columns, found in tables if name == table for row in found
        ]


def stored(mem: Memory) -> dict[str, tuple[str, int]]:
    """The contents that have a vector, with its model and dimension."""
    contents = {entry.id: entry.content for entry in mem.list(limit=10_000)}
    return {contents[row["entry_id"]]: (row["model"], row["dim"]) for row in rows(mem, "embeddings")}


def found(mem: Memory, query: str, **options: Any) -> list[str]:
    """What is found by vector alone."""
    return [hit.entry.content for hit in mem.recall(query, mode="vector", **options)]


def without_vectors(location: str, *contents: str, agent: str = "ana", workspace: str = "default") -> None:
    """Write entries when there is no embedder."""
    with recollect.open(location, settings=WORDS_ALONE) as home:
        home.agent(agent, workspace).remember_many([Add(content) for content in contents])


# Beside their entries


def test_a_vector_is_stored_with_its_model_and_dimension(mem: Memory, embedder: FaultyEmbedder) -> None:
    entry = mem.remember("red apple")
    (row,) = rows(mem, "embeddings")
    assert (row["entry_id"], row["model"], row["dim"]) == (entry.id, "hash", 512)
    (expected,) = embed(embedder, ["red apple"])
    assert bytes(row["vector"]) == expected.astype("<f4").tobytes()
    assert np.linalg.norm(expected) == pytest.approx(1)


def test_a_write_that_fails_leaves_neither_an_entry_nor_a_vector(mem: Memory) -> None:
    mem.remember("red apple", name="apple")
    with pytest.raises(Conflict):
        mem.remember_many([Add("green pear", name="pear"), Add("another apple", name="apple")])
    assert stored(mem) == {"red apple": ("hash", 512)}
    assert found(mem, "pear") == []
    mem.remember("green pear", name="pear")
    assert found(mem, "green") == ["green pear"]


def test_entries_are_found_by_vector_by_every_home_that_was_open_before(location: str, small: None) -> None:
    with (
        recollect.open(location, embedder=FaultyEmbedder()) as writer,
        recollect.open(location, embedder=FaultyEmbedder()) as reader,
    ):
        ours, theirs = writer.agent("ana"), reader.agent("ana")
        assert found(theirs, "plum") == []
        for number in range(40):  # more than two packs
            ours.remember(f"plum {number}", name=f"fruit{number}")
            assert found(theirs, f"{number} plum", limit=1) == [f"plum {number}"]
        ours.apply(Write("fruit3", content="cherry 3"))
        assert found(theirs, "cherry", limit=1) == ["cherry 3"]
        assert "plum 3" not in found(theirs, "plum 3", limit=100)
        ours.forget("fruit39")
        assert "plum 39" not in found(theirs, "plum 39", limit=100)
        theirs.remember("cherry 99")
        assert found(ours, "cherry 99", limit=1) == ["cherry 99"]


def test_a_vector_leaves_with_its_entry_and_changes_with_its_content(mem: Memory, home: Home) -> None:
    mem.remember("red apple", name="apple")
    mem.remember("green pear", name="pear")
    mem.remember("blue plum", name="plum")
    mem.forget("apple")
    assert stored(mem) == {"green pear": ("hash", 512), "blue plum": ("hash", 512)}
    assert found(mem, "apple") == []
    mem.restore("apple")
    assert found(mem, "apple") == ["red apple"]
    mem.forget("pear", erase=True)
    assert found(mem, "pear") == []
    mem.apply(Write("plum", content="yellow lemon"))
    assert found(mem, "blue") == []
    assert found(mem, "lemon") == found(mem, "plum") == ["yellow lemon"]
    mem.apply(Rename("plum", "citrus"))
    mem.apply(Write("citrus", tags=["sour"]))
    assert found(mem, "plum") == []
    assert found(mem, "lemon") == found(mem, "citrus") == ["yellow lemon"]
    mem.upsert("citrus", "orange orange")
    assert found(mem, "orange") == ["orange orange"]
    assert sorted(stored(mem)) == ["orange orange", "red apple"]
    assert home.check().ok


def test_a_question_near_the_name_alone_finds_the_note(mem: Memory, home: Home) -> None:
    mem.remember("5433", name="staging database port")
    mem.remember("ask the harbour master", name="ships")
    assert found(mem, "database of staging") == ["5433"]
    mem.upsert("staging database port", "5434")
    mem.supersede("ships", "ask the pilot")
    assert found(mem, "database of staging") == ["5434"]
    assert found(mem, "ships") == ["ask the pilot"]
    mem.forget("staging database port")
    mem.restore("staging database port", name="replica socket")
    assert found(mem, "replica") == ["5434"]
    assert found(mem, "staging") == []
    assert home.check().ok


def test_a_name_that_the_content_contains_is_not_embedded_twice(mem: Memory, embedder: FaultyEmbedder) -> None:
    mem.remember("The Deploy day is Tuesday", name="deploy day")
    assert embedder.asked == [["The Deploy day is Tuesday"]]


def test_the_names_of_archives_and_chunks_say_nothing_and_are_not_embedded(
    mem: Memory, embedder: FaultyEmbedder
) -> None:
    mem.apply(Add("what was said", name="archive-7", kind="archive"))
    assert embedder.asked == [["what was said"]]


def test_a_renamed_note_is_found_by_its_old_vector_until_a_slow_embedder_has_made_the_new_one(location: str) -> None:
    embedder, gate = FaultyEmbedder(instant=False), threading.Event()
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ana")
        mem.remember("5433", name="staging")
        wait_for("the vector of the note", lambda: bool(rows(mem, "embeddings")))
        embedder.before = lambda: gate.wait(60)
        mem.apply(Rename("staging", "harbour"))
        embedder.wait_until_asked(2)
        assert [row["stale"] for row in rows(mem, "embeddings")] == [1]
        gate.set()
        wait_for("the new vector", lambda: [row["stale"] for row in rows(mem, "embeddings")] == [0])
        assert embedder.asked == [["staging: 5433"], ["harbour: 5433"]]
        assert found(mem, "harbour") == ["5433"]


def test_a_vector_that_was_made_for_a_name_that_changed_meanwhile_is_not_stored(location: str) -> None:
    embedder = FaultyEmbedder()
    with recollect.open(location, embedder=embedder) as home, recollect.open(location, settings=WORDS_ALONE) as other:
        mem = home.agent("ana")
        note = mem.remember("5433", name="staging")
        embedder.before = lambda: other.agent("ana").apply(Rename(note.id, "harbour"))
        mem.apply(Write(note.id, content="5434"))
        embedder.before = lambda: None
        assert rows(mem, "embeddings") == []
        assert home.backfill() == 1
        assert found(mem, "harbour") == ["5434"]


def test_a_closed_note_that_has_lost_its_name_gets_the_vector_of_its_content(mem: Memory, home: Home) -> None:
    mem.remember("5433", name="staging")
    mem.supersede("staging", "5434")
    assert home.backfill() == 1
    assert found(mem, "staging", include_past=True) == ["5434"]
    assert found(mem, "5433", include_past=True) == ["5433"]


def test_what_is_erased_leaves_no_trace_of_its_vector(location: str, small: None, tmp_path: Path) -> None:
    embedder = Scattered()
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ana")
        mem.remember_many([Add(f"note {number}", name=f"note {number}") for number in range(24)])
        mem.forget("note 5")
        mem.forget("note 5", erase=True)
        mem.forget("note 6", erase=True)
        vectors = embed(embedder, ["note 5", "note 6", "note 7"])
        codes = b"".join(bytes(row["codes"]) for row in rows(mem, "codes"))
        packed = np.frombuffer(codes, np.int8).reshape(-1, embedder.dimension).astype(np.float32)
        packed /= np.linalg.norm(packed, axis=1, keepdims=True)
        if not location.startswith("postgresql"):
            assert ((packed @ vectors.T).max(axis=0) > 0.999).tolist() == [False, False, True]
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*.db*"))
    assert [vector.tobytes() in files for vector in vectors[:2]] == [False, False]
    if files:
        assert vectors[2].tobytes() in files


@pytest.mark.directory
def test_the_account_never_has_vectors(location: str) -> None:
    with recollect.open(location, embedder=FaultyEmbedder()) as home:
        mem = home.agent("ana")
        mem.remember("I like tea", name="tea", scope="account")
        mem.remember_many([Add("I like jazz", scope="account"), Add("the kettle is blue")])
        mem.upsert("tea", "I like green tea")
        mem.forget("tea")
        mem.restore("tea")
        assert home.backfill() == 0
        assert everything_embedded(home) == {("the kettle is blue", "hash")}
        liked = mem.recall("like", limit=10, explain=True)
        assert {hit.entry.content for hit in liked} == {"I like green tea", "I like jazz"}
        assert [hit.why is not None and hit.why.vector for hit in liked] == [None, None]
    with recollect.open(location, embedder=FaultyEmbedder(model="newer")) as home:
        assert home.reembed() == 1
        assert everything_embedded(home) == {("the kettle is blue", "newer")}


def everything_embedded(home: Home) -> set[tuple[str, str]]:
    """Content and model of every vector in any database of a home."""
    found = set()
    for _, database in home._databases():
        for agent in database.admin.agents():
            contents, vectors = {}, []
            with database.admin.dump(agent) as tables:
                for name, columns, listed in tables:
                    for row in listed:
                        values = dict(zip(columns, row, strict=True))
                        if name == "entries":
                            contents[values["id"]] = values["content"]
                        elif name == "embeddings":
                            vectors.append((values["entry_id"], values["model"]))
            found |= {(contents[entry_id], model) for entry_id, model in vectors}
    return found


def test_a_backup_has_the_vectors(mem: Memory, home: Home, location: str, tmp_path: Path) -> None:
    mem.remember("red apple")
    mem.remember("green pear")
    copy = tmp_path / ("copy.db" if location.endswith(".db") else "copy")
    home.backup(copy)
    with recollect.open(copy, embedder=FaultyEmbedder()) as other:
        assert found(other.agent("ana"), "pear") == ["green pear"]
        assert rows(other.agent("ana"), "embeddings") == rows(mem, "embeddings")


# Search


def nearest(mem: Memory, query: Rows, limit: int) -> list[tuple[str, float]]:
    """What the vectors of a store find, as contents and cosines."""
    store = mem._workspace
    assert store.vectors is not None
    with store.search() as (tx, counters):
        ranked = store.vectors.search(tx, counters, query, limit)
        contents = entries.read_docs(tx, [doc for doc, _ in ranked])[0]
    return [(contents[doc].content, cosine) for doc, cosine in ranked]


def exactly(embedder: Embedder, contents: list[str], query: Rows) -> list[tuple[str, float]]:
    """What plain numpy finds."""
    cosines = embed(embedder, contents).astype(np.float64) @ query.astype(np.float64)
    return sorted(zip(contents, cosines.tolist(), strict=True), key=lambda pair: -pair[1])


def assert_same(ours: list[tuple[str, float]], expected: list[tuple[str, float]]) -> None:
    assert [content for content, _ in ours] == [content for content, _ in expected]
    assert [cosine for _, cosine in ours] == pytest.approx([cosine for _, cosine in expected], abs=1e-5)


agents = count()
changes = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 12)),
        st.tuples(st.just("rewrite"), st.integers(0, 99)),
        st.tuples(st.just("forget"), st.integers(0, 99)),
    ),
    min_size=1,
    max_size=24,
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=changes)
def test_whatever_was_done_the_vectors_are_those_of_the_living_and_the_nearest_are_the_nearest(
    location: str, small: None, story: list[tuple[str, int]]
) -> None:
    embedder = Scattered(dimension=70)
    agent = f"agent-{next(agents)}"
    (query,) = embed(embedder, ["the question"])
    living: list[str] = []
    gone: set[str] = set()
    made = 0
    with (
        recollect.open(location, embedder=embedder) as home,
        recollect.open(location, embedder=embedder) as another,
    ):
        mem, reader = home.agent(agent), another.agent(agent)
        for step, number in story:
            if step == "add":
                new = [f"text {n}" for n in range(made, made + number)]
                mem.remember_many([Add(content, name=content) for content in new])
                living += new
                made += number
            elif living:
                old = living.pop(number % len(living))
                gone.add(old)
                if step == "forget":
                    mem.forget(old)
                else:
                    mem.apply(Write(old, content=f"text {made}"))
                    mem.apply(Rename(old, f"text {made}"))
                    living.append(f"text {made}")
                    made += 1
            if step != "add" or number % 3 == 0:  # a search now and then, from both sides
                assert not {content for content, _ in nearest(reader, query, 5)} & gone
        expected = exactly(embedder, living, query) if living else []
        for side in (mem, reader):
            for limit in (len(living), len(living) + 50):
                assert_same(nearest(side, query, limit), expected)
            # With packs or an index few candidates are looked at: what is found is right, if not always the best.
            few = nearest(side, query, 3)
            assert len(few) == min(3, len(living))
            assert dict(few) == pytest.approx({content: dict(expected)[content] for content, _ in few}, abs=1e-5)
            assert few == sorted(few, key=lambda pair: -pair[1])


def test_while_they_are_few_the_nearest_are_exactly_those_of_plain_cosine(location: str) -> None:
    embedder = Scattered(dimension=33)
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ana")
        contents = [f"text {number}" for number in range(300)]
        mem.remember_many([Add(content) for content in contents])
        for question in ("one", "two", "three"):
            (query,) = embed(embedder, [question])
            expected = exactly(embedder, contents, query)
            for limit in (1, 10, 100):
                assert_same(nearest(mem, query, limit), expected[:limit])
        assert rows(mem, "codes") == []


class Clustered(FaultyEmbedder):
    """Texts of the same topic are near each other, as those of real models are."""

    def rows(self, texts: Any) -> Rows:
        topics = Scattered(self.dimension).rows([text.split()[0] for text in texts])
        return topics + 0.7 * Scattered(self.dimension).rows(texts)


def recalled(mem: Memory, embedder: Embedder, contents: list[str]) -> float:
    """How many of the true ten nearest are found, on average over some questions."""
    hits = []
    for number in range(30):
        (query,) = embed(embedder, [f"topic{number % 12} question {number}"])
        expected = {content for content, _ in exactly(embedder, contents, query)[:10]}
        hits.append(len(expected & {content for content, _ in nearest(mem, query, 10)}))
    return sum(hits) / (10 * len(hits))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_packs_and_index_find_nearly_all_of_the_nearest_and_are_really_used(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PACK": 128, "SIFTED": 64, "INDEXED": 200}.items():
        monkeypatch.setattr(module, name, value)
    location = str(tmp_path / "memory.db")
    if kind == "postgres":
        location = request.getfixturevalue("postgres_url")
        with psycopg.connect(location, autocommit=True) as connection:
            database = connection.info.dbname
            for setting in ("enable_seqscan", "enable_sort"):  # else few rows are quicker without any index
                connection.execute(f'ALTER DATABASE "{database}" SET {setting} TO off')
    embedder = Clustered(dimension=128)
    contents = [f"topic{number % 12} text {number}" for number in range(700)]
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ana")
        mem.remember_many([Add(content, name=content) for content in contents])
        for content in contents[::7]:
            mem.forget(content)
        left = [content for content in contents if content not in contents[::7]]
        assert recalled(mem, embedder, left) >= 0.95
        if kind == "sqlite":
            sizes = [len(row["numbers"]) // 8 for row in rows(mem, "codes")]
            assert sizes == [128] * 5
            # With hardly any candidates the packs miss most: so it is through them that the others were found.
            monkeypatch.setattr(module, "SPARE", 0)
            monkeypatch.setattr(module, "SIFTED", 1)
            (query,) = embed(embedder, ["something else entirely"])
            best = exactly(embedder, left, query)[:1]
            assert nearest(mem, query, 1) != best
            monkeypatch.setattr(module, "SIFTED", 700)
            assert_same(nearest(mem, query, 1), best)
    if kind == "postgres":
        assert _scans(location) == {"embeddings_hnsw_128": 30}


def test_equal_vectors_are_equally_near(location: str) -> None:
    embedder = Scattered(dimension=256)
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ana")
        mem.remember_many([Add("the same text") for _ in range(7)])
        (query,) = embed(embedder, ["another text"])
        assert len({cosine for _, cosine in nearest(mem, query, 7)}) == 1


@pytest.mark.parametrize("entries", [10, 20], ids=["less than a pack", "more than a pack"])
def test_entries_that_are_rewritten_all_the_time_fill_neither_the_memory_nor_the_packs(
    tmp_path: Path, small: None, entries: int
) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=Scattered()) as home:
        mem = home.agent("ana")
        mem.remember_many([Add(f"text {number}", name=f"{number}") for number in range(entries)])
        for turn in range(1, 10):
            for number in range(entries):
                mem.apply(Write(f"{number}", content=f"text {number} {turn}"))
            assert len(found(mem, f"text {turn}", limit=3)) == 3
            assert len(rows(mem, "embeddings")) == entries
            packed = [int(n) for row in rows(mem, "codes") for n in np.frombuffer(row["numbers"], "<i8")]
            assert len(packed) <= 2 * entries + 16
            assert mem._workspace.vectors is not None
            known = mem._workspace.vectors._known
            assert known is not None
            assert known._numbers.rows.tolist() == packed
            assert not set(known._fresh_numbers.rows.tolist()) & set(packed)
            assert len(known._fresh_numbers.rows) <= 2 * 16 + entries


def test_more_candidates_than_a_database_takes_parameters_are_no_problem(tmp_path: Path) -> None:
    embedder = Scattered(dimension=8)
    with recollect.open(tmp_path / "memory.db", embedder=embedder) as home:
        mem = home.agent("ana")
        mem.remember("the only entry")
        store = mem._workspace
        assert store.vectors is not None
        (vector,) = embed(embedder, ["anything"])
        with store.write() as work:
            for number in range(33_000):
                store.vectors.put(work.tx, work.counters, f"no entry {number}", vector)
        assert [content for content, _ in nearest(mem, vector, 10_000)] == ["the only entry"]
        with store.read() as tx:
            assert store.vectors.embedded(tx, range(33_000)) == {1}


@pytest.mark.parametrize("model", [("other", 512), ("hash", 640)])
def test_vectors_of_two_models_are_never_compared(location: str, small: None, model: tuple[str, int]) -> None:
    name, dimension = model
    with (
        recollect.open(location, embedder=FaultyEmbedder()) as one,
        recollect.open(location, embedder=FaultyEmbedder(dimension, name)) as two,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        ours, theirs = one.agent("ana"), two.agent("ana")
        for number in range(20):
            ours.remember(f"amber {number}")
            theirs.remember(f"birch {number}")
        assert set(stored(ours).values()) == {("hash", 512), (name, dimension)}
        assert {content.split()[0] for content in found(ours, "amber birch", limit=100)} == {"amber"}
        assert {content.split()[0] for content in found(theirs, "amber birch", limit=100)} == {"birch"}
        both = ours.recall("amber birch", limit=100, explain=True)
        assert {(hit.entry.content.split()[0], hit.why is not None and hit.why.vector is not None) for hit in both} == {
            ("amber", True),
            ("birch", False),
        }


def test_vectors_that_are_too_long_for_an_index_are_searched_without_one(postgres_url: str, small: None) -> None:
    embedder = Scattered(dimension=2001)
    with recollect.open(postgres_url, embedder=embedder) as home:
        mem = home.agent("ana")
        mem.remember_many([Add(f"text {number}") for number in range(20)])
        assert found(mem, "text 7", limit=1) == ["text 7"]
    assert _indexes(postgres_url) == []


def test_what_the_index_gives_up_on_is_found_without_it(postgres_url: str, small: None) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for setting in ("seq_page_cost TO 1000000", "cpu_operator_cost TO 1000", "hnsw.max_scan_tuples TO 1"):
            connection.execute(f'ALTER DATABASE "{connection.info.dbname}" SET {setting}')
    embedder = Scattered(dimension=32)
    contents = [f"text {number}" for number in range(300)]
    with recollect.open(postgres_url, embedder=embedder) as home:
        mem = home.agent("ana")
        mem.remember_many([Add(content, name=content) for content in contents])
        (query,) = embed(embedder, ["the question"])
        nearer = exactly(embedder, contents, query)
        for content, _ in nearer[:290]:  # what is left is far away, behind many that are gone
            mem.forget(content)
        assert_same(nearest(mem, query, 10), nearer[290:])
        assert_same(nearest(mem, query, 11), nearer[290:])
    assert _scans(postgres_url) == {"embeddings_hnsw_32": 2}


def _scans(url: str) -> dict[str, int]:
    """How often each vector index was used. A connection reports this when it ends, so all must have ended."""
    with psycopg.connect(url, autocommit=True) as connection:
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        while connection.execute(others).fetchone() != (0,):
            pass
        return dict(
            connection.execute(
                "SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE indexrelname LIKE 'embeddings_hnsw_%'"
            ).fetchall()
        )


def _indexes(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT indexname FROM pg_indexes WHERE indexname LIKE '%hnsw%' ORDER BY 1")
        return [name for (name,) in rows]


def test_after_a_change_of_model_there_is_an_index_again(postgres_url: str, small: None) -> None:
    with recollect.open(postgres_url, embedder=FaultyEmbedder(100)) as home:
        home.agent("ana").remember_many([Add(f"text {number}") for number in range(40)])
    assert _indexes(postgres_url) == ["embeddings_hnsw_100"]
    with recollect.open(postgres_url, embedder=FaultyEmbedder(90, "newer")) as home:
        home.reembed()
    assert "embeddings_hnsw_90" in _indexes(postgres_url)


# An embedder that fails


@pytest.mark.parametrize("mood", FAULTS, ids=lambda mood: mood.__name__)
def test_whatever_an_embedder_does_wrong_no_write_fails(
    tmp_path: Path, mood: Any, caplog: pytest.LogCaptureFixture
) -> None:
    write_and_backfill(str(tmp_path / "memory.db"), mood, caplog)


def test_wherever_the_memory_is_a_failing_embedder_fails_no_write(
    location: str, caplog: pytest.LogCaptureFixture
) -> None:
    write_and_backfill(location, raising, caplog)


def write_and_backfill(location: str, mood: Any, caplog: pytest.LogCaptureFixture) -> None:
    embedder = FaultyEmbedder()
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ana")
        mem.remember("red apple", name="apple")
        embedder.mood = mood
        mem.remember("green pear", name="pear")
        embedder.wait_until_asked(3)  # at each write, and a moment later when that failed
        mem.apply(Write("apple", content="sour apple"))
        embedder.wait_until_asked(5)
        mem.remember_many([Add("blue plum"), Add("yellow lemon")])
        embedder.wait_until_asked(7)
        assert stored(mem) == {}
        assert [hit.entry.content for hit in mem.recall("apple")] == ["sour apple"]
        with pytest.raises(Unavailable):
            mem.recall("apple", mode="vector")
        assert "later" in caplog.text
        home._shared.later.close()
        embedder.mood = well
        assert home.backfill() == 4
        assert stored(mem) == dict.fromkeys(["sour apple", "green pear", "blue plum", "yellow lemon"], ("hash", 512))
        assert found(mem, "apple") == ["sour apple"]
        assert home.backfill() == 0


def test_a_failing_embedder_lets_hybrid_recall_go_by_words(mem: Memory, embedder: FaultyEmbedder) -> None:
    mem.remember("red apple")
    mem.remember("green pear")
    embedder.mood = raising
    hits = mem.recall("pear", explain=True)
    assert [hit.entry.content for hit in hits] == ["green pear"]
    assert hits[0].why is not None
    assert hits[0].why.vector is None
    assert hits[0].why.words is not None
    with pytest.raises(Unavailable, match="on fire"):
        mem.recall("pear", mode="vector")


def test_without_an_embedder_hybrid_goes_by_words_and_vector_is_an_error(
    location: str, caplog: pytest.LogCaptureFixture
) -> None:
    with recollect.open(location, settings=WORDS_ALONE) as home:
        mem = home.agent("ana")
        mem.remember("red apple")
        assert [hit.entry.content for hit in mem.recall("apple")] == ["red apple"]
        with pytest.raises(ConfigError, match="embedder"):
            mem.recall("apple", mode="vector")
        assert home.backfill() == 0
        with pytest.raises(ConfigError, match="embedder"):
            home.reembed()
    assert caplog.records == []


def test_a_text_that_has_no_vector_is_asked_about_once(home: Home, mem: Memory, embedder: FaultyEmbedder) -> None:
    mem.remember("…")  # without a word the vector is zero
    mem.remember("red apple")
    assert home.backfill() == 0
    assert embedder.asked == [["…"], ["red apple"]]
    assert thread_of_later() is None
    assert found(mem, "red") == ["red apple"]
    assert found(mem, "…") == []


def test_later_ends_also_for_texts_that_have_no_vector(location: str) -> None:
    embedder = FaultyEmbedder(instant=False)
    with recollect.open(location, embedder=embedder) as home:
        home.agent("ana").remember_many([Add("…"), Add("?!"), Add("red apple")])
        embedder.wait_until_asked(1)
    assert [len(texts) for texts in embedder.asked] == [3]


# Backfill


def test_backfill_embeds_up_to_fifty_entries_of_all_agents(location: str, caplog: pytest.LogCaptureFixture) -> None:
    without_vectors(location, *(f"ana {number}" for number in range(60)))
    without_vectors(location, *(f"ben {number}" for number in range(45)), agent="ben")
    embedder = FaultyEmbedder()
    with recollect.open(location, embedder=embedder) as home:
        assert [home.backfill() for _ in range(4)] == [50, 50, 5, 0]
        assert max(len(texts) for texts in embedder.asked) <= 32
        assert len(stored(home.agent("ana"))) == 60
        assert len(stored(home.agent("ben"))) == 45
        without_vectors(location, "one", "two", "three")
        assert [home.backfill(2), home.backfill(2)] == [2, 1]
    assert caplog.records == []


def test_backfill_keeps_what_was_done_before_the_embedder_failed(location: str) -> None:
    without_vectors(location, *(f"text {number}" for number in range(50)))
    embedder = FaultyEmbedder()
    embedder.before = lambda: setattr(embedder, "mood", raising)  # the next request fails
    with recollect.open(location, embedder=embedder) as home:
        with pytest.raises(Unavailable):
            home.backfill()
        assert len(stored(home.agent("ana"))) == 32


def test_backfill_skips_what_was_changed_or_forgotten_meanwhile(location: str) -> None:
    without_vectors(location, "red apple", "green pear", "blue plum")
    embedder = FaultyEmbedder()
    with recollect.open(location, embedder=embedder) as home, recollect.open(location, settings=WORDS_ALONE) as other:
        by_content = {entry.content: entry.id for entry in other.agent("ana").list()}

        def meanwhile() -> None:
            other.agent("ana").apply(Write(by_content["red apple"], content="sour apple"))
            other.agent("ana").forget(by_content["blue plum"])

        embedder.before = meanwhile
        mem = home.agent("ana")
        home.backfill(3)
        embedder.before = lambda: None
        assert stored(mem) == {"green pear": ("hash", 512)}
        assert len(rows(mem, "embeddings")) == 1
        assert home.backfill() == 1
        assert stored(mem) == {"green pear": ("hash", 512), "sour apple": ("hash", 512)}


@pytest.mark.directory
def test_a_workspace_that_is_deleted_while_it_is_embedded_stays_deleted(location: str) -> None:
    without_vectors(location, "red apple")
    embedder = FaultyEmbedder()
    with recollect.open(location, embedder=embedder) as home:
        embedder.before = lambda: home.delete_workspace("default")
        assert home.backfill() == 0
        assert embedder.asked == [["red apple"]]
        assert home.workspaces() == []


# Slow embedders


def thread_of_later() -> threading.Thread | None:
    return next((thread for thread in threading.enumerate() if thread.name == "recollect-embedding"), None)


def test_a_slow_embedder_is_not_waited_for_and_gives_vectors_after_the_write(location: str) -> None:
    embedder, gate = FaultyEmbedder(instant=False), threading.Event()
    embedder.before = lambda: gate.wait(60)
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ana")
        mem.remember("red apple")
        embedder.wait_until_asked(1)  # the gate is closed, and remember has returned
        assert [hit.entry.content for hit in mem.recall("apple", mode="keyword")] == ["red apple"]
        assert stored(mem) == {}
        gate.set()
        home.close()  # the batch that is under way is finished
        assert thread_of_later() is None
        assert stored(mem) == {"red apple": ("hash", 512)}
        assert found(mem, "apple") == ["red apple"]
        mem.remember("green pear")  # a closed home can be used again
        embedder.wait_until_asked(3)
    with recollect.open(location, embedder=embedder) as home:
        assert len(stored(home.agent("ana"))) == 2


def test_closing_a_home_stops_after_the_batch_that_is_under_way(location: str) -> None:
    embedder, gate = FaultyEmbedder(instant=False), threading.Event()
    embedder.before = lambda: gate.wait(60)
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ana")
        mem.remember_many([Add(f"text {number}") for number in range(100)])
        embedder.wait_until_asked(1)
        thread = thread_of_later()
        assert thread is not None
        later = home._shared.later
        closing = threading.Thread(target=later.close, args=(60,))
        closing.start()
        wait_for("the queue to stop", lambda: later._thread is None)
        gate.set()
        closing.join()
        assert not thread.is_alive()
        assert len(stored(mem)) == 32
        assert home.backfill() == 50


# Another model


def test_opening_with_another_model_says_so_once_and_continues_by_words(location: str) -> None:
    with recollect.open(location, embedder=FaultyEmbedder()) as home:
        home.agent("ana").remember("red apple")
        home.agent("ben").remember("green pear")
    with recollect.open(location, embedder=FaultyEmbedder(64, "newer")) as home:
        ana, ben = home.agent("ana"), home.agent("ben")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert [hit.entry.content for hit in ana.recall("apple")] == ["red apple"]
            assert [hit.entry.content for hit in ana.recall("apple")] == ["red apple"]
            ana.remember("yellow lemon")
            ben.remember("blue plum")
            ben.recall("plum")
        assert len(said) == 2
        for warning in said:
            assert warning.category is UserWarning
            for words in ("'hash'", "'newer'", "recollect reembed"):
                assert words in str(warning.message)
        assert found(ana, "lemon apple") == ["yellow lemon"]
        assert home.backfill() == 0  # only what has no vector at all


def test_a_store_that_has_only_its_own_vectors_gives_no_warning(location: str) -> None:
    for _ in range(2):
        with recollect.open(location, embedder=FaultyEmbedder()) as home:
            mem = home.agent("ana")
            assert mem.recall("apple", mode="vector") == mem.recall("apple", mode="vector")
            mem.remember("red apple")


def test_mode_vector_is_an_error_while_all_vectors_are_another_model_s(location: str) -> None:
    with recollect.open(location, embedder=FaultyEmbedder()) as home:
        home.agent("ana").remember("red apple")
    embedder = FaultyEmbedder(model="newer")
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ana")
        for _ in range(2):
            with pytest.raises(ConfigError, match=r"'hash'.*'newer'.*recollect reembed"):
                mem.recall("apple", mode="vector")
        assert embedder.asked == []
        with pytest.warns(UserWarning, match="recollect reembed"):
            mem.recall("apple")
        home.reembed()
        assert found(mem, "apple") == ["red apple"]


@pytest.mark.directory
@pytest.mark.unprepared
def test_reembedding_moves_everything_to_the_new_model(location: str, small: None) -> None:
    contents = [f"text {number}" for number in range(70)]
    with recollect.open(location, embedder=FaultyEmbedder()) as home:
        home.agent("ana").remember_many([Add(content) for content in contents])
        home.agent("ben").remember("green pear")
        home.agent("ben").remember("I like tea", scope="account")
    without_vectors(location, "red apple", "…")
    embedder = FaultyEmbedder(300, "newer")
    with recollect.open(location, embedder=embedder) as home:
        received: list[tuple[str, int, int]] = []
        assert home.reembed(lambda *progress: received.append(progress)) == 73
        assert received == [
            ("default/ana", 0, 72),
            ("default/ana", 32, 72),
            ("default/ana", 64, 72),
            ("default/ana", 72, 72),
            ("default/ben", 0, 1),
            ("default/ben", 1, 1),
        ]
        ana = home.agent("ana")
        assert stored(ana) == dict.fromkeys([*contents, "red apple", "…"], ("newer", 300))
        assert {row["model"] for row in rows(ana, "codes")} <= {"newer"}
        assert found(ana, "apple", limit=1) == ["red apple"]
        assert found(home.agent("ben"), "pear") == ["green pear"]
        asked = len(embedder.asked)
        assert home.reembed() == 0
        assert len(embedder.asked) == asked
    with recollect.open(location, embedder=embedder) as home:
        assert home.agent("ana").recall("apple", mode="vector")  # no warning any more


def test_reembedding_continues_where_it_was_stopped_and_recall_works_throughout(location: str, small: None) -> None:
    contents = [f"text {number}" for number in range(70)]
    with recollect.open(location, embedder=FaultyEmbedder()) as home:
        home.agent("ana").remember_many([Add(content) for content in contents])
    embedder = FaultyEmbedder(model="newer")
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ana")
        with pytest.warns(UserWarning, match="recollect reembed"):
            mem.recall("text 69")
        embedder.asked.clear()

        def look(where: str, done: int, total: int) -> None:
            assert "text 69" in [hit.entry.content for hit in mem.recall("69")]
            if done:
                assert found(mem, "text 3", limit=1) == ["text 3"]
                embedder.mood = raising

        with pytest.raises(Unavailable):
            home.reembed(look)
        assert sorted(stored(mem).values()) == [("hash", 512)] * 38 + [("newer", 512)] * 32
        embedder.mood = well
        embedder.asked.clear()
        assert home.reembed() == 38
        assert sum(len(texts) for texts in embedder.asked) == 38
        assert set(stored(mem).values()) == {("newer", 512)}
        assert found(mem, "text 69", limit=1) == ["text 69"]


def test_reembedding_takes_along_what_others_write_meanwhile(location: str) -> None:
    with (
        recollect.open(location, embedder=FaultyEmbedder()) as old,
        recollect.open(location, embedder=FaultyEmbedder(9, "newer")) as new,
    ):
        mem = old.agent("ana")
        mem.remember("red apple", name="apple")
        mem.remember("green pear")

        def write(where: str, done: int, total: int) -> None:
            if done == 2:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    mem.apply(Write("apple", content="sour apple"))
                    mem.remember("blue plum")

        assert new.reembed(write) == 4
        assert stored(mem) == dict.fromkeys(["sour apple", "green pear", "blue plum"], ("newer", 9))


def test_background_work_is_quiet_about_vectors_of_another_model(location: str) -> None:
    with recollect.open(location, embedder=FaultyEmbedder()) as home:
        home.agent("ana").remember("red apple")
    embedder = FaultyEmbedder(model="newer", instant=False)
    with recollect.open(location, embedder=embedder) as home:
        with pytest.warns(UserWarning, match="recollect reembed"):
            home.agent("ana").remember("green pear")
        embedder.wait_until_asked(1)
    assert embedder.asked == [["green pear"]]
    with recollect.open(location, settings=WORDS_ALONE) as home:
        assert stored(home.agent("ana")) == {"red apple": ("hash", 512), "green pear": ("newer", 512)}


def test_a_forked_or_ended_thread_is_replaced(location: str, caplog: pytest.LogCaptureFixture) -> None:
    embedder = FaultyEmbedder(instant=False)
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ana")
        later = home._shared.later
        later._thread = threading.Thread()  # one that does not run, as after a fork
        with caplog.at_level(logging.WARNING):
            mem.remember("red apple")
            embedder.wait_until_asked(1)
    with recollect.open(location, settings=WORDS_ALONE) as home:
        assert len(stored(home.agent("ana"))) == 1
