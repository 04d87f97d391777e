"""Entries that say the same, and entries that are near each other but differ. Pure.

The argument. Hiding an entry loses what it says, so only a repetition may leave, and similarity is no proof of one:
static embeddings give "we deploy on Fridays" and "we do not deploy on Fridays" a cosine above 0.9, and "Ana reports to
Ben" and "Ben reports to Ana" one of 1.0. Two entries *say the same* when they have the same words in the same order
(`wording`), the same name or none, and, where both have vectors, a cosine above SAME. Near entries that differ are kept
and grouped, so that a reader sees that there is more than one.

`wording` errs on the side of keeping both. Case, accents of Latin letters, white space and the punctuation that ends
words and quotes them are left out; everything else is part of a word, because it may carry the meaning: C and C++, -5
and 5, 1.5 and 15, < and >, "ab 12" and "ab-12", a question mark, emoji, the marks of other scripts.
"""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from recollect.text import few_marks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SAME", "distinct", "groups", "says_the_same", "wording"]

SAME = 0.9
"""Above this cosine two entries are near each other."""

OPENING = 8
"""So many words of two texts are compared first."""
_ENDS = ".,;:!\u2026\u3002\u3001\uff61"
"""Punctuation that may follow a word without being a part of it."""
_FEW_ENDS = ".,;"
"""The same after a digit or a single letter, where the others may mean something: C: is a drive, 5! a product."""
_QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb'
_ALIKE = str.maketrans("\u2018\u2019\u02bc\u2010\u2011\u2013\u2014\u2212", "'''-----")
"""Typographic apostrophes, hyphens and dashes, as a keyboard has them."""
_ACCENTED = re.compile(r"([a-z])[\u0300-\u036f]+")
_WIDTHS = ("<wide>", "<narrow>")


def wording(text: str) -> str:
    """The words of a text in their order, equal for texts that differ in nothing but how they are set."""
    text = text.lower()
    if not text.isascii():
        text = few_marks("".join(map(_usual_width, text))).lower().translate(_ALIKE)
        text = unicodedata.normalize("NFC", _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", text)))
    return " ".join(map(_word, text.split()))


def says_the_same(
    text: str, other: str, *, name: str | None = None, other_name: str | None = None, cosine: float | None = None
) -> bool:
    """Whether one entry repeats another. `cosine` is that of their vectors, None where one of them has none."""
    return name == other_name and (cosine is None or cosine > SAME) and wording(text) == wording(other)


def distinct(
    ranked: "Iterable[tuple[int, str, Hashable]]", vectors: "Mapping[int, NDArray[np.float32]]", limit: int, *,
    by_cosine: bool = False,
) -> list[int]:  # fmt: skip
    """The first `limit` of (number, text, name), best first, without those that repeat a better one.

    With `by_cosine` an entry near a better one leaves as well, whatever the two say. No more is taken from `ranked`
    than is needed, and the vector of a number is looked up when its turn comes.
    """
    kept: list[int] = []
    known: dict[tuple[str, Hashable], list[tuple[str, NDArray[np.float32] | None]]] = {}
    near = _Near(limit)
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
    """Those of the numbers that are near each other, two or more in a group, each group with its best first.

    The best of a group is what the others are near to, and no number is in two groups.
    """
    import numpy as np

    numbers = [number for number in ranked if number in vectors]
    if len(numbers) < 2:
        return []
    rows = np.stack([vectors[number] for number in numbers])
    free = np.ones(len(numbers), bool)
    found = []
    for place in np.flatnonzero((rows @ rows.T > SAME).sum(axis=1) > 1).tolist():
        members = np.flatnonzero(free & (rows @ rows[place] > SAME)).tolist()
        if free[place] and len(members) > 1:
            free[members] = False
            found.append([numbers[member] for member in members])
    return found


def _opening(text: str) -> str:
    """The wording of the first words: different where the wordings are, as a rule, and quick for long texts."""
    return wording(" ".join(text.split(None, OPENING)[:OPENING]))


def _word(chunk: str) -> str:
    bare = chunk.lstrip(_QUOTES).rstrip(_ENDS + _QUOTES)
    if len(bare) > 1 and not (bare[0].isdigit() or bare[-1].isdigit()):
        return bare
    return chunk.rstrip(_FEW_ENDS) or chunk


def _usual_width(character: str) -> str:
    """A full-width or half-width form as the character that it stands for."""
    if unicodedata.decomposition(character).startswith(_WIDTHS):
        return unicodedata.normalize("NFKC", character)
    return character


def _agree(own: "NDArray[np.float32] | None", other: "NDArray[np.float32] | None") -> bool:
    """Whether the vectors leave room for the same content: they are near, or one of the two says nothing."""
    if own is None or other is None or not own.any() or not other.any():
        return True
    return bool(own @ other > SAME)


class _Near:
    """The vectors of the entries that stay, side by side, so that all are compared at once."""

    def __init__(self, limit: int) -> None:
        self._limit, self._filled = limit, 0
        self._rows: NDArray[np.float32] | None = None

    def repeats(self, own: "NDArray[np.float32] | None") -> bool:
        """Whether a vector is near one of them."""
        return own is not None and self._rows is not None and bool((self._rows[: self._filled] @ own > SAME).any())

    def add(self, own: "NDArray[np.float32] | None") -> None:
        import numpy as np

        if own is not None:
            if self._rows is None:
                self._rows = np.empty((self._limit, len(own)), np.float32)
            self._rows[self._filled] = own
            self._filled += 1
