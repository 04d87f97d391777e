"""Stems: Snowball for the languages of `languages.py`, and for those that are known by their script.

Pure functions over folded words, the same for content and queries.
"""

import threading
from bisect import bisect_right
from collections.abc import Callable

import Stemmer

__all__ = ["STEMMERS", "english", "portuguese"]

# The order of folding and stemming, measured on 112 Portuguese word families in singular, plural, gender and tense,
# each form with and without its accents: share of the 553 pairs of forms of one family that get the same term.
#   stem, then fold 0.64   fold, then stem 0.69   fold, restore the ending, stem, fold 0.94
# Snowball needs the accents of -ção, -ência, -ível and -ável to recognise the suffix, so folding first loses it and
# folding last separates "informacao" from "informação"; it also misses most plurals in -ões, -ais, -veis, -ns and of
# short words ("erros"). Restoring the ending of the folded word conflates both spellings and both numbers. The first
# match applies.
_PORTUGUESE_ENDINGS = (
    ("coes", "ção"),
    ("cao", "ção"),
    ("oes", "ao"),
    ("ais", "al"),
    ("iveis", "ível"),
    ("ivel", "ível"),
    ("aveis", "ável"),
    ("avel", "ável"),
    ("veis", "vel"),
    ("encias", "ência"),
    ("encia", "ência"),
    ("ns", "m"),
    ("n", "m"),  # token, plugin: only loanwords end so, and their plural must give the same term
    ("mos", "mos"),
    ("as", "a"),
    ("os", "o"),
)
_FRENCH_ENDINGS = (("ees", "ées"), ("ee", "ée"), ("eres", "ères"), ("ere", "ère"))
_UNACCENT = str.maketrans("áãçêíóéè", "aaceioee")

# Blocks of letters that one language or a group of close ones is written in, as (first letter, stemmer). Content and
# query are stemmed alike, so a word of another language in the same script still matches itself. Other scripts are left
# out: the stemmers of Greek and Armenian gave the singular and the plural of a common word different terms.
_SCRIPTS = (
    (0x0400, "russian"),
    (0x0530, ""),
    (0x0600, "arabic"),
    (0x0700, ""),
    (0x0900, "hindi"),
    (0x0980, ""),
)
_FIRST_LETTERS = [first for first, _ in _SCRIPTS]


class _Stemmers(threading.local):
    """Thread-local Snowball stemmers, which are not thread-safe."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english", 0).stemWord
        self.portuguese = Stemmer.Stemmer("portuguese", 0).stemWord
        self._by_language: dict[str, Callable[[str], str]] = {}

    def of(self, language: str) -> Callable[[str], str]:
        """Return the function that stems a word of a language."""
        if language not in self._by_language:
            self._by_language[language] = Stemmer.Stemmer(language, 0).stemWord
        return self._by_language[language]


_STEMMERS = _Stemmers()


def english(word: str) -> str:
    """Return the English stem of a word; of a word in another script, the stem in the language of that script."""
    stem: str = _STEMMERS.english(word) if word.isascii() else _by_script(word)
    return stem or word


def portuguese(word: str) -> str:
    """Return the Portuguese stem of a word; of a word in another script, the stem in the language of that script."""
    if not word.isascii():
        return _by_script(word) or word
    mended = word
    for ending, accented in _PORTUGUESE_ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            mended = word[: -len(ending)] + accented
            break
    stem: str = _STEMMERS.portuguese(mended)
    return stem.translate(_UNACCENT) or word


def _spanish(word: str) -> str:
    if not word.isascii():
        return _by_script(word) or word
    # Folding took the accent by which Snowball knows -ación and -ición; the plural has none.
    mended = f"{word[:-3]}ión" if word.endswith("cion") else word
    stem: str = _STEMMERS.of("spanish")(mended)
    return stem.translate(_UNACCENT) or word


def _french(word: str) -> str:
    if not word.isascii():
        return _by_script(word) or word
    mended = word
    for ending, accented in _FRENCH_ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            mended = word[: -len(ending)] + accented
            break
    stem: str = _STEMMERS.of("french")(mended)
    return stem.translate(_UNACCENT) or word


def _snowball(language: str) -> Callable[[str], str]:
    def stem(word: str) -> str:
        return (_STEMMERS.of(language)(word) if word.isascii() else _by_script(word)) or word

    return stem


STEMMERS: dict[str, Callable[[str], str]] = {
    "english": english,
    "portuguese": portuguese,
    "spanish": _spanish,
    "french": _french,
    **{language: _snowball(language) for language in ("german", "italian", "dutch", "swedish")},
}
"""The stemmer of each language, for folded words."""


def _by_script(word: str) -> str:
    place = bisect_right(_FIRST_LETTERS, ord(word[0]))
    language = _SCRIPTS[place - 1][1] if place else ""
    return _STEMMERS.of(language)(word) if language else word
