"""The overview of a memory: what changed, what is due, what waits, its health and its use; of one agent only."""

from datetime import UTC, datetime

import pytest
from embedders import HashEmbedder

import recollect
from recollect import Add, FixedClock, Home, Invalid, Memory, Outcome, Write

DAY = 86_400_000


def outcomes(mem: Memory, since: int) -> list[tuple[str, str]]:
    return [(str(one.outcome), one.label) for one in mem.changed_since(since).items]


@pytest.mark.unprepared
def test_an_empty_memory_has_an_overview(home: Home, clock: FixedClock) -> None:
    found = home.agent("ana").overview()
    assert (found.entries, found.due, found.review, found.never_recalled) == (0, 0, 0, 0)
    assert (found.most_recalled, found.reminders, found.changes.items) == ((), (), ())
    assert (found.health.last_upkeep_at, found.health.failing, found.health.index_complete) == (None, (), True)
    assert [count for _, count in found.entries_by_day] == [0] * 30
    assert found.changes.since == clock.now() - DAY


def test_conversations_are_counted_of_the_agent_alone(home: Home) -> None:
    ana, bob = home.agent("ana"), home.agent("bob")
    ana.conversations.start().archive()
    ana.conversations.start()
    bob.conversations.start()
    assert (ana.overview().conversations, bob.overview().conversations) == (2, 1)


def test_a_label_that_is_cut_ends_with_an_ellipsis(home: Home) -> None:
    ana = home.agent("ana")
    ana.remember("harbour " * 12)
    (change,) = ana.changed_since(0).items
    assert change.label == "harbour " * 9 + "harbour…"


def test_what_changed_is_the_net_difference_of_each_entry(home: Home, clock: FixedClock) -> None:
    ana = home.agent("ana")
    ana.remember("We deploy on Tuesdays", name="deploy day")
    ana.remember("The port is 5432", name="port")
    ana.remember("Old and gone", name="old")
    ana.remember("Stays as it is", name="same")
    clock.advance(2 * DAY)
    since = clock.now()
    ana.apply(Write("deploy day", content="We deploy on Mondays"))
    ana.apply(Write("deploy day", content="We deploy on Wednesdays"))
    ana.apply(Write("port", content="The port is 5433"))
    ana.apply(Write("port", content="The port is 5432"))  # changed back: no difference
    clock.advance(1_000)
    ana.forget("old")
    ana.remember("Made and gone again", name="short")
    ana.forget("short")
    clock.advance(1_000)
    ana.remember("The office moved to Porto")
    found = ana.changed_since(since)
    assert [(str(one.outcome), one.label) for one in found.items] == [
        ("added", "The office moved to Porto"),
        ("forgotten", "old"),
        ("changed", "deploy day"),
    ]
    assert (found.added, found.changed, found.forgotten, found.complete) == (1, 1, 1, True)
    added, forgotten, changed = found.items
    assert (changed.before, changed.after) == (
        {"content": "We deploy on Tuesdays"},
        {"content": "We deploy on Wednesdays"},
    )
    assert (forgotten.before, forgotten.after) == ({"content": "Old and gone"}, {})
    assert (added.before, added.after) == ({}, {"content": "The office moved to Porto"})
    assert ana.changed_since(since, outcome="added", limit=1).items == (added,)
    assert ana.changed_since(clock.now() + 1).items == ()
    assert ana.overview(since=since).changes == found
    assert ana.overview().changes == ana.changed_since(clock.now() - DAY)


def test_what_was_erased_leaves_no_text_in_the_changes(home: Home, clock: FixedClock) -> None:
    ana = home.agent("ana")
    ana.remember("The code is swordfish", name="code")
    clock.advance(DAY)
    since = clock.now()
    ana.forget("code", erase=True)
    (change,) = ana.changed_since(since).items
    assert (change.outcome, change.label, dict(change.before)) == (Outcome.FORGOTTEN, "", {})


def test_pieces_of_transcripts_are_changes_only_if_asked_for(home: Home, clock: FixedClock) -> None:
    ana = home.agent("ana")
    since = clock.now()
    conv = ana.conversations.start()
    conv.user("We decided to deploy on Tuesdays.")
    conv.assistant("Noted, deploys are on Tuesdays from now on.")
    conv.end()
    pieces = {entry.id for entry in ana.list(limit=100)} - {entry.id for entry in ana.list(transcripts=False)}
    assert {str(ana.get(one).kind) for one in pieces} == {"note", "chunk"}
    assert all("auto-handoff" in ana.get(one).tags for one in pieces if ana.get(one).kind == "note")
    shown = {one.entry_id for one in ana.changed_since(since).items}
    every = {one.entry_id for one in ana.changed_since(since, transcripts=True).items}
    assert every - shown == pieces
    assert {hit.entry.id for hit in ana.recall("deploy Tuesdays", limit=50)} & pieces
    assert not {hit.entry.id for hit in ana.recall("deploy Tuesdays", limit=50, transcripts=False)} & pieces


