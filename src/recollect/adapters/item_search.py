"""Search by the embedder of a framework: items have a vector for each of their texts, and score as their best one.

Vectors are computed when items are put, and are stored with them. Those that are missing, for instance after an
import, are computed by the first search. A search compares all of the given items, which is exact.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recollect import Entry, Memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EmbeddedItems"]

MOST = 20_000
"""Items whose vectors a process keeps."""


class EmbeddedItems:
    """The vectors of one embedder (`embed_documents`, `embed_query`) for entries of an agent."""

    def __init__(self, memory: Memory, embeddings: Any) -> None:
        self._memory, self._embeddings = memory, embeddings
        self._model = f"{type(embeddings).__name__}:{getattr(embeddings, 'model', '')}"[:256]
        self._known: dict[tuple[str, str], NDArray[np.float32]] = {}

    def add(self, items: Sequence[tuple[Entry, Mapping[str, str]]]) -> None:
        """Compute and store the vectors of entries, from their texts by field. An entry without texts has none."""
        import numpy as np

        if not items:
            return
        texts = list(dict.fromkeys(text for _, fields in items for text in fields.values()))
        found = dict(zip(texts, self._embeddings.embed_documents(texts), strict=True)) if texts else {}
        made = [
            (entry, {field: np.asarray(found[text], "<f4").tobytes() for field, text in fields.items()})
            for entry, fields in items
        ]
        self._memory.item_vectors.put(self._model, made)
        for entry, vectors in made:
            self._keep(entry, vectors)

    def query(self, text: str) -> Sequence[float]:
        """Return the vector of a query."""
        return self._embeddings.embed_query(text)

    def nearest(
        self, vector: Sequence[float], items: Sequence[tuple[Entry, Callable[[], Mapping[str, str]]]]
    ) -> dict[str, float]:
        """Return the greatest cosine of a vector and the vectors of each entry, by id."""
        import numpy as np

        matrices = [(entry.id, matrix) for entry, matrix in self.of(items) if len(matrix)]
        if not matrices:
            return {}
        asked = np.asarray(vector, np.float64)
        rows = np.concatenate([matrix for _, matrix in matrices]).astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(asked)
        cosines = np.divide(rows @ asked, lengths, out=np.zeros(len(rows)), where=lengths > 0)
        starts = np.cumsum([0, *(len(matrix) for _, matrix in matrices)])[:-1]
        best = np.maximum.reduceat(cosines, starts)
        return {entry_id: float(score) for (entry_id, _), score in zip(matrices, best, strict=True)}

    def of(
        self, items: Sequence[tuple[Entry, Callable[[], Mapping[str, str]]]]
    ) -> "list[tuple[Entry, NDArray[np.float32]]]":
        """Return the vectors of entries, a row for each of their texts. Missing ones are computed and stored."""
        unknown = [item for item in items if (item[0].id, item[0].content_hash) not in self._known]
        stored = self._memory.item_vectors.get(self._model, [entry for entry, _ in unknown]) if unknown else {}
        absent = []
        for entry, texts in unknown:
            if entry.id in stored or not (fields := texts()):
                self._keep(entry, stored.get(entry.id, {}))
            else:
                absent.append((entry, fields))
        self.add(absent)
        none = self._matrix({})
        return [(entry, self._known.get((entry.id, entry.content_hash), none)) for entry, _ in items]

    def _keep(self, entry: Entry, vectors: Mapping[str, bytes]) -> None:
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[entry.id, entry.content_hash] = self._matrix(vectors)

    def _matrix(self, vectors: Mapping[str, bytes]) -> "NDArray[np.float32]":
        import numpy as np

        rows = [np.frombuffer(raw, "<f4") for raw in vectors.values()]
        return np.stack(rows) if rows else np.empty((0, 0), np.float32)
