"""Text analysis: tokenizer and stemming for content and queries, and snippets. Stop words, sentences and the estimate
of tokens have modules of their own.

Pure functions. Both databases index the terms produced here, so this module must never depend on a database, a file,
the locale or the clock: the same text gives the same terms everywhere.
"""

# How a text becomes terms
#
# The text is split at white space into chunks. The analysis of a chunk is kept in a bounded cache, because real text
# repeats its words: a warm analysis is a split and one dictionary lookup per word.
#
# A chunk is folded character by character: compatibility forms, case and accents are removed, and everything that is
# neither part of a word nor a joint of an identifier becomes a space. The result has three kinds of units:
#
# - words, dropped if they are stop words and otherwise stemmed. A word in a script of its own is stemmed in the
#   language of that script (`stemming.py`), whatever the rest of the text is in. For Latin letters, a text uses one
#   language for all its words, guessed by the votes of its words (`languages.py`). Content is indexed in one language
#   only. A query searches its stems in all of them, its own language first, so a wrong guess costs a variant, not a
#   match. Only that of an English query is sure enough to search English and Portuguese alone. Of a German compound
#   the parts are terms, too (`compounds.py`).
# - compounds (identifiers, paths, addresses, versions): the whole unchanged, then its parts as words.
# - runs of a script without spaces: characters and overlapping bigrams. A query searches the bigrams only.
#
# Each emoji is a term, one per character (without skin tones, joiners and selectors); other symbols are not.
# A query has no syntax: quotes, stars, colons, brackets and the words AND, OR, NEAR are treated like any text.
#
# Everything is linear in the length of the text, hostile input included. Two things would not be: normalising a long
# run of combining marks (an insertion sort), so accents are removed before any normalisation here; and a pattern that
# can start inside its own match, so the patterns below start only where a unit starts.

import re
import unicodedata
from collections.abc import Callable, Container, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from operator import itemgetter
from typing import TypeVar

from recollect.compounds import parts as compound_parts
from recollect.concepts import chunk_tags
from recollect.languages import LANGUAGES, STOPS, TELLING, leading, sign_votes, votes_of
from recollect.sentences import ends, sentences, shortened
from recollect.stemming import STEMMERS, english
from recollect.stop_words import ENGLISH_STOPS, PORTUGUESE_STOPS
from recollect.token_estimate import estimate_tokens, token_weight, whole_tokens

__all__ = [
    "ANALYSIS_VERSION",
    "LONG_TURN",
    "Chunk",
    "analyse",
    "chunks",
    "count",
    "ends",
    "estimate_tokens",
    "few_marks",
    "normalise",
    "query_terms",
    "sentences",
    "shortened",
    "snippet",
    "terms",
    "token_weight",
    "whole_tokens",
    "word_terms",
]

ANALYSIS_VERSION: int = 4
"""Stored with an index. Increment it when the same text gives other terms: an index of another version is stale."""

LONG_TURN = 400_000
"""Number of characters of a turn that are indexed and chunked: of a longer one its beginning and its end."""
_TERM_LIMIT = 64
_COMPOUND_LIMIT = 512  # anything longer is data (base64, a token), and its parts would only be noise
T = TypeVar("T")
_CACHE_LIMIT = 200_000


# Letters that Unicode does not decompose but that are folded anyway, and marks that are variants of another one.
_SPECIAL = (
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "\u0131": "i", "þ": "th", "æ": "ae", "œ": "oe"}
    | dict.fromkeys("\u2018\u2019\u02bc", "'")
    | {"\u2010": "-", "\u2044": "/", "\u200b": " "}
    | dict.fromkeys("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f", "")  # invisible letters and marks
)
_PART_MARK = "\x1f"  # separates the parts of camelCase; it is white space, so no chunk contains one already
_KEPT = frozenset("-_./@\\+#'" + _PART_MARK)
_KANA_VOICING = 8  # combining class of the voicing marks, which change the syllable and are not accents


