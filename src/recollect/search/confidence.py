"""Confidence of a search: the probability that its first ten hits hold an answer. Pure; no I/O, no clock.

The argument. Scores are relative to the best hit of the same query, so they cannot show that nothing answers it. What
is comparable between queries is how much of a query was found: the share of its words, weighted by their idf, that a
single text holds, and the number of these words, since one word of one is weaker evidence than five of five.

A question about a person in a conversation needs something else. If it is about the wrong person, all its words are
found, said by another one. So every turn is weighted by its share of the words to the power of four, which lets the
best few decide, and the part of the weight that belongs to the speakers asked about is the main feature. Where hardly
a word was found it is near one half, because that is no sign of the wrong person. The second is their part of the
ranking without its evidence for the speaker, which knows adjacent turns, dates and vectors. The others are whether
their best turn holds the rarest word, and whether any turn holds at least 30% of the question. A larger part of
the share, or the number of words, helps against questions about things that were never said, but costs more of the
questions about the wrong person than it adds. A question that names every speaker has no wrong person, so it is
treated as one that names none. The words of a date do not count, since a turn has a date and need not say it.

Otherwise only words count. Cosines of different embedding models have different scales, so they cannot be calibrated
once for all; the ranking scales them by the nearest and the farthest turn.

The coefficients are those of a logistic regression, fitted by `bench/confidence.py` to questions of LoCoMo, BEAM,
LongMemEval and SciFact: with an answer, without one, and from other stores. The label is whether one of the first ten
hits is evidence. Figures of the bench are cross-validated by store: of the LoCoMo questions without an answer, nearly
all about the wrong person, it recognises 62% at the cut that keeps 95% of those with one; 61% if the constants are
chosen by the other conversations, too. The best BM25 score recognises 2%.
"""

from collections.abc import Sequence
from math import exp, log1p

__all__ = ["BEST", "ENTRIES", "FEW", "SPEAKERS", "TURNS", "of_entries", "of_speakers", "of_turns", "probability"]

FEW = 100
"""Number of entries below which the idf of a word says little."""
BEST = 3
"""Number of best entries of which one must hold the words."""

ENTRIES = (-3.41, 2.8, 1.13)
"""Intercept; share of the words in one of the best entries; log1p of their number."""
TURNS = (-2.1, 2.65, 0.39)
"""The same for turns, if the question names no speaker or all of them."""
SPEAKERS = (-10.15, 1.28, 3.45, 3.84, 5.62)
"""Intercept; whether the best turn of the speakers asked about has the rarest word; their part of the weight; their
part of the ranking; whether something was found."""


def probability(features: Sequence[float], coefficients: Sequence[float]) -> float:
    """Return the logistic function of the features, weighted by the coefficients; the first is the intercept."""
    intercept, *weights = coefficients
    return 1 / (1 + exp(-intercept - sum(w * value for w, value in zip(weights, features, strict=True))))


def of_entries(held: Sequence[Sequence[bool]], idf: Sequence[float]) -> float:
    """Return the confidence of a recall: `held` has for each of the best hits whether it holds each query word."""
    mass = sum(idf)
    if not held or not mass:
        return 0.0
    shares = [sum(weight for weight, has in zip(idf, words, strict=True) if has) / mass for words in held]
    best = max(range(len(held)), key=shares.__getitem__)
    return probability((shares[best], log1p(sum(held[best]))), ENTRIES)


def of_turns(share: float, words: int) -> float:
    """Return the confidence of a search in conversations for a question that names no speaker, or all."""
    return probability((share, log1p(words)), TURNS)


def of_speakers(rarest: bool, said: float, ranked: float, found: float) -> float:
    """Return the confidence of a search in conversations for a question about speakers."""
    return probability((float(rarest), said, ranked, found), SPEAKERS)
