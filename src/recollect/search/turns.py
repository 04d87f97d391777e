"""Ranking the turns of conversations: which turn answers a question. Pure: arrays in, scores out; no I/O, no clock.

The argument. A turn is short and depends on its context. More than a quarter of the turns that answer a question share
no content word with it, but most of those are adjacent to a turn that does, or in a conversation that does. So a word
of the question counts fully in its own turn, less in adjacent turns, and a little in every turn of the conversation;
only its best match counts, because a word said five times is not five words. Other features are added: the speaker
asked about, a question just before, the date, the role. All are normalised so that the best word score is 1, and summed
with the `Weights`.

The weights were fitted to five conversations between two people (LoCoMo), with leave-one-out validation, and to ten
chats with an assistant (BEAM), and then rounded; the rounded weights, the same for both, do as well on held-out data as
the fitted ones. Rejected, because they helped one kind and hurt the other, or helped neither: the start of a
conversation, sums of a conversation's best turns, the vector of a turn with the one before. `turn_text.py` adds what
the length and the text of the best turns show.

A search scores candidates and not all turns: the best 200 or more by BM25, and the turns up to `REACH` places before
and after each (500 lose nothing against all turns, 200 lose 0.002 of recall@10). For each candidate it needs the BM25
contribution of every query word separately. BM25 takes its `b` from `ranking.b_for()`.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from recollect import text
from recollect.search import ranking
from recollect.search.confidence import of_speakers, of_turns

__all__ = [
    "REACH",
    "Period",
    "Role",
    "TurnQuery",
    "Turns",
    "Weights",
    "asks",
    "confidence",
    "conversations",
    "evidence",
    "periods",
    "scores",
    "spans_of",
    "tells_time",
]

REACH = 2
"""Distance in turns up to which a word match counts for other turns."""
SPREAD = 0.5
"""Cosines nearer to each other than this are not spread from 0 to 1: a few texts over many turns each, such as the
archives of a chat that goes on, would decide between their turns and all others. (Such chats: recall@10 0.42 without.)
"""
SHARPNESS = 4
"""Power of a turn's share of the question in its weight for the confidence; and of e, for its score."""
DOUBT = 0.03
"""Weight for the confidence that belongs to no speaker; a turn with 40% of the question has as much."""
FOUND = 0.3
"""Share of the question in one turn from which the confidence treats it as found."""

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]
Flags = NDArray[np.bool_]