class _Folding(dict[int, str]):
    """A table for str.translate(), filled on first use of each character. Folding is context-free."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character) in ("Cn", "Co", "Cs"):
            return " "  # not cached: a million unassigned code points must not fill the memory
        if character in "\u0419\u0439":  # a letter of its own, which Russian endings need; not an accent
            return "\u0439"
        caseless = unicodedata.normalize("NFKD", character).casefold()
        self[code] = folded = "".join(map(_fold_character, caseless))
        return folded


def _fold_character(character: str) -> str:
    """Fold one decomposed, caseless character: to itself, another, a space or nothing."""
    if character in _KEPT:
        return character
    if character in _SPECIAL:
        return _SPECIAL[character]
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category[0] in "LN":
        return character
    if category[0] == "M":
        accent = unicodedata.combining(character) not in (0, _KANA_VOICING)
        selector = "\ufe00" <= character <= "\ufe0f" or character >= "\U000e0100"
        return "" if accent or selector or category == "Me" else character
    if category == "So" and ("\u2600" <= character <= "\u27bf" or character >= "\U0001f000"):
        return f" {character} "
    return "" if category == "Cf" else " "


class _Shapes(dict[int, str]):
    """A table for str.translate() that maps to case classes: u(pper), l(ower), m(arks and invisible), o(ther)."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category in ("Cn", "Co", "Cs"):
            return "o"
        if category[0] == "M" or category == "Cf":
            shape = "m"
        elif character.isupper():
            shape = "u"
        elif character.islower() and character.upper() != character:  # a letter without a capital form is "o"
            shape = "l"
        else:
            shape = "o"
        self[code] = shape
        return shape


_FOLDING = _Folding()
_SHAPES = _Shapes()
# getUserName, HTTPServer; but not the plural of an acronym (APIs), hence two lower-case letters after the capital.
_NEW_PART = re.compile("lm*(?=u)|um*(?=um*lm*l)")

# Scripts written without spaces: Thai, Lao, Myanmar, Hangul, Khmer, Tai; kana, bopomofo, Han and Yi. The ranges may be
# wide, because folding has turned everything in them that is not a letter into a space.
_UNSPACED = (
    "\u0e01-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf"
    "\u3005-\ua4cf\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaadf\uac00-\ud7ff\uf900-\ufaff"
    "\U0001aff0-\U0001b2ff\U00020000-\U0003ffff"
)
_RUNS = re.compile(f"([{_UNSPACED}]+)")
_LETTERS = r"[^ \-_./@\\+#']+"  # after folding, every other character is part of a word
_SPELLED = f"{_LETTERS}(?:'{_LETTERS})*"
_TOKEN = re.compile(rf"({_SPELLED}(?:(?:_*[-./@\\]_*|_+){_SPELLED})*+)((?:\+\+|\#)(?!{_LETTERS}))?")
_THOUSANDS = re.compile(r"(?<![0-9,.])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])")
_SHORT_I = re.compile("([\u0418\u0438])\u0306")
_ELISION = re.compile(r"(?:[cdjlmnst]|qu|all|dell|nell|sull)'([^\W\d_]{3,})")
_VERSION = re.compile(r"v[0-9][0-9.]*[0-9]")
_DOTTED_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+")
_CLITIC = re.compile(r"'(?:s|ll|ve|re|d|m)(?=\Z|[-_./@\\])")
_PATH_JOINT = re.compile(r"_*[/\\@]_*")
_NAME_JOINT = re.compile(r"_*[-.]_*|_+")
# Digits are split from three letters or more: server2 and sha256sum have parts; s3, k8s and hexadecimal do not.
# So are they from a unit: 5GB is also found by "5 GB".
_UNIT = "[kmgt]b|[kcm]?m|[km]g|ml|[kmg]hz|kwh?|ms|px|fps"
_PART_JOINT = re.compile(
    rf"{_PART_MARK}|(?<=[^\W\d_]{{3}})(?=\d)|(?<=\d)(?=[^\W\d_]{{3}})|(?<=\d)(?=(?:{_UNIT})(?![^\W_]))"
)
_DECIMAL = re.compile(rf"([0-9]+\.[0-9]+)(?:{_UNIT})")
_ANY_JOINT = re.compile(rf"[-_./@\\]|{_PART_JOINT.pattern}")
_ABBREVIATIONS = frozenset(("e.g", "i.e", "p.ex"))

