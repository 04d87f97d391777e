"""Ranking the turns of conversations: which turn answers a question. Pure: arrays in, scores out; no reading, no clock.

The argument. A turn is short and leans on what was said around it. More than a quarter of the turns that answer a
question share no content word with it, but most of those stand next to a turn that does, or in a conversation that
does. So a word of the question counts fully where it stands, less for the turns beside it, and a little for every turn of
the same conversation; each word counts once, by its best match, because a word said five times is not five words. Then
come the things that the words do not hold: who was asked about, whether a question came just before, and the date.
Every piece of evidence is brought to the scale of the words (the best turn has 1) and added up with the weights of
`Weights`. They were fitted on half a dozen chats, left out in turn, and then rounded; what each is worth stands beside it.

What was tried and left out, because it helped one kind of chat and hurt the other, or helped none: the length of a turn,
its place in the conversation, numbers for "how many", the sum of the best turns of a conversation in place of its words.

A search works on candidates and not on all turns: the best few hundred by BM25, the turns up to `REACH` places beside
them, and the turns of the dates named in the question. For all of them it needs what each word of the question adds to
the BM25 score of the turn, so that the words can be told apart here.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from recollect import text
from recollect.search import ranking

__all__ = ["REACH", "Period", "Question", "Role", "Turns", "Weights", "asks", "evidence", "scores", "tells_time"]

REACH = 2
"""How many places beside a turn its words still count."""

Floats = NDArray[np.float64]


class Role(IntEnum):
    """Who speaks: a person talking to people, a person talking to an assistant, or the assistant."""

    PERSON = 0
    USER = 1
    ASSISTANT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each piece of evidence counts, next to 1 for the best match of the words.

    Beside each: what recall@10 loses without it on talk between people, and on chats with an assistant.
    """

    near: float = 0.6
    """What a word counts one turn away; its square two turns away."""
    conversation: float = 0.4
    """The words found anywhere in the conversation."""
    answer: float = 0.5
    """The turn just before asks a question: this much of what its words count."""
    speaker: float = 0.7
    """The question names the speaker."""
    question: float = 0.3
    """Taken from a turn that itself ends with a question, in talk between people. Users ask and tell in one breath."""
    date: float = 1.0
    """The turn was said on a date that the question names, or in the days after."""
    time: float = 0.5
    """The question asks when, and the turn says something about time."""
    role: float = 0.5
    """Taken from the assistant's turns, or given to them when the question asks what the assistant said."""
    vector: float = 1.25
    """The nearness of the vectors, times `ranking.vector_weight()` for the average length of a turn."""


