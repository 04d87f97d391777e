"""A reader whose snapshot is older than what the process has cached: it finds what its snapshot has."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from faulty_embedder import FaultyEmbedder

import recollect
from recollect import Memory, Write
from recollect.engine import recall_candidates
from recollect.engine.agent_store import Store
from recollect.search import segments
from recollect.storage.counters import Counters
from recollect.storage.database import Transaction


@contextmanager
def older(store: Store) -> Iterator[tuple[Transaction, Counters]]:
    """A snapshot that stays as it is while others write and read."""
    with store.read() as tx:
        yield tx, Counters.get(tx)


def hits(store: Store, tx: Transaction, counters: Counters, *words: str) -> list[tuple[int, float]]:
    return store.index.search(tx, counters, [[word] for word in words], 10)


def test_an_older_snapshot_is_answered_from_the_newer_view_as_it_was(
    mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for content in ("a heron by the lake", "a heron and a larch", "larch and birch"):
        mem.remember(content)
    gone = mem.remember("the heron that will be forgotten")
    changed = mem.remember("larch, to be rewritten")
    store = mem._workspace
    mem.recall("heron")
    with older(store) as (tx, counters):
        before = {word: hits(store, tx, counters, word) for word in ("heron", "larch", "birch", "pine")}
        mem.forget(gone.id)
        mem.apply(Write(changed.id, "pine instead"))
        mem.remember("a heron more")
        assert mem.recall("pine")  # the view is newer now
        built: list[int] = []
        made = segments.View.__init__
        monkeypatch.setattr(
            segments.View, "__init__", lambda view, number: (built.append(number), made(view, number))[1]
        )
        assert {word: hits(store, tx, counters, word) for word in before} == before
        assert store.index.holding(tx, counters, ["heron", "larch", "pine"]) == {"heron": 3, "larch": 3, "pine": 0}
    assert not built
    assert [hit.entry.content for hit in mem.recall("pine")] == ["pine instead"]
    assert len(mem.recall("heron")) == 3


def test_an_older_snapshot_does_not_make_the_vectors_be_read_again(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=FaultyEmbedder()) as home:
        mem = home.agent("ana")
        store = mem._workspace
        vectors = store.vectors
        assert vectors is not None
        mem.remember("the heron stands by the lake")
        with older(store) as (tx, counters):
            mem.remember("the larch stands on the hill")
            assert mem.recall("hill", mode="vector")
            newer = vectors._known
            found = vectors.search(tx, counters, np.ones(vectors.dimension, np.float32), 10)
            assert [doc for doc, _ in found] == [1]
            assert vectors._known is newer
        assert len(mem.recall("stands", mode="vector")) == 2


def test_a_filter_of_few_entries_finds_the_same_as_one_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=FaultyEmbedder()) as home:
        mem = home.agent("ana")
        for number in range(30):
            mem.remember(f"heron {number} of the lake", category="decisions" if number % 3 == 0 else None)
        for mode in ("keyword", "vector", "hybrid"):
            few = mem.recall("heron lake 3", category="decisions", mode=mode)
            with monkeypatch.context() as patch:
                patch.setattr(recall_candidates, "FEW", 0)
                assert mem.recall("heron lake 3", category="decisions", mode=mode) == few
            assert len(few) == 5
            assert mem.recall("heron lake 3", category="tasks", mode=mode) == []