# Stop words that are names when written in capitals. Any other word in capitals may be there for emphasis.
_EDGE_MARKS = ".,;:!?()\"'"
_ACRONYMS = frozenset(("EU", "IT", "OS", "NAS", "US", "WHO"))
# "No" is an answer, so English content is indexed with it. A query that is this word or one of these names alone
# searches it.
_ENGLISH_DROPPED = ENGLISH_STOPS - {"no"}
_LONE = frozenset(map(str.lower, _ACRONYMS)) | {"no"}

# The kinds of units: a standalone word, a word inside a compound, a whole (compound, C++), a run of unspaced script.
_WORD, _PART, _WHOLE, _RUN = range(4)


def _fold(text: str) -> str:
    return text.translate(_FOLDING)


def _mark_parts(chunk: str) -> str:
    """Insert a separator before every capital that starts a new part of a camelCase name."""
    if chunk == chunk.lower():
        return chunk
    cuts = [match.end() for match in _NEW_PART.finditer(chunk.translate(_SHAPES))]
    if not cuts:
        return chunk
    return _PART_MARK.join(chunk[start:end] for start, end in zip([0, *cuts], [*cuts, len(chunk)], strict=True))


def _is_plain(chunk: str) -> bool:
    """Return whether a chunk is one word of lower-case ASCII letters."""
    return chunk.isascii() and chunk.isalpha() and chunk.islower()


def _units(chunk: str) -> Iterator[tuple[int, str]]:
    """Yield the words, compounds with their parts, and runs of unspaced script, in order, folded but not stemmed."""
    if _is_plain(chunk):  # fast path, same result as below
        yield _WORD, chunk[:_TERM_LIMIT]
        return
    if chunk.strip(_EDGE_MARKS) in _ACRONYMS:
        yield _WHOLE, chunk.strip(_EDGE_MARKS).lower()
        return
    if "," in chunk:
        chunk = _THOUSANDS.sub(lambda number: number.group().replace(",", ""), chunk)
    if "\u0306" in chunk:
        chunk = _SHORT_I.sub("\u0439", chunk)
    folded = _fold(_mark_parts(chunk))
    if folded.isascii():
        yield from _spaced_units(folded)
        return
    folded = unicodedata.normalize("NFC", folded)  # folding decomposes kana and Hangul
    for index, piece in enumerate(_RUNS.split(folded)):
        if index % 2:
            yield _RUN, piece
        else:
            yield from _spaced_units(piece)


def _spaced_units(folded: str) -> Iterator[tuple[int, str]]:
    for match in _TOKEN.finditer(folded):
        token, sign = match.groups()
        if "'" in token:
            token = _CLITIC.sub("", token)
            if elided := _ELISION.fullmatch(token):
                yield _PART, elided[1][:_TERM_LIMIT]
            token = token.replace("'", "")
        if sign == "++" or (sign and len(token) == 1):  # C++ and C#, but not a trailing heading#
            yield _WHOLE, token.replace(_PART_MARK, "")[: _TERM_LIMIT - len(sign)] + sign
        if _ANY_JOINT.search(token) is None:
            if _follows_dot(folded, match.start()) and not token[0].isdigit():  # .NET, .env
                yield _WHOLE, f".{token[: _TERM_LIMIT - 1]}"
            yield _WORD, token[:_TERM_LIMIT]
        elif token not in _ABBREVIATIONS:
            yield from _compound(token[:_COMPOUND_LIMIT].rstrip("-_./@\\"))


def _follows_dot(folded: str, start: int) -> bool:
    """Return whether a token follows a dot that starts a chunk or follows a space."""
    return start > 0 and folded[start - 1] == "." and (start == 1 or folded[start - 2] == " ")


