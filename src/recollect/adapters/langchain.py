"""Stores for LangChain: `ByteStore` for raw values by key, and `VectorStore` for documents.

A value or document is an entry of recollect, so it is found by recalls and contexts, shown on the page, exported and
erased like every other entry.
"""

import json
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any

from recollect import Entry
from recollect.adapters.byte_entries import ByteEntries
from recollect.adapters.homes import Opened, in_thread, missing
from recollect.adapters.item_filters import matches
from recollect.adapters.item_search import EmbeddedItems
from recollect.adapters.items import Draft, Items, as_json

try:
    from langchain_core import stores, vectorstores
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
except ImportError:
    raise missing("langchain-core", "langchain") from None

__all__ = ["ByteStore", "VectorStore"]

Path = str | os.PathLike[str]
BLANK = "[a document without text]"
"""Content of the entry of a blank document, which an entry cannot be; its text is in the field `context`."""
PAGE_CONTENT, METADATA = "page_content", "metadata"


class ByteStore(stores.BaseStore[str, bytes]):
    """Bytes by key in the memory of an agent, for instance as the store of `CacheBackedEmbeddings`.

    `path` is what `recollect.open()` takes: a directory, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `agent` and `workspace` select the memory; another agent's values are never read. Bytes that are
    text can be recalled.

        store = ByteStore("memory.db")
        store.mset([("ports", b"Staging listens on 8080.")])
    """

    def __init__(self, path: Path | None = None, *, agent: str | None = None, workspace: str = "default") -> None:
        self._opened = Opened(path, agent, workspace)

    @property
    def _values(self) -> ByteEntries:
        return ByteEntries(self._opened.memory, "langchain")

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return the values of keys; None for those without one."""
        return [self._values.get(key) for key in keys]

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        """Store values by key.

        Raises Invalid if a key is not one line of at most about 240 characters, or a value has more than 700 kB.
        """
        for key, value in key_value_pairs:
            self._values.put(key, value)

    def mdelete(self, keys: Sequence[str]) -> None:
        """Move values to the trash; keys without one are ignored."""
        for key in keys:
            self._values.delete(key)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Iterate over the keys, or over those with a prefix."""
        yield from self._values.keys(prefix or "")

    async def amget(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return the values of keys; None for those without one."""
        return await in_thread(self.mget, keys)

    async def amset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        """Store values by key."""
        await in_thread(self.mset, key_value_pairs)

    async def amdelete(self, keys: Sequence[str]) -> None:
        """Move values to the trash; keys without one are ignored."""
        await in_thread(self.mdelete, keys)

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:
        """Iterate over the keys, or over those with a prefix."""
        for key in await in_thread(self._values.keys, prefix or ""):
            yield key

    def close(self) -> None:
        """Close the home, if nothing else in this process uses it. Later calls raise RuntimeError."""
        self._opened.close()


class VectorStore(vectorstores.VectorStore):
    """Documents in the memory of an agent, searched by meaning.

    `embeddings` are those of LangChain; without them a search uses the words of the documents and the embedder of the
    home, as `recall` does. `path`, `agent` and `workspace` are as for `ByteStore`.

        store = VectorStore(OpenAIEmbeddings(), "memory.db")
        store.add_texts(["Staging listens on port 8080."], ids=["ports"])
        store.similarity_search("which port?", k=1)
    """

    def __init__(
        self,
        embeddings: Embeddings | None = None,
        path: Path | None = None,
        *,
        agent: str | None = None,
        workspace: str = "default",
    ) -> None:
        self._embeddings = embeddings
        self._opened = Opened(path, agent, workspace)
        self._embedded = None if embeddings is None else EmbeddedItems(self._opened.memory, embeddings)

    @property
    def _items(self) -> Items:
        return Items(self._opened.memory, "langchain-document")

    @property
    def embeddings(self) -> Embeddings | None:
        """The embeddings given to the store."""
        return self._embeddings

    @classmethod
    def from_texts(
        cls, texts: list[str], embedding: Embeddings, metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> "VectorStore":
        """Return a store with these texts added. `ids` are those of the texts; the rest is passed to the class."""
        ids = kwargs.pop("ids", None)
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store texts as documents and return their ids. A document with the same id is replaced."""
        given = list(texts)
        about: list[Any] = metadatas or [{}] * len(given)
        known: list[Any] = ids or [None] * len(given)
        return self.add_documents(
            [Document(id=i, page_content=t, metadata=m) for t, m, i in zip(given, about, known, strict=True)]
        )

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Store documents and return their ids: those of `ids`, else those of the documents, else new ones.

        Raises Invalid if the metadata of a document is not JSON.
        """
        given = kwargs.get("ids") or [document.id for document in documents]
        ids = [str(one) if one is not None else str(uuid.uuid4()) for one in given]
        new = {one: _document_draft(one, document) for one, document in zip(ids, documents, strict=True)}
        entries = self._items.put(list(new.values()))
        if self._embedded is not None:
            self._embedded.add([(entry, _texts(entry)) for entry in entries])
        return ids

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Store documents in a worker thread and return their ids."""
        return await in_thread(self.add_documents, documents, **kwargs)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids; missing ones are left out."""
        found = (self._items.get([one]) for one in ids)
        return [self._document(entry) for entry in found if entry is not None]

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Move documents to the trash; missing ones are ignored. Without `ids`, all documents of the store."""
        for one in [self._items.path(entry)[0] for entry in self._items.below()] if ids is None else ids:
            self._items.delete([one])
        return True

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the documents nearest to a query. `filter` is a function of a document, or values of its metadata."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """Return the documents nearest to a query with their cosines, or with the scores of `recall`."""
        if self._embedded is not None:
            return self._nearest(self._embedded.query(query), k, kwargs.get("filter"))
        hits = self._opened.memory.recall(query, tags=[self._items.kind], limit=1_000, include_past=True, record=False)
        scored = [(hit.entry, hit.score) for hit in hits]
        return [(self._document(entry), score) for entry, score in self._kept(scored, kwargs.get("filter"))][:k]

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the documents nearest to a vector."""
        return [document for document, _ in self._nearest(embedding, k, kwargs.get("filter"))]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return documents that are near to a query and differ from each other."""
        import numpy as np

        embedded = self._require_embeddings()
        asked = embedded.query(query)
        nearest = self._nearest_entries(asked, fetch_k, kwargs.get("filter"))
        vectors = [matrix[0] for _, matrix in embedded.of([(entry, dict) for entry, _ in nearest])]
        chosen = maximal_marginal_relevance(np.asarray(asked), vectors, lambda_mult=lambda_mult, k=k)
        return [self._document(nearest[place][0]) for place in chosen]

    def close(self) -> None:
        """Close the home, if nothing else in this process uses it. Later calls raise RuntimeError."""
        self._opened.close()

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: (cosine + 1) / 2

    def _nearest(self, vector: Sequence[float], k: int, wanted: Any) -> list[tuple[Document, float]]:
        return [(self._document(entry), score) for entry, score in self._nearest_entries(vector, k, wanted)]

    def _nearest_entries(self, vector: Sequence[float], k: int, wanted: Any) -> list[tuple[Entry, float]]:
        entries = [entry for entry, _ in self._kept([(entry, 0.0) for entry in self._items.below()], wanted)]
        items = [(entry, lambda entry=entry: _texts(entry)) for entry in entries]
        scores = self._require_embeddings().nearest(vector, items)
        ranked = sorted(((entry, scores.get(entry.id, -1.0)) for entry in entries), key=lambda one: -one[1])
        return ranked[:k]

    def _require_embeddings(self) -> EmbeddedItems:
        if self._embedded is None:
            raise ValueError("a search by vector needs embeddings; pass them to VectorStore")
        return self._embedded

    def _kept(self, scored: list[tuple[Entry, float]], wanted: Any) -> list[tuple[Entry, float]]:
        if wanted is None:
            return scored
        fits = wanted if callable(wanted) else lambda document: matches(document.metadata, wanted)
        return [(entry, score) for entry, score in scored if fits(self._document(entry))]

    def _document(self, entry: Entry) -> Document:
        return Document(
            id=self._items.path(entry)[0], page_content=_text(entry), metadata=_about(entry).get(METADATA) or {}
        )


def _document_draft(one: str, document: Document) -> Draft:
    text, about = document.page_content, {METADATA: document.metadata} if document.metadata else {}
    if not text.strip() or "\0" in text:
        about[PAGE_CONTENT], text = text, BLANK
    return Draft((one,), text, as_json(about, f"the metadata of {one!r}") if about else None)


def _text(entry: Entry) -> str:
    return str(_about(entry).get(PAGE_CONTENT, "")) if entry.content == BLANK else entry.content


def _texts(entry: Entry) -> dict[str, str]:
    return {PAGE_CONTENT: _text(entry)}


def _about(entry: Entry) -> dict[str, Any]:
    return json.loads(entry.context) if entry.context else {}