@dataclass(frozen=True, slots=True)
class Period:
    """A date as people name it: a year, a month of any or of one year, or a day."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan janeiro", "february feb fevereiro fev", "march mar março", "april apr abril abr",
            "may maio", "june jun junho", "july jul julho", "august aug agosto ago", "september sep sept setembro set",
            "october oct outubro out", "november nov novembro", "december dec dezembro dez",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
# Words that are more often something else stand for a month only next to a number or after "in".
_DOUBTFUL = {"may", "march", "mar", "ago", "set", "out", "sep", "dec", "jan", "jun"}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_CLEAR_MONTH = "|".join(sorted((name for name in _MONTHS if name not in _DOUBTFUL), key=len, reverse=True))
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_DATE = re.compile(
    rf"\b(?P<y1>{_YEAR})-(?P<m1>0[1-9]|1[0-2])-(?P<d1>{_DAY})\b"
    rf"|\b(?P<d2>{_DAY})(?:st|nd|rd|th|º)?\s*(?:of\s+|de\s+)?(?P<m2>{_MONTH})\b\.?(?:,?\s*(?:de\s+|of\s+)?(?P<y2>{_YEAR})\b)?"
    rf"|\b(?P<m3>{_MONTH})\.?\s+(?P<d3>{_DAY})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(?:of\s+)?(?P<y3>{_YEAR})\b)?"
    rf"|\b(?P<m4>{_MONTH})\.?,?\s+(?:de\s+|of\s+)?(?P<y4>{_YEAR})\b"
    rf"|\b(?:in|during|since|until|of|early|late|last|em|desde|durante)\s+(?P<m5>may|march)\b"
    rf"|\b(?P<m6>{_CLEAR_MONTH})\b"
    rf"|\b(?P<y7>{_YEAR})\b",
    re.IGNORECASE,
)
_ASKS_WHEN = re.compile(
    r"\s*(?:since\s+|until\s+)?(?:when|(?:on\s+|in\s+)?(?:what|which)\s+(?:date|day|month|year|time)|how\s+long|"
    r"(?:desde\s+|at[ée]\s+)?quando|(?:em\s+)?que\s+(?:dia|data|m[êe]s|ano)|h[áa]\s+quanto\s+tempo)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    rf"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|recently|since|(?:day|week|weekend|month|year)s?|morning|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|spring|summer|autumn|fall|winter|"
    r"ontem|hoje|amanh[ãa]|passad[ao]|pr[óo]xim[ao]|atr[áa]s|desde|dias?|semanas?|m[êe]s|meses|anos?|"
    r"segunda|ter[çc]a|quarta|quinta|sexta|s[áa]bado|domingo|primavera|ver[ãa]o|outono|inverno|"
    rf"{_CLEAR_MONTH}|{_YEAR})\b",
    re.IGNORECASE,
)
_SAID = "sa(?:id|y)|told|tell|mention|suggest|recommend|g[ai]ve|provide|create|wr[oi]te|list|explain|advi[sc]e|propose|show|offer"
_ASKS_ASSISTANT = re.compile(
    rf"(?<!can )(?<!could )(?<!would )(?<!will )\byou(?:'d|'ve| had| have| just)?\s+(?:{_SAID})\w*"
    r"|\byour\s+(?:suggestion|recommendation|advice|answer|list|explanation|response|reply)|\bdid\s+you\b|\bremind\s+me\b"
    r"|\bassistant\b|\bvoc[êe]\s+(?:disse|sugeriu|recomendou|falou|mencionou|explicou|escreveu|deu)"
    r"|\bme\s+lembr[ea]\b|\bassistente\b",
    re.IGNORECASE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """What a question asks for besides its words."""

    words: tuple[int, ...]
    """Which words of the query count, by their place in it: all but the names of speakers."""
    speakers: frozenset[str]
    periods: tuple[Period, ...]
    asks_when: bool
    asks_assistant: bool

    @classmethod
    def read(cls, query: str, words: Sequence[Sequence[str]], speakers: Iterable[str]) -> "Question":
        """Read the query; `words` are its `text.query_terms()`, `speakers` those who may be named in it."""
        asked = {term for spellings in words for term in spellings}
        named = {speaker: set(text.analyse(speaker)) & asked for speaker in set(speakers)}
        names = set().union(*named.values())
        counting = tuple(place for place, spellings in enumerate(words) if names.isdisjoint(spellings))
        return cls(
            words=counting or tuple(range(len(words))),
            speakers=frozenset(speaker for speaker, terms in named.items() if terms),
            periods=periods(query),
            asks_when=_ASKS_WHEN.match(query) is not None,
            asks_assistant=_ASKS_ASSISTANT.search(query) is not None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Candidate turns, one row each, in any order."""

    conversation: NDArray[np.int64]
    position: NDArray[np.int64]
    """The place in the conversation: neighbours differ by one."""
    words: Floats
    """Words of the query × turns: what the word adds to the BM25 score of the turn."""
    speaker: Sequence[str]
    role: NDArray[np.int8]
    day: NDArray[np.int64]
    """The day on which the turn was said, as days since 1970-01-01."""
    asks: NDArray[np.bool_]
    """`asks()` of the text of the turn."""
    tells_time: NDArray[np.bool_]
    """`tells_time()` of the text of the turn."""
    cosine: Floats | None = None
    """The nearness of the turn's vector to the question's; nan where there is none."""


def asks(content: str) -> bool:
    """Whether a turn ends with a question."""
    return content.rstrip(" \t\r\n\"')*").endswith(("?", "？"))


def tells_time(content: str) -> bool:
    """Whether a turn says something about time: a weekday, "yesterday", "two years ago", a month, a year."""
    return _TIME.search(content) is not None


def periods(query: str) -> tuple[Period, ...]:
    """The dates that a query names. A year counts by itself only when no month is named."""
    found: dict[Period, None] = {}
    for match in _DATE.finditer(query):
        parts = {name[0]: value for name, value in match.groupdict().items() if value}
        month = parts.get("m", "").lower()
        found[
            Period(
                year=int(parts["y"]) if "y" in parts else None,
                month=(int(month) if month.isdigit() else _MONTHS[month]) if month else None,
                day=int(parts["d"]) if "d" in parts else None,
            )
        ] = None
    years = [period.year for period in found if period.month is None]
    if len(years) == 1:  # "in May and June 2023", "the trip in 2023: what happened in May?"
        found = {
            Period(period.year or years[0], period.month, period.day): None for period in found if period.month
        } or found
    return tuple(found)


