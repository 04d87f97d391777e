"""Extractive summaries and insights without a language model: sentences and lines are selected, never generated.

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
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from recollect import text
from recollect.errors import Invalid

__all__ = ["Insights", "insights", "summarise"]

SENTENCE = 400
"""Sentences are cut to this many characters; longer ones are lists, logs or data."""
EMPHASIS = 1.5
"""Factor for a sentence that states a decision or a lesson."""
ONCE = 0.3
"""Weight of a term in one sentence; the logarithm of the number of sentences is added."""
SAID = 0.3
"""Factor applied to a term's weight each time a sentence with it is selected."""
LINE = 15
"""Minimum length of an insight's line, exclusive."""
INSIGHT = 300
"""Maximum length of an insight in characters."""
MOST = 10
"""Maximum number of decisions, and of lessons."""

_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s")
_CODE = re.compile(r"`[^`]*`")
# An announced action ("Let me check …") is neither a decision nor a lesson; matches up to the end of the sentence or a
# colon.
_ANNOUNCED = re.compile(
    r"(?:^|(?<=[.!?]\s))(?:[-*+]\s)?(?:(?:ok|okay|now|so|well|sure|right|great|good|first|next|hmm+)\b[,.!\s]{0,3}){0,3}"
    r"(?:let me|let's|let us|i'll|i will|i'm going to|i am going to|i need to|deixe-me|deixa eu|vou|vamos)\s"
    r"(?:now |first |just |quickly |also |take a )?(?:see|check|look|think|find|read|know|explore|analy[sz]e|review"
    r"|verify|observe|investigate|search|inspect|examine|start|begin|figure|ver|verificar|olhar|pensar|analisar"
    r"|conferir|observar)\b[^.!?:]*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)

# ã and ç may be composed or decomposed.
_A = "(?:ã|a\u0303)"
_C = "(?:ç|c\u0327)"
_DECISION = (
    rf"\bdecid|\bchose\b|\bwill use\b|\bdecis{_A}o|\bescolh|\boptamos|\badotamos|\bvamos usar\b|\bwent with\b"
    r"|\bsettled on\b"
)
_LESSON = (
    rf"\blearned\b|\bimportant|\bnote:|\baprendemos|\bimportante|\bli{_C}{_A}o|\bdiscovery|\binsight|\bdescobr"
    r"|\bobserv"
)
_DECISIONS = re.compile(_DECISION, re.IGNORECASE)
_LESSONS = re.compile(_LESSON, re.IGNORECASE)
_WIDE_DECISIONS = re.compile(rf"{_DECISION}|\brecomenda{_C}|\bstack principal\b", re.IGNORECASE)
_WIDE_LESSONS = re.compile(rf"{_LESSON}|\briscos?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Insights:
    """Lines that state a decision, and lines that state a lesson, each in text order."""

    decisions: tuple[str, ...]
    lessons: tuple[str, ...]


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
        best = found[_order(found)[0][1]]
        return (lead_of[best.part] + best.written)[:most].rstrip()
    lines: dict[int, list[str]] = {}
    for place in sorted(chosen):
        lines.setdefault(found[place].part, []).append(found[place].written)
    return "\n".join(lead_of[part] + " ".join(sentences) for part, sentences in lines.items())


def insights(
    texts: Iterable[str], *, wide: bool = False, known: Callable[[str, str], bool] = lambda category, line: False
) -> Insights:
    """Return the first ten lines that state a decision and the first ten others that state a lesson, by keywords.

    Code, tables, block quotes and announcements ("Let me see …") are ignored. `wide` adds a few keywords, for the end
    of a conversation. Lines for which `known(category, line)` is true (category `decisions` or `lessons`) are skipped
    and do not count.
    """
    patterns = {
        "decisions": _WIDE_DECISIONS if wide else _DECISIONS,
        "lessons": _WIDE_LESSONS if wide else _LESSONS,
    }
    found: dict[str, dict[str, str]] = {category: {} for category in patterns}
    for line in (line for content in texts for line in _prose(content) if len(line) > LINE):
        searched = _stated(line)
        for category, pattern in patterns.items():
            match = pattern.search(searched)
            if match:
                insight = _cut(line, match)
                if len(found[category]) < MOST and not known(category, insight):
                    found[category].setdefault(text.normalise(insight), insight)
                break  # one line gives one note
    return Insights(decisions=tuple(found["decisions"].values()), lessons=tuple(found["lessons"].values()))


def _prose(content: str) -> Iterator[str]:
    """Yield the trimmed lines of a text that are not code, tables or block quotes."""
    before, listed, code = "", False, False
    for line in _FENCE.sub("\n", content).splitlines():
        written = line.strip()
        indented = line.startswith(("    ", "\t"))
        # Below a list item an indented line belongs to the item; elsewhere, after a blank line, it is code.
        code = bool(written) and indented and not listed and (code or not before)
        if written and not indented:
            listed = _ITEM.match(written) is not None
        before = written
        if not code and not written.startswith((">", "|")) and written.count(" | ") < 2:
            yield written


def _stated(line: str) -> str:
    """Replace code and announcements in a line with spaces of the same length."""
    for pattern in (_CODE, _ANNOUNCED):
        line = pattern.sub(lambda match: " " * len(match[0]), line)
    return line


def _cut(line: str, match: re.Match[str]) -> str:
    """Return the part of a line to store."""
    start = 0
    if match.end() > INSIGHT:  # cut from the front as well, so that the matched keyword is kept
        start = max(line.rfind(". ", 0, match.start()) + 2, match.start() - INSIGHT // 2)
    return line[start : start + INSIGHT].strip()


def _sentences(content: str, part: int, lead: int) -> list[_Sentence]:
    found = []
    for sentence in text.sentences(_FENCE.sub("\n", content)):
        written = sentence if len(sentence) <= SENTENCE else sentence[: SENTENCE - 1].rstrip() + "…"
        said = _DECISIONS.search(written) or _LESSONS.search(written)
        worth = (EMPHASIS if said else 1.0) / math.sqrt(len(written) + SENTENCE / 10)
        found.append(_Sentence(written, part, lead + len(written), frozenset(text.analyse(written)), worth))
    return found


def _weights(found: Sequence[_Sentence]) -> dict[str, float]:
    counts = Counter(term for one in found for term in one.terms)
    return {term: ONCE + math.log(count) for term, count in counts.items()}


def _order(found: Sequence[_Sentence]) -> list[tuple[float, int]]:
    """Return a heap of (-gain, position): largest gain first, ties by position."""
    weights = _weights(found)
    heap = [(-_gain(one, weights), place) for place, one in enumerate(found)]
    heapq.heapify(heap)
    return heap


def _gain(one: _Sentence, weights: dict[str, float]) -> float:
    # fsum: set order changes from run to run, and with it the last digit of a plain sum
    return math.fsum(weights[term] for term in one.terms) * one.worth


def _chosen(found: Sequence[_Sentence], most: int) -> list[int]:
    """Return the positions of the sentences selected greedily by largest gain."""
    weights = _weights(found)
    heap = _order(found)
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
