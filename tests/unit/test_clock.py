"""Times as callers give them, and as we show them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.clock import LAST, FixedClock, SystemClock, iso, milliseconds
from recollect.errors import Invalid


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (0, 0),
        (1_767_225_600_000, 1_767_225_600_000),
        (LAST, LAST),
        ("2026-01-01T00:00:00Z", 1_767_225_600_000),
        ("2026-01-01T00:00:00.001Z", 1_767_225_600_001),
        ("2026-01-01T01:00:00+01:00", 1_767_225_600_000),
        ("2025-12-31T20:30:00-03:30", 1_767_225_600_000),
        ("2026-01-01 00:00:00", 1_767_225_600_000),
        ("2026-01-01", 1_767_225_600_000),
        ("  2026-01-01T00:00:00Z\n", 1_767_225_600_000),
        ("1970-01-01T00:00:00Z", 0),
        ("9999-12-31T23:59:59.999Z", LAST),
        (datetime(2026, 1, 1, tzinfo=UTC), 1_767_225_600_000),
        (datetime(2026, 1, 1), 1_767_225_600_000),
        (datetime(2026, 1, 1, 5, tzinfo=timezone(timedelta(hours=5))), 1_767_225_600_000),
        (datetime(2026, 1, 1, microsecond=1_499, tzinfo=UTC), 1_767_225_600_001),
    ],
)
def test_a_moment_is_utc_milliseconds_however_it_is_written(moment: int | str | datetime, expected: int) -> None:
    assert milliseconds(moment) == expected


@pytest.mark.parametrize(
    "moment",
    [
        -1,
        LAST + 1,
        10**30,
        True,
        False,
        1.5,
        None,
        b"2026",
        [],
        "",
        "yesterday",
        "2026-13-01",
        "1767225600000",
        "2026-01-01T25:00:00Z",
        "1969-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59.999-14:00",
        datetime.min,
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))),
        "x" * 100_000,
    ],
    ids=lambda moment: repr(moment)[:40],
)
def test_what_is_no_moment_between_1970_and_9999_is_invalid(moment: object) -> None:
    with pytest.raises(Invalid):
        milliseconds(moment)  # type: ignore[arg-type]


@given(st.integers(0, LAST // 1000))
def test_a_second_shown_and_read_is_the_same_second(second: int) -> None:
    assert milliseconds(iso(second * 1000)) == second * 1000
    assert iso(second * 1000 + 999) == iso(second * 1000)


@given(st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(9998, 12, 31), timezones=st.timezones()))
def test_text_and_datetime_of_the_same_moment_agree(moment: datetime) -> None:
    assert milliseconds(moment) == milliseconds(moment.isoformat())


def test_a_fixed_clock_stands_still_until_it_is_moved() -> None:
    clock = FixedClock(1_000)
    assert (clock.now(), clock.now()) == (1_000, 1_000)
    clock.advance(5)
    assert clock.now() == 1_005
    clock.advance(-10)
    assert clock.now() == 995
    clock.set(7)
    assert clock.now() == 7


def test_the_system_clock_tells_a_time_of_our_days_and_never_microseconds() -> None:
    now = SystemClock().now()
    assert iso(now) > "2025-01-01T00:00:00Z"
    assert iso(now) < "2200-01-01T00:00:00Z"
