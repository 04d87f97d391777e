"""Extractive summaries without a language model: sentences are selected, never generated.

The argument. A summary should say what the text repeats, and say it once. So the weight of a term grows with the number
of sentences that have it (stop words are already removed), and falls sharply once a selected sentence has it. The gain
of a sentence is the weight of its terms over the square root of its length; of several with the same terms one is
enough. The sentence with the largest gain that fits is selected, greedily, until none fits. Gains can only fall during
selection; therefore a heap that recomputes the gain of its top gives the same selection as comparing all sentences
each time, in about linear time. A sentence that states a decision or a lesson counts half as much again, because that
is what a memory is queried for.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from recollect import text
from recollect.errors import Invalid
from recollect.statement_words import DECISION_KEYWORDS, LESSON_KEYWORDS
from recollect.statements import CODE_BLOCK

__all__ = ["summarise"]

SENTENCE = 400
"""Sentences are cut to this many characters; longer ones are lists, logs or data."""
READ = 200_000
"""Number of characters of a text that are read: of a longer one its beginning and its end."""
EMPHASIS = 1.5
"""Factor for a sentence that states a decision or a lesson."""
ONCE = 0.3
"""Weight of a term in one sentence; the logarithm of the number of sentences is added."""
SAID = 0.3
"""Factor applied to a term's weight each time a sentence with it is selected."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence, the index of its text, its length including that text's lead, its terms, and the factor that turns
    their weight into its gain."""

    written: str
    part: int
    size: int
    terms: frozenset[str]
    worth: float


def summarise(texts: Sequence[str], most: int, leads: Sequence[str] = ()) -> str:
    """Return the most informative sentences, in text order, in at most `most` characters, one line per text.

    All sentences if they fit. Code blocks are omitted and very long sentences cut. Empty only if the texts are.
    With `leads`, one for each text, the line of a text begins with its lead.
    """
    if most < 1:
        raise Invalid(f"a summary of {most} characters was requested; it must be 1 or more")
    lead_of = list(leads) or [""] * len(texts)
    found = [one for part, content in enumerate(texts) for one in _sentences(content, part, len(lead_of[part]))]
    if not found:  # nothing but code, or nothing at all
        whole = zip(lead_of, (" ".join(content.split()) for content in texts), strict=True)
        return "\n".join(lead + content for lead, content in whole if content)[:most].rstrip()
    fits = sum(one.size + 1 for one in found) - 1 <= most
    chosen = list(range(len(found))) if fits else _chosen(found, most)
    if not chosen:
        best = found[_order(found, _weights(found))[0][1]]
        return (lead_of[best.part] + best.written)[:most].rstrip()
    lines: dict[int, list[str]] = {}
    for place in sorted(chosen):
        lines.setdefault(found[place].part, []).append(found[place].written)
    return "\n".join(lead_of[part] + " ".join(sentences) for part, sentences in lines.items())


def _sentences(content: str, part: int, lead: int) -> list[_Sentence]:
    found = []
    for sentence in text.sentences(text.ends(CODE_BLOCK.sub("\n", content), READ)):
        written = sentence if len(sentence) <= SENTENCE else sentence[: SENTENCE - 1].rstrip() + "…"
        said = DECISION_KEYWORDS.search(written) or LESSON_KEYWORDS.search(written)
        worth = (EMPHASIS if said else 1.0) / math.sqrt(len(written) + SENTENCE / 10)
        found.append(_Sentence(written, part, lead + len(written), frozenset(text.analyse(written)), worth))
    return found


def _weights(found: Sequence[_Sentence]) -> dict[str, float]:
    counts = Counter(term for one in found for term in one.terms)
    return {term: ONCE + math.log(count) for term, count in counts.items()}


def _order(found: Sequence[_Sentence], weights: dict[str, float]) -> list[tuple[float, int]]:
    """Return a heap of (-gain, position): largest gain first, ties by position."""
    heap = [(-_gain(one, weights), place) for place, one in enumerate(found)]
    heapq.heapify(heap)
    return heap


def _gain(one: _Sentence, weights: dict[str, float]) -> float:
    # fsum: set order changes from run to run, and with it the last digit of a plain sum
    return math.fsum(map(weights.__getitem__, one.terms)) * one.worth


def _chosen(found: Sequence[_Sentence], most: int) -> list[int]:
    """Return the positions of the sentences selected greedily by largest gain."""
    weights = _weights(found)
    heap = _order(found, weights)
    chosen = []
    said: set[frozenset[str]] = {frozenset()}
    room = most
    while heap:
        before, place = heapq.heappop(heap)
        one = found[place]
        if one.terms in said or one.size > room:
            continue
        now = -_gain(one, weights)
        if now > before:  # its gain fell since it was pushed: terms of it were selected
            heapq.heappush(heap, (now, place))
            continue
        chosen.append(place)
        room -= one.size + 1
        said.add(one.terms)
        weights |= {term: weights[term] * SAID for term in one.terms}
    return chosen
