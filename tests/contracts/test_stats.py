"""Figures about a home: what is there, whose it is, and how it grows day by day."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from embedders import HashEmbedder
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import AgentCounts, AgentStats, FixedClock, Home, Invalid
from recollect.storage.schema import migrations

DAY = 86_400_000


def of(home: Home, agent: str, workspace: str | None = "default") -> AgentStats:
    (found,) = [one for one in home.stats().agents if (one.agent, one.workspace) == (agent, workspace)]
    return found


@pytest.mark.unprepared
def test_a_home_with_nothing_in_it_has_figures(home: Home) -> None:
    stats = home.stats()
    assert (stats.schema, stats.bytes, stats.agents) == (migrations()[-1].number, 0, ())
    assert home.stats("shop") == stats
    with pytest.raises(Invalid):
        home.stats("a/b")


def test_connections_caches_and_pairs_for_review_are_counted(home: Home, clock: FixedClock) -> None:
    mem = home.agent("ana")
    mem.remember("The office is in Lisbon")
    clock.advance(DAY)
    mem.remember("The office is in Porto")
    home.jobs.run("review")
    for _ in range(2):
        mem.recall("office")
        mem.context("where is the office?")
    stats = home.stats()
    assert stats.connections["used"] + stats.connections["idle"] >= 1
    assert stats.connections["waiting"] == 0
    assert stats.caches["index"]["hit"] >= 1
    assert stats.caches["context"] == {"hit": 1, "updated": 0, "missed": 1}
    assert of(home, "ana").review == len(mem.review.list()) == 1
    assert of(home, "ana").vectors_missing == 2


@pytest.mark.unprepared
def test_every_agent_is_counted_by_itself(home: Home, clock: FixedClock) -> None:
    ana, ben = home.agent("ana"), home.agent("ben")
    ana.remember("We deploy on Tuesdays", name="deploy day", category="decisions", source="retrospective")
    ana.remember("passing", lifetime="short_term")
    ana.remember("gone", name="gone")
    ana.remember("gone twice", name="twice")
    ana.forget("gone")
    ana.forget("twice")
    ana.forget("twice", erase=True)
    conv = ana.conversations.start()
    conv.user("hello")
    conv.assistant("hi")
    ana.conversations.start().end()
    ana.reminders.add(clock.now() + DAY, "water the plants")
    delivered = ana.reminders.add(clock.now(), "done")
    ana.reminders.deliver(delivered.id)
    ana.recall("deploy")
    ana.recall("deploy")
    ben.remember("mine", lifetime="mid_term")
    found = of(home, "ana")
    assert found.entries == 2
    assert found.kinds == {"note": 2}
    assert found.categories == {"decisions": 1, "none": 1}
    assert found.lifetimes == {"long_term": 1, "short_term": 1}
    assert found.scopes == {"workspace": 2}
    assert found.sources == {"retrospective": 1, "agent": 1}
    assert found.conversations == {"active": 1, "idle": 1}
    assert (found.events, found.reminders, found.trash, found.vectors) == (2, 1, 1, 0)
    assert found.operations == ana.last_change()
    assert found.entries_by_day[-1] == (clock.now() // DAY * DAY, 2)
    assert found.events_by_day[-1][1] == 2
    assert found.recalls_by_day[-1][1] == 2
    other = of(home, "ben")
    assert (other.entries, other.lifetimes, other.events, other.trash) == (1, {"mid_term": 1}, 0, 0)
    assert sum(count for _, count in other.recalls_by_day) == 0
    assert [one.agent for one in home.stats().agents] == ["ana", "ben"]


@pytest.mark.directory
def test_the_account_and_workspaces_are_counted_separately(location: str, home: Home) -> None:
    home.agent("ana").remember("here")
    home.agent("ana").remember("everywhere", scope="account")
    if location.endswith(".db"):
        assert of(home, "ana").scopes == {"workspace": 1, "account": 1}
        return
    home.agent("ana", "shop").remember("there")
    assert {(one.workspace, one.agent, one.entries) for one in home.stats().agents} == {
        ("default", "ana", 1),
        ("shop", "ana", 1),
        (None, "ana", 1),
    }
    (only,) = home.stats("shop").agents
    assert (only.workspace, only.entries) == ("shop", 1)
    assert 0 < home.stats("shop").bytes < home.stats().bytes


def test_the_size_grows_with_what_is_stored(home: Home) -> None:
    mem = home.agent("ana")
    mem.remember("x")
    before = home.stats().bytes
    mem.remember_many(recollect.Add(f"{number} " + "harbour " * 200) for number in range(200))
    assert home.stats().bytes > before + 200 * 200


def test_only_the_fifty_most_frequent_sources_are_named(home: Home) -> None:
    mem = home.agent("ana")
    mem.remember_many(recollect.Add("x", source=f"s{number}") for number in range(60))
    mem.remember_many(recollect.Add("x", source="often") for _ in range(2))
    found = of(home, "ana").sources
    assert len(found) == 50
    assert found["often"] == 2


def test_an_entry_with_a_vector_is_counted(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=HashEmbedder()) as home:
        home.agent("ana").remember("with a vector")
        home.backfill()
        assert of(home, "ana").vectors == 1


@pytest.fixture(scope="module")
def one_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, FixedClock, Iterator[int]]]:
    """A home for many examples, each with an agent of its own."""
    clock = FixedClock()
    with recollect.open(tmp_path_factory.mktemp("growth") / "memory.db", clock=clock) as home:
        yield home, clock, count()


@given(st.lists(st.integers(-2 * DAY, 95 * DAY), max_size=30), st.integers(0, DAY - 1))
def test_growth_counts_every_entry_of_the_last_ninety_days_on_its_day(
    one_home: tuple[Home, FixedClock, Iterator[int]], ages: list[int], of_day: int
) -> None:
    home, clock, numbers = one_home
    now, agent = 20_000 * DAY + of_day, f"a{next(numbers)}"
    clock.set(now)
    home.agent(agent).remember_many(recollect.Add("x", at=now - age) for age in [0, *ages])
    days = dict(of(home, agent).entries_by_day)
    assert list(days) == [(20_000 - 89 + place) * DAY for place in range(90)]
    for first, entries in days.items():
        assert entries == sum(first <= now - age < first + DAY for age in [0, *ages])


@pytest.mark.directory
@pytest.mark.unprepared
def test_counts_say_how_much_each_agent_has_and_when_it_changed_last(home: Home, clock: FixedClock) -> None:
    assert home.counts() == ()
    ana = home.agent("ana")
    ana.remember("We deploy on Tuesdays")
    ana.remember("gone", name="gone")
    ana.forget("gone")
    written = clock.now()
    clock.advance(DAY)
    talk = home.agent("ben").conversations.start()
    talk.user("hello")
    assert home.counts() == (
        AgentCounts(workspace="default", agent="ana", entries=1, conversations=0, events=0, last_change=written),
        AgentCounts(workspace="default", agent="ben", entries=0, conversations=1, events=1, last_change=clock.now()),
    )