def _compound(token: str) -> Iterator[tuple[int, str]]:
    """Yield the whole, each segment of a path or address, each name in a segment and each part of a name."""
    segments = _PATH_JOINT.split(token)
    if len(segments) > 1:
        yield _WHOLE, token.replace(_PART_MARK, "")[:_TERM_LIMIT]
    for segment in segments:
        names = _NAME_JOINT.split(segment)
        if len(names) > 1:
            yield _WHOLE, segment.replace(_PART_MARK, "")[:_TERM_LIMIT]
            if other := _other_spelling(segment):
                yield _WHOLE, other[:_TERM_LIMIT]
            # e-mail, wi-fi, to-do and re-index are as often written as one word.
            if len(names) == 2 and len(names[0]) <= 3 and "-" in segment and "".join(names).isalpha():
                yield _PART, "".join(names)[:_TERM_LIMIT]
        for name in names:
            parts = [part for part in _PART_JOINT.split(name) if part]
            if len(parts) > 1:
                yield _PART, "".join(parts)[:_TERM_LIMIT]
                if len(parts) > 2 and len(parts[0]) == 1:  # the iPhone of iPhone15Pro
                    yield _PART, "".join(parts[:2])[:_TERM_LIMIT]
            for part in parts:
                yield _PART, part[:_TERM_LIMIT]


def _other_spelling(segment: str) -> str:
    """Return how a version, web address, decimal with a unit or number with dotted thousands is also written."""
    if _VERSION.fullmatch(segment):
        return segment[1:]
    if _DOTTED_THOUSANDS.fullmatch(segment):
        return segment.replace(".", "")
    if measured := _DECIMAL.fullmatch(segment):
        return measured[1]
    return segment[4:] if segment.startswith("www.") else ""


def _characters_and_pairs(run: str) -> Iterator[str]:
    shared: dict[str, str] = {}  # a long run has few distinct pairs: intern them
    for first, second in pairwise(run):
        yield shared.setdefault(first, first)
        yield shared.setdefault(first + second, first + second)
    yield run[-1]


Chunk = tuple[int, tuple[str, ...], str, tuple[str, ...] | None]
"""The analysis of a chunk: votes for languages, terms in English, the chunk itself, and its tags (see `chunk_tags`)."""


class _Terms(dict[str, tuple[str, ...]]):
    """Cache of the terms of chunks in a language, filled on first use in a text of that language."""

    def __init__(self, language: str) -> None:
        self._stops, self._stem = STOPS[language], STEMMERS[language]
        self._split = compound_parts if language == "german" else _unsplit

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        return _learned(self, chunk, _in_language(chunk, self._stops, self._stem, self._split))


class _Chunks(dict[str, Chunk]):
    """Cache of chunk analyses, filled on first use.

    Thread-safe without a lock: a lookup, a store and clear() are each atomic, and two threads that analyse the same
    chunk at the same time store equal values.
    """

    def __missing__(self, chunk: str) -> Chunk:
        tags = chunk_tags(chunk)
        terms: tuple[str, ...]
        if _is_plain(chunk) and len(chunk) <= _TERM_LIMIT:  # fast path, same result as below
            votes, terms = votes_of(chunk), () if chunk in _ENGLISH_DROPPED else (english(chunk),)
        else:
            votes = sum(votes_of(unit) for kind, unit in _units(chunk) if kind == _WORD) + sign_votes(chunk)
            terms = _in_language(chunk, _ENGLISH_DROPPED, english, _unsplit)
        # Many thousands of these are cached, and most lookups miss the CPU cache: sharing one object saves time.
        return _learned(self, chunk, (votes, tags if tags == terms else terms, chunk, tags))


def _learned(known: dict[str, T], chunk: str, entry: T) -> T:
    if len(chunk) <= _TERM_LIMIT:  # long ones rarely repeat
        if len(known) >= _CACHE_LIMIT:
            known.clear()
        known[chunk] = entry
    return entry


def _unsplit(_: str) -> tuple[str, ...]:
    return ()


