"""The small jobs: expired rows are deleted, missing derived data is computed again, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from crash.evidence import raw, rows, tables
from dialogue import talk
from embedders import HashEmbedder

import recollect
from recollect import Add, FixedClock, Home, Kind, Memory, NotFound
from recollect.model.history import Status
from recollect.model.upkeep import Run
from recollect.upkeep.tidying import five_steps

DAY = 86_400_000
HOUR = 3_600_000


def saved(location: str, agent: str = "ana") -> set[str]:
    """The conversations that have a checkpoint."""
    return {row[1] for row in rows(location, "checkpoints", agent)}


def data(location: str) -> dict[str, object]:
    """Every row that is not about upkeep itself."""
    return {
        name: found
        for name, found in tables(location).items()
        if not name.rpartition(".")[2].startswith(("job", "counters"))
    }


# Checkpoints


def test_checkpoints_leave_after_seven_days_or_when_they_cannot_be_read(
    home: Home, mem: Memory, clock: FixedClock, location: str
) -> None:
    convs = [mem.conversations.start() for _ in range(4)]
    for conv in convs:
        talk(conv, 1)
    convs[0].checkpoint()
    clock.advance(1)
    convs[1].checkpoint()
    clock.advance(DAY)
    for conv in convs[2:]:
        conv.checkpoint()
    with raw(location) as execute:
        execute(f"UPDATE checkpoints SET documents = '{{\"edge\": 5}}' WHERE conversation_id = '{convs[2].id}'")
    clock.advance(6 * DAY)
    dry = home.jobs.run("checkpoints", dry_run=True)
    assert dry.figures == {"checkpointsCleaned": 2}
    assert len(saved(location)) == 4
    run = home.jobs.run("checkpoints")
    assert (run.error, dict(run.figures)) == (None, {"checkpointsCleaned": 2})
    assert saved(location) == {convs[1].id, convs[3].id}
    assert home.jobs.run("checkpoints").figures == {"checkpointsCleaned": 0}
    recovered = mem.recover()
    assert recovered is not None
    assert recovered.conversation.id == convs[3].id


# Vectors


def test_embed_makes_fifty_vectors_in_a_run(location: str, clock: FixedClock) -> None:
    with recollect.open(location, clock=clock) as home:
        home.agent("ana").remember_many(Add(f"note {number}") for number in range(40))
        home.agent("ben").remember_many(Add(f"note {number}") for number in range(25))
        assert (home.jobs.run("embed").figures, home.jobs.run("embed").error) == ({}, None)
    with recollect.open(location, clock=clock, embedder=HashEmbedder()) as home:
        assert home.jobs.run("embed", dry_run=True).figures == {"embedded": 50}
        assert rows(location, "embeddings", "ana") == []
        assert home.jobs.run("embed").figures == {"embedded": 50}
        assert len(rows(location, "embeddings", "ana")) == 40
        assert home.jobs.run("embed").figures == {"embedded": 15}
        assert home.jobs.run("embed").figures == {"embedded": 0}


# Aging


def test_age_ends_the_dead_and_moves_the_old_to_long_term_memory(home: Home, mem: Memory, clock: FixedClock) -> None:
    for number in range(11):
        conv = mem.conversations.start()
        talk(conv, 1, first=number)
        conv.archive()
        clock.advance(HOUR)
    dead = mem.conversations.start()
    talk(dead, 1)
    clock.advance(23 * HOUR)
    alive = mem.conversations.start()
    talk(alive, 1)
    clock.advance(2 * HOUR)
    dry = home.jobs.run("age", dry_run=True)
    assert dry.figures == {"cleared": 0, "ended": 1, "aged": 2}
    assert mem.list(kind=Kind.ARCHIVE) == []
    run = home.jobs.run("age")
    assert (run.error, dict(run.figures)) == (None, {"cleared": 0, "ended": 1, "aged": 2})
    assert (dead.status, alive.status) == (Status.IDLE, Status.ACTIVE)
    assert len(mem.list(kind=Kind.ARCHIVE)) == 2
    assert home.jobs.run("age").figures == {"ended": 0, "aged": 0, "cleared": 0}


def test_age_clears_entries_of_conversations_that_no_end_will_clear(home: Home, mem: Memory, clock: FixedClock) -> None:
    idle, archived, ended, active = (mem.conversations.start() for _ in range(4))
    idle.idle()
    archived.archive()
    ended.end()
    for where in (idle.id, archived.id, ended.id, active.id, "unknown"):
        mem.remember(f"in {where}", scope="conversation", conversation=where, at="2020-01-01T00:00:00Z")
    mem.remember("of the channel", scope="channel", channel="general", conversation=idle.id)
    clock.advance(23 * HOUR)
    active.user("still here")
    assert home.jobs.run("age").figures["cleared"] == 0
    kept = mem.remember("just written", scope="conversation", conversation="unknown")
    clock.advance(HOUR + 1)
    assert home.jobs.run("age", dry_run=True).figures["cleared"] == 4
    run = home.jobs.run("age")
    assert run.figures["cleared"] == len(run.changes) == 4
    left = {entry.content for entry in mem.list(limit=100)}
    assert left == {f"in {active.id}", "of the channel", kept.content}
    assert home.jobs.run("age").figures["cleared"] == 0
    restored = mem.restore(run.changes[0].entry_id)
    home.jobs.undo(run.id)
    clock.advance(2 * DAY)
    active.user("still here")
    run = home.jobs.run("age")
    assert [change.entry_id for change in run.changes] == [kept.id]  # what was brought back stays
    assert mem.get(restored.id) == restored
    assert home.check().findings == ()


def test_age_clears_nothing_of_another_agent(home: Home, mem: Memory, clock: FixedClock) -> None:
    conv = mem.conversations.start()
    mem.remember("in a talk of ana", scope="conversation", conversation=conv.id)
    home.agent("ben").remember("ben has no such talk", scope="conversation", conversation=conv.id)
    clock.advance(DAY + 1)
    conv.user("still here")
    run = home.jobs.run("age")
    assert [(change.where, change.label) for change in run.changes] == [("default/ben", "ben has no such talk")]
    assert [entry.content for entry in mem.list()] == ["in a talk of ana"]


@pytest.mark.directory
def test_the_last_report_stays_when_the_account_or_an_earlier_workspace_appears(
    location: str, clock: FixedClock
) -> None:
    with recollect.open(location, clock=clock) as home:
        home.agent("ana").remember("hello")
        report = home.compact()
        home.agent("ana").remember("I like tea.", scope="account")
        assert home.last_compaction() == report
        if not location.endswith(".db"):
            home.agent("ana", workspace="an-earlier-one").remember("hello")
            assert home.last_compaction() == report
        clock.advance(1)
        again = home.compact()
        assert again != report
        assert home.last_compaction() == again


# Retention


def test_signals_leave_after_thirty_days(home: Home, mem: Memory, clock: FixedClock, location: str) -> None:
    mem.remember("The harbour opens at seven.")
    mem.recall("harbour")
    home.flush()
    clock.advance(20 * DAY)
    mem.recall("opens")
    home.flush()
    clock.advance(10 * DAY)
    assert home.jobs.run("retain").figures["signals"] == 0
    clock.advance(1)
    assert home.jobs.run("retain", dry_run=True).figures["signals"] == 1
    assert len(rows(location, "recall_events", "ana")) == 2
    assert home.jobs.run("retain").figures["signals"] == 1
    assert [row[3] for row in rows(location, "recall_events", "ana")] == ["opens"]
    assert home.jobs.run("retain").figures["signals"] == 0


def test_the_trash_expires_after_thirty_days(home: Home, mem: Memory, clock: FixedClock, location: str) -> None:
    old = mem.remember("The old pier is rotten.", name="pier")
    back = mem.remember("The new pier is of oak.", name="oak")
    mem.forget("pier")
    mem.forget("oak")
    clock.advance(10 * DAY)
    mem.restore("oak")
    young = mem.remember("The crane is red.", name="crane")
    mem.forget("crane")
    clock.advance(20 * DAY + 1)
    dry = home.jobs.run("retain", dry_run=True)
    assert dry.figures["expired"] == 1
    run = home.jobs.run("retain")
    assert (run.error, run.figures["expired"]) == (None, 1)
    with pytest.raises(NotFound, match="expired"):
        mem.restore(old.id)
    with pytest.raises(NotFound):
        mem.restore("pier")
    left = mem.history(old.id)  # that there was something, and not what
    assert [(one.operation, dict(one.before), dict(one.after)) for one in left] == [("add", {}, {}), ("remove", {}, {})]
    assert not any("rotten" in str(row) for row in rows(location, "operations", "ana"))
    assert mem.get("oak").content == back.content
    assert [bool(revision.before) for revision in mem.history(back.id)] == [False, True, False]
    assert home.check().ok
    assert home.jobs.run("retain").figures["expired"] == 0
    assert mem.restore("crane").id == young.id


def test_retention_follows_the_settings(location: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_UPKEEP_TRASH_DAYS", "2")
    monkeypatch.setenv("RECOLLECT_UPKEEP_RECALL_DAYS", "1")
    with recollect.open(location, clock=clock) as home:
        mem = home.agent("ana")
        mem.remember("The harbour opens at seven.")
        mem.recall("harbour")
        home.flush()
        mem.forget(mem.remember("The old pier.").id)
        clock.advance(DAY + 1)
        assert home.jobs.run("retain").figures == {"signals": 1, "expired": 0, "reminders": 0, "runs": 0}
        clock.advance(DAY)
        assert home.jobs.run("retain").figures == {"signals": 0, "expired": 1, "reminders": 0, "runs": 0}


def test_a_run_can_be_undone_as_long_as_the_trash_is_kept(
    home: Home, mem: Memory, clock: FixedClock, location: str
) -> None:
    mem.remember_many(Add(f"Lesson {number}.", category="lessons") for number in range(31))
    run = home.jobs.run("shelve")
    clock.advance(30 * DAY)
    home.jobs.run("retain")
    assert len(rows(location, "job_changes", "ana")) == 12
    clock.advance(1)
    home.jobs.run("retain")
    assert rows(location, "job_changes", "ana") == []
    assert run.id not in [one.id for one in home.jobs.runs()]
    with pytest.raises(NotFound):
        home.jobs.undo(run.id)
    assert home.check().ok


def test_retaining_touches_the_old_rows_of_every_agent_and_nothing_else(
    home: Home, mem: Memory, clock: FixedClock, location: str
) -> None:
    for agent in (mem, home.agent("ben")):
        agent.remember("The harbour opens at seven.")
        talk(agent.conversations.start(), 2)
        agent.forget(agent.remember("The old pier.").id)
    home.jobs.run("retain")
    before = data(location)
    clock.advance(29 * DAY)
    home.jobs.run("retain")
    assert data(location) == before
    clock.advance(2 * DAY)
    assert home.jobs.run("retain").figures["expired"] == 2


# Index


def test_an_index_that_differs_is_rebuilt(
    home: Home, mem: Memory, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.search.index.TAIL", 8)
    mem.remember("The harbour opens at seven.")
    talk(mem.conversations.start(), 8)
    assert home.jobs.run("reindex").figures == {"differences": 0, "repaired": 0}
    with raw(location) as execute:
        execute("DELETE FROM tail")
        execute("UPDATE turn_postings SET term = 'x' WHERE term = 'answer'")
    assert not home.check().ok
    dry = home.jobs.run("reindex", dry_run=True)
    assert dry.figures["repaired"] == 2
    assert not home.check().ok
    run = home.jobs.run("reindex")
    assert (run.error, run.figures["repaired"]) == (None, 2)
    assert home.check().ok
    assert [hit.entry.content for hit in mem.recall("harbour")] == ["The harbour opens at seven."]
    assert mem.conversations.search("answer")
    assert home.jobs.run("reindex").figures == {"differences": 0, "repaired": 0}


def test_an_entry_that_cannot_be_read_is_reported_and_its_index_left_alone(
    home: Home, mem: Memory, location: str
) -> None:
    entry = mem.remember("The harbour opens at seven.")
    other = home.agent("ben").remember("The pier is of oak.")
    with raw(location) as execute:
        execute(f"UPDATE entries SET content = 'damaged' WHERE id = '{entry.id}'")
    run = home.jobs.run("reindex")
    assert run.error is not None
    assert entry.id in run.error
    assert run.figures["repaired"] == 0
    assert home.agent("ben").recall("oak")[0].entry.id == other.id


# Space


def test_vacuum_gives_back_the_space_of_what_was_removed(home: Home, mem: Memory, location: str) -> None:
    made = mem.remember_many(Add(f"note {number} " + "long " * 2_000) for number in range(60))
    for entry in made:
        mem.forget(entry.id, erase=False)
    with raw(location) as execute:
        execute("DELETE FROM operations")
    assert home.jobs.run("vacuum", dry_run=True).figures == {}
    first = home.jobs.run("vacuum")
    assert first.error is None
    if location.startswith("postgresql"):
        assert first.figures == {"pages": 0}
    else:
        assert first.figures["pages"] > 100
        with raw(location) as execute:
            assert list(execute("PRAGMA freelist_count")) == [(0,)]
    assert home.jobs.run("vacuum").figures == {"pages": 0}


# The five steps


@pytest.mark.directory
def test_the_five_steps_run_in_order_and_give_six_figures(
    home: Home, mem: Memory, clock: FixedClock, tmp_path: Path
) -> None:
    long = mem.conversations.start()
    talk(long, 11)
    long.checkpoint()
    clock.advance(8 * DAY)
    mem.remember_many(Add(f"Lesson {number}.", category="lessons") for number in range(31))
    clock.advance(123)
    asked = []

    def run_job(name: str) -> Run:
        asked.append(name)
        return home.jobs.run(name)

    folder = tmp_path / "files"
    (folder / "ana").mkdir(parents=True)
    (folder / "ana" / "lessons.md").write_text("moved")
    (folder / "ben").mkdir()
    (folder / "ben" / "MEMORY.md").write_text("nothing was moved here")
    for name in ("ana.md", "ben.md", "cleo.md", "_project.md", "ana.md.bak", "notes.txt"):
        (folder / name).write_text(name)
    (folder / "odd.md.bak").mkdir()
    assert five_steps(run_job, [folder, tmp_path / "missing"], clock.now()) == {
        "timestamp": "2026-01-09T00:00:00.123Z",
        "checkpointsCleaned": 1,
        "conversationsTrimmed": 1,
        "vaultEntriesMerged": 11,
        "indexRebuilt": True,
        "legacyFilesCleaned": 2,
    }
    assert asked == ["checkpoints", "extract", "shelve", "reindex"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "_project.md",
        "ana",
        "ben",
        "ben.md",
        "cleo.md",
        "notes.txt",
        "odd.md.bak",
    ]
    again = five_steps(run_job, [folder], clock.now())
    assert set(again.values()) == {again["timestamp"], 0, True}


def test_an_index_that_cannot_be_made_is_said(home: Home, mem: Memory, location: str, clock: FixedClock) -> None:
    entry = mem.remember("The harbour opens at seven.")
    with raw(location) as execute:
        execute(f"UPDATE entries SET content = 'damaged' WHERE id = '{entry.id}'")
    assert five_steps(home.jobs.run, [], clock.now())["indexRebuilt"] is False
