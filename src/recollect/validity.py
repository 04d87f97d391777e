"""Validity that a text states: "from 1 March", "until Friday". Pure.

A wrong date hides a fact, so a date is read only if there is one way to read it: a single sentence, one `from` and one
`until` at most, a date with a day, no question, no negation before it ("not until Friday"), no span of weekdays, which
is a habit ("open from Monday to Friday"). 3/4/2026 is ambiguous and is ignored. A date without a year is the next one
for `until`, and the nearest one for `from`. Days are days in UTC, and `until` includes its day.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from recollect.sentences import sentences
from recollect.text import few_marks

__all__ = ["Validity", "stated_validity"]


@dataclass(frozen=True, slots=True)
class Validity:
    """When a statement holds, in milliseconds since 1970; None if it has no beginning or no end."""

    valid_from: int | None = None
    valid_until: int | None = None


LONGEST = 1_000
"""Characters of a text that is read; a longer one is not a single statement."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan janeiro januar enero",
            "february feb fevereiro februar febrero",
            "march mar marco marz marzo",
            "april apr abril",
            "may maio mai mayo",
            "june jun junho juni junio",
            "july jul julho juli julio",
            "august aug agosto",
            "september sep sept setembro septiembre",
            "october oct outubro oktober octubre",
            "november nov novembro noviembre",
            "december dec dezembro dezember diciembre",
        ),
        start=1,
    )
    for name in names.split()
}
_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday segunda segunda-feira montag lunes",
            "tuesday terca terca-feira dienstag martes",
            "wednesday quarta quarta-feira mittwoch miercoles",
            "thursday quinta quinta-feira donnerstag jueves",
            "friday sexta sexta-feira freitag viernes",
            "saturday sabado samstag",
            "sunday domingo sonntag",
        )
    )
    for name in names.split()
}
_FROM = (
    r"starting (?:on|from)|starting|effective|as of|from|since|ab dem|ab|seit dem|seit|a partir d[eo]l?|desde el|desde"
)
_SINCE = ("since", "seit", "desde")
_UNTIL = r"up to and including|until|till|through|bis zum|bis|ate o|ate a|ate|hasta el|hasta"
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = "|".join(sorted(_WEEKDAYS, key=len, reverse=True))
_DATE = (
    r"(?P<iso>\d{4}-\d{2}-\d{2})"
    r"|(?P<dotted>\d{1,2}\.\d{1,2}\.\d{4})"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?(?: de| of)? (?P<month>{_MONTH})\b\.?(?:(?: de|,)? (?P<year>\d{{4}})\b)?"
    rf"|(?P<first>{_MONTH}) (?P<second>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? (?P<third>\d{{4}})\b)?"
    rf"|(?P<weekday>{_DAY})\b"
)
_STATED = re.compile(rf"\b(?:(?P<from>{_FROM})|(?P<until>{_UNTIL})) (?:the |on |o |a |el |dem |den )?(?:{_DATE})")
_CUES = (
    "from",
    "since",
    "until",
    "till",
    "through",
    "starting",
    "effective",
    "as of",
    "up to",
    "bis",
    "seit",
    "ab ",
    "partir",
    "desde",
    "hasta",
    "at\u00e9",
    "ate",
)
"""Most texts have none of these, so that they need not be folded."""
_DIGIT = re.compile(r"\d")
_ORDINAL = re.compile(rf"\b(\d{{1,2}})\. (?=(?:{_MONTH})\b)")
_NOT = re.compile(r"\b(?:not|never|nicht|nao|no|kein\w*|dont|doesnt|wont|cant)\b[^,;]{0,20}$")
_HABIT = re.compile(r"\b(?:every|each|always|jeden|jede|immer|cada|todos?|todas|sempre|siempre)\b")


def stated_validity(text: str, written_at: int) -> Validity | None:
    """Return the validity that a text states beyond doubt, or None. `written_at` is when it was written."""
    if len(text) > LONGEST or not _has_cue(text.lower()) or "\n" in text.strip():
        return None
    folded = _ORDINAL.sub(r"\1 ", _folded(few_marks(text)))
    if len(sentences(folded)) != 1 or folded.endswith("?"):
        return None
    found = list(_STATED.finditer(folded))
    starts, ends = [m for m in found if m["from"]], [m for m in found if m["until"]]
    if not found or len(starts) > 1 or len(ends) > 1 or _is_doubtful(folded, found):
        return None
    written = datetime.fromtimestamp(written_at / 1000, UTC).date()
    first = _day(starts[0], written) if starts else None
    last = _day(ends[0], written) if ends else None
    if (starts and first is None) or (ends and last is None) or (first and last and last < first):
        return None
    return Validity(_start(first), _start(last + timedelta(days=1)) if last else None)


def _has_cue(lower: str) -> bool:
    if not any(map(lower.__contains__, _CUES)):
        return False
    # What every date has, in a text without accents.
    return not lower.isascii() or _DIGIT.search(lower) is not None or any(map(lower.__contains__, _WEEKDAYS))


def _folded(line: str) -> str:
    plain = unicodedata.normalize("NFKD", line.casefold().replace("\u2019", "'").replace("'", ""))
    if not plain.isascii():
        plain = "".join(c for c in plain if not unicodedata.combining(c))
    return " ".join(plain.split())


def _is_doubtful(folded: str, found: list[re.Match[str]]) -> bool:
    """Return whether the dates are negated, or belong to a habit."""
    if any(_NOT.search(folded[: match.start()]) for match in found):
        return True
    weekdays = [match for match in found if match["weekday"]]
    return bool(weekdays) and (len(found) > 1 or _HABIT.search(folded) is not None)


def _day(match: re.Match[str], written: date) -> date | None:
    try:
        if match["iso"]:
            return date.fromisoformat(match["iso"])
        if match["dotted"]:
            day, month, year = map(int, match["dotted"].split("."))
            return date(year, month, day)
        if match["weekday"]:
            return _weekday(match, written)
        day = int(match["day"] or match["second"])
        month = _MONTHS[match["month"] or match["first"]]
        stated = match["year"] or match["third"]
        return date(int(stated), month, day) if stated else _without_year(match, written, month, day)
    except ValueError:
        return None


def _weekday(match: re.Match[str], written: date) -> date:
    wanted = _WEEKDAYS[match["weekday"]]
    if (match["from"] or "").startswith(_SINCE):
        return written - timedelta(days=(written.weekday() - wanted) % 7)
    return written + timedelta(days=(wanted - written.weekday()) % 7)


def _without_year(match: re.Match[str], written: date, month: int, day: int) -> date | None:
    near = [date(year, month, day) for year in (written.year - 1, written.year, written.year + 1)]
    if match["until"]:
        return min(one for one in near if one >= written)
    if match["from"].startswith(_SINCE):
        return max(one for one in near if one <= written)
    nearest = min(near, key=lambda one: abs(one - written))
    return nearest if abs(nearest - written) <= timedelta(days=150) else None


def _start(day: date | None) -> int | None:
    return None if day is None else int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
