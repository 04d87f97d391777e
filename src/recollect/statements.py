"""Finds the sentences of a conversation that state a decision, a lesson, a rule or a preference. Pure.

The argument. What is stored without a request must be worth keeping, so a missed sentence is better than a wrong one: a
sentence needs the words of a statement (`statement_words`), and it must be understood alone. Questions, hedges,
sentences about an "it" of the sentence before, requests for the moment, code, tables, quotes, headings and announced
steps are left out. Rules and preferences are the user's alone: what an agent always does is not a rule. An agent gives
advice to its reader all the time, so a sentence of an agent with "you" in it states nothing.

What was recalled must not come back as news: blocks of a context, elements that a host inserts, and prompts ("You are
a …") are not read, and a sentence of the system's messages is not taken from another turn. If an agent repeats what the
user stated, the user's sentence is kept.

`by="keywords"` is the older way: lines of the agent with one of a few keywords.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from recollect import statement_words as words
from recollect import text
from recollect.model.context import ORIENTATION, TITLE

__all__ = [
    "CODE_BLOCK",
    "INSIGHT",
    "LINE",
    "MOST",
    "Insights",
    "Said",
    "insights",
    "next_steps",
    "sentences",
    "within",
]

LINE = 15
"""Minimum length of an insight, exclusive."""
INSIGHT = 300
"""Maximum length of an insight in characters."""
MOST = 10
"""Maximum number of decisions, and of lessons."""
PASTED = 4_000
"""Length above which a user's turn is a document that was pasted; only its first and last paragraphs are read."""
TERMS = 1
"""Minimum number of terms of a statement, without those that only say that it is one."""
COMPARED = 100
"""Number of statements of the user that those of the agent are compared with, so that the time stays linear."""
CODE_BLOCK = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)

_ITEM = re.compile(r"(?:[-*+•]|\d{1,9}[.)])\s+")
_CODE = re.compile(r"`[^`]*`")
_QUOTED = re.compile(r"[\"\u201c\u201e\u00ab][^\"\u201c\u201d\u201e\u00ab\u00bb]*[\"\u201d\u00bb]")
_BOLD = re.compile(r"\*\*|__(?=\S)|(?<=\S)__")
_OPENING = re.compile(r"\s*<([a-z][\w-]{0,60})(?:\s[^<>]*)?>")
_CLOSING = re.compile(r"</([a-z][\w-]{0,60})>")
_MEMORY = re.compile(rf"#+\s*{TITLE}\b|#+\s*{ORIENTATION}\s*$", re.IGNORECASE)
_MEMORY_END = re.compile(r"-{3,}\s*$")
_INSTRUCTIONS = re.compile(r"##\s*MEMORY:|Shared: \.memory/")
_REMEMBERED = re.compile(r"Remembered, and perhaps of use here:")
_PERSONA = re.compile(r"\s*(?:you are|você é|du bist|eres) (?:an?|the|now|um|uma|ein|eine|un|una)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:)\u2014\u2013]\s")
_SAYING = frozenset(
    text.analyse(
        "decided decide agreed chose went settled opted will use using uses used let's go prefer preference always "
        "never from now on note important learned lesson insight discovery found out turned please remember keep mind "
        "really finally definitely today"
    )
)
"""Terms that only say that a sentence is a statement."""


