"""Made-up text with the statistics of real notes: real function words, Zipf-distributed content words, questions."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

FUNCTION_WORDS = (
    "the of and a to in is was it for that on with as he be by at she this had not are but from or have an they which "
    "you were her all there their we him been has when who will more if no out so said what up its about into than "
    "them can only other new some could time these two may then do first any my now such like our over me even most"
).split()
QUESTION_STARTS = (
    "what did we say about the",
    "when was the",
    "who told me that the",
    "where is the",
    "how do we handle the",
    "which of the",
    "why did they choose the",
    "do you remember what happened with the",
)
SYLLABLES = [a + b for a in "b c d f g h k l m n p r s t v w br cr dr fl gr pl st tr".split() for b in "aeiou"]
ENDINGS = ["", "", "", "n", "r", "s", "l", "t", "nd", "ng", "ck", "m"]


@dataclass(frozen=True)
class Corpus:
    texts: list[str]
    questions: list[str]


def words(count: int, seed: int = 1) -> list[str]:
    """Distinct made-up words, short ones first."""
    rng = np.random.default_rng(seed)
    made: dict[str, None] = {}
    while len(made) < count:
        syllables = rng.integers(2, 4 + len(made) // 20_000)
        word = "".join(rng.choice(SYLLABLES, syllables)) + str(rng.choice(ENDINGS))
        made[word] = None
    return list(made)


def corpus(
    entries: int, questions: int, seed: int = 7, vocabulary: int = 50_000, *, asked_words: int | None = None
) -> Corpus:
    """Entries of 8 to 40 words, and questions that each ask for one of them with 3 to 6 of its content words.

    With `asked_words` each question has as many different content words.
    """
    rng = np.random.default_rng(seed)
    content_words = np.array(words(vocabulary))
    zipf = 1 / (np.arange(vocabulary) + 20.0)
    function_words = np.array(FUNCTION_WORDS)
    texts = list(_texts(rng, entries, content_words, zipf / zipf.sum(), function_words))
    asked = []
    for number in rng.choice(entries, questions if asked_words is None else entries, replace=False):
        known = [word for word in texts[number].split() if word not in FUNCTION_WORDS]
        if asked_words is not None and len(set(known)) < asked_words:
            continue
        if len(asked) == questions:
            break
        if asked_words is None:
            chosen = rng.choice(known, min(len(known), int(rng.integers(3, 7))), replace=False)
        else:
            chosen = rng.choice(sorted(set(known)), asked_words, replace=False)
        asked.append(f"{rng.choice(QUESTION_STARTS)} {' '.join(chosen[:2])} and the {' '.join(chosen[2:])}?")
    return Corpus(texts, asked)


def _texts(
    rng: np.random.Generator, entries: int, content: np.ndarray, shares: np.ndarray, function: np.ndarray
) -> Iterator[str]:
    function_shares = 1 / (np.arange(len(function)) + 2.0)
    function_shares /= function_shares.sum()
    for start in range(0, entries, 50_000):
        lengths = rng.integers(8, 41, min(50_000, entries - start))
        total = int(lengths.sum())
        mixed = np.where(
            rng.random(total) < 0.45,
            function[rng.choice(len(function), total, p=function_shares)],
            content[rng.choice(len(content), total, p=shares)],
        )
        at = 0
        for length in lengths:
            yield " ".join(mixed[at : at + length])
            at += length
