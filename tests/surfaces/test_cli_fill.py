"""`recollect demo --fill`: a memory to look at, the same each time."""

from __future__ import annotations

from surfaces.command import Command

import recollect
from recollect.cli.fill import HELPER, fill
from recollect.clock import FixedClock

NOW = 1_772_000_000_000
DAY = 86_400_000


def test_a_filled_memory_has_something_of_everything(cli: Command) -> None:
    done = cli("--home", "shop.db", "--agent", "ana", "demo", "--fill")
    with recollect.open(cli.folder / "shop.db") as home:
        memory = home.agent("ana")
        entries = memory.list(limit=1_000)
        assert done.text == f"filled shop.db with {len(entries)} entries of agent ana\n"
        assert {entry.category for entry in entries} == {None, *recollect.Category}
        assert {entry.scope for entry in entries} == set(recollect.Scope)
        assert {entry.kind for entry in entries} == set(recollect.Kind)
        talks = memory.conversations.list(include_archived=True)
        assert {talk.status for talk in talks} == set(recollect.Status)
        types = {event.type for talk in talks for event in memory.conversations.get(talk.id).events()}
        assert {recollect.EventType.TOOL, recollect.EventType.MARKER} <= types
        assert len(memory.trash()) == 2
        assert memory.links("web shop").out
        assert memory.accesses("deploy day").recalls
        assert [one.operation for one in memory.history("deploy day")] == ["add", "write", "alias"]
        assert home.jobs.runs()
        (pair,) = memory.review.list()
        assert "Mondays" in pair.older.content
        assert "Tuesdays" in pair.newer.content
        assert home.agent(HELPER).list()
        assert home.check().ok


def test_a_number_asks_for_more_entries(cli: Command) -> None:
    plain = cli("--home", "one.db", "--json", "demo", "--fill").json
    more = cli("--home", "two.db", "--json", "demo", "--fill", "250").json
    assert more["entries"] == plain["entries"] + 250
    with recollect.open(cli.folder / "two.db") as home:
        assert len(home.agent("default").list(limit=1_000)) == more["entries"]


def test_the_story_is_the_same_each_time(tmp_path: object) -> None:
    received = []
    for name in ("one.db", "two.db"):
        clock = FixedClock(NOW)
        with recollect.open(f"{tmp_path}/{name}", clock=clock) as home:
            fill(home, clock, "ana", "default", now=NOW, more=20)
            entries = home.agent("ana").list(limit=1_000)
            names = ["" if entry.kind == "archive" else entry.name for entry in entries]
            received.append(
                [(n, entry.created_at, entry.content, entry.tags) for n, entry in zip(names, entries, strict=True)]
            )
            assert max(entry.created_at for entry in entries) <= NOW
    assert received[0] == received[1]


def test_only_an_empty_memory_is_filled(cli: Command) -> None:
    cli("remember", "We deploy on Tuesdays", "--name", "deploy day")
    assert "not empty" in cli("demo", "--fill", code=4).err
    assert len(cli("note", "list", "--json").json) == 1


def test_filling_and_the_story_are_two_things(cli: Command) -> None:
    assert "cannot be combined" in cli("demo", "--fill", "--keep", "demo.db", code=2).err
    assert "cannot be combined" in cli("demo", "12", code=2).err