class Said(NamedTuple):
    """A turn: its role (`user`, `assistant`, `tool` or `system`) and its text."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Insights:
    """What states a decision, a rule or a preference, and what states a lesson, each in the order of the talk."""

    decisions: tuple[str, ...]
    lessons: tuple[str, ...]


@dataclass(slots=True)
class _Found:
    """The insights found so far: by category, the sentence of each normalised text."""

    known: Callable[[str, str], bool]
    decisions: dict[str, str] = field(default_factory=dict)
    lessons: dict[str, str] = field(default_factory=dict)

    def add(self, category: str, insight: str) -> None:
        found = self.decisions if category == "decisions" else self.lessons
        key = text.normalise(insight).strip(" .!")
        new = key not in self.decisions and key not in self.lessons
        if new and len(found) < MOST and not self.known(category, insight):
            found[key] = insight

    def result(self) -> Insights:
        return Insights(decisions=tuple(self.decisions.values()), lessons=tuple(self.lessons.values()))


def insights(
    turns: Iterable[tuple[str, str]],
    *,
    wide: bool = False,
    known: Callable[[str, str], bool] = lambda category, line: False,
    by: str = "sentences",
) -> Insights:
    """Return up to ten decisions, rules and preferences, and up to ten lessons, of turns (role and text).

    `wide` adds a few words, for the end of a conversation. Insights for which `known(category, text)` is true (category
    `decisions` or `lessons`) are skipped and do not count. `by` is "sentences" or "keywords".
    """
    said = [Said(*turn) for turn in turns]
    found = _Found(known)
    for category, insight in _by_keywords(said, wide) if by == "keywords" else _by_sentences(said, wide):
        found.add(category, insight)
    return found.result()


def sentences(content: str) -> list[str]:
    """Return the sentences of a text that may state something: prose, without bullets and emphasis."""
    prose = "\n".join(_without_item(line) for line in _prose(_own_words(content)))
    return text.sentences(_BOLD.sub("", prose))


def next_steps(turns: Iterable[tuple[str, str]], most: int) -> list[str]:
    """Return the last sentences, at most `most`, that say what is left to do."""
    found: dict[str, str] = {}
    for said in (Said(*turn) for turn in turns):
        if said.role in ("user", "assistant"):
            for sentence in _read(said):
                searched = _searched(sentence)
                if LINE < len(sentence) <= INSIGHT and words.NEXT.search(searched) and not _is_open(searched):
                    key = text.normalise(sentence)
                    found.pop(key, None)
                    found[key] = sentence
    return list(found.values())[-most:]


# By sentences


def _by_sentences(turns: Sequence[Said], wide: bool) -> Iterator[tuple[str, str]]:
    """Yield category and sentence; of a statement that the agent repeats, the user's sentence."""
    prompts = {text.normalise(one) for turn in turns if turn.role == "system" for one in text.sentences(turn.text)}
    spoken = [turn for turn in turns if turn.role in ("user", "assistant")]
    stated = [[*_statements(turn, wide)] for turn in spoken]
    of_user = [
        _terms(sentence)
        for turn, found in zip(spoken, stated, strict=True)
        if turn.role == "user"
        for _, sentence in found
    ][:COMPARED]
    for turn, found in zip(spoken, stated, strict=True):
        for category, sentence in found:
            if text.normalise(sentence) in prompts:
                continue
            if turn.role == "assistant" and _repeats(_terms(sentence), of_user):
                continue
            yield category, sentence


def _statements(turn: Said, wide: bool) -> Iterator[tuple[str, str]]:
    for sentence in _read(turn):
        category = _category(turn.role, sentence, wide)
        if category is not None:
            yield category, within(sentence)