def test_only_the_newest_operations_are_compared(home: Home, clock: FixedClock) -> None:
    ana = home.agent("ana")
    since = clock.now()
    ana.remember_many([Add(f"Note number {number}") for number in range(1_001)])
    found = ana.changed_since(since, limit=2_000)
    assert (found.added, found.complete, len(found.items)) == (1_001, True, 1_000)
    last = ana.changed_since(since, before=found.earlier)
    assert ([one.label for one in last.items], last.earlier) == (["Note number 0"], None)


def test_pieces_of_transcripts_do_not_hide_the_notes_before_them(home: Home, clock: FixedClock) -> None:
    ana = home.agent("ana")
    since = clock.now()
    ana.remember("Likes tea")
    ana.remember_many([Add(f"Hand-off {number}", tags=("auto-handoff",)) for number in range(1_001)])
    found = ana.overview(since=since).changes
    assert ([one.label for one in found.items], found.added, found.complete) == (["Likes tea"], 1, True)
    every = ana.changed_since(since, transcripts=True, limit=2_000)
    assert (len(every.items), every.added) == (1_000, 1_002)


def test_the_pages_of_changes_show_each_entry_once(home: Home, clock: FixedClock) -> None:
    ana = home.agent("ana")
    ana.remember("Written before", name="before")
    clock.advance(DAY)
    since = clock.now()
    added = list(ana.remember_many([Add(f"Early {number}") for number in range(120)]))
    ana.apply(Write("before", content="Written before, changed"))
    ana.remember("Likes tea", scope="account")
    added += ana.remember_many([Add(f"Late {number}") for number in range(1_080)])
    assert not ana.changed_since(since).complete
    for entry in [*added[:10], *added[-10:]]:
        ana.apply(Write(entry.id, tags=("read",)))
    ana.apply(Write("before", content="Written before, changed again"))
    home.agent("ben").remember("Of another agent")
    wanted = {entry.id for entry in added} | {ana.get("before").id} | {one.id for one in ana.list(scope="account")}
    for limit in (150, 2_000):
        seen, cursor, pages = list[str](), None, 0
        while pages == 0 or cursor:
            page = ana.changed_since(since, limit=limit, before=cursor)
            seen += [one.entry_id for one in page.items]
            assert [one.at for one in page.items] == sorted((one.at for one in page.items), reverse=True)
            cursor, pages = page.earlier, pages + 1
        assert (len(seen), set(seen)) == (1_202, wanted)
    only = ana.changed_since(since, outcome="changed", limit=1)
    assert [one.label for one in only.items] == ["before"]
    for malformed in ("x", "1-2-3", "-1", "1" * 30, "٣"):
        with pytest.raises(Invalid, match="cursor"):
            ana.changed_since(since, before=malformed)


@pytest.mark.directory
def test_changes_of_the_account_are_paged_with_those_of_the_workspace(home: Home, clock: FixedClock) -> None:
    ana = home.agent("ana")
    since = clock.now()
    for number in range(6):
        ana.remember(f"number {number}", scope="account" if number % 3 == 0 else "workspace")
        clock.advance(1_000)
    first = ana.changed_since(since, limit=4)
    assert [one.label for one in first.items] == ["number 5", "number 4", "number 3", "number 2"]
    second = ana.changed_since(since, limit=4, before=first.earlier)
    assert ([one.label for one in second.items], second.earlier) == (["number 1", "number 0"], None)


def test_every_note_of_a_long_import_counts_as_added_whatever_its_own_date(home: Home, clock: FixedClock) -> None:
    ana = home.agent("ana")
    ana.remember("Written before", name="before")
    clock.advance(DAY)
    since, old = clock.now(), clock.now() - 900 * DAY
    added = ana.remember_many([Add(f"Note number {number}", at=old) for number in range(1_300)])
    home.agent("ben").remember("Of another agent")
    for entry in added[:100]:
        ana.apply(Write(entry.id, tags=("read",)))
    ana.apply(Write("before", tags=("read",)))
    ana.forget(added[0].id)
    found = ana.changed_since(since, limit=2_000)
    assert (found.added, found.changed, found.forgotten, found.complete) == (1_299, 1, 0, True)
    assert len(found.items) == 998
    assert {str(one.outcome) for one in found.items if one.label != "before"} == {"added"}
    assert ana.overview(since=since).changes.added == 1_299