class Role(IntEnum):
    """The speaker's role: a person among people, the user of an assistant, or the assistant."""

    PERSON = 0
    USER = 1
    ASSISTANT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weight of each feature, relative to 1 for the best word score.

    In brackets: the ablation loss in points of recall@10 / NDCG@10, for conversations between people and for chats
    with an assistant, where it is not zero.
    """

    near: float = 0.6
    """A word match one turn away; squared for two turns away. [people 2.4 / 2.2, assistant 1.7 / 0.3]"""
    conversation: float = 0.4
    """Word matches anywhere in the conversation. [0.9 / 0.3, 0.5 / 0.4]"""
    answer: float = 0.5
    """Among people, the previous turn ends with a question: its word score counts for this turn. [0 / 2.0]"""
    speaker: float = 0.6
    """The question names the speaker. [2.1 / 4.9]"""
    question: float = 0.2
    """Penalty, among people, for a turn that ends with a question. With an assistant, one turn often states and asks.
    [0.2 / 0.4]"""
    date: float = 1.0
    """The turn was said on a date that the question names, or soon after. [1.8 / 1.9]"""
    time: float = 0.5
    """The question asks when, and the turn mentions time. [0.1 / 0.7]"""
    role: float = 0.5
    """Penalty for the assistant's turns as far as others say the same; a bonus if the question is about what the
    assistant said. [assistant 10.3 / 7.5]"""
    vector: float = 1.25
    """Vector similarity, times `ranking.vector_weight()`. [people 0.9 / 0.6, assistant 7.9 / 5.2]"""
    beside: float = 0.5
    """Among people, the vector similarity of the nearer adjacent turn, as a share of `vector`. With an assistant, the
    vectors cover a question together with its reply. [people 0.5 / 0.2 if all turns have vectors]"""


# Parsing of questions


@dataclass(frozen=True, slots=True)
class Period:
    """A date as written in a query: a year, a month with or without a year, a day."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnQuery:
    """A parsed query: what it asks for besides its words."""

    words: tuple[int, ...]
    """Positions of the query words that count: all but speaker names, unless there are no others."""
    speakers: frozenset[str] = frozenset()
    periods: tuple[Period, ...] = ()
    dates: tuple[int, ...] = ()
    """Positions of the query words that `periods` were read from; turns have a date and need not say it."""
    asks_when: bool = False
    asks_assistant: bool = False

    @classmethod
    def read(cls, query: str, words: Sequence[Sequence[str]], speakers: Iterable[str]) -> "TurnQuery":
        """Parse a query: `words` are its `text.query_terms()`, `speakers` the names that it may mention."""
        asked = {term for spellings in words for term in spellings}
        named = {speaker: asked.intersection(text.analyse(speaker)) for speaker in set(speakers)}
        names = set().union(*named.values())
        counting = tuple(place for place, spellings in enumerate(words) if names.isdisjoint(spellings))
        parts = [re.escape(part) for speaker, found in named.items() if found for part in speaker.split()]
        nameless = re.sub(rf"\b(?:{'|'.join(parts)})\b", "-", query, flags=re.IGNORECASE) if parts else query
        spans = periods(nameless)  # April is a month, unless a speaker has that name
        written = _DATE.finditer(nameless) if spans else ()
        dated = {term for match in written for term in text.analyse(match.group())}
        return cls(
            words=counting or tuple(range(len(words))),
            speakers=frozenset(speaker for speaker, found in named.items() if found),
            periods=spans,
            dates=tuple(place for place, spellings in enumerate(words) if not dated.isdisjoint(spellings)),
            asks_when=_ASKS_WHEN.match(query) is not None,
            asks_assistant=_ASKS_ASSISTANT.search(query) is not None,
        )


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan janeiro",
            "february feb fevereiro fev",
            "march mar março",
            "april apr abril abr",
            "may maio",
            "june jun junho",
            "july jul julho",
            "august aug agosto",
            "september sept sep setembro",
            "october oct outubro",
            "november nov novembro",
            "december dec dezembro dez",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "|".join(_MONTHS)
