"""The only place that asks the time. Times are UTC milliseconds."""

import time
from datetime import UTC, datetime
from typing import Protocol

from recollect.errors import Invalid

__all__ = ["LAST", "Clock", "FixedClock", "Moment", "SystemClock", "iso", "milliseconds", "stopwatch"]

Moment = int | datetime | str
"""A point in time as callers may give it: UTC milliseconds, a datetime, or RFC 3339 text."""

LAST = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z, the last moment that a datetime can show."""


class Clock(Protocol):
    """Anything that can tell the time in UTC milliseconds."""

    def now(self) -> int:
        """The current time in UTC milliseconds."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """The current time in UTC milliseconds."""
        return time.time_ns() // 1_000_000


class FixedClock:
    """A clock for tests: it stands still until it is moved."""

    def __init__(self, start: int = 1_767_225_600_000) -> None:
        self._now = start

    def now(self) -> int:
        """The time it was last set to."""
        return self._now

    def advance(self, milliseconds: int) -> None:
        """Move the clock; a negative number moves it back."""
        self._now += milliseconds

    def set(self, milliseconds: int) -> None:
        """Set the clock to a moment."""
        self._now = milliseconds


def milliseconds(moment: Moment) -> int:
    """A moment as UTC milliseconds. A datetime or text without a zone is taken as UTC."""
    if isinstance(moment, bool) or not isinstance(moment, int | datetime | str):
        raise Invalid(f"a time is UTC milliseconds, a datetime or RFC 3339 text, not {type(moment).__name__}")
    if isinstance(moment, str):
        written = moment.strip()
        try:
            moment = datetime.fromisoformat(written)
        except ValueError:
            raise Invalid(
                f"{written[:60]!r} is not a time; write it as RFC 3339, for instance 2026-03-16T14:32:00Z"
            ) from None
    if isinstance(moment, datetime):
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        moment = round(aware.timestamp() * 1000)
    if not 0 <= moment <= LAST:
        raise Invalid(f"the time {moment} is out of range; give UTC milliseconds between 1970 and 9999")
    return moment


def stopwatch() -> float:
    """Seconds since a fixed moment that means nothing: the difference of two tells how long something took."""
    return time.perf_counter()


def iso(moment: int) -> str:
    """UTC milliseconds as RFC 3339 text to the second, for people to read."""
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
