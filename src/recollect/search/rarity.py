"""How rare words are among the entries of an agent: the weights by which `contradictions` compares statements."""

from collections.abc import Iterable, Sequence
from itertools import chain
from math import log

from recollect import text
from recollect.search.index import Index
from recollect.storage.counters import Counters
from recollect.storage.database import Transaction

__all__ = ["Rarity"]

FEW = 1_000
"""Notes that a store counts as, at least, when the weights of words are computed."""
MOST_WORDS = 200_000
"""Words whose weights are kept."""


class Rarity:
    """How rare words are in a store. Each is looked up once.

    A small store is treated as if it had FEW notes: there every word is rare, and none says little because two notes
    share it.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._held: dict[str, int] = {}
        self._weights: dict[str, float] = {}

    def tidy(self) -> None:
        """Forget everything if it has become much."""
        if len(self._held) + len(self._weights) > MOST_WORDS:
            self._held.clear()
            self._weights.clear()

    def learn(self, tx: Transaction, counters: Counters, words: Iterable[Sequence[str]]) -> None:
        """Look up the words, given by their spellings, that are not known yet."""
        new = list({term for word in words for term in word if term not in self._held})
        self._held |= {**dict.fromkeys(new, 0), **self._index.holding(tx, counters, new)}

    def weigh(self, tx: Transaction, counters: Counters, words: Iterable[str]) -> None:
        """Compute the weights of words that have none yet."""
        spelled = {word: text.word_terms(word) for word in words if word not in self._weights}
        self.learn(tx, counters, chain.from_iterable(spelled.values()))
        notes = max(counters.live, FEW)
        for word, spellings in spelled.items():
            held = max(map(self._holding, spellings), default=0)
            self._weights[word] = log(notes / max(held, 1)) / log(notes)

    def rarest(self, words: Sequence[Sequence[str]], count: int) -> list[Sequence[str]]:
        """Return the rarest of the words, which must be known."""
        return sorted(words, key=self._holding)[:count]

    def weight(self, word: str) -> float:
        """Return the weight of a word: 1 if one note has it, 0 if every note has it."""
        return self._weights[word]

    def _holding(self, word: Sequence[str]) -> int:
        return max(self._held[term] for term in word)