def _read(turn: Said) -> list[str]:
    """Return the sentences of a turn that are the speaker's own."""
    if turn.role == "user":
        if _PERSONA.match(turn.text):
            return []
        if len(turn.text) > PASTED:
            paragraphs = [part for part in re.split(r"\n\s*\n", turn.text) if part.strip()]
            ends = [part for part in (*paragraphs[:1], *paragraphs[1:][-1:]) if len(part) <= PASTED // 4]
            return [sentence for part in ends for sentence in sentences(part)]
    return sentences(turn.text)


def _category(role: str, sentence: str, wide: bool) -> str | None:
    """Return the category of a sentence; None if it states nothing or is not understood alone."""
    searched = _searched(sentence)
    if not _is_prose(sentence, searched) or words.QUESTION.search(sentence.strip()):
        return None
    if role == "assistant" and (words.ADVICE.search(searched) or words.PROCESS.search(searched)):
        return None
    category = _stated(role, searched, wide)
    if category is None or len(_terms(searched) - _SAYING) < TERMS or words.VAGUE.search(searched):
        return None
    return category


def _stated(role: str, searched: str, wide: bool) -> str | None:
    """Return the category by the words of a sentence: a decision before a lesson, a label before a rule."""
    bare = words.LEAD.sub("", searched)

    def complete() -> bool:  # looked at last, because most sentences have no word of a statement
        return not words.DANGLING.search(bare) and not words.HEDGE.search(bare)

    if (words.DECISION.search(bare) or (wide and words.WIDE_DECISION.search(bare))) and complete():
        return "decisions"
    if words.LABEL.search(bare):
        return "lessons"
    if role == "user" and words.USERS_DECISION.search(bare) and complete():
        return "decisions"
    if role == "user" and words.RULE.search(bare) and not words.ONE_TIME.search(bare):
        return "decisions" if not words.DANGLING.search(bare) else None
    if (words.LESSON.search(bare) or (wide and words.WIDE_LESSON.search(bare))) and complete():
        return "lessons"
    return None


def _searched(sentence: str) -> str:
    """Return the sentence without code, quotations and announcements, to search for words."""
    searched = unicodedata.normalize("NFC", sentence).replace("\u2019", "'")
    for replaced in (_CODE.sub, _QUOTED.sub, words.ANNOUNCED.sub):
        searched = replaced(_blank, searched)
    return searched.strip()


def _blank(match: re.Match[str]) -> str:
    """Return a placeholder for code or a quotation: one word, so that a short name in it still counts as one."""
    return " X " if len(match[0].split()) <= 3 and match[0][0] in '`"\u201c\u201e\u00ab' else " "


def _is_prose(sentence: str, searched: str) -> bool:
    """Return whether a text is a sentence of words: not too short, not data, and not all of it is a quotation."""
    if len(sentence) <= LINE or len(searched) <= LINE or ("://" in searched and len(searched.split()) < 5):
        return False
    letters = sum(map(str.isalpha, sentence)) + sentence.count(" ")
    return letters >= 0.75 * len(sentence) and not sentence.startswith(("#", "{", "[", "$ ", "(", "@", '"', "\u201c"))


def _is_open(searched: str) -> bool:
    bare = words.LEAD.sub("", searched)
    return words.QUESTION.search(searched) is not None or words.DANGLING.search(bare) is not None


def _terms(sentence: str) -> frozenset[str]:
    return frozenset(text.analyse(sentence))


def _repeats(terms: frozenset[str], stated: Sequence[frozenset[str]]) -> bool:
    """Return whether a sentence has the terms of a statement of the user, and few others; or fewer of them."""
    rest = terms - _SAYING
    return any(rest <= one or (one - _SAYING and one - _SAYING <= rest) for one in stated)


def within(sentence: str) -> str:
    """Return a sentence of at most 300 characters, cut after a clause or between words."""
    if len(sentence) <= INSIGHT:
        return sentence
    start = sentence[: INSIGHT - 2]
    cuts = [match.start() for match in _CLAUSE.finditer(start) if match.start() > INSIGHT // 2]
    place = cuts[-1] if cuts else start.rfind(" ")
    return f"{start[: place if place > 0 else None].rstrip(' ,;:')} …"


# By keywords


def _by_keywords(turns: Sequence[Said], wide: bool) -> Iterator[tuple[str, str]]:
    """Yield category and line of the agent's lines with a keyword."""
    patterns = {
        "decisions": words.WIDE_DECISION_KEYWORDS if wide else words.DECISION_KEYWORDS,
        "lessons": words.WIDE_LESSON_KEYWORDS if wide else words.LESSON_KEYWORDS,
    }
    said = (turn.text for turn in turns if turn.role == "assistant")
    for line in (line for content in said for line in _prose(content) if len(line) > LINE):
        searched = line
        for replaced in (_CODE.sub, words.ANNOUNCED.sub):
            searched = replaced(lambda match: " " * len(match[0]), searched)
        for category, keywords in patterns.items():
            match = keywords.search(searched)
            if match:
                yield category, _cut(line, match)
                break  # one line gives one note


def _cut(line: str, match: re.Match[str]) -> str:
    """Return the part of a line to store, cut between words if there are spaces."""
    start = 0
    if match.end() > INSIGHT:  # cut from the front as well, so that the matched keyword is kept
        start = max(line.rfind(". ", 0, match.start()) + 2, match.start() - INSIGHT // 2)
        space = line.find(" ", start - 1, match.start() - 1)
        start = max(start, space + 1)
    cut = line[start : start + INSIGHT]
    if start + INSIGHT < len(line) and line[start + INSIGHT] != " ":
        space = cut.rfind(" ", match.end() - start)
        cut = cut[:space] if space > 0.8 * INSIGHT else cut  # a longer word is data
    return cut.strip()


# Prose


def _prose(content: str) -> Iterator[str]:
    """Yield the trimmed lines of a text that are not code, tables or block quotes."""
    before, listed, code = "", False, False
    for line in CODE_BLOCK.sub("\n", content).splitlines():
        written = line.strip()
        indented = line.startswith(("    ", "\t"))
        # Below a list item an indented line belongs to the item; elsewhere, after a blank line, it is code.
        code = bool(written) and indented and not listed and (code or not before)
        if written and not indented:
            listed = _ITEM.match(written) is not None
        before = written
        if not code and not written.startswith((">", "|")) and written.count(" | ") < 2:
            yield written


def _without_item(line: str) -> str:
    """Return a line without its bullet or number; a blank line before it ends the sentence above."""
    item = _ITEM.match(line)
    return line if item is None else f"\n{line[item.end() :]}"


def _own_words(content: str) -> str:
    """Return a text without what was put into it: blocks of a context, elements of a host, lines of a recall."""
    lines = content.splitlines()
    closed = {tag[1]: number for number, line in enumerate(lines) for tag in _CLOSING.finditer(line)}
    kept: list[str] = []
    inside, until = "", -1
    for number, line in enumerate(lines):
        written = line.strip()
        if number <= until:
            continue
        if inside:
            if _ends_block(inside, written, line):
                inside = ""
            if inside or _MEMORY_END.match(written):
                continue
        if _MEMORY.match(written):
            inside = "memory"
        elif _REMEMBERED.match(written):
            inside = "remembered"
        elif (tag := _OPENING.match(line)) and closed.get(tag[1], -1) >= number:
            until = closed[tag[1]]
        elif not words.RECALLED.search(written) and not _INSTRUCTIONS.match(written):
            kept.append(line)
    return "\n".join(kept)


def _ends_block(inside: str, written: str, line: str) -> bool:
    if inside == "memory":
        return _MEMORY_END.match(written) is not None
    return not line.startswith(("- ", "  ", "> "))
