"""Summaries and insights without a language model: sentences and lines are chosen, never written.

The argument. A summary should say what the text keeps coming back to, and say it once. So a term weighs the more, the
more sentences have it (stop words are gone already), and much less once a chosen sentence has it. What a sentence gains
is the weight of its terms over the square root of its length; of several with the same terms one is enough. The
sentence with the largest gain is taken, as long as one fits. A gain can only fall while sentences are chosen;
therefore a heap whose top is looked at anew gives the same choice as comparing all of them each time, and the work is
about linear. A sentence that states a decision or a lesson counts half as much again, because this is what a memory is
asked for.
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
"""Characters of a sentence that are used; what is longer is a list, a log or data."""
EMPHASIS = 1.5
"""How much more a sentence counts that states a decision or a lesson."""
ONCE = 0.3
"""The weight of a term that one sentence has; for more sentences their logarithm is added."""
SAID = 0.3
"""How much of its weight a term keeps each time that a sentence with it is chosen."""
LINE = 15
"""A line must be longer than this to be an insight."""
INSIGHT = 300
"""Characters of an insight."""
MOST = 10
"""The most decisions, and the most lessons."""

_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s")
_CODE = re.compile(r"`[^`]*`")
# What somebody is about to do is no decision and no lesson: up to the end of the sentence, or to a colon.
_ANNOUNCED = re.compile(
    r"(?:^|(?<=[.!?]\s))(?:[-*+]\s)?(?:(?:ok|okay|now|so|well|sure|right|great|good|first|next|hmm+)\b[,.!\s]{0,3}){0,3}"
    r"(?:let me|let's|let us|i'll|i will|i'm going to|i am going to|i need to|deixe-me|deixa eu|vou|vamos)\s"
    r"(?:now |first |just |quickly |also |take a )?(?:see|check|look|think|find|read|know|explore|analy[sz]e|review"
    r"|verify|observe|investigate|search|inspect|examine|start|begin|figure|ver|verificar|olhar|pensar|analisar"
    r"|conferir|observar)\b[^.!?:]*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)

# ã and ç may come as one character or as two.
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
    """Lines that state a decision, and lines that state a lesson, each in the order of the text."""

    decisions: tuple[str, ...]
    lessons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One sentence, the text it stands in, the characters it takes with the lead of that text, its terms, and what a
    unit of their weight is worth."""

    written: str
    part: int
    size: int
    terms: frozenset[str]
    worth: float


def summarise(texts: Sequence[str], most: int, leads: Sequence[str] = ()) -> str:
    """The sentences that say most, in their order, in at most `most` characters. The sentences of each text are a line.

    All of them when they fit. Code blocks are left out and very long sentences cut. Empty only when the texts are.
    With `leads`, one for each text, the line of a text begins with its lead.
    """
    if most < 1:
        raise Invalid(f"a summary of {most} characters was asked for; give 1 or more")
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
    """The first ten lines that state a decision and the first ten others that state a lesson, by the words they have.

    Code, tables, block quotes and announcements ("Let me see …") state nothing. `wide` knows a few more words, for the
    end of a conversation. Lines that are `known` (by category, `decisions` or `lessons`) are left out and do not count.
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
    """The lines of a text that are no code, table or block quote, trimmed."""
    before, listed, code = "", False, False
    for line in _FENCE.sub("\n", content).splitlines():
        written = line.strip()
        indented = line.startswith(("    ", "\t"))
        # Below an item of a list, what is indented belongs to the item; elsewhere it is code after a blank line.
        code = bool(written) and indented and not listed and (code or not before)
        if written and not indented:
            listed = _ITEM.match(written) is not None
        before = written
        if not code and not written.startswith((">", "|")) and written.count(" | ") < 2:
            yield written


def _stated(line: str) -> str:
    """A line in which code and announcements are blanked out; it has the same length."""
    for pattern in (_CODE, _ANNOUNCED):
        line = pattern.sub(lambda match: " " * len(match[0]), line)
    return line


def _cut(line: str, match: re.Match[str]) -> str:
    """The part of a line that is stored."""
    start = 0
    if match.end() > INSIGHT:  # cut from the front as well, or the words that make it an insight are lost
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
    """A heap of (-gain, place): the largest gain first, the earlier sentence when two are equal."""
    weights = _weights(found)
    heap = [(-_gain(one, weights), place) for place, one in enumerate(found)]
    heapq.heapify(heap)
    return heap


def _gain(one: _Sentence, weights: dict[str, float]) -> float:
    # fsum: the order of a set of words changes from run to run, and with it the last digit of a plain sum
    return math.fsum(weights[term] for term in one.terms) * one.worth


def _chosen(found: Sequence[_Sentence], most: int) -> list[int]:
    """The places of the sentences to keep: always the one with the largest gain that fits."""
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
        if now > before:  # its terms have been said since it was last looked at
            heapq.heappush(heap, (now, place))
            continue
        chosen.append(place)
        room -= one.size + 1
        said.add(one.terms)
        weights |= {term: weights[term] * SAID for term in one.terms}
    return chosen