def _in_language(
    chunk: str, stops: Container[str], stem: Callable[[str], str], split: Callable[[str], tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the terms of a chunk in one language, in which `split` returns the parts of a compound."""
    terms: list[str] = []
    for kind, unit in _units(chunk):
        if kind == _WHOLE:
            terms.append(unit)
        elif kind == _RUN:
            terms.extend(_characters_and_pairs(unit))
        elif unit not in stops:
            terms.append(stem(unit))
            terms.extend(map(stem, split(unit)))
    return tuple(terms)


_CHUNKS = _Chunks()
_OTHERS = {language: _Terms(language) for language in STOPS if language != "english"}
_votes_of = itemgetter(0)
_in_english = itemgetter(1)
_itself = itemgetter(2)


def chunks(text: str) -> list[Chunk]:
    """Return the chunk analyses of a text, for callers that need more than its terms."""
    return list(map(_CHUNKS.__getitem__, text.split()))


def _terms_in_order(found: Sequence[Chunk]) -> Iterator[str]:
    language = leading(sum(map(_votes_of, found)))[0]
    if language != "english":
        return chain.from_iterable(map(_OTHERS[language].__getitem__, map(_itself, found)))
    return chain.from_iterable(map(_in_english, found))


def analyse(text: str) -> list[str]:
    """Return the terms of a piece of content, in order and with repetitions."""
    return list(_terms_in_order(chunks(text)))


def terms(text: str) -> dict[str, int]:
    """Return the frequency of each term of `analyse(text)`, in order of first appearance."""
    return count(chunks(text))


def count(found: Sequence[Chunk]) -> dict[str, int]:
    """Return `terms()` of a text from its `chunks()`."""
    terms = list(_terms_in_order(found))
    counts = dict.fromkeys(terms, 1)
    if len(counts) < len(terms):  # else every term occurs once
        counts = dict.fromkeys(counts, 0)
        for term in terms:
            counts[term] += 1
    return counts


def query_terms(text: str) -> list[tuple[str, ...]]:
    """Return a query as groups of alternative terms, one group per distinct word, in order of first appearance.

    The first term of a group is the stem in the language of the query (English when in doubt), the others, if they
    differ, stems in other languages that the content may be in. A group whose first term is in an earlier group is
    omitted. Empty if the query has only stop words and punctuation, unless it is a single one that is a name as well:
    "us" searches for the US, which `word_terms()` does not.
    """
    return list(_query_terms(text) or _lone(text))


def word_terms(word: str) -> list[tuple[str, ...]]:
    """Return the groups that a word of a longer query adds to `query_terms()`: none if it is a stop word."""
    return list(_query_terms(word))


def _lone(text: str) -> Iterator[tuple[str, ...]]:
    words = [unit for _, unit in chain.from_iterable(map(_units, text.split()))] if len(text) <= _TERM_LIMIT else []
    if len(words) == 1 and words[0] in _LONE:
        yield (words[0],)


@lru_cache(maxsize=16)  # the searches of one context share a query
def _query_terms(text: str) -> tuple[tuple[str, ...], ...]:
    units: list[tuple[int, str]] = []
    votes = 0
    for chunk in text.split():
        # Questions share most of their words.
        found, more = _of_query(chunk) if len(chunk) <= _TERM_LIMIT else _of_query.__wrapped__(chunk)
        votes += more
        units += found
    languages = leading(votes)
    split = compound_parts if "german" in languages else _unsplit
    stops = STOPS[languages[0]] | (TELLING if len(languages) > 1 else frozenset())
    others = ("portuguese",) if languages == ("english",) else ("english", *LANGUAGES)
    searched = tuple(dict.fromkeys(languages + others))
    # A query of stop words alone asks for them, unless they are those of the two languages that names rarely look like.
    return _groups(units, stops, searched, split) or _groups(units, ENGLISH_STOPS | PORTUGUESE_STOPS, searched, split)


@lru_cache(maxsize=4096)
def _of_query(chunk: str) -> tuple[tuple[tuple[int, str], ...], int]:
    """Return the units of a chunk of a query and its votes for languages."""
    found = tuple(_units(chunk))
    return found, sum(votes_of(unit) for kind, unit in found if kind == _WORD) + sign_votes(chunk)


def _groups(
    units: Sequence[tuple[int, str]],
    stops: Container[str],
    languages: tuple[str, ...],
    split: Callable[[str], tuple[str, ...]],
) -> tuple[tuple[str, ...], ...]:
    """Return the groups of a query; see `query_terms`."""
    groups: list[tuple[str, ...]] = []
    asked: set[str] = set()
    wanted: list[tuple[str, ...]]
    for kind, unit in units:
        if kind == _RUN:
            wanted = [(pair,) for pair in map("".join, pairwise(unit))] or [(unit,)]
        elif kind == _WHOLE:
            wanted = [(unit,)]
        elif unit in stops:
            continue
        else:
            wanted = [_alternatives(word, languages) for word in (unit, *split(unit))]
        for group in wanted:
            if group and group[0] not in asked:
                asked.update(group)
                groups.append(group)
    return tuple(groups)


@lru_cache(maxsize=4096)
def _alternatives(word: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    """Return the word's stems in the languages, except those in which it is a stop word and never indexed."""
    return tuple(dict.fromkeys(STEMMERS[one](word) for one in languages if word not in STOPS[one]))


def normalise(text: str) -> str:
    """Normalise a text for comparison: fold compatibility forms and case, collapse white space."""
    if text.isascii():
        return " ".join(text.lower().split())
    text = few_marks(text)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def few_marks(text: str) -> str:
    """Truncate runs of combining marks to 30: normalising a longer run takes quadratic time."""
    marks = "".join(character for character in set(text) if unicodedata.combining(character))
    if not marks:
        return text
    row = f"[{re.escape(marks)}]"
    return re.sub(f"({row}{{30}}){row}+", r"\1", text)


_LONG_WORD = 16
_COMPARED = 10_000_000
"""Number of characters that a snippet compares with words of the query, at the usual length of both."""


def snippet(text: str, query: str, width: int = 120, before: int = 30) -> str:
    """Return up to `width` characters around the first query word found in the text, up to `before` ahead of it.

    A text no longer than that is returned whole; else it is cut between words, unless they are long. Words are compared
    without case and accents, in query order; stop words only if there is nothing else. Only the first words of a long
    query are looked for in a long text. If no word occurs as typed, a word that starts with one of the query's stems
    matches; else the snippet is the beginning of the text.
    """
    if len(text) <= width:
        return text.strip()
    place = _unfolded_index(text, _first_needle(_fold(text), *_needles(query)))
    start = max(0, place - before)
    if 0 < start < place and not text[start - 1].isspace():
        for n in range(start, min(place, start + _LONG_WORD)):
            if text[n].isspace():
                start = n + 1
                break
    shown = text[start : start + width]
    if start + width < len(text) and not text[start + width].isspace():
        for n in range(len(shown) - 1, max(len(shown) - _LONG_WORD, 0), -1):
            if shown[n].isspace():
                shown = shown[:n] if start + n > place else shown
                break
    return shown.strip()


def _first_needle(folded: str, typed: Sequence[str], stems: Sequence[str]) -> int:
    """Return where the first of the words is that the text has, or else the first stem; 0 if it has none."""
    most = _COMPARED // len(folded) + 100  # each word may have to be looked for in the whole text
    for word in typed[:most]:
        if (place := _find(folded, word, inside=True)) >= 0:
            return place
    for stem in stems[:most]:
        # Unspaced scripts have no word boundaries.
        if (place := _find(folded, stem, inside=not stem.isascii())) >= 0:
            return place
    return 0


@lru_cache(maxsize=16)  # the hits of one recall share a query, and a query may be long
def _needles(query: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the search strings for a folded text: the query's words as typed, and their stems."""
    pieces = _RUNS.split(_fold(query))
    words = [_CLITIC.sub("", match.group())[:_TERM_LIMIT] for piece in pieces for match in _TOKEN.finditer(piece)]
    typed = [word for word in words if word.replace("'", "") not in TELLING] or words
    stems = [unicodedata.normalize("NFKD", term) for group in query_terms(query) for term in group]
    return tuple(dict.fromkeys(typed)), tuple(dict.fromkeys(stems))


def _find(folded: str, word: str, *, inside: bool) -> int:
    """Return where the word starts a word of the text; else, if `inside`, its first occurrence anywhere; else -1."""
    first = at = folded.find(word)
    while at > 0 and folded[at - 1].isalnum():
        at = folded.find(word, at + 1)
    return first if at < 0 and inside else at


def _unfolded_index(text: str, at: int) -> int:
    """Map an index in the folded text to the index in the original text."""
    if text.isascii():
        return at
    start = 0
    block = 4096  # large strides first, because folding one character at a time is slow
    while start < len(text):
        length = len(_fold(text[start : start + block]))
        if at >= length:
            at -= length
            start += block
        elif block == 1:
            return start
        else:
            block = 64 if block == 4096 else 1
    return start
