"""Word-based scores of answers, without a model as judge: containment, exact match, F1, confidence intervals."""

import random
import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["answer_words", "contains", "exact_match", "f1", "interval", "words_in"]

_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the"})
RESAMPLES = 1_000


def answer_words(text: str) -> list[str]:
    """Normalise a text to words for comparison: casefolded, without punctuation and English articles."""
    words = _WORD.findall(text.casefold())
    return [word for word in words if word not in _ARTICLES] or words


def contains(text: str, answer: str) -> bool:
    """Return whether a text contains the words of an answer, adjacent and in order."""
    wanted = answer_words(answer)
    return bool(wanted) and f" {' '.join(wanted)} " in f" {' '.join(answer_words(text))} "


def words_in(text: str, answer: str) -> float:
    """Return the share of an answer's words that occur anywhere in a text."""
    wanted = answer_words(answer)
    there = set(answer_words(text))
    return sum(word in there for word in wanted) / len(wanted) if wanted else 0.0


def exact_match(given: str, answers: Sequence[str]) -> bool:
    """Return whether an answer has exactly the words of one of the expected ones."""
    return any(answer_words(given) == answer_words(answer) != [] for answer in answers)


def f1(given: str, answers: Sequence[str]) -> float:
    """Return the harmonic mean of precision and recall of an answer's words, for the best of the expected ones."""
    return max((_f1(answer_words(given), answer_words(answer)) for answer in answers), default=0.0)


def _f1(given: Sequence[str], expected: Sequence[str]) -> float:
    common = (Counter(given) & Counter(expected)).total()
    return 2 * common / (len(given) + len(expected)) if common else 0.0


def interval(values: Sequence[float], *, seed: int = 1) -> tuple[float, float]:
    """Return the 95% confidence interval of the mean, by bootstrap: percentiles of the means of resampled values.

    Raises ZeroDivisionError without values.
    """
    chance, size = random.Random(seed), len(values)
    means = sorted(sum(chance.choices(values, k=size)) / size for _ in range(RESAMPLES))
    return means[round(RESAMPLES * 0.025)], means[round(RESAMPLES * 0.975) - 1]
