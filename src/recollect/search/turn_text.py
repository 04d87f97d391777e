"""Reranking of turns by their text: phrases of the question, and a number or a name if the question asks for one.

The argument. The index knows which words a turn contains, but not whether they are adjacent, nor the rest of the text.
Only the best candidates are read, because a turn that shares few words with the question is no answer, whatever else it
contains. The length of a turn is taken from the index: among people a longer turn says more; in a chat with an
assistant it repeats more. Everything here is linear in the length of a text, and only its beginning counts.

Fitted to five conversations between people and ten chats with an assistant with the other weights unchanged; recall@5
and recall@10 in points, leaving out the conversation asked about: people +1.0 and +1.1, assistant +4.4 and +1.8.
A standing rule of the user counts if the question is about what the rule is for (weight chosen on the same chats).
Rejected, because they added nothing to these: a question just before, the share of the question's words, the words of
the best turns as a second question, similar words by their vectors, boosted trees instead of a sum.
"""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from recollect import standing_rules, text
from recollect.stop_words import ENGLISH_STOPS, PORTUGUESE_STOPS

__all__ = ["READ", "TurnTextQuery", "length_score", "rule_score"]

READ = 40
"""Number of candidates whose text is read; twice as many did not change the results."""
BEGINNING = 20_000
"""Number of characters of a turn that are read."""
PHRASES = 12
"""Maximum number of phrases of a question."""

PHRASE = 0.5
"""Weight of the share of the question's phrases that a turn holds, relative to 1 for the best word score."""
NUMBER = 0.4
"""Weight of a number, if the question asks for one."""
NAME = 0.4
"""Weight of three or more names or titles, if the question asks for one."""
RULE = 1.5
"""Weight of the share of a standing rule's scope that the question holds."""
LENGTH = 0.15
"""Among people, weight of the logarithm of a turn's length relative to the average."""
BREVITY = 0.08
"""The same in chats with an assistant, subtracted."""

_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|often|old|long|far|big|large|tall|fast)\b"
    r"|\bwhat (?:is the |was the |are the )?"
    r"(?:number|percentage|score|price|cost|amount|rate|time|age|version|size|total)\b"
    r"|\bquant[oa]s?\b|\bcuánt[oa]s?\b|\bwie (?:viele?|oft|lange?|alt|groß|weit)\b",
    re.IGNORECASE,
)
_ASKS_NAME = re.compile(
    r"\W*(?:who|whom|whose|which|where|quem|onde|qual|quién|dónde|cuál|wer|wo|welche[rsnm]?"
    r"|what (?:\w{1,20} ){0,2}?(?:name|title|book|movie|film|game|song|city|country|place|band|company|brand|tool"
    r"|library|framework)s?)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|several|couple|once|twice|half"
    r"|dois|duas|três|quatro|cinco|dos|tres|cuatro|zwei|drei|vier|fünf)\b",
    re.IGNORECASE,
)
# A capital inside a sentence, or a short quotation.
_NAME = re.compile(r"(?<=[a-z,;'] )[A-Z][\w'-]{1,40}|[\"“][^\"”\n]{2,60}[\"”]")
_WORD = re.compile(r"\w[\w'-]{0,63}")
_GAP = re.compile(r"\w*\W+")
_SHORT_WORD = re.compile(r"\w{1,4}\W+")
_STOPS = ENGLISH_STOPS | PORTUGUESE_STOPS
_STEM = 4
"""Letters of a word that must match at least; of longer words all but two."""


@dataclass(frozen=True, slots=True)
class TurnTextQuery:
    """What to look for in the text of a turn."""

    phrases: tuple[tuple[str, str], ...]
    """The beginnings of two words that follow each other, in lower case."""
    asks_number: bool
    asks_name: bool
    speakers: frozenset[str]
    """Names to ignore: those of the speakers, which may occur in every turn."""

    @classmethod
    def read(cls, query: str, speakers: Iterable[str]) -> "TurnTextQuery":
        """Parse a query; `speakers` are the names in the conversations."""
        names = frozenset(part for speaker in speakers for part in speaker.split())
        folded = {name.lower() for name in names}
        words = [word.lower().removesuffix("'s") for word in _WORD.findall(query)]
        telling = [word for word in words if word not in folded and _tells(word)]
        pairs = list(dict.fromkeys(pairwise(telling)))[:PHRASES]
        return cls(
            phrases=tuple((_beginning(first), _beginning(second)) for first, second in pairs),
            asks_number=_ASKS_NUMBER.search(query) is not None,
            asks_name=_ASKS_NAME.match(query) is not None,
            speakers=names,
        )

    def __bool__(self) -> bool:
        """Return whether there is anything to look for."""
        return bool(self.phrases) or self.asks_number or self.asks_name

    def score(self, content: str) -> float:
        """Return what the text of a turn adds to its score."""
        content = content[:BEGINNING]
        score = 0.0
        if self.phrases:
            folded = content.lower()
            score += PHRASE * sum(_holds(folded, *phrase) for phrase in self.phrases) / len(self.phrases)
        if self.asks_number and _NUMBER.search(content):
            score += NUMBER
        if self.asks_name:
            found = sum(name not in self.speakers for name in _NAME.findall(content))
            score += NAME * min(found, 3) / 3
        return score


def length_score(lengths: NDArray[np.integer], among_people: NDArray[np.bool_], average: float) -> NDArray[np.float64]:
    """Return what the length of each turn, in terms, adds to its score."""
    relative = np.log1p(lengths) - np.log1p(average)
    added: NDArray[np.float64] = np.where(among_people, LENGTH * relative, -BREVITY * relative)
    return added


def rule_score(content: str, asked: Container[str]) -> float:
    """Return what a standing rule for what the question is about adds to the score of the turn that states it.

    `asked` are the terms of the question. "Always use APA when I ask about sources" shares one word with "How do I list
    my sources?" and is meant for it, so it counts by the words of its scope and not by those of the question.
    """
    scope = standing_rules.scope(content[:BEGINNING])
    words = text.query_terms(scope) if scope else []
    return RULE * sum(any(term in asked for term in word) for word in words) / len(words) if words else 0.0


@lru_cache(2_000)
def _tells(word: str) -> bool:
    """Return whether a word, of at most 64 characters, is one that a search looks up."""
    if word.isascii() and word.isalpha() and word not in _STOPS:  # fast path, same result as below
        return True
    return bool(text.word_terms(word))


def _beginning(word: str) -> str:
    """Return the letters with which every form of a word begins."""
    return word[: max(_STEM, len(word) - 2)]


def _holds(content: str, first: str, second: str) -> bool:
    """Return whether words with these beginnings follow each other, with at most one short word between them.

    Searched for by hand: to compile an expression for each phrase takes longer than to read the turns.
    """
    at = content.find(first)
    while at >= 0:
        if not at or not (content[at - 1].isalnum() or content[at - 1] == "_"):
            gap = _GAP.match(content, at + len(first))
            if gap is not None:
                if content.startswith(second, gap.end()):
                    return True
                short = _SHORT_WORD.match(content, gap.end())
                if short is not None and content.startswith(second, short.end()):
                    return True
        at = content.find(first, at + 1)
    return False
