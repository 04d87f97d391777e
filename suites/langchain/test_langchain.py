"""Our tests of the LangChain stores; the vendor's are in its source release."""

from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from page_program import run_twice

import recollect
from recollect.adapters.langchain import ByteStore, VectorStore


class Counted(DeterministicFakeEmbedding):
    """Embeddings that record what they embed."""

    embedded: list[str] = []  # noqa: RUF012

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded.extend(texts)
        return super().embed_documents(texts)


def test_a_document_is_an_entry_that_recall_and_context_find(location: str) -> None:
    store = VectorStore(DeterministicFakeEmbedding(size=6), location)
    store.add_texts(["The staging API listens on port 8080."], [{"source": "wiki"}], ids=["ports"])
    with recollect.open(location) as home:
        mem = home.agent("default")
        entry = mem.get("langchain-document:ports")
        assert entry.content == "The staging API listens on port 8080."
        assert mem.recall("which port has staging?")[0].entry == entry
        assert "8080" in mem.context("which port has staging?").text
    store.close()


def test_without_embeddings_a_search_uses_the_words_of_the_documents(location: str) -> None:
    store = VectorStore(path=location)
    store.add_documents(
        [Document("Staging listens on port 8080.", metadata={"team": "ops"}), Document("Lunch is at noon.")]
    )
    assert [one.metadata for one in store.similarity_search("staging port", k=1)] == [{"team": "ops"}]
    with pytest.raises(ValueError, match="embeddings"):
        store.similarity_search_by_vector([1.0])
    store.close()


def test_vectors_are_stored_and_used_by_the_next_process(location: str) -> None:
    first, second = Counted(size=6, embedded=[]), Counted(size=6, embedded=[])
    store = VectorStore(first, location)
    store.add_texts(["one", "two", "three"], ids=["1", "2", "3"])
    store.close()
    store = VectorStore(second, location)
    assert [one.page_content for one in store.similarity_search("two", k=1)] == ["two"]
    assert store.max_marginal_relevance_search("two", k=2)[0].page_content == "two"
    assert (first.embedded, second.embedded) == (["one", "two", "three"], [])
    store.close()


def test_a_search_filters_by_metadata_or_by_a_function(location: str) -> None:
    store = VectorStore(DeterministicFakeEmbedding(size=6), location)
    store.add_texts(["one", "two"], [{"page": 1}, {"page": 2}])
    assert [one.page_content for one in store.similarity_search("one", filter={"page": {"$gt": 1}})] == ["two"]
    assert [
        one.page_content for one in store.similarity_search("two", filter=lambda one: one.metadata["page"] == 1)
    ] == ["one"]
    store.close()


@pytest.mark.parametrize("text", ["", " \n", "a\0b", "line\r\n"])
def test_any_document_returns_unchanged(location: str, text: str) -> None:
    store = VectorStore(DeterministicFakeEmbedding(size=6), location)
    store.add_documents([Document(text, id="../x")])
    assert store.get_by_ids(["../x"]) == [Document(text, id="../x")]
    store.close()


@pytest.mark.parametrize("value", [b"", b"\0\xff", b"text", b" ", b"until 1 March 2020", bytes(range(256)) * 100])
def test_any_value_returns_unchanged(location: str, value: bytes) -> None:
    store = ByteStore(location)
    store.mset([("../key", value)])
    assert store.mget(["../key", "key"]) == [value, None]
    assert list(store.yield_keys(prefix="..")) == ["../key"]
    store.close()


def test_values_and_documents_of_another_agent_are_out_of_reach(location: str) -> None:
    hers, his = ByteStore(location, agent="ana"), ByteStore(location, agent="ben")
    papers, other = VectorStore(path=location, agent="ana"), VectorStore(path=location, agent="ben")
    hers.mset([("key", b"secret")])
    papers.add_texts(["secret"], ids=["1"])
    his.mdelete(["key"])
    other.delete()
    assert (his.mget(["key"]), list(his.yield_keys())) == ([None], [])
    assert (other.get_by_ids(["1"]), other.similarity_search("secret")) == ([], [])
    assert (hers.mget(["key"]), len(papers.get_by_ids(["1"]))) == ([b"secret"], 1)
    for store in (hers, his, papers, other):
        store.close()


def test_bad_keys_and_metadata_that_is_not_json_are_refused(location: str) -> None:
    store, papers = ByteStore(location), VectorStore(path=location)
    with pytest.raises(recollect.Invalid):
        store.mset([("x" * 10_000, b"2")])
    with pytest.raises(recollect.Invalid):
        papers.add_texts(["good", "bad"], [{}, {"when": object()}])
    assert (list(store.yield_keys()), papers.similarity_search("good")) == ([], [])
    store.close(), papers.close()


def test_the_program_of_the_page_remembers_and_the_second_run_recalls(tmp_path: Path) -> None:
    first, second = run_twice("langchain.md", tmp_path)
    assert first == ["found: []", "stored"]
    assert second == ["found: ['Staging listens on port 8080.']", "stored"]
