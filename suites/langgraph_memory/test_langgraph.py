"""Our tests of the LangGraph store; the vendor's are in its source releases."""

import json
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from page_program import run_twice

import recollect
from recollect.adapters.langgraph import make_store

ANA = ("users", "ana")
PORTS = {"text": "The staging API listens on port 8080."}


class Letters(Embeddings):
    """An embedder that counts its calls: a text is near to texts with the same letters."""

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += texts
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(text.count(letter)) for letter in "abcdefghij"]


def test_an_item_is_an_entry_that_recall_and_context_find(location: str) -> None:
    with make_store(location) as store, recollect.open(location) as home:
        store.put(ANA, "ports", PORTS)
        mem = home.agent("default")
        entry = mem.get("langgraph:users/ana/ports")
        assert json.loads(entry.content) == PORTS
        assert mem.recall("which port has staging?")[0].entry == entry
        assert "8080" in mem.context("which port has staging?").text


def test_an_item_has_a_history_and_a_deleted_one_can_be_restored(location: str) -> None:
    with make_store(location) as store, recollect.open(location) as home:
        store.put(ANA, "ports", PORTS)
        store.put(ANA, "ports", {"text": "port 9090"})
        store.delete(ANA, "ports")
        assert store.get(ANA, "ports") is None
        mem = home.agent("default")
        assert [one.operation for one in mem.history("langgraph:users/ana/ports")] == ["add", "write", "remove"]
        mem.restore("langgraph:users/ana/ports")
        assert store.get(ANA, "ports").value == {"text": "port 9090"}


def test_without_an_index_a_query_ranks_by_words_and_leaves_nothing_out(location: str) -> None:
    with make_store(location) as store:
        store.put(ANA, "ports", PORTS)
        for number in range(3):
            store.put(ANA, f"other{number}", {"text": "Deploys are on Tuesdays."})
        found = store.search(("users",), query="which port has staging?")
        assert (found[0].key, len(found)) == ("ports", 4)
        assert found[0].score is not None
        assert found[-1].score is None


def test_vectors_are_stored_and_missing_ones_are_made_by_the_next_search(location: str) -> None:
    first, second = Letters(), Letters()
    with make_store(location, index={"dims": 10, "embed": first, "fields": ["text"]}) as store:
        store.put(ANA, "one", {"text": "abab"})
        store.put(ANA, "two", {"text": "ijij"})
    assert first.embedded == ["abab", "ijij"]
    with make_store(location, index={"dims": 10, "embed": second, "fields": ["text"]}) as store:
        assert [item.key for item in store.search(ANA, query="ab")] == ["one", "two"]
        assert second.embedded == []
        with recollect.open(location) as home:
            entry = home.agent("default").get("langgraph:users/ana/two")
            home.agent("default").apply(recollect.Write(entry.id, '{"text": "aabb"}'))
        store.search(ANA, query="ab")
        assert second.embedded == ["aabb"]


def test_a_text_that_states_a_date_does_not_hide_an_item(location: str) -> None:
    with make_store(location) as store:
        store.put(ANA, "sale", {"text": "The sale is valid until 1 March 2020."})
        assert store.get(ANA, "sale") is not None
        assert [item.key for item in store.search(ANA)] == ["sale"]


def test_the_items_of_another_agent_and_other_entries_are_out_of_reach(location: str) -> None:
    with make_store(location, agent="ana") as hers, make_store(location, agent="ben") as his:
        hers.put(ANA, "ports", PORTS)
        with recollect.open(location) as home:
            home.agent("ben").remember("a note", name="langgraph:users/ana/note")
        assert his.get(ANA, "ports") is None
        assert his.search(()) == []
        assert his.list_namespaces() == []
        his.delete(ANA, "note")
        with pytest.raises(recollect.Conflict):
            his.put(ANA, "note", {})
        his.delete(ANA, "ports")
        assert hers.get(ANA, "ports").value == PORTS
        with recollect.open(location) as home:
            assert home.agent("ben").get("langgraph:users/ana/note").content == "a note"


@pytest.mark.parametrize("key", ["../../etc/passwd", "a/b", "", " x ", "%2F", "line\nbreak", "ключ", "\ud800", "a.b"])
def test_any_key_returns_unchanged(location: str, key: str) -> None:
    with make_store(location) as store:
        store.put(ANA, key, {"value": key})
        store.put(ANA, "other", {})
        assert store.get(ANA, key).value == {"value": key}
        assert {item.key for item in store.search(ANA)} == {key, "other"}


def test_a_key_that_is_too_long_and_a_value_that_is_not_json_are_refused_and_nothing_is_stored(location: str) -> None:
    with make_store(location) as store:
        for key, value in (("x" * 10_000, {}), ("object", {"value": object()}), ("nan", {"value": float("nan")})):
            with pytest.raises(recollect.Invalid):
                store.batch([PutOp(ANA, "good", {}), PutOp(ANA, key, value)])
        assert store.search(()) == []


def test_an_item_whose_text_a_person_edits_is_read_as_text(location: str) -> None:
    with make_store(location) as store, recollect.open(location) as home:
        store.put(ANA, "ports", PORTS)
        home.agent("default").apply(recollect.Write("langgraph:users/ana/ports", "port 9090"))
        assert store.get(ANA, "ports").value == {"text": "port 9090"}


def test_expired_items_are_gone_for_reads_and_recalls_and_go_to_the_trash(location: str) -> None:
    with make_store(location) as store, recollect.open(location) as home:
        store.put(ANA, "short", PORTS, ttl=1e-9)
        store.put(ANA, "long", {"text": "Deploys are on Tuesdays."}, ttl=60)
        assert (store.get(ANA, "short"), [item.key for item in store.search(ANA)]) == (None, ["long"])
        mem = home.agent("default")
        assert mem.recall("staging port") == []
        assert store.sweep_ttl() == 1
        assert [one.entry.name for one in mem.trash()] == ["langgraph:users/ana/short"]


def test_the_program_of_the_page_remembers_and_the_second_run_recalls(tmp_path: Path) -> None:
    first, second = run_twice("langgraph.md", tmp_path)
    assert first == ["remembered: []", "messages of the thread: 1"]
    assert second == ["remembered: ['Staging uses port 8080.']", "messages of the thread: 2"]
