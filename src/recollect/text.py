"""Text analysis: tokenizer, stemming and stop words for content and queries, sentences, snippets, token estimates.

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
# - words, dropped if they are stop words and otherwise stemmed. Every chunk has its terms in both languages, and a text
#   uses one language for all its words: the one with more stop words that are exclusive to it. Content is indexed in
#   one language only; a query searches the stems of both, so a wrong guess costs a variant, not a match.
# - compounds (identifiers, paths, addresses, versions): the whole unchanged, then its parts as words.
# - runs of a script without spaces: characters and overlapping bigrams. A query searches the bigrams only.
#
# Each emoji is a term, one per character (without skin tones, joiners and selectors); other symbols are not.
# A query has no syntax: quotes, stars, colons, brackets and the words AND, OR, NEAR are treated like any text.
#
# Everything is linear in the length of the text, hostile input included. Two things would not be: normalising a long
# run of combining marks (an insertion sort), so accents are removed before any normalisation here; and a pattern that
# can start inside its own match, so the patterns below start only where a unit starts.

import math
import re
import threading
import unicodedata
from collections.abc import Callable, Container, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from operator import itemgetter
from typing import TypeVar

import Stemmer

from recollect.concepts import chunk_tags

__all__ = [
    "ANALYSIS_VERSION",
    "Chunk",
    "analyse",
    "chunks",
    "count",
    "estimate_tokens",
    "few_marks",
    "normalise",
    "query_terms",
    "sentences",
    "snippet",
    "terms",
    "token_weight",
    "whole_tokens",
]

ANALYSIS_VERSION: int = 1
"""Stored with an index. Increment it when the same text gives other terms: an index of another version is stale."""

_TERM_LIMIT = 64
_COMPOUND_LIMIT = 512  # anything longer is data (base64, a token), and its parts would only be noise
T = TypeVar("T")
_CACHE_LIMIT = 200_000


def _words(written: str) -> frozenset[str]:
    return frozenset(written.split())


# Stop words are written without accents and apostrophes, as they are compared. Excluded on purpose: words that carry
# the meaning of a note (never, always, down, off, done) or are names of things (may, ai, ti).
_ENGLISH_STOPS = _words("""
    a about above after again against all almost along already also although am among an and another any anybody anyone
    anything are around as at be because been before being below beside besides between beyond both but by can cannot
    could did do does doing during each either else enough ever every everybody everyone everything few for from further
    had has have having he hence her here hers herself him himself his how however i if in indeed instead into is it its
    itself just least less many me might more moreover most mostly much must my myself neither no nobody none nor not
    nothing now of on once only onto or other others otherwise ought our ours ourselves out over own per perhaps quite
    rather really same shall she should since so some somebody somehow someone something sometimes somewhere still such
    than that the their theirs them themselves then there therefore these they this those though through throughout thus
    to too toward towards under unless until up upon us very via was we were what whatever when whenever where whereas
    wherever whether which whichever while who whoever whom whose why will with within without would yet you your yours
    yourself yourselves
    aint arent cant couldnt didnt doesnt dont hadnt hasnt havent isnt mightnt mustnt neednt shant shouldnt wasnt werent
    wont wouldnt
""")
# Portuguese stop words that are words or names in English texts too: OS, EU, NAS, num, logo, todo, "an era", "we ate".
# They are dropped from Portuguese texts, but are no evidence for the language, and a query of unknown language keeps
# them.
_PORTUGUESE_SHARED_STOPS = _words("""
    ante ate contra das dos e era eram eras es eu for ha la logo nas nos num os sem ser si sob somos tal tao ter todo
    todos tu vos
