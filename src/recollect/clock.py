"""The only module that reads the system clock. Times are UTC milliseconds."""

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol

from recollect.errors import Invalid

__all__ = ["LAST", "Clock", "FixedClock", "Moment", "SystemClock", "iso", "milliseconds", "stopwatch"]

Moment = int | datetime | str
"""A point in time as callers may pass it: UTC milliseconds, a datetime, or RFC 3339 text."""

LAST = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z, the last millisecond that a datetime can represent."""


class Clock(Protocol):
    """A source of the current time in UTC milliseconds."""

    def now(self) -> int:
        """The current time in UTC milliseconds."""
        ...


class SystemClock:
    """The system clock."""

    def now(self) -> int:
        """The current time in UTC milliseconds."""
        return time.time_ns() // 1_000_000


class FixedClock:
    """A clock for tests that only moves when set or advanced."""

    def __init__(self, start: int = 1_767_225_600_000) -> None:
        self._now = start

    def now(self) -> int:
        """Return the time that was set."""
        return self._now

    def advance(self, milliseconds: int) -> None:
        """Advance the clock; a negative number sets it back."""
        self._now += milliseconds

    def set(self, milliseconds: int) -> None:
        """Set the clock to a time in UTC milliseconds."""
        self._now = milliseconds


def milliseconds(moment: Moment) -> int:
    """Convert a moment to UTC milliseconds. A datetime or text without a time zone is taken as UTC."""
    if isinstance(moment, bool) or not isinstance(moment, int | datetime | str):
        raise Invalid(f"a time must be UTC milliseconds, a datetime or RFC 3339 text, not {type(moment).__name__}")
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
    """Return a monotonic time in seconds with an arbitrary origin, to measure durations."""
    return time.perf_counter()


def iso(moment: int) -> str:
    """Format UTC milliseconds as RFC 3339 text, to the second."""
    return _second(moment // 1000)


@lru_cache(1_024)
def _second(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