# On its own, an abbreviation is more often something else, and so are "may" and "march" unless they follow "in".
_LONE_MONTH = "|".join(name for name in _MONTHS if len(name) > 4 and name != "march") + "|june|july|maio"
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:[12]\d|3[01]|0?[1-9])"
_DATE = re.compile(
    rf"""\b(?:
      (?P<y1>{_YEAR})-(?P<m1>0[1-9]|1[0-2])-(?P<d1>{_DAY})
    | (?P<d2>{_DAY})(?:st|nd|rd|th|º)?\s*(?:of\s+|de\s+)?(?P<m2>{_MONTH})\b\.?(?:,?\s*(?:of\s+|de\s+)?(?P<y2>{_YEAR}))?
    | (?P<m3>{_MONTH})\.?\s+(?P<d3>{_DAY})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(?P<y3>{_YEAR}))?
    | (?P<m4>{_MONTH})\.?,?\s+(?:of\s+|de\s+)?(?P<y4>{_YEAR})
    | (?:in|during|since|until|early|late|last|em|desde)\s+(?P<m5>may|march)
    | (?P<m6>{_LONE_MONTH})
    | (?P<y7>{_YEAR})
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_ASKS_WHEN = re.compile(
    r"\W*(?:since |until |desde |até )?(?:when|how long|quando|há quanto tempo)\b"
    r"|\W*(?:on |in |em )?(?:what|which|que|qual) (?:date|day|month|year|time|dia|data|mês|ano)\b",
    re.IGNORECASE,
)
_ASKS_ASSISTANT = re.compile(
    r"\byou(?:'d|'ve| had| have| just)? (?:said|told|mentioned|suggested|recommended|gave|provided|created|wrote|listed"
    r"|explained|advised|proposed|showed|shared|described|offered)\b|\bdid you\b|\bassistant\b"
    r"|\byour (?:suggestion|recommendation|advice|answer|explanation|response|reply)"
    r"|\bour (?:previous|last|earlier|past) (?:conversation|chat|discussion|session)"
    r"|\bvocê (?:disse|falou|mencionou|sugeriu|recomendou|explicou|escreveu|listou|deu)\b|\bassistente\b"
    r"|\bnossa (?:conversa|última conversa) (?:anterior|passada)",
    re.IGNORECASE,
)
_TIME_WORDS = frozenset(
    f"""
    yesterday today tonight tomorrow last next ago recently since morning day days week weeks weekend month months year
    years monday tuesday wednesday thursday friday saturday sunday spring summer autumn fall winter
    ontem hoje amanhã passado passada próximo próxima atrás desde dia dias semana semanas mês meses ano anos segunda
    terça quarta quinta sexta sábado domingo primavera verão outono inverno {_LONE_MONTH.replace("|", " ")}
    """.split()
)
_WORD = re.compile(r"\w+")
_LONE_YEAR = re.compile(rf"\b{_YEAR}\b")


def periods(query: str) -> tuple[Period, ...]:
    """Return the dates that a query names. A single year on its own applies to the months named without one."""
    found: dict[Period, None] = {}
    for match in _DATE.finditer(query):
        part = {name[0]: value.lower() for name, value in match.groupdict().items() if value}
        month = _MONTHS.get(part["m"]) or int(part["m"]) if "m" in part else None
        found[Period(int(part["y"]) if "y" in part else None, month, int(part["d"]) if "d" in part else None)] = None
    months = [period for period in found if period.month]
    years = [period.year for period in found if not period.month]
    if len(years) == 1 and any(period.year is None for period in months):
        return tuple(dict.fromkeys(Period(period.year or years[0], period.month, period.day) for period in months))
    return tuple(found)


def asks(content: str) -> bool:
    """Return whether a turn ends with a question."""
    return content.rstrip(" \t\r\n\"')*_”’").endswith(("?", "？"))


def tells_time(content: str) -> bool:
    """Return whether the start of a turn mentions time: a weekday, "yesterday", "two years ago", a month, a year."""
    start = content[:2_000]
    return not _TIME_WORDS.isdisjoint(_WORD.findall(start.lower())) or _LONE_YEAR.search(start) is not None


# Scoring of turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Candidates, one element of each array per turn, in any order."""

    conversation: Integers
    """Any number that identifies the conversation."""
    position: Integers
    """Position in the conversation: adjacent turns differ by one."""
    words: Floats
    """Query words × turns: the word's contribution to the BM25 score of the turn."""
    speaker: Sequence[str]
    """Name of the speaker; empty if none is given."""
    role: Integers
    day: Integers
    """The day on which the turn was said, in days since 1970-01-01."""
    asks: Flags
    """`asks()` of each turn's text."""
    tells_time: Flags
    """`tells_time()` of each turn's text; used only if the question asks when."""
    cosine: Floats | None = None
    """Cosine of each turn's vector with the query's; NaN where there is none."""
    contextual: bool = False
    """Whether the vectors are those of a transformer, which reads the words of a short text together."""


def evidence(question: TurnQuery, turns: Turns, *, average: float, weights: Weights | None = None) -> dict[str, Floats]:
    """Return the weighted features of each turn: `words`, and the others named as in `Weights`. Their sum is the score.

    `average` is the average length of the store's turns in terms.
    """
    weights = weights or Weights()
    found = turns.words[list(question.words)]
    numbers, place = np.unique(turns.conversation, return_inverse=True)
    beside = _Neighbours(turns, place)
    spread = found.copy()
    for distance in range(1, REACH + 1):
        for side in (-distance, distance):
            np.maximum(spread, weights.near**distance * beside.take(found, side), out=spread)
    words = spread.sum(0)
    unit = words.max(initial=0.0) or 1.0

    anywhere = np.zeros((len(found), len(numbers)))
    for row, values in zip(anywhere, found, strict=True):
        np.maximum.at(row, place, values)
    whole = anywhere.sum(0)

    own = found.sum(0)
    people = turns.role == Role.PERSON
    assistant = turns.role == Role.ASSISTANT
    answers = people | assistant if question.asks_assistant else people
    vector = weights.vector * ranking.vector_weight(average, contextual=turns.contextual)
    near = _nearness(turns.cosine, len(people))
    return {
        "words": words / unit,
        "conversation": weights.conversation * (whole / (whole.max(initial=0.0) or 1.0))[place],
        "answer": weights.answer * answers * beside.take(own * turns.asks, -1) / unit,
        "speaker": weights.speaker * _named(question, turns),
        "question": -weights.question * (turns.asks & people),
        "date": weights.date * _said_in(question.periods, turns.day),
        "time": weights.time * turns.tells_time * question.asks_when,
        "role": weights.role * assistant * (1.0 if question.asks_assistant else -_also_said_by_others(own, ~assistant)),
        "vector": vector * near,
        "beside": weights.beside * vector * people * np.maximum(beside.take(near, -1), beside.take(near, 1)),
    }


def scores(question: TurnQuery, turns: Turns, *, average: float, weights: Weights | None = None) -> Floats:
    """Return the score of each turn, higher is better. Scores are not comparable between questions."""
    total: Floats = np.sum(list(evidence(question, turns, average=average, weights=weights).values()), axis=0)
    return total


def conversations(turns: Turns, scores: Floats) -> list[tuple[int, float]]:
    """Rank conversations by their best turn, best first. (Scoring by all words, or by sums of turns, does worse.)"""
    numbers, place = np.unique(turns.conversation, return_inverse=True)
    best = np.full(len(numbers), -np.inf)
    np.maximum.at(best, place, scores)
    order = np.argsort(-best, kind="stable")
    return list(zip(numbers[order].tolist(), best[order].tolist(), strict=True))


def confidence(question: TurnQuery, turns: Turns, idf: Floats, scores: Floats, allowed: Flags | None = None) -> float:
    """Return the probability that the best turns hold an answer; see `search/confidence.py` for the argument.

    `idf` has one value per query word, `scores` are those of the turns. Turns that are not `allowed` do not count; nor
    do questions among people, except in the ranking.
    """
    counting = [place for place in question.words if place not in question.dates] or list(question.words)
    weights = idf[counting]
    counted = np.ones(len(scores), np.bool_) if allowed is None else allowed
    statements = counted & ~(turns.asks & (turns.role == Role.PERSON))
    if not weights.sum() or not statements.any():
        return 0.0
    held = turns.words[counting] > 0
    named = _named(question, turns)
    if not question.speakers or named[counted].all():
        stated = weights @ held / weights.sum() * statements
        best = int(stated.argmax())
        return of_turns(float(stated[best]), int(held[:, best].sum()) if stated[best] else 0)

    # The root, because a word that was never said has the highest idf, but is not all of the question.
    weights = np.sqrt(weights)
    share = weights @ held / weights.sum() * counted
    stated = share * statements
    asked = stated * named
    best = int(asked.argmax())
    rarest = bool(held[weights.argmax(), best] and asked[best])
    weight = stated**SHARPNESS
    said = (weight[named].sum() + DOUBT / 2) / (weight.sum() + DOUBT)
    ranked = np.exp(SHARPNESS * (scores - Weights().speaker * named)) * counted
    lead = ranked[named].sum() / ranked.sum()
    return of_speakers(rarest, float(said), float(lead), min(float(share.max()) / FOUND, 1.0))


class _Neighbours:
    """Looks up the turn some places before or after each turn in its conversation."""

    def __init__(self, turns: Turns, conversation: Integers) -> None:
        first = turns.position.min(initial=0)
        # A gap between conversations, so that the end of one is never adjacent to the start of the next.
        stride = turns.position.max(initial=0) - first + 1 + REACH
        self._keys = conversation * stride + (turns.position - first)
        self._order = np.argsort(self._keys)
        self._sorted = self._keys[self._order]
        self._known: dict[int, tuple[Integers, Flags]] = {}

    def take(self, values: Floats, side: int) -> Floats:
        """Return for each turn the value of the turn `side` places on; 0 if that is not a candidate."""
        if not len(self._keys):
            return values
        if side not in self._known:
            wanted = self._keys + side
            at = np.minimum(np.searchsorted(self._sorted, wanted), len(wanted) - 1)
            self._known[side] = self._order[at], self._sorted[at] == wanted
        places, present = self._known[side]
        taken: Floats = values[..., places] * present
        return taken


def _also_said_by_others(own: Floats, others: Flags) -> Floats:
    """Return how far a single turn of `others` covers each turn's word score, from 0 to 1; half of it counts as 1.

    A turn without any of the words gets 1. What only the assistant said gets 0, and so no penalty.
    """
    best = own[others].max(initial=0.0)
    shared: Floats = np.minimum(2 * best / np.where(own > 0, own, np.inf), 1.0) if best else np.zeros(len(own))
    return np.where(own > 0, shared, 1.0)


def _named(question: TurnQuery, turns: Turns) -> Flags:
    """Return a mask of the turns by speakers that the question names."""
    if not question.speakers:
        return np.zeros(len(turns.speaker), np.bool_)
    return np.fromiter((speaker in question.speakers for speaker in turns.speaker), np.bool_, len(turns.speaker))


_DAYS_LATER = 7.0
"""Days after a date until its weight falls to 1/e: people mention an event some days later."""


def _said_in(periods: Collection[Period], day: Integers) -> Floats:
    """Return 1 for turns within one of the periods, decaying exponentially after it, 0 before it."""
    best = np.zeros(len(day))
    if not periods or not len(day):
        return best
    for start, end in spans_of(periods, day.min(), day.max()):
        later = np.exp(-np.maximum(day - end, 0) / _DAYS_LATER)
        np.maximum(best, np.where(day >= start, later, 0.0), out=best)
    return best


def spans_of(periods: Collection[Period], first: int, last: int) -> list[tuple[int, int]]:
    """Return the first and last day of each period; one without a year repeats for each year from `first` to `last`."""
    start, end = np.array([first, last], "M8[D]").astype("M8[Y]").astype(int) + 1970
    return [
        _days(year, period.month, period.day)
        for period in periods
        for year in ((period.year,) if period.year else range(start, end + 1))
    ]


def _days(year: int, month: int | None, day: int | None) -> tuple[int, int]:
    """Return the first and last day of a period, in days since 1970-01-01. A day past the end of a month is clamped."""
    months = (year - 1970) * 12 + (month or 1) - 1
    first, after = np.array([months, months + (1 if month else 12)], "M8[M]").astype("M8[D]").astype(int).tolist()
    if day is None:
        return first, after - 1
    exact = min(first + day, after) - 1
    return exact, exact


def _nearness(cosine: Floats | None, size: int) -> Floats:
    """Scale cosines from 0 (farthest turn) to 1 (nearest); a turn without a vector gets the mean."""
    if cosine is None or np.isnan(cosine).all():
        return np.zeros(size)
    low, high = np.nanmin(cosine), np.nanmax(cosine)
    scaled = (cosine - low) / max(high - low, SPREAD)
    filled: Floats = np.where(np.isnan(scaled), np.nanmean(scaled), scaled)
    return filled
