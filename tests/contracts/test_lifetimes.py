"""How long notes live: what was remembered stays, short-term notes age from their last use, and the trash is kept."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from recollect import Add, Entry, FixedClock, Home, Memory, NotFound, Settings, Write
from recollect.upkeep import consolidation

DAY = 86_400_000


def consolidate(home: Home) -> dict[str, int]:
    run = home.jobs.run("consolidate")
    assert run.error is None
    return dict(run.figures)


def passing(mem: Memory, content: str, **options: object) -> Entry:
    """A note that its author asked to be short-term."""
    return mem.remember(content, lifetime="short_term", **options)  # type: ignore[arg-type]


# What a note is


@pytest.mark.directory
def test_a_note_is_long_term_with_a_name_or_without_one(mem: Memory) -> None:
    made = [
        mem.remember("plain"),
        mem.remember("named", name="named"),
        mem.remember("a decision", category="decisions"),
        mem.remember("of the account", scope="account"),
        mem.remember("of a channel", scope="channel", channel="general"),
        mem.apply(Add("applied")),
        *mem.remember_many([Add("one of many"), Add("another", name="other")]),
        mem.upsert("key", "value"),
    ]
    assert {mem.get(entry.id).lifetime for entry in made} == {"long_term"}


def test_short_term_is_what_the_caller_asks_for(mem: Memory) -> None:
    assert mem.remember("x", lifetime="short_term").lifetime == "short_term"
    assert mem.remember_many([Add("y", lifetime="short_term")])[0].lifetime == "short_term"


def test_the_settings_say_what_a_note_without_a_name_is(location: str, clock: FixedClock) -> None:
    settings = Settings(remember={"lifetime": "short_term"}, embedder={"kind": "none"})  # type: ignore[arg-type]
    with recollect.open(location, clock=clock, settings=settings) as home:
        mem = home.agent("ana")
        assert mem.remember("plain").lifetime == "short_term"
        assert mem.remember_many([Add("many")])[0].lifetime == "short_term"
        assert mem.remember("asked for", lifetime="long_term").lifetime == "long_term"
        assert mem.remember("named", name="named").lifetime == "long_term"
        assert mem.upsert("key", "value").lifetime == "long_term"
        conversation = mem.conversations.start()
        within = mem.remember("within", scope="conversation", conversation=conversation.id)
        assert within.lifetime == "conversation"


def test_a_note_that_is_never_recalled_is_still_there_after_ten_years(
    home: Home, mem: Memory, clock: FixedClock
) -> None:
    kept = {mem.remember(f"note {number}", importance=0.0).id for number in range(3)}
    for _ in range(10):
        clock.advance(365 * DAY)
        home.jobs.run_due()
    assert {entry.id for entry in mem.list()} == kept


# Age


def test_a_short_term_note_that_is_not_used_goes_to_the_trash(home: Home, mem: Memory, clock: FixedClock) -> None:
    note = passing(mem, "an errand")
    clock.advance(80 * DAY)
    assert consolidate(home)["pruned"] == 0
    clock.advance(5 * DAY)
    run = home.jobs.run("consolidate")
    assert [change.reason for change in run.changes] == [
        "its relevance fell to 0.0084; it was not used since 2026-01-01"
    ]
    assert [removed.entry.id for removed in mem.trash()] == [note.id]


def rewritten(home: Home, mem: Memory, note: Entry) -> None:
    mem.apply(Write(note.id, content="an errand, changed"))


def given_tags(home: Home, mem: Memory, note: Entry) -> None:
    mem.apply(Write(note.id, tags=["town"]))


def recalled(home: Home, mem: Memory, note: Entry) -> None:
    assert [hit.entry.id for hit in mem.recall("errand")] == [note.id]


def shown(home: Home, mem: Memory, note: Entry) -> None:
    assert "an errand" in mem.context("").text


def restored(home: Home, mem: Memory, note: Entry) -> None:
    mem.forget(note.id)
    mem.restore(note.id)


def undone(home: Home, mem: Memory, note: Entry) -> None:
    run = home.jobs.run("consolidate")
    assert run.figures["pruned"] == 1
    home.jobs.undo(run.id)


@pytest.mark.parametrize("used", [rewritten, given_tags, recalled, shown, restored, undone])
def test_age_counts_from_the_last_use(
    home: Home, mem: Memory, clock: FixedClock, used: Callable[[Home, Memory, Entry], None]
) -> None:
    note = passing(mem, "an errand", category="decisions")
    clock.advance(100 * DAY)
    used(home, mem, note)
    for _ in range(2):
        assert consolidate(home)["pruned"] == 0
        clock.advance(40 * DAY)
    assert mem.get(note.id).id == note.id


@pytest.mark.parametrize("used", [rewritten, recalled, shown])
def test_a_use_does_not_keep_a_note_for_ever(
    home: Home, mem: Memory, clock: FixedClock, used: Callable[[Home, Memory, Entry], None]
) -> None:
    note = passing(mem, "an errand", category="decisions")
    used(home, mem, note)
    clock.advance(120 * DAY)
    assert consolidate(home)["pruned"] == 1


def test_the_age_of_an_account_of_the_past_counts_from_when_it_was_given(
    home: Home, mem: Memory, clock: FixedClock
) -> None:
    mem.remember_many([Add("from a diary", at="1999-05-01", lifetime="short_term"), Add("now", lifetime="short_term")])
    passing(mem, "from a letter", at="2001-01-01")
    assert consolidate(home)["pruned"] == 0
    clock.advance(100 * DAY)
    assert consolidate(home)["pruned"] == 3


def test_a_note_of_an_old_export_is_not_pruned_by_the_next_run(
    home: Home, mem: Memory, clock: FixedClock, tmp_path: Path
) -> None:
    passing(mem, "an errand")
    home.export(tmp_path / "export.jsonl")
    clock.advance(1_000 * DAY)
    for place in ("new.db", "used.db"):
        with recollect.open(tmp_path / place, clock=clock) as other:
            if place == "used.db":
                other.agent("ana").remember("something else")
            other.import_(tmp_path / "export.jsonl")
            assert consolidate(other)["scored"] == 1
            assert consolidate(other)["pruned"] == 0
            clock.advance(100 * DAY)
            assert consolidate(other)["pruned"] == 1


def test_notes_of_an_export_from_before_lifetimes_were_chosen_are_kept(home: Home, mem: Memory, tmp_path: Path) -> None:
    passing(mem, "an errand")
    home.export(tmp_path / "export.jsonl")
    lines = (tmp_path / "export.jsonl").read_text("utf-8").splitlines(keepends=True)
    header = json.loads(lines[0])
    (tmp_path / "old.jsonl").write_text("".join([json.dumps(header | {"schema": 8}) + "\n", *lines[1:]]), "utf-8")
    for place in ("new.db", "used.db"):
        with recollect.open(tmp_path / place) as other:
            if place == "used.db":
                other.agent("ana").remember("something else")
            other.import_(tmp_path / "old.jsonl")
            assert {entry.lifetime for entry in other.agent("ana").list()} == {"long_term"}
            assert other.check().findings == ()


def test_a_context_gives_the_same_bytes_when_it_is_asked_for_again(home: Home, mem: Memory, clock: FixedClock) -> None:
    for number in range(6):
        mem.remember(f"Decision {number}: the harbour closes", category="decisions")
        mem.remember(f"Lesson {number}: the harbour is windy", category="lessons", importance=number / 10)
    first = mem.context("the harbour")
    before = {entry.id: entry for entry in mem.list()}
    for _ in range(3):
        home.flush()
        assert mem.context("the harbour") == first
    assert {entry.id: entry for entry in mem.list()} == before
    used = next(item.entry_id for section in first.sections for item in section.items)
    assert used is not None
    assert mem.accesses(used).recalls == ()


def test_a_context_marks_only_what_it_shows_and_only_of_this_agent(home: Home, clock: FixedClock) -> None:
    for agent in ("ana", "ben"):
        for number in range(4):
            passing(home.agent(agent), f"errand {number}", category="decisions")
            clock.advance(1_000)
    clock.advance(60 * DAY)
    assert len(home.agent("ana").context("").sections[0].items) == 3
    clock.advance(60 * DAY)
    assert consolidate(home)["pruned"] == 5
    assert {entry.content for entry in home.agent("ana").list()} == {"errand 1", "errand 2", "errand 3"}


# Open tasks


@pytest.mark.parametrize("task", ["- [ ] order ropes", "order ropes", "- [x] order ropes\n- [ ] fetch them"])
def test_an_open_task_is_never_pruned(home: Home, mem: Memory, clock: FixedClock, task: str) -> None:
    note = passing(mem, task, category="tasks")
    passing(mem, "- [x] paint the gate", category="tasks")
    passing(mem, "[ ] no task")
    clock.advance(1_000 * DAY)
    assert consolidate(home)["pruned"] == 2
    mem.apply(Write(note.id, content="- [x] order ropes"))
    clock.advance(1_000 * DAY)
    assert consolidate(home)["pruned"] == 1


def test_an_open_task_is_never_capped(
    home: Home, mem: Memory, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidation, "CAP", 1)
    passing(mem, "- [ ] order ropes", category="tasks", importance=0.1)
    passing(mem, "a detail", importance=0.2)
    passing(mem, "an important detail", importance=0.9)
    assert consolidate(home)["capped"] == 1
    assert {entry.content for entry in mem.list()} == {"- [ ] order ropes", "an important detail"}


# What a person brought back


def long_after(home: Home, clock: FixedClock) -> None:
    for _ in range(3):
        clock.advance(200 * DAY)
        assert all(run.error is None for run in home.jobs.run_due())


def test_what_was_restored_stays(home: Home, mem: Memory, clock: FixedClock) -> None:
    notes = [passing(mem, text) for text in ("an errand", "an errand", "another")]
    clock.advance(100 * DAY)
    assert consolidate(home)["pruned"] == 3
    for note in notes:
        mem.restore(note.id)
    long_after(home, clock)
    assert {entry.id for entry in mem.list()} == {note.id for note in notes}


def test_what_an_undo_brought_back_stays(home: Home, mem: Memory, clock: FixedClock) -> None:
    for _ in range(3):
        passing(mem, "an errand")
    merged = home.jobs.run("consolidate")
    assert merged.figures["merged"] == 2
    home.jobs.undo(merged.id)
    assert consolidate(home)["merged"] == 0
    clock.advance(100 * DAY)
    pruned = home.jobs.run("consolidate")
    assert pruned.figures["pruned"] == 1  # the one that was never removed
    home.jobs.undo(pruned.id)
    long_after(home, clock)
    assert len(mem.list()) == 3


@pytest.mark.directory
def test_shelved_notes_that_were_brought_back_are_not_shelved_again(home: Home, mem: Memory, clock: FixedClock) -> None:
    notes = [mem.remember(f"Lesson {number}", category="lessons") for number in range(33)]
    run = home.jobs.run("shelve")
    assert run.figures["vaultEntriesMerged"] == 13
    home.jobs.undo(run.id)
    long_after(home, clock)
    assert {entry.id for entry in mem.list()} == {note.id for note in notes}


@pytest.mark.directory
def test_notes_of_a_crowded_category_are_all_recalled_after_a_year_of_upkeep(
    home: Home, mem: Memory, clock: FixedClock
) -> None:
    for number in range(45):
        mem.remember(f"We chose supplier {number} for the ropes", category="decisions")
    long_after(home, clock)
    assert len(mem.recall("supplier ropes", limit=100, mode="keyword")) == 45
    assert home.jobs.run("shelve").figures["vaultEntriesMerged"] == 25, "a person may still ask for it"


def test_a_setting_lets_the_schedule_shelve_every_note(location: str, clock: FixedClock) -> None:
    settings = Settings(upkeep={"shelved": "all"}, embedder={"kind": "none"})  # type: ignore[arg-type]
    with recollect.open(location, clock=clock, settings=settings) as home:
        mem = home.agent("ana")
        for number in range(31):
            mem.remember(f"Lesson {number}", category="lessons")
        home.jobs.run_due()
        assert len(mem.list(category="lessons")) == 21


# The trash


@pytest.mark.directory
def test_what_a_job_removed_keeps_its_text_until_a_person_empties_the_trash(
    home: Home, mem: Memory, clock: FixedClock
) -> None:
    passing(mem, "pruned by a job")
    mem.remember("forgotten by a person", name="forgotten")
    mem.remember("of the account", name="preference", scope="account")
    clock.advance(100 * DAY)
    consolidate(home)
    mem.forget("forgotten")
    mem.forget("preference")
    clock.advance(1_000 * DAY)
    assert home.jobs.run("retain").figures["expired"] == 2
    (left,) = mem.trash()
    assert left.entry.content == "pruned by a job"
    mem.remember("forgotten just now", name="fresh")
    mem.forget("fresh")
    assert mem.empty_trash() == 2
    assert mem.empty_trash() == 0
    assert mem.trash() == []
    with pytest.raises(NotFound, match="expired"):
        mem.restore(left.entry.id)
    assert [revision.operation for revision in mem.history(left.entry.id)] == ["add", "remove"]
    assert home.check().findings == ()


def test_emptying_the_trash_leaves_living_entries_and_other_agents_alone(home: Home) -> None:
    ana, ben = home.agent("ana"), home.agent("ben")
    for mem in (ana, ben):
        mem.remember("kept", name="kept")
        mem.apply(Write("kept", content="kept, and changed"))
        mem.remember("brought back", name="back")
        mem.forget("back")
        mem.restore("back")
        mem.remember("gone", name="gone")
        mem.forget("gone")
    assert ana.empty_trash() == 1
    assert [removed.entry.name for removed in ben.trash()] == ["gone"]
    assert [revision.before for revision in ana.history("kept")][1] == {"content": "kept"}
    assert {entry.name for entry in ana.list()} == {"kept", "back"}


@pytest.mark.directory
def test_emptying_a_trash_that_is_not_there_makes_nothing(home: Home, mem: Memory) -> None:
    before = home.workspaces()
    assert mem.empty_trash() == 0
    assert home.workspaces() == before


def test_the_trash_of_an_agent_with_the_name_of_a_job_never_loses_what_that_job_removed(
    home: Home, clock: FixedClock
) -> None:
    mem = home.agent("consolidate")
    passing(mem, "pruned by a job")
    clock.advance(100 * DAY)
    consolidate(home)
    clock.advance(1_000 * DAY)
    home.jobs.run("retain")
    assert [removed.entry.content for removed in mem.trash()] == ["pruned by a job"]