""")
_PORTUGUESE_STOPS = _PORTUGUESE_SHARED_STOPS | _words("""
    a acerca agora ainda alem alguem algum alguma algumas alguns ambas ambos antes ao aos apenas apesar apos
    aquela aquelas aquele aqueles aqui aquilo as assim atraves cada com comigo como conosco consigo contigo
    contudo cuja cujas cujo cujos da daquela daquelas daquele daqueles de dela delas dele deles dentro depois desde
    dessa dessas desse desses desta destas deste destes disso disto do durante ela elas ele eles em embora enquanto
    entao entre essa essas esse esses esta estamos estao estar estas estava estavam estavamos este esteja estejam
    esteve estes estive estiver estiveram estou foi fomos foram fosse fossem fui haja havia haviam houve houver isso
    isto ja jamais lhe lhes mais mas me mesma mesmas mesmo mesmos meu meus mim minha minhas muita muitas muito
    muitos na nao naquela naquelas naquele naqueles nela nelas nele neles nem nenhum nenhuma nessa nessas nesse nesses
    nesta nestas neste nestes ninguem nisso nisto no nossa nossas nosso nossos numa numas nuns o onde ou outra outras
    outro outros para pela pelas pelo pelos perante pode podem podia pois por porem porque portanto pouca poucas pouco
    poucos pra quais quaisquer qual qualquer quando quanta quantas quanto quantos quase que quem sao se seja sejam
    sejamos sendo sera serao seria seriam seu seus sido so sobre sou sua suas tambem tampouco tanta tantas tanto tantos
    te tem temos tendo tenha tenham tenho tera terao teria teriam teu teus teve tido tinha tinham tive tivemos tiver
    tiveram toda todas tua tuas tudo um uma umas uns vai vamos vao varias varios voce voces vou
""")
_STOPS_IN_DOUBT = _ENGLISH_STOPS | (_PORTUGUESE_STOPS - _PORTUGUESE_SHARED_STOPS)
# Votes for the language: +1 English, -1 Portuguese; a word in both lists has none.
_VOTES = dict.fromkeys(_ENGLISH_STOPS - _PORTUGUESE_STOPS, 1) | dict.fromkeys(
    _PORTUGUESE_STOPS - _PORTUGUESE_SHARED_STOPS - _ENGLISH_STOPS, -1
)
# A tilde, composed with any letter or combining: of the two languages only Portuguese has it, and a short note may have
# no stop word. All letters are listed, so that composed and decomposed text always give the same vote.
_TILDE = re.compile("[\u0303ÃÑÕãñõĨĩŨũȬȭṌṍṎṏṸṹṼṽẪẫẴẵẼẽỄễỖỗỠỡỮữỸỹ]")

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
_UNACCENT = str.maketrans("áãçêí", "aacei")

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
_CLITIC = re.compile(r"'(?:s|ll|ve|re|d|m)(?=\Z|[-_./@\\])")
_PATH_JOINT = re.compile(r"_*[/\\@]_*")
_NAME_JOINT = re.compile(r"_*[-.]_*|_+")
# Digits are split from three letters or more: server2 and sha256sum have parts; s3, k8s and hexadecimal do not.
_PART_JOINT = re.compile(rf"{_PART_MARK}|(?<=[^\W\d_]{{3}})(?=\d)|(?<=\d)(?=[^\W\d_]{{3}})")
_ANY_JOINT = re.compile(rf"[-_./@\\]|{_PART_JOINT.pattern}")
_ABBREVIATIONS = frozenset(("e.g", "i.e", "p.ex"))

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
            token = _CLITIC.sub("", token).replace("'", "")
        if sign == "++" or (sign and len(token) == 1):  # C++ and C#, but not a trailing heading#
            yield _WHOLE, token.replace(_PART_MARK, "")[: _TERM_LIMIT - len(sign)] + sign
        if _ANY_JOINT.search(token) is None:
            yield _WORD, token[:_TERM_LIMIT]
        elif token not in _ABBREVIATIONS:
            yield from _compound(token[:_COMPOUND_LIMIT].rstrip("-_./@\\"))


def _compound(token: str) -> Iterator[tuple[int, str]]:
    """Yield the whole, each segment of a path or address, each name in a segment and each part of a name."""
    segments = _PATH_JOINT.split(token)
    if len(segments) > 1:
        yield _WHOLE, token.replace(_PART_MARK, "")[:_TERM_LIMIT]
    for segment in segments:
        names = _NAME_JOINT.split(segment)
        if len(names) > 1:
            yield _WHOLE, segment.replace(_PART_MARK, "")[:_TERM_LIMIT]
            # e-mail, wi-fi, to-do and re-index are as often written as one word.
            if len(names) == 2 and len(names[0]) <= 3 and "-" in segment and "".join(names).isalpha():
                yield _PART, "".join(names)[:_TERM_LIMIT]
        for name in names:
            parts = [part for part in _PART_JOINT.split(name) if part]
            if len(parts) > 1:
                yield _PART, "".join(parts)[:_TERM_LIMIT]
            for part in parts:
                yield _PART, part[:_TERM_LIMIT]


class _Stemmers(threading.local):
    """Thread-local Snowball stemmers, which are not thread-safe."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english", 0).stemWord
        self.portuguese = Stemmer.Stemmer("portuguese", 0).stemWord


