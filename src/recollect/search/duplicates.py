"""Duplicate and near-duplicate entries. Pure.

The argument. Hiding an entry loses its content, so only a duplicate may be removed, and similarity does not prove one:
static embeddings give "we deploy on Fridays" and "we do not deploy on Fridays" a cosine above 0.9, and "Ana reports to
Ben" and "Ben reports to Ana" one of 1.0. Two entries are duplicates if they have the same words in the same order
(`wording`), the same name or none, and, where both have vectors, a cosine above SAME. Near-duplicates are kept and
grouped, so that a reader sees that there is more than one.

`wording` errs on the side of keeping both. It ignores case, accents of Latin letters, white space, quotation marks and
trailing punctuation of words; everything else is part of a word, because it may carry meaning: C and C++, -5 and 5, 1.5
and 15, < and >, "ab 12" and "ab-12", a question mark, emoji, the marks of other scripts.
"""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from recollect.text import few_marks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SAME", "distinct", "groups", "wording"]

SAME = 0.9
"""Cosine above which two entries are near-duplicates."""

OPENING = 8
"""Number of leading words used as the key of the first comparison."""
LONG = 50
"""Length above which a word is not cached."""
CACHED = 50_000
"""Maximum number of cached words."""
_ENDS = ".,;:!\u2026\u3002\u3001\uff61"
"""Trailing punctuation that is not part of a word."""
_FEW_ENDS = ".,;"
"""The same after a digit or a single letter, where other marks may have a meaning: C: is a drive, 5! a factorial."""
_QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb'
_ALIKE = str.maketrans("\u2018\u2019\u02bc\u2010\u2011\u2013\u2014\u2212", "'''-----")
"""Typographic apostrophes, hyphens and dashes, mapped to ASCII."""
_ACCENTED = re.compile(r"([a-z])[\u0300-\u036f]+")
_WIDTHS = ("<wide>", "<narrow>")


def wording(text: str) -> str:
    """Return the normalised words of a text in order, equal for texts that differ only in typography."""
    text = text.lower()
    if not text.isascii():
        text = few_marks("".join(map(_usual_width, text))).lower().translate(_ALIKE)
        text = unicodedata.normalize("NFC", _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", text)))
    return " ".join(map(_WORDS.__getitem__, text.split()))


def distinct(
    ranked: "Iterable[tuple[int, str, Hashable]]",
    vectors: "Mapping[int, NDArray[np.float32]]",
    limit: int,
    *,
    by_cosine: bool = False,
) -> list[int]:
    """Return the numbers of the first `limit` of (number, text, name), best first, without duplicates of a better one.

    `by_cosine` also removes near-duplicates of a better one, whatever their texts. `ranked` is consumed lazily, and
    vectors are looked up one at a time.
    """
    kept: list[int] = []
    known: dict[tuple[str, Hashable], list[tuple[str, NDArray[np.float32] | None]]] = {}
    near = _NearDuplicates(limit)
    for number, text, name in ranked if limit > 0 else ():
        own, begun = vectors.get(number), (_opening(text), None if by_cosine else name)
        like = known.setdefault(begun, [])
        if any(_agree(own, vector) and wording(text) == wording(other) for other, vector in like):
            continue
        if by_cosine and near.repeats(own):
            continue
        kept.append(number)
        if len(kept) >= limit:
            break
        like.append((text, own))
        if by_cosine:
            near.add(own)
    return kept


def groups(ranked: Sequence[int], vectors: "Mapping[int, NDArray[np.float32]]") -> list[list[int]]:
    """Return groups of two or more near-duplicates, each with its best first.

    Every member is near the best of its group, and no number is in two groups.
    """
    import numpy as np

    numbers = [number for number in ranked if number in vectors]
    if len(numbers) < 2:
        return []
    rows = np.stack([vectors[number] for number in numbers])
    free = np.ones(len(numbers), bool)
    found = []
    for place in np.flatnonzero((np.vecdot(rows[:, None], rows) > SAME).sum(axis=1) > 1).tolist():
        members = np.flatnonzero(free & (np.vecdot(rows, rows[place]) > SAME)).tolist()
        if free[place] and len(members) > 1:
            free[members] = False
            found.append([numbers[member] for member in members])
    return found


def _opening(text: str) -> str:
    """Return the wording of the first OPENING words: a cheap key that usually differs where the wordings do."""
    return wording(" ".join(text.split(None, OPENING)[:OPENING]))


def _trimmed(chunk: str) -> str:
    if chunk.isalnum():  # fast path, same result as below
        return chunk
    bare = chunk.lstrip(_QUOTES).rstrip(_ENDS + _QUOTES)
    if len(bare) > 1 and not (bare[0].isdigit() or bare[-1].isdigit()):
        return bare
    return chunk.rstrip(_FEW_ENDS) or chunk


class _Words(dict[str, str]):
    """Cache of trimmed words that are not LONG, filled on first use. Thread-safe, because each step is atomic."""

    def __missing__(self, chunk: str) -> str:
        word = _trimmed(chunk)
        if len(chunk) <= LONG:
            if len(self) >= CACHED:
                self.clear()
            self[chunk] = word
        return word


_WORDS = _Words()


def _usual_width(character: str) -> str:
    """Map a full-width or half-width form to its ordinary character."""
    if unicodedata.decomposition(character).startswith(_WIDTHS):
        return unicodedata.normalize("NFKC", character)
    return character


def _agree(own: "NDArray[np.float32] | None", other: "NDArray[np.float32] | None") -> bool:
    """Return whether the vectors are compatible with equal content: they are near, or one is missing or zero."""
    if own is None or other is None or not own.any() or not other.any():
        return True
    return bool(own @ other > SAME)


class _NearDuplicates:
    """The vectors of the kept entries in one matrix, so that one product compares with all."""

    def __init__(self, limit: int) -> None:
        self._limit, self._filled = limit, 0
        self._rows: NDArray[np.float32] | None = None

    def repeats(self, own: "NDArray[np.float32] | None") -> bool:
        """Return whether a vector is near one of them."""
        if own is None or self._rows is None:
            return False
        import numpy as np

        return bool((np.vecdot(self._rows[: self._filled], own) > SAME).any())

    def add(self, own: "NDArray[np.float32] | None") -> None:
        import numpy as np

        if own is not None:
            if self._rows is None:
                self._rows = np.empty((self._limit, len(own)), np.float32)
            self._rows[self._filled] = own
            self._filled += 1
