"""An embedder for the tests that answers correctly, wrongly, or only when a test lets it.

Never part of the library.
"""

import threading
from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np
from embedders import HashEmbedder
from numpy.typing import NDArray

Rows = NDArray[np.float32]


def well(rows: Rows) -> object:
    """As it should be."""
    return rows


def wrong_dimension(rows: Rows) -> object:
    """A number too few in each vector."""
    return rows[:, 1:]


def not_a_number(rows: Rows) -> object:
    """One number is none."""
    rows[-1, 0] = np.nan
    return rows


def too_few(rows: Rows) -> object:
    """A vector is missing."""
    return rows[1:]


def nonsense(rows: Rows) -> object:
    """No vectors at all."""
    return {"error": "overloaded"}


def raising(rows: Rows) -> object:
    """Something breaks inside."""
    raise RuntimeError("the model is on fire")


FAULTS = [wrong_dimension, not_a_number, too_few, nonsense, raising]


class FaultyEmbedder(HashEmbedder):
    """Embeds by words, in its `mood`. An instant one is asked while an entry is written, another one later.

    `before` is called in each request before it is answered: a test can change something in between, or wait there.
    """

    def __init__(self, dimension: int = 512, model: str = "hash", *, instant: bool = True) -> None:
        super().__init__(dimension, model)
        self.instant = instant
        self.mood: Callable[[Rows], object] = well
        self.before: Callable[[], object] = lambda: None
        self.asked: list[list[str]] = []
        self._called = threading.Condition()

    def embed(self, texts: Sequence[str]) -> Rows:
        """One row per text, or whatever the mood makes of it."""
        mood = self.mood
        with self._called:
            self.asked.append(list(texts))
            self._called.notify_all()
        self.before()
        return mood(self.rows(texts))  # type: ignore[return-value]

    def rows(self, texts: Sequence[str]) -> Rows:
        """What a good mood gives."""
        return super().embed(texts)

    def wait_until_asked(self, times: int) -> None:
        """Return when so many requests have come."""
        with self._called:
            assert self._called.wait_for(lambda: len(self.asked) >= times, timeout=60)


class Scattered(FaultyEmbedder):
    """A vector at random for each text, always the same one for the same text: no two texts are alike."""

    def rows(self, texts: Sequence[str]) -> Rows:
        """What a good mood gives."""
        return np.array(
            [np.random.default_rng(crc32(text.encode())).normal(size=self.dimension) for text in texts], "f4"
        )
