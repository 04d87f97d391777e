"""Hits that say the same: the second one leaves. Pure.

Two hits are the same when both have vectors, their cosine is above SAME, and they hold the same numbers: for vectors
port 8080 is as good as port 8081. When one has no vector, when their texts are equal after normalising case and white
space.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from recollect.text import figures, normalise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SAME", "distinct"]

SAME = 0.9


def distinct(ranked: Iterable[tuple[int, str]], vectors: "Mapping[int, NDArray[np.float32]]", limit: int) -> list[int]:
    """The first `limit` of (number, text), best first, without those that repeat a better one.

    No more is taken from `ranked` than is needed, and the vector of a number is looked up when its turn comes.
    """
    import numpy as np

    kept: list[int] = []
    texts: set[str] = set()
    compared: list[str] = []
    """The texts of those that stay and have a vector, in the order of `rows`."""
    rows, filled = np.empty((0, 0), np.float32), 0
    for number, text in ranked if limit > 0 else ():
        own, normal = vectors.get(number), normalise(text)
        if normal in texts:
            continue
        near = np.flatnonzero(rows[:filled] @ own > SAME).tolist() if own is not None and filled else []
        if near and figures(normal) in [figures(compared[one]) for one in near]:
            continue
        kept.append(number)
        if len(kept) >= limit:
            break
        texts.add(normal)
        if own is not None:
            if not filled:
                rows = np.empty((limit, len(own)), np.float32)
            rows[filled] = own
            compared.append(normal)
            filled += 1
    return kept
