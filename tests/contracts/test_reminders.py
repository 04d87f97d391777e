"""Reminders: when they are due, and that each is delivered once, for any caller and any clock."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from crash import upkeepers
from crash.children import Child, children

import recollect
from recollect import FixedClock, Home, Invalid
from recollect.clock import SystemClock
from recollect.engine.agent_store import Store
from recollect.engine.reminders import deliver_due
from recollect.model.reminder import Reminder
from recollect.reminders import Reminders

NOW = 1_767_225_600_000  # 2026-01-01T00:00:00Z
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


def rows_of(home: Home, agent: str = "ana", workspace: str = "default") -> Store:
    return home._other(workspace, agent)


@pytest.fixture
def store(home: Home) -> Store:
    return rows_of(home)


@pytest.fixture
def reminders(store: Store, clock: FixedClock) -> Reminders:
    return Reminders(store, clock)


# When


@pytest.mark.parametrize(
    ("at", "due"),
    [
        ("30s", NOW + 30 * SECOND),
        ("10m", NOW + 10 * MINUTE),
        ("2h", NOW + 2 * HOUR),
        ("1d", NOW + DAY),
        ("1w", NOW + 7 * DAY),
        ("1h30m", NOW + 90 * MINUTE),
        (" 1d 2h ", NOW + DAY + 2 * HOUR),
        ("0m", NOW),
        ("2026-01-01T00:05:00Z", NOW + 5 * MINUTE),
        ("2026-01-01T02:05:00+02:00", NOW + 5 * MINUTE),
        (datetime(2026, 1, 2, tzinfo=UTC), NOW + DAY),
        (NOW + 7, NOW + 7),
        ("1999-12-31T23:59:59Z", 946_684_799_000),  # has passed: due at once
    ],
)
def test_a_moment_is_a_time_or_a_span_from_now(tmp_path: Path, at: str | int | datetime, due: int) -> None:
    with recollect.open(tmp_path / "memory.db", clock=FixedClock(NOW)) as home:
        made = Reminders(rows_of(home), FixedClock(NOW)).add(at, "water the plants")
        assert (made.due_at, made.created_at, made.claimed_at, made.delivered_at) == (due, NOW, None, None)
        assert Reminders(rows_of(home), FixedClock(max(due, NOW))).due() == [made]
        assert Reminders(rows_of(home), FixedClock(due - 1)).due() == []


@pytest.mark.parametrize(
    "at",
    [
        "",
        "soon",
        "10",
        "10 minutes",
        "-10m",
        "1.5h",
        "m",
        "10m!",
        "10M",
        "tomorrow at 8",
        "2026-13-01",
        "١٠m",
        "9" * 400 + "d",
        "999999999w",
        "\ud800",
        -1,
        10**18,
        True,
        None,
        1.5,
        [],
        datetime.min,
    ],
)
def test_nonsense_is_refused_with_the_forms_that_work(tmp_path: Path, at: object) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        reminders = Reminders(rows_of(home), FixedClock(NOW))
        with pytest.raises(Invalid) as caught:
            reminders.add(at, "water the plants")  # type: ignore[arg-type]
        if isinstance(at, str) and at != "999999999w":
            assert "2026-03-16T14:32:00Z" in str(caught.value)
            assert "10m" in str(caught.value)
        assert reminders.list() == []
        assert not (tmp_path / "memory.db").exists()


@pytest.mark.parametrize(
    "given",
    [
        {"message": ""},
        {"message": " \n "},
        {"message": "a\0b"},
        {"message": "\ud800"},
        {"message": "x" * 1_000_001},
        {"message": 7},
        {"session_id": ""},
        {"session_id": "a\nb"},
        {"plugin": "x" * 257},
        {"plugin": 7},
        {"recipient": "\0"},
        {"recipient": " "},
    ],
)
def test_text_that_nothing_can_store_is_refused(tmp_path: Path, given: dict[str, object]) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        reminders = Reminders(rows_of(home), FixedClock(NOW))
        with pytest.raises(Invalid):
            reminders.add(**({"at": "10m", "message": "call Ben"} | given))  # type: ignore[arg-type]
        assert reminders.list() == []


def test_a_limit_that_is_no_count_is_refused(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        reminders = Reminders(rows_of(home), FixedClock(NOW))
        for limit in (-1, True, "3", 1.0, None):
            for method in (reminders.due, reminders.claim, lambda limit: reminders.list(limit=limit)):
                with pytest.raises(Invalid):
                    method(limit)


# The life of a reminder


def test_everything_that_was_said_is_kept(reminders: Reminders) -> None:
    made = reminders.add(
        "10m", "Grüße 🌱\nan Ben", session_id="s-1", plugin="telegram.home", recipient="ben@example.org"
    )
    assert reminders.list() == [made]
    assert (made.session_id, made.plugin, made.recipient) == ("s-1", "telegram.home", "ben@example.org")
    assert made.message == "Grüße 🌱\nan Ben"
    other = reminders.add("10m", "no session")
    assert other.session_id != other.id
    assert (other.plugin, other.recipient) == (None, None)


def test_a_reminder_is_due_claimed_and_delivered_once(reminders: Reminders, clock: FixedClock) -> None:
    late, early = reminders.add("20m", "late"), reminders.add("10m", "early")
    assert reminders.due() == reminders.claim() == []
    clock.advance(10 * MINUTE)
    assert reminders.due() == [early]
    clock.advance(10 * MINUTE)
    assert [one.message for one in reminders.due()] == ["early", "late"]
    assert reminders.due(1) == [early]

    claimed = reminders.claim()
    assert [(one.id, one.claimed_at) for one in claimed] == [(early.id, clock.now()), (late.id, clock.now())]
    assert reminders.due() == reminders.claim() == []
    assert reminders.deliver(claimed[0])
    assert not reminders.deliver(claimed[0])
    assert not reminders.release(claimed[0])
    assert reminders.deliver(late.id)  # the id suffices for the caller that claimed it
    assert not reminders.deliver(late.id)
    clock.advance(DAY)
    assert reminders.due() == reminders.list() == []
    delivered = reminders.list(include_delivered=True)
    assert [(one.id, one.delivered_at, one.claimed_at) for one in delivered] == [
        (early.id, clock.now() - DAY, None),
        (late.id, clock.now() - DAY, None),
    ]


def test_what_is_released_is_due_again(reminders: Reminders, clock: FixedClock) -> None:
    made = reminders.add("1s", "call Ben")
    clock.advance(SECOND)
    assert not reminders.release(made)
    (claimed,) = reminders.claim()
    assert reminders.release(claimed)
    assert not reminders.release(claimed)
    assert reminders.due() == [made]
    (again,) = reminders.claim()
    assert again.claim != claimed.claim
    assert not reminders.release(claimed)
    assert reminders.release(again.id)
    assert reminders.deliver(made)  # not claimed


def test_only_who_claimed_it_can_deliver_or_release_it(reminders: Reminders, store: Store, clock: FixedClock) -> None:
    made = reminders.add("0s", "call Ben")
    (claimed,) = reminders.claim()
    other_process = Reminders(store, clock)
    (seen,) = other_process.list()
    assert seen.claim is None
    assert claimed.claim not in repr(claimed)
    for other in (made, made.id, seen):
        assert not other_process.deliver(other)
        assert not other_process.release(other)
    assert reminders.deliver(claimed)


def test_a_claim_expires_after_five_minutes(reminders: Reminders, store: Store, clock: FixedClock) -> None:
    reminders.add("0s", "call Ben")
    (claimed,) = reminders.claim()
    clock.advance(5 * MINUTE - 1)
    other_process = Reminders(store, clock)
    assert other_process.due() == other_process.claim() == []
    clock.advance(1)
    assert [one.id for one in other_process.due()] == [claimed.id]
    (taken,) = other_process.claim()
    assert not reminders.deliver(claimed)
    assert not reminders.release(claimed.id)
    assert other_process.deliver(taken)
    assert not reminders.deliver(claimed)


def test_one_claim_takes_at_most_thirty_two_oldest_first(reminders: Reminders, clock: FixedClock) -> None:
    made = [reminders.add(f"{80 - number}s", f"number {number}") for number in range(40)]
    clock.advance(HOUR)
    first = reminders.claim(1_000)
    assert [one.id for one in first] == [one.id for one in reversed(made)][:32]
    assert len({one.claim for one in first}) == 1
    assert [one.id for one in reminders.claim(3)] == [one.id for one in reversed(made)][32:35]
    assert reminders.claim(0) == []
    assert len(reminders.due(100)) == 5


def test_a_cancelled_reminder_is_gone(reminders: Reminders, clock: FixedClock) -> None:
    made, other = reminders.add("0s", "call Ben"), reminders.add("0s", "call Cleo")
    assert reminders.cancel(made.id)
    assert not reminders.cancel(made)
    (claimed,) = reminders.claim()
    assert claimed.id == other.id
    assert reminders.cancel(other)
    assert not reminders.deliver(claimed)
    assert reminders.list(include_delivered=True) == []
    done = reminders.add("0s", "call Dora")
    assert reminders.deliver(done)
    assert not reminders.cancel(done)


@pytest.mark.directory
@pytest.mark.unprepared
def test_what_is_not_there_is_answered_with_no_and_nothing_is_made(location: str) -> None:
    with recollect.open(location) as home:
        reminders = Reminders(rows_of(home), SystemClock())
        for method in (reminders.deliver, reminders.release, reminders.cancel):
            assert not method("unknown")
            with pytest.raises(Invalid):
                method(7)  # type: ignore[arg-type]
        assert reminders.due() == reminders.claim() == reminders.list() == []
        assert home.workspaces() == []


def test_the_reminders_of_another_agent_or_workspace_are_not_visible(home: Home, clock: FixedClock) -> None:
    ana, ben = Reminders(rows_of(home), clock), Reminders(rows_of(home, "ben"), clock)
    made = ana.add("0s", "call Ben")
    ben.add("0s", "call Ana")
    others = [ben]
    with suppress(Invalid):  # a single file has one workspace
        others.append(Reminders(rows_of(home, "ana", "work"), clock))
    for other in others:
        assert made.id not in [one.id for one in other.due() + other.list() + other.claim()]
        assert not other.deliver(made)
        assert not other.cancel(made.id)
    (claimed,) = ana.claim()
    assert not ben.release(claimed)
    assert ana.deliver(claimed)


def test_an_agent_that_has_nothing_but_a_reminder_is_known_to_the_upkeep(home: Home, reminders: Reminders) -> None:
    reminders.add("0s", "call Ben")
    assert ["ana"] in [[store.agent for store in place.agents()] for place in home._workplaces()]
    assert home.check().findings == ()


# The clock


def test_a_clock_that_goes_back_leaves_no_claim_stuck(reminders: Reminders, clock: FixedClock) -> None:
    reminders.add(NOW - DAY, "call Ben")
    clock.advance(365 * DAY)
    (claimed,) = reminders.claim()
    clock.set(NOW)
    (again,) = reminders.claim()
    assert again.id == claimed.id
    assert not reminders.deliver(claimed)
    assert reminders.deliver(again)


def test_a_clock_that_is_a_little_behind_takes_no_claim_away(reminders: Reminders, store: Store) -> None:
    reminders.add(NOW - DAY, "call Ben")
    (claimed,) = reminders.claim()
    behind = Reminders(store, FixedClock(NOW - 2 * SECOND))
    assert behind.due() == behind.claim() == []
    assert not behind.deliver(claimed.id)


def test_a_jump_ahead_delivers_each_once(reminders: Reminders, store: Store, clock: FixedClock) -> None:
    for day in range(5):
        reminders.add(f"{day}d", f"day {day}")
    clock.advance(3_650 * DAY)
    received: list[str] = []
    assert deliver_due(store, clock, lambda one: received.append(one.message)) == 5
    assert received == ["day 0", "day 1", "day 2", "day 3", "day 4"]
    assert deliver_due(store, clock, lambda one: received.append(one.message)) == 0


# Delivery by a callback


def test_everything_due_is_handed_over_oldest_first(reminders: Reminders, store: Store, clock: FixedClock) -> None:
    for number in range(70):
        reminders.add(f"{number}s", f"number {number}")
    clock.advance(68 * SECOND)
    received: list[Reminder] = []
    assert deliver_due(store, clock, received.append) == 69
    assert [one.message for one in received] == [f"number {number}" for number in range(69)]
    assert [one.message for one in reminders.list()] == ["number 69"]


def test_without_a_callback_everything_stays_due(reminders: Reminders, store: Store, clock: FixedClock) -> None:
    made = reminders.add("0s", "call Ben")
    assert deliver_due(store, clock, None) == 0
    assert reminders.due() == [made]


def test_what_fails_is_logged_and_comes_again_and_the_rest_continues(
    reminders: Reminders, store: Store, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(40):
        reminders.add("0s", f"bad {number}")
    reminders.add("1s", "good")
    clock.advance(SECOND)
    received: list[str] = []

    def callback(reminder: Reminder) -> None:
        received.append(reminder.message)
        if reminder.message.startswith("bad"):
            raise ValueError("nobody at home")

    with caplog.at_level(logging.WARNING):
        assert deliver_due(store, clock, callback) == 1
    assert len(received) == 41  # each once, and those that fail do not keep the last one waiting
    assert "nobody at home" in caplog.text
    assert [one.message for one in reminders.due(100)] == [f"bad {number}" for number in range(40)]
    received.clear()
    assert deliver_due(store, clock, lambda one: received.append(one.message)) == 40


def test_a_callback_that_ends_the_process_gives_the_rest_back(
    reminders: Reminders, store: Store, clock: FixedClock
) -> None:
    for number in range(3):
        reminders.add("0s", f"number {number}")

    def callback(reminder: Reminder) -> None:
        if reminder.message == "number 1":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deliver_due(store, clock, callback)
    assert [one.message for one in reminders.due()] == ["number 1", "number 2"]


def test_slow_callbacks_lose_no_claim_and_deliver_nothing_twice(
    reminders: Reminders, store: Store, clock: FixedClock
) -> None:
    for number in range(6):
        reminders.add("0s", f"number {number}")
    received: list[str] = []

    def callback(reminder: Reminder) -> None:
        received.append(reminder.message)
        clock.advance(3 * MINUTE)
        if reminder.message == "number 1":  # six minutes have passed: another process takes what has expired
            other = Reminders(store, clock)
            received.extend(f"other {one.message}" for one in other.claim(2) if other.deliver(one))

    assert deliver_due(store, clock, callback) == 4
    assert received == ["number 0", "number 1", "other number 2", "other number 3", "number 4", "number 5"]
    assert reminders.list() == []


# Many at once


def test_many_threads_claim_each_reminder_once(location: str, clock: FixedClock) -> None:
    with recollect.open(location, clock=clock) as home:
        reminders = Reminders(rows_of(home), clock)
        for number in range(40):
            reminders.add("0s", f"number {number}")
        received: list[str] = []

        def work() -> None:
            store = Store(rows_of(home).database, "ana")
            deliver_due(store, clock, lambda one: received.append(one.message))

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(received) == sorted(f"number {number}" for number in range(40))
        assert reminders.list() == []


@pytest.fixture
def start() -> Iterator[Callable[..., Child]]:
    with children() as starter:
        yield starter


def test_several_processes_deliver_each_reminder_once(start: Callable[..., Child], location: str) -> None:
    with recollect.open(location) as home:
        for number in range(60):
            Reminders(rows_of(home), SystemClock()).add("0s", f"number {number}")
    those = [start(upkeepers.be_reminded, location) for _ in range(4)]
    for child in those:
        child.go()
    received = [message[1] for child in those for message in child.rest() if message[0] == "told"]
    assert [child.failure for child in those if child.failure] == []
    assert sorted(received) == sorted(f"number {number}" for number in range(60))


def test_a_process_that_dies_between_claim_and_delivery_delivers_later(
    start: Callable[..., Child], location: str
) -> None:
    now = SystemClock().now()
    with recollect.open(location) as home:
        for number in range(3):
            Reminders(rows_of(home), SystemClock()).add(now - 10 + number, f"number {number}")
    child = start(upkeepers.be_reminded, location, "number 1")
    child.go()
    assert [child.next("told")[1] for _ in range(2)] == ["number 0", "number 1"]
    child.kill()
    with recollect.open(location) as home:
        received: list[str] = []
        soon, later = FixedClock(SystemClock().now()), FixedClock(SystemClock().now() + 5 * MINUTE)
        assert deliver_due(rows_of(home), soon, lambda one: received.append(one.message)) == 0
        assert deliver_due(rows_of(home), later, lambda one: received.append(one.message)) == 2
        assert received == ["number 1", "number 2"]
        assert deliver_due(rows_of(home), later, lambda one: received.append(one.message)) == 0


def test_lists_come_in_pages_and_each_reminder_once(reminders: Reminders) -> None:
    made = [reminders.add(NOW + minutes * MINUTE, f"no. {minutes}") for minutes in (3, 1, 2, 2, 2, 5)]
    ordered = [made[place].id for place in (1, 2, 3, 4, 0, 5)]
    reminders.deliver(made[3])
    for everything, expected in ((True, ordered), (False, [one for one in ordered if one != made[3].id])):
        for by_text in (False, True):
            found: list[str] = []
            page = reminders.list(include_delivered=everything, limit=2)
            while page:
                found += [one.id for one in page]
                last = page[-1].cursor if by_text else page[-1]
                page = reminders.list(include_delivered=everything, limit=2, after=last)
            assert found == expected
    reminders.cancel(made[4])  # a place stays good when what was there is gone
    assert [one.id for one in reminders.list(after=made[4])] == [made[0].id, made[5].id]
    with pytest.raises(Invalid, match="not a valid cursor"):
        reminders.list(after=made[0].id)
