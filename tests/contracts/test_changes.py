"""Versions, the log as it grows, the trash, lists in every order, and how an entry was used."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import (
    Add,
    Alias,
    Cursor,
    FixedClock,
    Home,
    Invalid,
    Memory,
    NotFound,
    Remove,
    Rename,
    Sort,
    Stale,
    Write,
)

HOUR = 3_600_000

# Versions


def test_a_version_changes_with_everything_that_a_write_changes_and_with_nothing_else(
    mem: Memory, clock: FixedClock
) -> None:
    mem.remember("We deploy on Tuesdays", name="deploy day", tags=["ops"])
    seen = [mem.get("deploy day").version]
    clock.advance(HOUR)
    for operation in (
        Write("deploy day", "We deploy on Wednesdays"),
        Write("deploy day", tags=["ops", "team"]),
        Write("deploy day", category="decisions"),
        Write("deploy day", importance=0.9),
        Write("deploy day", context="said by Ben"),
        Write("deploy day", source="ben"),
        Rename("deploy day", "release day"),
        Alias("release day", "shipping day"),
    ):
        made = mem.apply(operation)
        assert made.version == mem.get(made.id).version
        assert made.version not in seen
        seen.append(made.version)
    mem.recall("Wednesdays")
    mem.accesses("release day")  # writes down the recall
    assert mem.get("release day").access_count == 1
    assert mem.get("release day").version == seen[-1]
    mem.apply(Write("release day", source="ben"))
    assert mem.get("release day").version == seen[-1]
    mem.apply(Write("release day", source="ana"))
    mem.apply(Write("release day", source="ben"))
    assert mem.get("release day").version == seen[-1]


def test_equal_entries_of_two_names_have_two_versions(mem: Memory) -> None:
    assert mem.remember("x").version != mem.remember("x").version


@pytest.mark.parametrize("scope", ["workspace", "account"])
def test_an_operation_on_a_version_that_is_gone_is_stale_and_does_nothing(mem: Memory, scope: str) -> None:
    first = mem.remember("one", name="note", scope=scope)
    second = mem.apply(Write("note", "two"), if_version=first.version)
    before = mem.history("note")
    for operation in (Write("note", "three"), Rename("note", "other"), Alias("note", "more"), Remove("note")):
        with pytest.raises(Stale, match=second.version):
            mem.apply(operation, if_version=first.version)
    for erase in (False, True):
        with pytest.raises(Stale):
            mem.forget("note", if_version=first.version, erase=erase)  # type: ignore[call-overload]
    assert mem.get("note") == second
    assert mem.history("note") == before
    third = mem.apply(Alias("note", "more"), if_version=second.version)
    fourth = mem.apply(Rename("more", "other"), if_version=third.version)
    assert mem.forget("note", if_version=fourth.version) is True
    assert mem.forget("note", if_version=fourth.version) is False
    restored = mem.restore("other")
    assert restored.version == fourth.version
    assert mem.forget("note", erase=True, if_version=restored.version).entry_id == first.id


def test_a_version_is_for_what_is_there(mem: Memory) -> None:
    with pytest.raises(Invalid, match="if_version"):
        mem.apply(Add("x"), if_version="0")
    with pytest.raises(NotFound):
        mem.apply(Write("nobody", "x"), if_version="0")
    with pytest.raises(Invalid):
        mem.apply(Write("nobody", "x"), if_version=7)  # type: ignore[arg-type]
    assert mem.list() == []


def test_stale_is_a_conflict() -> None:
    assert issubclass(recollect.Stale, recollect.Conflict)


# The log


def test_changes_give_the_log_in_order_and_page_by_page(mem: Memory) -> None:
    assert (mem.changes(), mem.last_change()) == ([], 0)
    mem.remember("one", name="a")
    mem.remember("two")
    mem.apply(Rename("a", "b"))
    mem.forget("b")
    changes = mem.changes()
    assert [(one.seq, one.operation, one.actor) for one in changes] == [
        (1, "add", "ana"),
        (2, "add", "ana"),
        (3, "rename", "ana"),
        (4, "remove", "ana"),
    ]
    assert mem.last_change() == 4
    assert mem.changes(2) == changes[2:]
    assert mem.changes(after=1, limit=2) == changes[1:3]
    assert mem.changes(4) == []
    assert mem.changes(-5) == changes
    assert mem.changes(10**30) == []
    assert mem.changes(limit=0) == []
    mem.apply(Write(changes[1].entry_id, "two"))  # changes nothing
    assert mem.last_change() == 4


@pytest.mark.directory
def test_both_logs_together_tell_every_change_once(mem: Memory) -> None:
    mem.remember("one", name="a")
    mem.remember("two", name="b", scope="account")
    mem.forget("b")
    own, account = mem.changes(), mem.changes(account=True)
    assert [one.operation for one in (*own, *account)] == ["add", "add", "remove"]
    assert (mem.last_change(), mem.last_change(account=True)) == (len(own), len(account))
    assert mem.changes(1, account=True) == account[1:]


@pytest.mark.parametrize("wrong", [{"after": "1"}, {"after": None}, {"after": True}, {"limit": -1}, {"limit": "1"}])
def test_changes_refuse_what_is_no_number(mem: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        mem.changes(**wrong)


@pytest.mark.directory
def test_an_agent_sees_neither_the_changes_nor_the_trash_of_another(home: Home) -> None:
    ana, ben = home.agent("ana"), home.agent("ben")
    ana.remember("the secret of ana", name="a")
    ana.remember("the secret of ana", name="b", scope="account")
    ana.forget("a")
    ana.forget("b")
    assert (ben.changes(), ben.last_change(), ben.trash(), ben.list()) == ([], 0, [], [])
    ben.remember("the secret of ben", name="c")
    ben.forget("c")
    assert [one.entry.content for one in ben.trash()] == ["the secret of ben"]
    assert {one.entry.content for one in ana.trash()} == {"the secret of ana"}
    assert {one.actor for one in ben.changes()} == {"ben"}
    with pytest.raises(NotFound):
        ben.accesses("a")


# The trash


def test_the_trash_shows_what_can_be_restored_newest_first(mem: Memory, clock: FixedClock) -> None:
    assert mem.trash() == []
    made = [mem.remember(f"note {number}", name=f"n{number}", tags=["old"]) for number in range(4)]
    for entry in made:
        clock.advance(10)
        mem.forget(entry.id)
    found = mem.trash()
    assert [one.entry for one in found] == made[::-1]
    assert [one.removed_at for one in found] == [clock.now() - 10 * back for back in range(4)]
    assert mem.restore(found[1].entry.id).name == "n2"
    mem.forget("n0", erase=True)
    assert [one.entry.name for one in mem.trash()] == ["n3", "n1"]
    mem.forget("n2")
    assert [one.entry.name for one in mem.trash()] == ["n2", "n3", "n1"]


@pytest.mark.directory
def test_the_trash_is_read_page_by_page_through_both_stores(mem: Memory) -> None:
    for number in range(7):
        mem.remember("x", name=f"n{number}", scope="account" if number % 2 else "workspace")
        mem.forget(f"n{number}")
    everything = mem.trash()
    assert {one.entry.name for one in everything} == {f"n{number}" for number in range(7)}
    assert len({one.seq for one in everything}) == 7
    for size in (1, 2, 3, 6, 7, 8):
        pages, last = [], None
        while page := mem.trash(limit=size, before=last):
            pages += page
            last = page[-1].seq
        assert pages == everything
    assert mem.trash(limit=0) == []
    assert mem.trash(before=10**30) == everything
    with pytest.raises(Invalid):
        mem.trash(before="1")  # type: ignore[arg-type]


# Lists


def pages(mem: Memory, size: int, **asked: Any) -> Iterator[recollect.Entry]:
    """Every entry of a list, in pages of a size; the next page is asked for by an entry and by a cursor in turn."""
    sort, last = Sort(asked.get("sort", "created")), None
    for turn in range(1_000):
        after = last if last is None or turn % 2 else Cursor.of(last, sort).text(sort)
        page = mem.list(limit=size, after=after, **asked)
        assert len(page) <= size
        yield from page
        if not page:
            return
        last = page[-1]
    raise AssertionError("the list has no end")


drafts = st.lists(
    st.tuples(
        st.integers(0, 3),  # when
        st.sampled_from([0.0, 0.25, 0.5, 1.0]),
        st.sampled_from([None, "Ä", "b", "a", "ab", "\U0010ffff", "🚀", "A", "z" * 256]),
        st.sampled_from(["workspace", "account"]),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[Home], FixedClock, Iterator[int]]]:
    """A directory and a single file for many examples, each with an agent of its own."""
    clock, folder = FixedClock(), tmp_path_factory.mktemp("lists")
    with recollect.open(folder / "home", clock=clock) as one, recollect.open(folder / "memory.db", clock=clock) as two:
        yield [one, two], clock, count()


@given(
    drafts,
    st.sampled_from([sort for sort in Sort if sort is not Sort.RECALLS]),  # that lists only what was recalled
    st.sampled_from([None, True, False]),
    st.integers(1, 5),
    st.integers(0, 1),
    st.sets(st.integers(0, 11)),
)
def test_a_list_in_pages_gives_every_entry_once_and_in_order(
    homes: tuple[list[Home], FixedClock, Iterator[int]],
    made: list[Any],
    sort: Sort,
    way: bool | None,
    size: int,
    kind: int,
    changed: set[int],
) -> None:
    places, clock, numbers = homes
    mem = places[kind].agent(f"a{next(numbers)}")
    names: set[str | None] = set()
    adds = []
    for at, importance, name, scope in made:
        free = None if name in names else name
        names.add(free)
        adds.append(Add("x", at=clock.now() - at, importance=importance, name=free, scope=scope))
    for number, entry in enumerate(mem.remember_many(adds)):
        if number in changed:
            clock.advance(number % 3)
            mem.apply(Write(entry.id, "y"))
    found = list(pages(mem, size, sort=sort, descending=way))
    assert found == mem.list(sort=sort, descending=way, limit=1_000)
    down = sort is not Sort.NAME if way is None else way
    keys: dict[Sort, Callable[[recollect.Entry], Any]] = {
        Sort.CREATED: lambda entry: (entry.created_at, entry.seq, entry.id),
        Sort.UPDATED: lambda entry: (entry.updated_at, entry.id),
        Sort.IMPORTANCE: lambda entry: (entry.importance, entry.id),
        Sort.NAME: lambda entry: entry.name,
        Sort.RECALLS: lambda entry: (entry.access_count, entry.id),
    }
    named = [entry for entry in found if sort is not Sort.NAME or entry.name is not None]
    assert named == sorted(named, key=keys[sort], reverse=down)
    rest = found[len(named) :]
    assert rest == sorted(rest, key=lambda entry: entry.id)
    assert all(entry.name is None for entry in rest)
    assert {entry.id for entry in found} == {entry.id for entry in mem.list()}
    assert len(found) == len(made)


@pytest.mark.directory
def test_every_database_orders_alike(mem: Memory, clock: FixedClock) -> None:
    for number, name in enumerate(["b", None, "Ä", "a", "🚀", None, "B", "\U0010ffff", "ﬀ"]):
        clock.advance(1)
        scope = "account" if number % 2 else "workspace"
        mem.remember(f"{number}", name=name, importance=number % 3 / 2, scope=scope)
    clock.advance(1)
    mem.apply(Write("a", "3 again"))

    def contents(size: int, **asked: Any) -> str:
        return " ".join(entry.content[0] for entry in pages(mem, size, **asked))

    for size in (1, 2, 4, 100):
        assert contents(size) == "8 7 6 5 4 3 2 1 0"
        assert contents(size, descending=False) == "0 1 2 3 4 5 6 7 8"
        assert contents(size, sort="updated") == "3 8 7 6 5 4 2 1 0"
        assert contents(size, sort="updated", descending=False) == "0 1 2 4 5 6 7 8 3"
        assert contents(size, sort="importance") == "8 5 2 7 4 1 6 3 0"
        assert contents(size, sort="importance", descending=False) == "0 3 6 1 4 7 2 5 8"
        assert contents(size, sort="name") == "6 3 0 2 8 4 7 1 5"
        assert contents(size, sort="name", descending=True) == "7 4 8 2 0 3 6 1 5"


def test_a_place_in_a_list_stays_good_when_its_entry_changes_or_goes(mem: Memory, clock: FixedClock) -> None:
    made = []
    for number in range(4):
        clock.advance(1)
        made.append(mem.remember(str(number)))
    page = mem.list(sort="updated", limit=2)
    assert page == [made[3], made[2]]
    clock.advance(1)
    mem.apply(Write(made[2].id, "two"))
    mem.forget(made[3].id)
    assert mem.list(sort="updated", after=page[-1]) == [made[1], made[0]]


@pytest.mark.parametrize("sort", list(Sort))
def test_filters_work_in_every_order(mem: Memory, clock: FixedClock, sort: Sort) -> None:
    start = clock.now()
    conv = mem.conversations.start()
    mem.channels.create("ops")
    first = mem.remember("a", name="one", lifetime="mid_term", tags=["net"], category="tasks", source="ben")
    clock.advance(100)
    second = mem.remember("b", tags=["network"], conversation=conv.id, scope="conversation")
    clock.advance(100)
    third = mem.remember("c", channel="ops", scope="channel", lifetime="long_term")
    for query in ("net", "network", "c"):  # one order has only entries that were recalled
        assert mem.recall(query, conversation=conv.id, channel="ops")
    assert len(mem.accesses(third.id).recalls) == 1

    def found(**asked: Any) -> list[str]:
        return sorted(entry.content for entry in pages(mem, 1, sort=sort, **asked))

    assert found() == ["a", "b", "c"]
    assert found(lifetime="mid_term") == ["a"]
    assert found(since=start + 100) == ["b", "c"]
    assert found(until=start + 100) == ["a"]
    assert found(since=start + 1, until=start + 200) == ["b"]
    assert found(conversation=conv.ref_code) == found(conversation=conv.id) == ["b"]
    assert found(channel="ops") == ["c"]
    assert found(tag="net") == ["a"]
    assert found(kind="note", category="tasks", scope="workspace", source="ben") == ["a"]
    assert found(conversation="nobody") == []
    assert [first.version, second.version, third.version] == [mem.get(one.id).version for one in (first, second, third)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"sort": "size"},
        {"lifetime": "forever"},
        {"since": "soon"},
        {"after": "no cursor"},
        {"after": ""},
        {"after": "bnVsbA"},
        {"after": "WyJuYW1lIiwgImEiLCAiYiJd"},
        {"after": "WyJjcmVhdGVkIiwgdHJ1ZSwgImIiXQ"},
        {"after": "WyJjcmVhdGVkIiwgMS41LCAiYiJd"},
        {"after": "WyJjcmVhdGVkIiwgMWU5OTksICJiIl0"},
        {"after": "WyJjcmVhdGVkIiwgMSwgIlx1ZDgwMCJd"},
        {"after": "WyJjcmVhdGVkIiwgMSwgImIiXQ"},
        {"after": "WyJjcmVhdGVkIiwgMSwgImIiLCB0cnVlXQ"},
        {"after": "WyJjcmVhdGVkIiwgMSwgImIiLCAtMV0"},
        {"after": "WyJ1cGRhdGVkIiwgMSwgImIiLCAxXQ", "sort": "updated"},
        {"before": 1, "after": Cursor(1, "").text(Sort.CREATED)},
        {"before": 1, "sort": "updated"},
        {"before": 1, "descending": False},
        {"after": 7},
    ],
)
def test_a_list_that_makes_no_sense_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with recollect.open(tmp_path / "memory.db") as home, pytest.raises(Invalid):
        home.agent("ana").list(**wrong)


# Use


def test_accesses_tell_of_recalls_and_of_fading(mem: Memory, clock: FixedClock) -> None:
    entry = mem.remember("We deploy on Tuesdays", name="deploy day", importance=0.8)
    start = clock.now()
    assert mem.accesses("deploy day").recalls == ()
    assert mem.accesses("deploy day").curve == ((start, 0.8),)
    clock.advance(10 * HOUR)
    mem.recall("when do we deploy?")
    clock.advance(10 * HOUR)
    found = mem.accesses(entry.id)
    assert found.recalls == ((start + 10 * HOUR, "when do we deploy?"),)
    moments = [at for at, _ in found.curve]
    assert moments == sorted(moments)
    assert (moments[0], moments[-1]) == (start, clock.now())
    assert len(moments) <= 63
    before, after = [factor for at, factor in found.curve if at == start + 10 * HOUR]
    assert before == pytest.approx(0.8 * 0.998**10)
    assert after == pytest.approx(0.8 * (1 + 0.6931471805599453))
    assert found.curve[-1][1] == pytest.approx(after * 0.998**10)
    with pytest.raises(NotFound):
        mem.accesses("nobody")


def test_a_memory_names_its_profiles(mem: Memory) -> None:
    assert "default" in mem.profiles
    for profile in mem.profiles:
        mem.context("deploy", profile=profile)


@pytest.mark.unprepared
def test_a_home_lists_the_agents_of_a_workspace(home: Home) -> None:
    assert home.agents() == []
    home.agent("ben").remember("x")
    home.agent("ana").channels.create("ops")
    home.agent("carla").remember("x")
    assert home.agents() == ["ben", "carla"]
    assert home.agents("nothing") == []
    with pytest.raises(Invalid):
        home.agents("a/b")
