"""Dates that a text states are read only if there is one way to read them."""

from datetime import UTC, datetime

import pytest

from recollect.validity import Validity, stated_validity

WRITTEN = datetime(2026, 3, 11, 15, 30, tzinfo=UTC)  # a Wednesday


def at(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)


def stated(text: str) -> Validity | None:
    return stated_validity(text, int(WRITTEN.timestamp() * 1000))


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("From 1 April we deploy on Wednesdays", "2026-04-01", None),
        ("As of 2026-05-01 the API answers in JSON", "2026-05-01", None),
        ("The office has moved, effective March 15, 2026", "2026-03-15", None),
        ("The code freeze lasts until Friday", None, "2026-03-14"),
        ("The code freeze lasts until Wednesday", None, "2026-03-12"),
        ("Marta leads the team from 1 February until 30 June", "2026-02-01", "2026-07-01"),
        ("Since Monday the cache is off", "2026-03-09", None),
        ("Das Büro ist bis zum 20. März geschlossen", None, "2026-03-21"),
        ("Ab dem 1.4.2026 gilt der neue Tarif", "2026-04-01", None),
        ("A partir de 1 de abril usamos PostgreSQL", "2026-04-01", None),
        ("O escritório fica fechado até sexta-feira", None, "2026-03-14"),
        ("Hasta el 5 de mayo trabajamos desde casa", None, "2026-05-06"),
        ("Desde el 2 de enero de 2026 usamos pnpm", "2026-01-02", None),
    ],
)
def test_a_date_that_can_be_read_in_one_way_is_the_validity(text: str, start: str | None, end: str | None) -> None:
    assert stated(text) == Validity(start and at(start), end and at(end))


@pytest.mark.parametrize(
    "text",
    [
        "We deploy on Fridays",
        "The shop is open from Monday until Friday",
        "The shop is open from 9 to 5",
        "We do not deploy until Friday",
        "Wir liefern nicht vor dem Test und nicht bis Freitag",
        "From 3/4/2026 we use the new API",
        "From 31 February we use the new API",
        "Is the freeze on until Friday?",
        "The freeze lasts until Friday. Then we deploy.",
        "Every release waits until Friday",
        "The freeze lasts\nuntil Friday",
        "From 20 September we use the new API",
        "Copy the file from march 2 to the backup from april 3",
        "A letter from March",
        "x" * 2_000 + " until Friday",
        "",
    ],
)
def test_a_date_in_doubt_is_not_read(text: str) -> None:
    assert stated(text) is None
