"""Dates as exports write them for people: "May 19, 2026, 7:07:02 PM GMT-03:00", "10 de mai. de 2026, 03:46". Pure."""

import re
from datetime import UTC, datetime, timedelta

from recollect.transfer.importers.reading import moment

__all__ = ["spoken_date"]

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan ene",
            "feb fev",
            "mar mär",
            "apr abr",
            "may mai",
            "jun",
            "jul",
            "aug ago",
            "sep set",
            "oct okt out",
            "nov",
            "dec dez dic",
        ),
        1,
    )
    for name in names.split()
}
"""Months in English, German, Spanish and Portuguese, by their first three letters."""
_ZONES = "PST-8 PDT-7 MST-7 MDT-6 CST-6 CDT-5 EST-5 EDT-4 BRT-3 WEST+1 BST+1 CET+1 MEZ+1 CEST+2 MESZ+2 EET+2 JST+9"
_HOURS = {zone[:-2]: int(zone[-2:]) for zone in _ZONES.split()}
"""Time zones by the abbreviations that browsers of common places write. Any other is taken as UTC."""
_NUMERIC = re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})\b")
_MONTH_FIRST = re.compile(r"(?P<month>[^\W\d_]{3,10})\.? (?P<day>\d{1,2}),? (?P<year>\d{4})\b")
_DAY_FIRST = re.compile(r"(?P<day>\d{1,2})\.? (?:de )?(?P<month>[^\W\d_]{3,10})\.?,? (?:de )?(?P<year>\d{4})\b")
_TIME = re.compile(
    r"(?:,| at)? ?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
    r"(?: (?:(?P<zone>[A-Z]{3,5})?(?:(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d\d))?)?))?"
)


def spoken_date(text: str) -> int | None:
    """Return UTC milliseconds if the text is a date, with or without a time, and nothing else."""
    text = " ".join(text.split())
    if (found := moment(text)) is not None:
        return found
    for form in (_NUMERIC, _MONTH_FIRST, _DAY_FIRST):
        date = form.match(text)
        if date is None:
            continue
        rest = text[date.end() :]
        time = _TIME.fullmatch(rest)
        month = date["month"]
        number = int(month) if month.isdigit() else _MONTHS.get(month[:3].lower())
        if number is None or (rest and time is None):
            return None
        return _milliseconds(int(date["year"]), number, int(date["day"]), time)
    return None


def _milliseconds(year: int, month: int, day: int, time: re.Match[str] | None) -> int | None:
    try:
        at = datetime(year, month, day, tzinfo=UTC)
        return moment((at if time is None else at + _clock(time) - _offset(time)).isoformat())
    except (ValueError, OverflowError):
        return None


def _clock(time: re.Match[str]) -> timedelta:
    hour = int(time["hour"])
    if time["half"]:
        hour = hour % 12 + (12 if time["half"] in "Pp" else 0)
    return timedelta(hours=hour, minutes=int(time["minute"]), seconds=int(time["second"] or 0))


def _offset(time: re.Match[str]) -> timedelta:
    """Return the difference to UTC that a time states."""
    if not time["hours"]:
        return timedelta(hours=_HOURS.get(time["zone"] or "", 0))
    stated = timedelta(hours=int(time["hours"]), minutes=int(time["minutes"] or 0))
    return -stated if time["sign"] == "-" else stated