_STEMMERS = _Stemmers()


def _english(word: str) -> str:
    stem: str = _STEMMERS.english(word)
    return stem or word


def _portuguese(word: str) -> str:
    mended = word
    for ending, accented in _PORTUGUESE_ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            mended = word[: -len(ending)] + accented
            break
    stem: str = _STEMMERS.portuguese(mended)
    return stem.translate(_UNACCENT) or word


def _characters_and_pairs(run: str) -> Iterator[str]:
    shared: dict[str, str] = {}  # a long run has few distinct pairs: intern them
    for first, second in pairwise(run):
        yield shared.setdefault(first, first)
        yield shared.setdefault(first + second, first + second)
    yield run[-1]


def _tilde_vote(chunk: str) -> int:
    return 0 if chunk.isascii() or _TILDE.search(chunk) is None else -1


Chunk = tuple[int, tuple[str, ...], str, tuple[str, ...] | None]
"""The analysis of a chunk: language vote, terms in English, the chunk itself, and its tags (see `chunk_tags`)."""


class _Terms(dict[str, tuple[str, ...]]):
    """Cache of the Portuguese terms of chunks, filled on first use in a Portuguese text."""

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        return _learned(self, chunk, _in_language(chunk, _PORTUGUESE_STOPS, _portuguese))


class _Chunks(dict[str, Chunk]):
    """Cache of chunk analyses, filled on first use.

    Thread-safe without a lock: a lookup, a store and clear() are each atomic, and two threads that analyse the same
    chunk at the same time store equal values.
    """

    def __missing__(self, chunk: str) -> Chunk:
        tags = chunk_tags(chunk)
        terms: tuple[str, ...]
        if _is_plain(chunk) and len(chunk) <= _TERM_LIMIT:  # fast path, same result as below
            vote, terms = _VOTES.get(chunk, 0), () if chunk in _ENGLISH_STOPS else (_english(chunk),)
        else:
            vote = sum(_VOTES.get(unit, 0) for kind, unit in _units(chunk) if kind == _WORD) or _tilde_vote(chunk)
            terms = _in_language(chunk, _ENGLISH_STOPS, _english)
        # Many thousands of these are cached, and most lookups miss the CPU cache: sharing one object saves time.
        return _learned(self, chunk, (vote, tags if tags == terms else terms, chunk, tags))


def _learned(known: dict[str, T], chunk: str, entry: T) -> T:
    if len(chunk) <= _TERM_LIMIT:  # long ones rarely repeat
        if len(known) >= _CACHE_LIMIT:
            known.clear()
        known[chunk] = entry
    return entry


def _in_language(chunk: str, stops: Container[str], stem: Callable[[str], str]) -> tuple[str, ...]:
    """Return the terms of a chunk in one language."""
    terms: list[str] = []
    for kind, unit in _units(chunk):
        if kind == _WHOLE:
            terms.append(unit)
        elif kind == _RUN:
            terms.extend(_characters_and_pairs(unit))
        elif unit not in stops:
            terms.append(stem(unit))
    return tuple(terms)


_CHUNKS, _PORTUGUESE = _Chunks(), _Terms()
_vote_of = itemgetter(0)
_in_english = itemgetter(1)
_itself = itemgetter(2)


def chunks(text: str) -> list[Chunk]:
    """Return the chunk analyses of a text, for callers that need more than its terms."""
    return list(map(_CHUNKS.__getitem__, text.split()))


def _terms_in_order(found: Sequence[Chunk]) -> Iterator[str]:
    if sum(map(_vote_of, found)) < 0:
        return chain.from_iterable(map(_PORTUGUESE.__getitem__, map(_itself, found)))
    return chain.from_iterable(map(_in_english, found))


def analyse(text: str) -> list[str]:
    """Return the terms of a piece of content, in order and with repetitions."""
    return list(_terms_in_order(chunks(text)))


def terms(text: str) -> dict[str, int]:
    """Return the frequency of each term of `analyse(text)`, in order of first appearance."""
    return count(chunks(text))


def count(found: Sequence[Chunk]) -> dict[str, int]:
    """Return `terms()` of a text from its `chunks()`."""
    counts: dict[str, int] = {}
    for term in _terms_in_order(found):
        counts[term] = counts.get(term, 0) + 1
    return counts


