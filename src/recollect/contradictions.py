"""Compare two statements: does the newer one contradict, update or repeat the older one? Pure, and without a model.

The argument. A correction has the topic of the statement that it corrects, and both cannot hold at the same time. The
topic of a sentence is its content words, without endings and without words that say little (be, get, only). Each word
of a topic has a weight, by default 1; a caller that knows how rare words are passes its own. If the topics agree, one
difference decides: a negation, an opposite, a word that ends or changes something ("no longer", "moved to"), another
value of the same type (number, weekday, month, name), or two words in exchanged positions. The weaker the evidence, the
more of the topics must agree. Without evidence, both sentences must be equal except in one position. If two independent
values differ ("room 3 has 5 seats", "room 4 has 6 seats"), the topics are different. A finding is a suggestion for
review; no rule here may remove anything.

The word lists are in `contradiction_words` and `light_words`. Japanese, Chinese and Korean are compared character by
character, by names, numbers, negations and changes.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from recollect import contradiction_words as lists
from recollect.light_words import FUNCTION, LIGHT
from recollect.model.review import Relation
from recollect.sentences import sentences
from recollect.text import few_marks

__all__ = ["Difference", "Weight", "compare", "compare_notes", "statement", "topic", "values"]


@dataclass(frozen=True, slots=True)
class Difference:
    """The relation of two statements, the reason as text, and the words that differ, in their original spelling."""

    relation: Relation
    reason: str
    older: tuple[str, ...] = ()
    newer: tuple[str, ...] = ()


LONGEST = 60
"""Maximum number of words of a sentence that is compared; a longer one is not a single statement."""
MOST_SENTENCES = 12
"""Maximum number of sentences of a text that are compared."""

VALUE = 4
"""Maximum number of words of a content that is a value, and says what it is by its name."""

_TYPES = (("weekday", lists.WEEKDAYS), ("month", lists.MONTHS), ("number", lists.NUMBERS), ("unit", lists.UNITS))
_VALUES = ("number", "weekday", "month")
"""Types of words that are values, and not part of a topic."""
_NO_TOPIC = FUNCTION | LIGHT | lists.NEGATIONS

_TOKEN = re.compile(
    r"\d+(?:[-.:/,]\d+)*%?|[^\W\d_]+(?:['\u2019][^\W\d_]+)*(?:[-_.][^\W_]+)*\d*(?:[+#]+)?|[%&/,]|[^\w\s]", re.UNICODE
)
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_HIRAGANA = re.compile("[\u3040-\u309f]")
_LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_TASK = re.compile(r"^\s*[-*+]\s+\[[ xX]\]\s")
"""The mark of a task, which states nothing."""
_ADDRESS = re.compile(r"^[\w'\u2019]+(?: [\w'\u2019]+){0,5}, +[A-Z][a-z]+[ .!]*$")
"""A short sentence that ends with the name of the person addressed: "no problem, John"."""
_SILENT = frozenset("'\"`.,;:!?…()[]{}*_-–—。、！？，「」『』・¿¡")
_ENDING = re.compile(
    "(?:ings?|ed|ies|es|s|e|y"
    "|ado|ada|ados|adas|idos?|idas?|amos|emos|imos|ando|endo|aram|eram|iram|ou|ar|er|ir|am|em|ais|oes|ao|a|o|as|os|eza"
    "|aron|ieron|ora|or|en|em|ern|ung|ungen|t|te|ten|st|n|in|innen)$"
)
_STEM = 4
"""Minimum length of a root in letters."""
_ROOT = 6
"""Maximum length of a root in letters."""


class _Word(NamedTuple):
    written: str
    folded: str
    root: str
    """The word without its ending, so that its forms are equal."""
    kind: str
    """Its type: number, weekday, month, unit, name or word."""
    content: bool
    """Whether it is a content word; a letter as a label is one, as in team A."""
    first: bool
    """Whether it is the first word of its sentence, where a capital letter is no sign of a name."""


def _kind(written: str, folded: str, *, first: bool) -> str:
    if folded[0].isdigit():
        return "number"
    for name, words in _TYPES:
        if folded in words:
            return name
    capital = written[0].isupper() and not first and folded not in ("i", "im", "ive", "ill", "id")
    identifier = any(character.isdigit() or character in "_./+#" for character in written)
    return "name" if capital or identifier else "word"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statement:
    """A sentence as words, and the properties that the rules compare. Computed once, compared with several others."""

    words: tuple[_Word, ...]
    """Its words, without the name of the person addressed."""
    folds: tuple[str, ...]
    """All its words."""
    topic: Mapping[str, _Word]
    """Its content words by their root, without values and without the words that announce a change."""
    roots: frozenset[str]
    subject: str
    """The root of the first word of its topic."""
    opposites: frozenset[str]
    """The opposites of its words."""
    values: Mapping[str, frozenset[str]]
    """Its numbers, weekdays and months."""
    negations: frozenset[str]
    ended: str | None
    """The words that state an end."""
    changed: str | None
    """The words that state a change."""
    hinted: str | None
    """Weak signs of a change: now, new."""
    east_asian: bool


Weight = Callable[[str], float]
"""How much a folded word tells about the topic of a text, from 0 to 1."""


def _equal(word: str) -> float:
    return 1.0


def compare(older: str, newer: str, weight: Weight = _equal) -> Difference | None:
    """Return the relation of a newer text to an older one, or None if they are about different things.

    Texts of several sentences are compared sentence by sentence, and the first difference is returned.
    """
    firsts, seconds = _statements(older), _statements(newer)
    if firsts and [one.folds for one in firsts] == [other.folds for other in seconds]:
        said = sum(weight(word.folded) for one in firsts for word in one.words if word.content)
        return Difference(Relation.REPEATS, "both say the same") if said >= REPEATED else None
    might = _related if weight is not _equal else _equally_related
    pairs = (_Pair(one, other, weight) for one, other in product(firsts, seconds) if might(one, other))
    found = (rule(pair) for pair in pairs for rule in _RULES)
    return next((difference for difference in found if difference is not None), None)


def compare_notes(
    older: tuple[str | None, str], newer: tuple[str | None, str], weight: Weight = _equal
) -> Difference | None:
    """Return the relation of two notes, each given as (name, content); a name belongs to the statement.

    Names alone do not relate two notes that are more than a value: different names may be those of different things.
    """
    texts, contents = (statement(*older), statement(*newer)), (older[1], newer[1])
    difference = compare(*texts, weight)
    named = [text != content for text, content in zip(texts, contents, strict=True)]
    if all(named) and difference is not None and min(len(content.split()) for content in contents) > VALUE:
        return difference if compare(*contents, weight) is not None else None
    if difference is None and any(named) and not all(named):
        return compare(*contents, weight)
    return difference


def statement(name: str | None, content: str) -> str:
    """Return the content of a note after its name, unless the content contains the name."""
    return content if name is None or name.casefold() in content.casefold() else f"{name}: {content}"


def values(text: str) -> frozenset[str]:
    """Return the numbers, weekdays and months of a text, folded, without the s of a plural."""
    return frozenset(word.folded.rstrip("s") for word in _words(text) if word.kind in _VALUES)


def topic(text: str) -> frozenset[str]:
    """Return the folded words of a text for which `compare` calls `weight`."""
    return frozenset(word.folded for one in _statements(text) for word in one.words if word.content)


def _related(one: _Statement, other: _Statement) -> bool:
    """Return whether two topics have several words in common, or the subject of the older one."""
    common = one.roots & other.roots
    return (len(common) > 1 or one.subject in common) and one.folds != other.folds


def _equally_related(one: _Statement, other: _Statement) -> bool:
    """Return whether the topics have enough in common for the least strict rule, if all words weigh the same."""
    if not _related(one, other) or one.east_asian or other.east_asian:
        return _related(one, other)
    common = len(one.roots & other.roots)
    rest = max(len(one.roots), len(other.roots)) - common - 1
    return common >= LEAST_SHARE * (common + max(rest, 0))


@lru_cache(maxsize=4_096)  # a note is compared with several neighbours
def _statements(text: str) -> tuple[_Statement, ...]:
    lines = (_LIST_MARK.sub("", line) for line in sentences(few_marks(text))[:MOST_SENTENCES] if not _TASK.match(line))
    found = ((line, tuple(_words(line))) for line in lines if not line.endswith(("?", "\uff1f")))
    return tuple(
        _statement(words, addressed=_ADDRESS.match(line) is not None)
        for line, words in found
        if 0 < len(words) <= LONGEST and words[0].folded not in lists.GREETINGS
    )


def _words(sentence: str) -> Iterator[_Word]:
    first = True
    for match in _TOKEN.finditer(sentence):
        token = match.group()
        pieces = _EAST_ASIAN.findall(token) if _EAST_ASIAN.search(token) else [token]
        for piece in pieces:
            if piece not in _SILENT:
                yield _word(piece, first)
                first = False


@lru_cache(maxsize=32_768)  # texts repeat their words
def _word(written: str, first: bool) -> _Word:
    folded = _folded(written)
    kind = _kind(written, folded, first=first)
    label = kind == "name" and len(written) == 1
    content = label or (folded not in FUNCTION and _HIRAGANA.fullmatch(folded) is None)
    return _Word(written, folded, _root(folded), kind, content, first)


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower().replace("'", "") or word
    if _EAST_ASIAN.search(word):
        return unicodedata.normalize("NFKC", word)
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in plain if not unicodedata.combining(c) and c not in "'\u2019") or word


def _statement(words: tuple[_Word, ...], *, addressed: bool) -> _Statement:
    folds = tuple(word.folded for word in words)
    words = words[:-1] if addressed else words
    east_asian = any(_EAST_ASIAN.search(word.written) for word in words)
    if east_asian:
        joined = "".join(folds)
        negations = frozenset(mark for mark in lists.EAST_ASIAN_NEGATIONS if mark in joined)
        ended, changed = (
            next((mark for mark in marks if mark in joined), None)
            for marks in (lists.EAST_ASIAN_ENDED, lists.EAST_ASIAN_CHANGED)
        )
        hinted = None
    else:
        joined = " ".join(folds)
        negations = lists.NEGATIONS.intersection(folds)
        ended, changed, hinted = (
            None if match is None else match.group()
            for match in (pattern.search(joined) for pattern in (lists.ENDED, lists.CHANGED, lists.HINTED))
        )
    cues = {word for cue in (ended, changed, hinted) if cue for word in (cue if east_asian else cue.split())}
    topic = {word.root: word for word in words if _is_topic(word) and word.folded not in cues}
    return _Statement(
        words=words,
        folds=folds,
        topic=topic,
        roots=frozenset(topic),
        subject=next(iter(topic), ""),
        opposites=frozenset().union(*(lists.OPPOSITES[word] for word in folds if word in lists.OPPOSITES)),
        values={kind: frozenset(word.folded for word in words if _is_value(word, kind)) for kind in _VALUES},
        negations=negations,
        ended=ended,
        changed=changed,
        hinted=hinted,
        east_asian=east_asian,
    )


def _is_topic(word: _Word) -> bool:
    return word.content and word.kind not in _VALUES and (word.folded not in _NO_TOPIC or word.kind == "name")


def _is_value(word: _Word, kind: str) -> bool:
    """Return whether a word is a value. Short ones such as sat, sun and may are words as well, unless capitalised."""
    if word.kind != kind:
        return False
    return kind == "number" or len(word.folded) > 3 or (word.written[0].isupper() and not word.first)


def _root(folded: str) -> str:
    if len(folded) <= _STEM:
        return folded
    if folded.endswith(("xes", "ches", "shes", "sses")):
        folded = folded[:-2]
    for _ in range(2):
        match = _ENDING.search(folded, _STEM)
        folded = folded if match is None else folded[: match.start()]
    return folded[:_ROOT]


LEAST_SHARE = 0.3
"""Minimum share of two topics for any rule. A rule leaves at most one word of each out."""
SHORT = 12
"""Maximum number of words of a sentence that states where something is."""
PLAIN = 1.3
"""Minimum common weight of two sentences that differ in an ordinary word."""
REPEATED = 1.0
"""Minimum weight of a text that is reported as repeated; "take care" weighs less."""
EQUAL = 0.85
"""Minimum share of nearly equal topics, for which half of the common weight suffices."""
OTHER_SUBJECT = 0.6
"""Minimum share of two topics that begin with different words."""
CHARACTER = 0.5
"""Weight of a Japanese, Chinese or Korean character, of which a word has about two."""


class _Pair:
    """Two sentences, and how far their topics agree."""

    def __init__(self, older: _Statement, newer: _Statement, weight: Weight) -> None:
        self.older, self.newer = older, newer
        self.shared = older.roots & newer.roots
        self.lost = [word for root, word in older.topic.items() if root not in self.shared]
        self.gained = [word for root, word in newer.topic.items() if root not in self.shared]
        self.east_asian = older.east_asian and newer.east_asian
        scale = CHARACTER if self.east_asian else 1.0
        self.common = scale * sum(
            min(weight(older.topic[root].folded), weight(newer.topic[root].folded)) for root in self.shared
        )
        """Weight of the words that both have."""
        self._weights = [{word: scale * weight(word.folded) for word in side} for side in (self.lost, self.gained)]

    def agree(self, share: float, common: float, without: Sequence[_Word] = ()) -> bool:
        """Return whether the common words have a share of the weight of each topic, and a weight of their own.

        `without` are words that the rule compares by itself. If neither sentence begins with a common word, their
        subjects differ, and they must have more in common.
        """
        if not self.common:
            return False
        if self.shared.isdisjoint((self.older.subject, self.newer.subject)):
            share = max(share, OTHER_SUBJECT)
        rest = max(sum(one for word, one in side.items() if word not in without) for side in self._weights)
        agreement = self.common / (self.common + rest)
        return agreement >= share and self.common >= (common / 2 if agreement >= EQUAL else common)

    def replaced(self) -> list[_Word]:
        """Return, of each sentence, the heaviest word that the other lacks: the likely subject of a change."""
        count = 2 if self.east_asian else 1
        return [word for side in self._weights for word in sorted(side, key=side.__getitem__)[-count:]]

    def difference(self, relation: Relation, reason: str) -> Difference:
        """Return a finding with the words that differ."""
        older, newer = set(self.older.folds), set(self.newer.folds)
        return Difference(
            relation,
            reason,
            tuple(word.written for word in self.older.words if word.folded not in newer),
            tuple(word.written for word in self.newer.words if word.folded not in older),
        )

    def exchanged(self, kind: str | None, older: Sequence[_Word], newer: Sequence[_Word]) -> Difference:
        """Return the finding that words of one kind were replaced; None if they are ordinary words."""
        one, other = (("" if self.east_asian else " ").join(word.written for word in side) for side in (older, newer))
        reason = f"{f'the {kind}' if kind else 'it'} changed from {one} to {other}"
        return self.difference(Relation.CONTRADICTS, reason)


def _negation(pair: _Pair) -> Difference | None:
    """One sentence negates, the other does not."""
    before, after = pair.older.negations, pair.newer.negations
    if "no" in before | after and _is_portuguese(pair):
        before, after = before - {"no"}, after - {"no"}
    if bool(before) == bool(after) or not pair.agree(0.5, 0.9):
        return None
    if after and pair.newer.ended:
        return pair.difference(Relation.UPDATES, "the newer one says that the older one no longer holds")
    return pair.difference(Relation.CONTRADICTS, f"the {'newer' if after else 'older'} one negates the other")


def _is_portuguese(pair: _Pair) -> bool:
    return not lists.PORTUGUESE.isdisjoint(pair.older.folds + pair.newer.folds)


def _swap(pair: _Pair) -> Difference | None:
    """Both sentences have the same content words, two of them in exchanged positions."""
    older, newer = (_in_order(one) for one in (pair.older, pair.newer))
    if len(older) != len(newer):
        return None
    keys, other_keys = ([word.root for word in side] for side in (older, newer))
    moved = [place for place, (one, other) in enumerate(zip(keys, other_keys, strict=True)) if one != other]
    if len(moved) != 2:
        return None
    first, second = moved
    one, other = older[first], older[second]
    if (keys[first], keys[second]) != (other_keys[second], other_keys[first]) or not _comparable(one, other):
        return None
    between = pair.older.words[pair.older.words.index(one) + 1 : pair.older.words.index(other)]
    if between and all(word.folded in lists.AND for word in between):
        return None
    return pair.difference(Relation.CONTRADICTS, f"{one.written} and {other.written} have changed places")


def _in_order(statement: _Statement) -> list[_Word]:
    return [word for word in statement.words if word.content and (word.kind in _VALUES or word.root in statement.topic)]


def _comparable(one: _Word, other: _Word) -> bool:
    """Return whether two words are of one kind. The first word of a sentence may be a name as well."""
    kinds = {word.kind for word in (one, other)}
    return len(kinds) == 1 or (kinds == {"name", "word"} and any(word.first for word in (one, other)))


def _opposite(pair: _Pair) -> Difference | None:
    """One sentence has the opposite of a word of the other."""
    if pair.older.opposites.isdisjoint(pair.newer.folds):
        return None
    known = set(pair.older.folds) & set(pair.newer.folds)
    sides = ([word for word in one.words if word.folded not in known] for one in (pair.older, pair.newer))
    for one, other in product(*sides):
        if other.folded in lists.OPPOSITES.get(one.folded, ()) and pair.agree(0.4, 0.7, (one, other)):
            return pair.difference(Relation.CONTRADICTS, f"{one.written} and {other.written} are opposites")
    return None


def _ended(pair: _Pair) -> Difference | None:
    """The newer sentence says that something ended."""
    said = pair.newer.ended
    if said is None or pair.older.ended is not None or not pair.agree(0.35, 0.7):
        return None
    return pair.difference(Relation.UPDATES, f"the newer one says that something ended: {said}")


def _changed(pair: _Pair) -> Difference | None:
    """The newer sentence announces a change of what the older one is about."""
    said = pair.newer.changed or pair.newer.hinted
    if said is None or said in (pair.older.changed, pair.older.hinted):
        return None
    share, common = (0.45, 0.7) if pair.newer.changed else (0.6, 1.0)
    if not pair.agree(share, common, pair.replaced()):
        return None
    return pair.difference(Relation.UPDATES, f"the newer one announces a change: {said}")


def _value(pair: _Pair) -> Difference | None:
    """One number, weekday or month differs, or a list of them, or the number and the month of a date."""
    changed = {kind: pair.older.values[kind] ^ pair.newer.values[kind] for kind in _VALUES}
    kinds = [kind for kind in _VALUES if changed[kind]]
    if kinds not in _DATES or not pair.agree(0.35, 0.7):
        return None
    lists_of_kind = [[_list_of(side, kind, changed[kind]) for side in (pair.older, pair.newer)] for kind in kinds]
    single = all(len(words) == 1 for sides in lists_of_kind for words in sides)
    if not single and not (len(kinds) == 1 and all(lists_of_kind[0])):
        return None
    return pair.exchanged(kinds[-1], *lists_of_kind[-1])


def _list_of(statement: _Statement, kind: str, changed: Set[str]) -> Sequence[_Word]:
    """Return the values of a kind that changed, with the words between them; nothing unless they are a single list."""
    wanted = changed & statement.values[kind]
    places = [place for place, word in enumerate(statement.words) if word.kind == kind and word.folded in wanted]
    if len(wanted) == 1:
        return [statement.words[places[0]]]
    words = statement.words[places[0] : places[-1] + 1] if places else ()
    return words if all(word.kind == kind or word.folded in lists.AND for word in words) else ()


_DATES = (["number"], ["weekday"], ["month"], ["number", "month"])
"""Kinds of values that may differ together."""


def _name(pair: _Pair) -> Difference | None:
    """A sentence with the same topic has another name."""
    before, after = ([word for word in words if _may_be_name(word)] for words in (pair.lost, pair.gained))
    if not before or not after or all(word.first for word in (*before, *after)):
        return None
    if not pair.agree(0.6, 1.0, (*before, *after)) or _other_subject(pair, before[0]):
        return None
    return pair.exchanged("name", before, after)


def _may_be_name(word: _Word) -> bool:
    return word.kind == "name" or (word.first and word.written[0].isupper())


def _other_subject(pair: _Pair, changed: _Word) -> bool:
    """Return whether only the subject differs, of something that can be true of many: Ana likes tea, Ben likes tea."""
    start = pair.older.words.index(changed)
    if any(word.content for word in pair.older.words[:start]):
        return False
    return lists.DEFINITE.isdisjoint(pair.older.folds[start + 1 :])


def _place(pair: _Pair) -> Difference | None:
    """Both sentences say where the same thing is, and the place differs."""
    if max(len(pair.older.words), len(pair.newer.words)) > SHORT or pair.common < 0.8:
        return None
    before, after = _located(pair.older, pair.lost), _located(pair.newer, pair.gained)
    if len(before) < len(pair.lost) and len(after) < len(pair.gained):  # two verbs: works in, lives in
        return None
    if not 0 < len(before) <= 2 or not 0 < len(after) <= 3 or not pair.agree(0.45, 0.8, (*before, *after)):
        return None
    return pair.exchanged("place", before, after)


def _located(statement: _Statement, words: Sequence[_Word]) -> list[_Word]:
    """Return those of the words that stand after a preposition before a place."""
    start = next((place for place, folded in enumerate(statement.folds) if folded in lists.PLACES), LONGEST)
    return [word for word in words if statement.words.index(word) > start]


def _plain(pair: _Pair) -> Difference | None:
    """The sentences are equal except in one position."""
    if not pair.agree(0.3, 0.9):
        return None
    places, shared = _aligned(pair)
    replaced = [(older, newer) for older, newer in places if older and newer]
    extra = sum(len(older) + len(newer) for older, newer in places if not (older and newer))
    if len(replaced) != 1 or extra > (shared >= 4):
        return None
    ((older, newer),) = replaced
    size, kind = max(len(older), len(newer)), _common_kind(older, newer)
    if shared < size or size > (4 if pair.east_asian else 3):
        return None
    if not pair.east_asian and (_other_subject(pair, older[0]) or (kind is None and not _specific(pair, shared, size))):
        return None
    return pair.exchanged(kind, older, newer)


def _specific(pair: _Pair, shared: int, size: int) -> bool:
    """Return whether sentences in which ordinary words differ have enough in common."""
    return pair.common >= PLAIN and shared >= 2 and shared * 2 >= size * 3


def _slot(pair: _Pair) -> Difference | None:
    """The newer sentence has all words of the older one except for one, in another order or with more words."""
    if pair.common < PLAIN or len(pair.shared) < 2 or pair.older.values != pair.newer.values:
        return None
    if len(pair.lost) != 1 or not 0 < len(pair.gained) <= 3 or not pair.agree(0.7, 0.9, pair.replaced()):
        return None
    return None if _other_subject(pair, pair.lost[0]) else pair.exchanged(None, pair.lost, pair.gained)


_RULES = (_swap, _negation, _opposite, _ended, _changed, _value, _name, _place, _plain, _slot)
"""All rules, the most reliable first."""


def _aligned(pair: _Pair) -> tuple[list[tuple[tuple[_Word, ...], tuple[_Word, ...]]], int]:
    """Return the positions where content words differ, and how many content words are in the same order."""
    older, newer = pair.older.words, pair.newer.words
    matcher = SequenceMatcher(None, [word.root for word in older], [word.root for word in newer], autojunk=False)
    places, shared = [], 0
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        one, other = _content(older[start:end]), _content(newer[other_start:other_end])
        if tag == "equal":
            shared += len(one)
        elif one or other:
            places.append((one, other))
    return places, shared


def _content(words: Sequence[_Word]) -> tuple[_Word, ...]:
    return tuple(word for word in words if word.content)


def _common_kind(older: Sequence[_Word], newer: Sequence[_Word]) -> str | None:
    """Return the kind of value that both sides have, such as number or weekday; None if they are ordinary words."""
    kinds = {word.kind for word in older} & {word.kind for word in newer} - {"word"}
    return min(kinds, default=None)