def evidence(question: Question, turns: Turns, *, average: float, weights: Weights = Weights()) -> dict[str, Floats]:
    """What speaks for each turn, by the names of `Weights` and `words` for the turn's own words and those beside it.

    The score of a turn is the sum. `average` is the average length of a turn of the store in terms.
    """
    found = turns.words[list(question.words)]
    beside = _Beside(turns)
    spread = found.copy()
    for distance in range(1, REACH + 1):
        for side in (-distance, distance):
            np.maximum(spread, weights.near**distance * beside.take(found, side), out=spread)
    own, best = found.sum(0), spread.sum(0)
    scale = 1 / best.max(initial=0.0) if best.max(initial=0.0) > 0 else 0.0

    conversations, places = np.unique(turns.conversation, return_inverse=True)
    anywhere = np.zeros((len(found), len(conversations)))
    for row, values in zip(anywhere, found, strict=True):
        np.maximum.at(row, places, values)
    whole = anywhere.sum(0)
    people = turns.role == Role.PERSON
    assistant = turns.role == Role.ASSISTANT
    answering = people | assistant if question.asks_assistant else people
    named = np.fromiter((speaker in question.speakers for speaker in turns.speaker), np.bool_, len(people))
    return {
        "words": best * scale,
        "conversation": weights.conversation * (whole / (whole.max(initial=0.0) or 1.0))[places],
        "answer": weights.answer * answering * beside.take(own * turns.asks, -1) * scale,
        "speaker": weights.speaker * named,
        "question": -weights.question * (turns.asks & people),
        "date": weights.date * _said_in(question.periods, turns.day),
        "time": weights.time * (turns.tells_time & question.asks_when),
        "role": weights.role * assistant * (1.0 if question.asks_assistant else -1.0),
        "vector": weights.vector * ranking.vector_weight(average) * _nearness(turns.cosine, len(people)),
    }


def scores(question: Question, turns: Turns, *, average: float, weights: Weights = Weights()) -> Floats:
    """The score of each turn, the higher the better. Scores of different questions cannot be compared."""
    return np.sum(list(evidence(question, turns, average=average, weights=weights).values()), axis=0)


class _Beside:
    """Looks up the turn some places before or after each turn in its conversation."""

    def __init__(self, turns: Turns) -> None:
        _, conversation = np.unique(turns.conversation, return_inverse=True)
        first = turns.position.min(initial=0)
        # Room between two conversations, so that the end of one never stands beside the start of the next.
        stride = turns.position.max(initial=0) - first + 1 + REACH
        self._keys = conversation * stride + (turns.position - first)
        self._order = np.argsort(self._keys)
        self._sorted = self._keys[self._order]

    def take(self, values: Floats, side: int) -> Floats:
        """For each turn the value of the turn `side` places on; 0 where the candidates have none."""
        if not len(self._keys):
            return values
        at = np.minimum(np.searchsorted(self._sorted, self._keys + side), len(self._keys) - 1)
        there = self._sorted[at] == self._keys + side
        taken: Floats = np.where(there, values[..., self._order[at]], 0.0)
        return taken


_DAYS_AFTER = 7.0
"""People tell of a thing days after it happened: how many days later the date counts 1/e."""


def _said_in(periods: Collection[Period], day: NDArray[np.int64]) -> Floats:
    """1 for the turns said in one of the periods, less and less for those said after it, 0 for those before."""
    best = np.zeros(len(day))
    if not periods or not len(day):
        return best
    first_year, last_year = (int(year) + 1970 for year in np.array([day.min(), day.max()], "M8[D]").astype("M8[Y]").astype(int))
    for period in periods:
        for year in [period.year] if period.year else range(first_year, last_year + 1):
            start, end = _days(year, period.month, period.day)
            since = np.maximum(day - end, 0)
            np.maximum(best, np.where(day >= start, np.exp(-since / _DAYS_AFTER), 0.0), out=best)
    return best


def _days(year: int, month: int | None, day: int | None) -> tuple[int, int]:
    """The first and the last day of a period, as days since 1970-01-01."""
    start = np.datetime64(f"{year:04}-{month or 1:02}")
    length = np.datetime64(f"{year + 1:04}-01") if month is None else start + 1
    first, after = int(start.astype("M8[D]").astype(int)), int(length.astype("M8[D]").astype(int))
    if day is None:
        return first, after - 1
    return min(first + day - 1, after - 1), min(first + day - 1, after - 1)


def _nearness(cosine: Floats | None, size: int) -> Floats:
    """Cosines brought to 0 for the farthest and 1 for the nearest turn; a turn without a vector stands in the middle."""
    if cosine is None or np.isnan(cosine).all():
        return np.zeros(size)
    low, high = np.nanmin(cosine), np.nanmax(cosine)
    scaled = (cosine - low) / ((high - low) or 1.0)
    return np.where(np.isnan(scaled), np.nanmean(scaled), scaled)