def query_terms(text: str) -> list[tuple[str, ...]]:
    """Return a query as groups of alternative terms, one group per distinct word, in order of first appearance.

    The first term of a group is the stem in the language of the query (English when in doubt), the second, if it
    differs, the stem in the other language. A group whose first term is in an earlier group is omitted. Empty if the
    query has only stop words and punctuation.
    """
    return list(_query_terms(text))


@lru_cache(maxsize=16)  # the searches of one context share a query
def _query_terms(text: str) -> tuple[tuple[str, ...], ...]:
    units: list[tuple[int, str]] = []
    vote = 0
    for chunk in text.split():
        found = list(_units(chunk))
        vote += sum(_VOTES.get(unit, 0) for kind, unit in found if kind == _WORD) or _tilde_vote(chunk)
        units += found
    stops = _STOPS_IN_DOUBT if vote == 0 else _PORTUGUESE_STOPS if vote < 0 else _ENGLISH_STOPS
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
            wanted = [_alternatives(unit, portuguese_first=vote < 0)]
        for group in wanted:
            if group[0] not in asked:
                asked.update(group)
                groups.append(group)
    return tuple(groups)


def _alternatives(word: str, *, portuguese_first: bool) -> tuple[str, ...]:
    """Return the word's stems in both languages, except a language in which it is a stop word and never indexed."""
    found = [] if word in _ENGLISH_STOPS else [_english(word)]
    if word not in _PORTUGUESE_STOPS:
        found.append(_portuguese(word))
    if portuguese_first:
        found.reverse()
    return tuple(dict.fromkeys(found))


# The estimate of tokens. A text is split into the pieces at which tokenizers of language models split it, and each kind
# of piece has a cost per piece and per character. The costs were fitted to the counts of o200k_base over English,
# Portuguese, Spanish, German, French, Russian, Chinese, Japanese and Korean texts and seven programming languages; the
# mean error of each is under 10%, where a quarter of the characters is 57% too low for Chinese and 20% for code.
_LOWER, _UPPER = "a-z\u00df-\u00f6\u00f8-\u00ff\u0101-\u017f", "A-Z\u00c0-\u00d6\u00d8-\u00de"
_PIECE = re.compile(
    rf"[{_UPPER}]*[{_LOWER}]+|[{_UPPER}]+|[0-9]{{1,3}}|[\u3400-\u4dbf\u4e00-\u9fff]+|[\u3040-\u30ff]+|[\uac00-\ud7a3]+"
    r"|[\u3000-\u303f\uff00-\uffef]|[^\W\d_]+|\s{2,}|\n|[^\w\s]+|_+|\w"
)
_SCRIPTS = (("\u3040", "\u30ff", 0.45, 0.52), ("\u3400", "\u9fff", 0.0, 0.67), ("\uac00", "\ud7a3", 0.48, 0.55))
"""First and last letter of a script without spaces, or with long words; cost of a run and of each letter."""


class _TokenCosts(dict[str, float]):
    """Cache of the estimated tokens of pieces, filled on first use. Thread-safe in the same way as `_Chunks`."""

    def __missing__(self, piece: str) -> float:
        return _learned(self, piece, _token_cost(piece))


def _token_cost(piece: str) -> float:
    first, size = piece[0], len(piece)
    if first.isspace():
        return 0.86 if piece == "\n" else 1.52 + size // 80 if "\n" in piece else 1.83 + size // 80
    if first.isalpha():
        return _word_cost(piece, size)
    if first.isdigit():
        return 1.15
    if first == "_":
        return 0.33
    if piece.isascii():
        return 0.9 + max(size - 4, 0) / 8
    return 1.1 if "\u3000" <= first <= "\u303f" or first >= "\uff00" else 1.0 * size


def _word_cost(word: str, size: int) -> float:
    if word.isascii():
        return 0.62 + 0.17 * (size - 2) if word.isupper() and size > 1 else 0.86 + 0.23 * max(size - 6, 0)
    for first, last, run, letter in _SCRIPTS:
        if first <= word[0] <= last:
            return run + letter * size
    return 1.06 + 0.33 * max(size - 3, 0) if word[0] < "\u0250" else 0.78 + 0.15 * size