def test_every_number_is_the_length_of_a_list(home: Home, clock: FixedClock) -> None:
    ana = home.agent("ana")
    ana.remember("We deploy on Tuesdays at ten", name="deploy")
    ana.remember("We deploy on Wednesdays at ten", name="deploy again")
    ana.remember("Ferries leave from pier four", name="ferry")
    ana.remember("Past", name="past")
    ana.retract("past")
    home.jobs.run("review")
    ana.reminders.add(clock.now() - 1, "due")
    ana.reminders.add(clock.now() + DAY, "later")
    for query in ("ferries", "ferries leave", "pier"):
        ana.recall(query)
    found = ana.overview()
    assert found.entries == len(ana.list(include_past=True)) == 4
    assert (found.due, [one.message for one in found.reminders]) == (1, ["due", "later"])
    assert found.review == len(ana.review.list()) == 1
    most = ana.list(sort="recalls", transcripts=False)
    assert found.most_recalled == tuple(most)
    assert [entry.name for entry in most] == ["ferry"]
    never = ana.list(recalled=False, transcripts=False)
    assert found.never_recalled == len(never) == 2
    assert {entry.name for entry in never} == {"deploy", "deploy again"}
    assert [entry.name for entry in ana.list(recalled=True)] == ["ferry"]
    assert found.health.last_upkeep_at == clock.now()
    assert sum(count for _, count in found.entries_by_day) == 4


def test_recalled_entries_are_listed_in_both_directions_page_by_page(home: Home) -> None:
    ana = home.agent("ana")
    for name, times in (("ferry", 3), ("crane", 1), ("lantern", 2), ("ladder", 0)):
        ana.remember(f"The {name} is new", name=name)
        for number in range(times):
            ana.recall(f"{name} {number}", limit=1, mode="keyword")
    home.flush()
    assert [entry.name for entry in ana.list(sort="recalls")] == ["ferry", "lantern", "crane"]
    assert [entry.name for entry in ana.list(sort="recalls", descending=False)] == ["crane", "lantern", "ferry"]
    first = ana.list(sort="recalls", limit=1)
    assert [entry.name for entry in ana.list(sort="recalls", after=first[0])] == ["lantern", "crane"]


def test_days_are_those_of_the_callers_clock(home: Home, clock: FixedClock) -> None:
    ana = home.agent("ana")
    midnight = int(datetime(2026, 3, 10, tzinfo=UTC).timestamp() * 1000)
    clock.set(midnight + 12 * 3_600_000)
    ana.remember("Late in the evening", at=midnight - 3_600_000)
    utc, lisbon = ana.overview(), ana.overview(utc_offset=60)
    assert [count for _, count in utc.entries_by_day[-2:]] == [1, 0]
    assert [count for _, count in lisbon.entries_by_day[-2:]] == [0, 1]
    assert lisbon.entries_by_day[-1][0] == midnight - 3_600_000
    with pytest.raises(Invalid, match="minutes"):
        ana.overview(utc_offset=2_000)


@pytest.mark.directory
def test_entries_without_a_vector_are_counted_and_listed(location: str) -> None:
    with recollect.open(location) as home:
        ana = home.agent("ana")
        ana.remember("Written without an embedder", name="before")
        ana.remember("Of the account", scope="account")
        assert ana.overview().health.vectors_missing is None
    with recollect.open(location, embedder=HashEmbedder()) as home:
        ana = home.agent("ana")
        assert ana.overview().health.vectors_missing == 1
        assert [entry.name for entry in ana.list(embedded=False)] == ["before"]
        assert ana.list(embedded=True) == []
        home.backfill()
        assert ana.overview().health.vectors_missing == 0
        assert ana.list(embedded=False) == []
        assert [entry.name for entry in ana.list(embedded=True)] == ["before"]


def test_nothing_of_another_agent_or_workspace_is_counted(home: Home, clock: FixedClock) -> None:
    ana, ben = home.agent("ana"), home.agent("ben")
    ben.remember("We deploy on Tuesdays at ten")
    ben.remember("We deploy on Wednesdays at ten")
    ben.recall("deploy")
    ben.reminders.add(clock.now() - 1, "of ben")
    home.jobs.run("review")
    assert ben.overview().review == 1
    found = ana.overview(since=0)
    assert (found.entries, found.due, found.review, found.never_recalled) == (0, 0, 0, 0)
    assert (found.most_recalled, found.reminders, found.changes.items) == ((), (), ())
    assert sum(count for _, count in found.entries_by_day) == 0
    assert ana.changed_since(0, transcripts=True).items == ()
    assert ana.list(recalled=True) == ana.list(recalled=False) == ana.list(sort="recalls") == []
