"""Our tests of the CrewAI backend; the vendor's are in its source release."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"

from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.types import MemoryRecord
from page_program import run_twice

import recollect
from recollect.adapters.crewai import make_backend


def record(text: str, vector: tuple[float, ...] = (1.0, 0.0), **fields: object) -> MemoryRecord:
    return MemoryRecord(content=text, embedding=list(vector), **fields)


def test_a_record_is_an_entry_that_recall_and_context_find(location: str) -> None:
    backend = make_backend(location)
    assert isinstance(backend, StorageBackend)
    stored = record("The staging API listens on port 8080.", id="ports", scope="/staging", metadata={"source": "wiki"})
    backend.save([stored])
    assert backend.get_record("ports") == stored
    with recollect.open(location) as home:
        mem = home.agent("default")
        entry = mem.get("crewai:ports")
        assert entry.content == stored.content
        assert mem.recall("which port has staging?")[0].entry == entry
        assert "8080" in mem.context("which port has staging?").text
    backend.close()


def test_an_erased_record_is_gone_and_an_exported_one_comes_back(location: str, tmp_path: Path) -> None:
    backend = make_backend(location)
    backend.save([record("first secret", id="a"), record("second", id="b")])
    with recollect.open(location) as home:
        home.agent("default").forget("crewai:a", erase=True)
        home.export(tmp_path / "copy")
    assert (backend.get_record("a"), backend.count()) == (None, 1)
    backend.close()
    with recollect.open(tmp_path / "other.db") as home:
        home.import_(tmp_path / "copy")
    other = make_backend(tmp_path / "other.db")
    (found,) = other.list_records()
    assert (found.id, found.content) == ("b", "second")
    assert [(found.id, round(score, 3)) for found, score in other.search([1.0, 0.0])] == [("b", 1.0)]
    other.close()


def test_records_of_another_agent_are_out_of_reach(location: str) -> None:
    hers, his = make_backend(location, agent="ana"), make_backend(location, agent="ben")
    hers.save([record("secret", id="1", scope="/s", categories=["c"])])
    his.reset()
    assert his.delete(record_ids=["1"]) == 0
    assert (his.get_record("1"), his.search([1.0, 0.0]), his.list_records(), his.count()) == (None, [], [], 0)
    assert (his.list_scopes(), his.list_categories(), his.get_scope_info("/").record_count) == ([], {}, 0)
    his.save([record("other", id="1")])
    assert [one.content for one in hers.list_records()] == ["secret"]
    hers.close(), his.close()


def test_a_search_ranks_by_the_cosine_and_filters(location: str) -> None:
    backend = make_backend(location)
    backend.save(
        [
            record("near", (1.0, 0.1), id="near", scope="/a/b", categories=["x"], metadata={"n": 1}),
            record("far", (-1.0, 1.0), id="far", scope="/a", categories=["y"]),
            MemoryRecord(content="without a vector", id="none", scope="/c"),
        ]
    )
    assert [one.id for one, _ in backend.search([1.0, 0.0])] == ["near", "far", "none"]
    assert [one.id for one, _ in backend.search([1.0, 0.0], min_score=0.5)] == ["near"]
    assert [one.id for one, _ in backend.search([1.0, 0.0], "/a", limit=1)] == ["near"]
    assert [one.id for one, _ in backend.search([1.0, 0.0], categories=["y"])] == ["far"]
    assert [one.id for one, _ in backend.search([1.0, 0.0], metadata_filter={"n": 1})] == ["near"]
    assert (backend.list_scopes("/a"), backend.list_scopes("/")) == (["/a/b"], ["/a", "/c"])
    backend.close()


def test_a_removed_record_is_in_the_trash_and_can_be_restored(location: str) -> None:
    backend, now = make_backend(location), datetime.now(UTC)
    backend.save([record("old", id="old", created_at=now - timedelta(days=2)), record("new", id="new", created_at=now)])
    assert backend.delete(older_than=now - timedelta(days=1)) == 1
    with recollect.open(location) as home:
        home.agent("default").restore("crewai:old")
    assert [one.id for one in backend.list_records()] == ["new", "old"]
    assert backend.search([1.0, 0.0], limit=1)[0][1] == 1.0
    backend.close()


@pytest.mark.parametrize("text", ["", " ", "a\0b", "line\r\n"])
def test_any_record_returns_unchanged(location: str, text: str) -> None:
    backend = make_backend(location)
    given = record(text, id="../x", source="u", private=True, importance=0.9)
    backend.save([given])
    assert backend.get_record("../x") == given
    backend.close()


def test_bad_input_is_refused_and_changes_nothing(location: str) -> None:
    backend = make_backend(location)
    backend.save([record("kept", id="kept")])
    with pytest.raises(recollect.Invalid):
        backend.save([record("good"), record("bad", id="x" * 10_000)])
    with pytest.raises(TypeError, match="not JSON"):
        backend.save([record("good"), record("bad", metadata={"when": object()})])
    with pytest.raises(EmbeddingDimensionMismatchError):
        backend.save([record("good"), record("bad", (1.0, 0.0, 0.0))])
    assert [one.id for one in backend.list_records()] == ["kept"]
    backend.close()


def test_vectors_of_another_length_are_refused_after_another_backend_replaced_all_records(location: str) -> None:
    one, two = make_backend(location), make_backend(location)
    one.save([record("first", id="1")])
    two.reset()
    two.save([record("second", (1.0, 0.0, 0.0), id="2")])
    with pytest.raises(EmbeddingDimensionMismatchError):
        one.save([record("third", id="3")])
    assert [found.id for found, _ in one.search([1.0, 0.0, 0.0])] == ["2"]
    one.save([record("third", (0.0, 1.0, 0.0), id="3")])
    one.close(), two.close()


def test_a_backend_opens_again_after_it_was_closed(location: str) -> None:
    backend = make_backend(location)
    backend.save([record("kept")])
    backend.close()
    assert backend.count() == 1
    backend.close()


def test_the_program_of_the_page_remembers_and_the_second_run_recalls(tmp_path: Path) -> None:
    lines = run_twice("crewai.md", tmp_path)  # CrewAI prints panels as well
    first, second = ([line for line in run if line.startswith("found")] for run in lines)
    assert (first, second) == (["found: []"], ["found: ['Staging listens on port 8080.']"])