_TOKEN_COSTS = _TokenCosts()


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a language model, within about 10% for prose in the languages above and for code."""
    return whole_tokens(token_weight(text))


def whole_tokens(weight: float) -> int:
    """Round an estimate up; sums of the same lines in another order give the same number."""
    return math.ceil(round(weight, 6))


def token_weight(text: str) -> float:
    """Return the estimate before it is rounded up: for lines, it adds up to that of the whole text."""
    return sum(map(_TOKEN_COSTS.__getitem__, _PIECE.findall(text)))


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


# A sentence ends at a mark before white space or at an East Asian mark. The look-behind tries a run of marks only once.
_STOP_MARKS = ".!?\u2026"
_EAST_ASIAN_STOP_MARKS = "\u3002\uff01\uff1f\uff61"
_SENTENCE_END = re.compile(
    rf"(?<![{_STOP_MARKS}])[{_STOP_MARKS}]+[\"'\u2019\u201d\u00bb)\]]*(?=\s)"
    rf"|(?<![{_EAST_ASIAN_STOP_MARKS}])[{_EAST_ASIAN_STOP_MARKS}]+[\u300d\u300f\uff09\u2019\u201d]*"
)
_SHORTENED = _words("""
    al approx ca cf dept dr dra e.g ed eg etc ex fig i.e inc jr mr mrs ms núm nº p.ex pág prof
    profa sr sra sta st vol vs
""")


def sentences(text: str) -> list[str]:
    """Split a text into trimmed, non-empty sentences. A line ends one, too, unless the next starts in lower case."""
    blocks: list[list[str]] = []
    open_block = False
    for line in text.splitlines():
        line = line.strip()
        if not line:
            open_block = False
        elif open_block and line[0].islower():
            blocks[-1].append(line)
        else:
            blocks.append([line])
            open_block = True
    found: list[str] = []
    for block in map(" ".join, blocks):
        start = 0
        for match in _SENTENCE_END.finditer(block):
            if not _is_shortened(block, start, match):
                found.append(block[start : match.end()].strip())
                start = match.end()
        found.append(block[start:].strip())
    return [sentence for sentence in found if sentence]


def _is_shortened(block: str, start: int, end: re.Match[str]) -> bool:
    """Return whether a dot is part of an abbreviation or initial (Dr. J. Silva, 3 p.m. today) and ends no sentence."""
    if end.group() != ".":
        return False
    before = block[max(start, end.start() - 8) : end.start()].rpartition(" ")[2].lstrip("(\"'")
    if before.lower() in _SHORTENED or (len(before) == 1 and before.isupper()):
        return True
    return "." in before and block[end.end() + 1 : end.end() + 2].islower()


_LONG_WORD = 16


def snippet(text: str, query: str, width: int = 120, before: int = 30) -> str:
    """Return up to `width` characters around the first query word found in the text, up to `before` ahead of it.

    A text no longer than that is returned whole; else it is cut between words, unless they are long. Words are compared
    without case and accents, in query order; stop words only if there is nothing else. If no word occurs as typed, a
    word that starts with one of the query's stems matches; else the snippet is the beginning of the text.
    """
    if len(text) <= width:
        return text.strip()
    typed, stems = _needles(query)
    folded = _fold(text)
    places = chain(
        (_find(folded, word, inside=True) for word in typed),
        (_find(folded, stem, inside=not stem.isascii()) for stem in stems),  # unspaced scripts have no word boundaries
    )
    at = next((place for place in places if place >= 0), 0)
    place = _unfolded_index(text, at)
    start = max(0, place - before)
    if 0 < start < place and not text[start - 1].isspace():
        start = next((n + 1 for n in range(start, min(place, start + _LONG_WORD)) if text[n].isspace()), start)
    shown = text[start : start + width]
    if start + width < len(text) and not text[start + width].isspace():
        last = range(len(shown) - 1, max(len(shown) - _LONG_WORD, 0), -1)
        end = next((n for n in last if shown[n].isspace()), -1)
        shown = shown[:end] if start + end > place else shown
    return shown.strip()


@lru_cache(maxsize=16)  # the hits of one recall share a query, and a query may be long
def _needles(query: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the search strings for a folded text: the query's words as typed, and their stems."""
    pieces = _RUNS.split(_fold(query))
    words = [_CLITIC.sub("", match.group())[:_TERM_LIMIT] for piece in pieces for match in _TOKEN.finditer(piece)]
    typed = [word for word in words if word.replace("'", "") not in _STOPS_IN_DOUBT] or words
    stems = [unicodedata.normalize("NFKD", term) for group in query_terms(query) for term in group]
    return tuple(typed), tuple(stems)


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
