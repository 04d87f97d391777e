"""The seam to whatever turns texts into vectors, and the one place where its answers are checked.

Whatever an embedder does wrong ends here as Unavailable or ConfigError: nothing unchecked ever reaches a store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from recollect.errors import ConfigError, Unavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SHOWN", "Embedder", "embed", "unit_rows"]

SHOWN = 200
"""Characters of a foreign error that a message repeats."""


class Embedder(Protocol):
    """Texts in, vectors out. Several threads may call it at once.

    `model` names everything that makes two vectors comparable: it is stored with them, and another name means that all
    are made anew. Vectors need not have unit length; a row of zeros says that the text has no vector.
    """

    @property
    def model(self) -> str:
        """The name of the model."""
        ...

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, in the same order. The texts are not blank and hold no lone surrogates."""
        ...


def embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """One row of unit length per text. A row of zeros says that the text has no vector: see `rows.any(axis=1)`.

    A blank text has none, and the embedder is not asked about it. Raises Unavailable when the embedder fails or
    answers nonsense, ConfigError when its settings are wrong, and nothing else.
    """
    import numpy as np

    if embedder.dimension < 1:
        raise ConfigError(f"the embedder {embedder.model!r} has dimension {embedder.dimension}; it must be 1 or more")
    rows = np.zeros((len(texts), embedder.dimension), np.float32)
    asked = [place for place, text in enumerate(texts) if text.strip()]
    if asked:
        try:
            answer = embedder.embed([texts[place] for place in asked])
        except (ConfigError, Unavailable):
            raise
        except Exception as error:
            raise Unavailable(
                f"the embedder {embedder.model!r} failed on {len(asked)} text(s) with {type(error).__name__}: "
                f"{str(error)[:SHOWN]}"
            ) from error
        rows[asked] = unit_rows(answer, len(asked), embedder)
    return rows


def unit_rows(answer: object, count: int, embedder: Embedder) -> NDArray[np.float32]:
    """What an embedder returned for that many texts as rows of unit length, rows of zeros kept; Unavailable if it is
    anything but that many vectors of finite numbers in the embedder's dimension."""
    import numpy as np

    expected = f"expected {count} vector(s) of {embedder.dimension:,} numbers"
    try:
        given = np.asarray(answer)
    except Exception as error:
        raise Unavailable(
            f"{embedder.model!r} returned no table of numbers ({str(error)[:SHOWN]}); {expected}"
        ) from error
    if given.dtype.kind not in "fiu":
        raise Unavailable(
            f"{embedder.model!r} returned values of type {given.dtype}, which are not real numbers; {expected}"
        )
    if given.shape != (count, embedder.dimension):
        if given.ndim == 2:
            found = f"{given.shape[0]} vector(s) of {given.shape[1]:,} numbers"
        else:
            found = f"an array of shape {given.shape}"
        raise Unavailable(f"{embedder.model!r} returned {found}; {expected}: check the model and its dimension")
    rows = given.astype(np.float64)
    broken = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if broken.size:
        raise Unavailable(
            f"{embedder.model!r} returned NaN or infinity in {broken.size} of {count} vector(s), first in number "
            f"{broken[0]}; {expected}, all finite"
        )
    # By the largest number first: the square of a very large or a very small one is out of a float's range.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows /= np.where(largest > 0, largest, 1)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return rows.astype(np.float32)
