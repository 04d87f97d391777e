"""Dreaming: what is recalled again and again is promoted once, in the ledger, in the entry and in MEMORY.md."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crash.evidence import raw, rows

import recollect
from recollect import FixedClock, Home, Lifetime, Memory
from recollect.config import DreamSettings, EmbedderSettings, Settings
from recollect.upkeep.dreaming import WEIGHTS, Candidate

DAY = 86_400_000
HARBOUR = "The harbour office opens at seven."


def recalled(home: Home, mem: Memory, clock: FixedClock, *queries: str, gap: int = DAY) -> None:
    """Ask so many questions, a day apart; every signal is on disk afterwards."""
    for query in queries:
        mem.recall(query)
        clock.advance(gap)
    home.flush()


def hot(
    home: Home, mem: Memory, clock: FixedClock, content: str = HARBOUR, lifetime: Lifetime = Lifetime.SHORT_TERM
) -> str:
    """A note that three different questions found on three days."""
    entry = mem.remember(content, lifetime=lifetime)
    word = content.split()[1]
    recalled(home, mem, clock, word, f"which {word}", f"{word}?")
    return entry.id


def dreaming(**dream: Any) -> Settings:
    return Settings(dream=DreamSettings(**dream), embedder=EmbedderSettings(kind="none"))


def ledger(location: str, agent: str = "ana") -> list[tuple[str, str, str]]:
    """Entry, phase and state of every promotion."""
    return [(row[1], row[2], row[5]) for row in rows(location, "promotions", agent)]


def vault(location: str, agent: str = "ana") -> Path:
    return Path(location) / "workspaces" / "default" / "vault" / agent


@pytest.fixture
def directory(tmp_path: Path) -> str:
    return str(tmp_path / "home")


@pytest.fixture
def dir_home(directory: str, clock: FixedClock) -> Iterator[Home]:
    """A home with a folder for files."""
    with recollect.open(directory, clock=clock) as opened:
        yield opened


@pytest.fixture
def ana(dir_home: Home) -> Memory:
    return dir_home.agent("ana")


# Scores


def test_the_score_is_the_weighted_sum_of_five_signals() -> None:
    assert WEIGHTS == {"frequency": 0.24, "relevance": 0.30, "recency": 0.15, "diversity": 0.15, "consolidation": 0.10}
    full = Candidate("x", hits=6, relevance=1.0, idle_days=0.0, queries=5, days=5)
    assert full.score(90) == pytest.approx(0.94)
    assert Candidate("x", 60, 7.0, -5.0, 50, 50).score(90) == pytest.approx(0.94)
    half = Candidate("x", hits=6, relevance=0.5, idle_days=90.0, queries=2, days=1)
    assert half.score(90) == pytest.approx(0.24 + 0.15 + 0.075 + 0.15 * 2 / 5 + 0.10 / 5)
    days = Candidate("x", hits=6, relevance=0.5, idle_days=90.0, queries=2, days=4)
    assert days.score(90) == pytest.approx(0.24 + 0.15 + 0.075 + 0.15 * 4 / 5 + 0.10 * 4 / 5)


def test_each_gate_keeps_a_memory_out() -> None:
    settings = DreamSettings()
    assert Candidate("x", 3, 1.0, 0.0, 2, 1).passes(settings)
    assert not Candidate("x", 2, 1.0, 0.0, 2, 1).passes(settings)
    assert not Candidate("x", 3, 1.0, 0.0, 1, 3).passes(settings)
    assert not Candidate("x", 3, 1.0, 0.0, 2, 0).passes(settings)


# Promotion


def test_a_hot_note_is_promoted_with_a_row_in_the_ledger(
    home: Home, mem: Memory, clock: FixedClock, location: str
) -> None:
    entry_id = hot(home, mem, clock)
    cold = mem.remember("Nobody asks for the lighthouse.", lifetime="short_term")
    run = home.jobs.run("dream")
    assert run.error is None
    assert run.figures == {"candidates": 1, "promoted": 1, "skipped": 0}
    assert mem.get(entry_id).lifetime is Lifetime.LONG_TERM
    assert mem.get(cold.id).lifetime is Lifetime.SHORT_TERM
    assert ledger(location) == [(entry_id, "deep", "done")]
    (change,) = run.changes
    assert change.reason == "it was recalled 3 times, by 3 different questions on 3 days (score 0.77)"


def test_three_days_of_one_question_are_not_enough(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember(HARBOUR)
    recalled(home, mem, clock, "harbour", " Harbour ", "HARBOUR")
    assert home.jobs.run("dream").figures == {"candidates": 1, "promoted": 0, "skipped": 0}


def test_one_day_of_several_questions_is_enough(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember(HARBOUR)
    recalled(home, mem, clock, "harbour", "office", "harbour", gap=1_000)
    run = home.jobs.run("dream")
    assert run.figures["promoted"] == 1
    assert "on 1 day (" in run.changes[0].reason


def test_a_note_below_the_score_stays_where_it_is(location: str, clock: FixedClock) -> None:
    with recollect.open(location, clock=clock, settings=dreaming(min_score=0.9)) as home:
        hot(home, home.agent("ana"), clock)
        assert home.jobs.run("dream").figures == {"candidates": 1, "promoted": 0, "skipped": 0}


def test_a_day_has_room_for_so_many_promotions_and_the_best_go_first(location: str, clock: FixedClock) -> None:
    with recollect.open(location, clock=clock, settings=dreaming(max_promotions=1)) as home:
        mem = home.agent("ana")
        first = hot(home, mem, clock, "The harbour office opens at seven.")
        clock.advance(30 * DAY)
        second = hot(home, mem, clock, "The lighthouse office opens at eight.")
        assert [change.entry_id for change in home.jobs.run("dream").changes] == [second]
        clock.advance(DAY - 1)
        assert home.jobs.run("dream").changes == ()
        clock.advance(1)
        assert [change.entry_id for change in home.jobs.run("dream").changes] == [first]
        clock.advance(-300 * DAY)
        assert home.jobs.run("dream").error is None


def test_named_notes_join_the_ledger_and_entries_of_a_conversation_do_not(
    home: Home, mem: Memory, clock: FixedClock, location: str
) -> None:
    conversation = mem.conversations.start()
    passing = mem.remember("The harbour secret.", scope="conversation", conversation=conversation.id)
    named = mem.remember(HARBOUR, name="harbour")
    for query in ("harbour", "harbour office", "harbour secret"):
        mem.recall(query, conversation=conversation.id)
    home.flush()
    run = home.jobs.run("dream")
    assert [change.entry_id for change in run.changes] == [named.id]
    assert [row[0] for row in ledger(location)] == [named.id]
    assert mem.get(passing.id).lifetime is Lifetime.CONVERSATION


def test_a_dry_run_tells_and_changes_nothing(dir_home: Home, ana: Memory, clock: FixedClock, directory: str) -> None:
    entry_id = hot(dir_home, ana, clock)
    run = dir_home.jobs.run("dream", dry_run=True)
    assert run.figures == {"candidates": 1, "promoted": 1, "skipped": 0}
    assert [str(change) for change in run.changes] == [
        f"changed {HARBOUR!r}: it was recalled 3 times, by 3 different questions on 3 days (score 0.77)"
    ]
    assert ana.get(entry_id).lifetime is Lifetime.SHORT_TERM
    assert ledger(directory) == []
    assert not vault(directory).exists()


def test_the_second_sweep_changes_nothing_and_counts_what_it_skips(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str
) -> None:
    hot(dir_home, ana, clock)
    dir_home.jobs.run("dream")
    before = (vault(directory) / "MEMORY.md").read_bytes(), ledger(directory)
    clock.advance(DAY)
    run = dir_home.jobs.run("dream")
    assert run.figures == {"candidates": 1, "promoted": 0, "skipped": 1}
    assert run.changes == ()
    assert ((vault(directory) / "MEMORY.md").read_bytes(), ledger(directory)) == before


def test_one_agents_recalls_promote_nothing_of_another(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str
) -> None:
    other = dir_home.agent("ben").remember(HARBOUR, lifetime="short_term")
    hot(dir_home, ana, clock)
    dir_home.jobs.run("dream")
    assert dir_home.agent("ben").get(other.id).lifetime is Lifetime.SHORT_TERM
    assert not (vault(directory, "ben") / "MEMORY.md").exists()
    assert ledger(directory, "ben") == []


# Files


def test_memory_md_and_the_diary_have_their_exact_form(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str
) -> None:
    entry_id = hot(dir_home, ana, clock, "The harbour office\n  opens at seven.")
    dir_home.jobs.run("dream")
    assert (vault(directory) / "MEMORY.md").read_text() == (
        "# MEMORY.md\n\n"
        "## Dreamed 2026-01-04 00:00 UTC\n"
        f"- The harbour office opens at seven. _(score=0.77, hits=3, days=3)_ <!-- promo:{entry_id} -->\n"
    )
    clock.advance(90 * 60_000)
    dir_home.jobs.run("dream")
    assert (vault(directory) / "DREAMS.md").read_text() == (
        "# DREAMS.md\n\n"
        "## Deep Sleep 2026-01-04 00:00 UTC\n- candidates: 1\n- promoted: 1\n- skipped: 0\n\n"
        "## Deep Sleep 2026-01-04 01:30 UTC\n- candidates: 1\n- promoted: 0\n- skipped: 1\n"
    )
    assert sorted(path.name for path in vault(directory).iterdir()) == ["DREAMS.md", "MEMORY.md"]


def test_an_empty_sweep_writes_the_diary_and_no_memory_md(dir_home: Home, ana: Memory, directory: str) -> None:
    ana.remember(HARBOUR)
    dir_home.jobs.run("dream")
    assert "- candidates: 0\n- promoted: 0\n- skipped: 0\n" in (vault(directory) / "DREAMS.md").read_text()
    assert not (vault(directory) / "MEMORY.md").exists()


def test_a_diary_that_cannot_be_written_is_only_a_warning(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str
) -> None:
    entry_id = hot(dir_home, ana, clock)
    (vault(directory) / "DREAMS.md").mkdir(parents=True)
    run = dir_home.jobs.run("dream")
    assert run.error is None
    assert entry_id in (vault(directory) / "MEMORY.md").read_text()


def test_a_memory_md_that_cannot_be_read_is_reported_and_nothing_is_promoted(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str
) -> None:
    entry_id = hot(dir_home, ana, clock)
    (vault(directory) / "MEMORY.md").mkdir(parents=True)
    run = dir_home.jobs.run("dream")
    assert run.error is not None
    assert "MEMORY.md cannot be read" in run.error
    assert ana.get(entry_id).lifetime is Lifetime.SHORT_TERM
    (vault(directory) / "MEMORY.md").rmdir()
    assert dir_home.jobs.run("dream").figures["promoted"] == 1


def test_a_crash_before_the_file_is_in_place_loses_nothing_and_doubles_nothing(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = hot(dir_home, ana, clock)

    def killed(source: object, target: object, **folders: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        patch.setattr(os, "link", killed)
        with pytest.raises(KeyboardInterrupt):
            dir_home.jobs.run("dream")
    assert ledger(directory) == [(first, "deep", "pending")]
    assert ana.get(first).lifetime is Lifetime.LONG_TERM
    second = hot(dir_home, ana, clock, "The lighthouse office opens at eight.")
    assert dir_home.jobs.run("dream").figures["promoted"] == 1
    written = (vault(directory) / "MEMORY.md").read_text()
    assert (written.count(first), written.count(second), written.count("## Dreamed")) == (1, 1, 1)
    assert "- The harbour office opens at seven. _(score=0.77, hits=3, days=3)_" in written
    assert {state for *_, state in ledger(directory)} == {"done"}


def test_a_crash_after_the_file_is_in_place_doubles_nothing(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str
) -> None:
    entry_id = hot(dir_home, ana, clock)
    dir_home.jobs.run("dream")
    with raw(directory) as execute:
        execute("UPDATE promotions SET state = 'pending'")
    before = (vault(directory) / "MEMORY.md").read_bytes()
    dir_home.jobs.run("dream")
    assert (vault(directory) / "MEMORY.md").read_bytes() == before
    assert ledger(directory) == [(entry_id, "deep", "done")]


def test_what_people_write_into_memory_md_stays(dir_home: Home, ana: Memory, clock: FixedClock, directory: str) -> None:
    first = hot(dir_home, ana, clock)
    dir_home.jobs.run("dream")
    path = vault(directory) / "MEMORY.md"
    mine = b"My own \xff words without an end" + f"\n- changed by hand <!-- promo:{first} -->\nand more".encode()
    path.write_bytes(mine)
    second = hot(dir_home, ana, clock, "The lighthouse office opens at eight.")
    dir_home.jobs.run("dream")
    written = path.read_bytes()
    assert written.startswith(mine + b"\n\n## Dreamed ")
    assert (written.count(first.encode()), written.count(second.encode())) == (1, 1)


@pytest.mark.parametrize("by", ["a dream", "an erasure"])
def test_what_people_write_into_memory_md_while_it_is_replaced_stays(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    first = hot(dir_home, ana, clock)
    dir_home.jobs.run("dream")
    second = hot(dir_home, ana, clock, "The lighthouse office opens at eight.")
    path, whole = vault(directory) / "MEMORY.md", os.fsync
    saves: list[bytes] = []

    def saving(descriptor: int) -> None:
        if not saves and ".MEMORY.md." in os.path.realpath(f"/proc/self/fd/{descriptor}"):
            saves.append(path.read_bytes() + b"by hand\n")
            path.write_bytes(saves[0])
        whole(descriptor)

    monkeypatch.setattr(os, "fsync", saving)
    if by == "a dream":
        dir_home.jobs.run("dream")
        assert path.read_bytes().startswith(saves[0])
        assert second in path.read_text()
    else:
        assert str(path.parent) not in str(ana.forget(first, erase=True).remaining)
        assert path.read_bytes() == b"".join(
            line for line in saves[0].splitlines(keepends=True) if first.encode() not in line
        )
    assert not list(path.parent.glob(".*"))


def test_a_note_that_is_erased_during_a_dream_is_in_no_file_afterwards(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry_id, whole = hot(dir_home, ana, clock), os.fsync
    erasing: list[threading.Thread] = []

    def erase(descriptor: int) -> None:
        if not erasing and ".MEMORY.md." in os.path.realpath(f"/proc/self/fd/{descriptor}"):
            erasing.append(threading.Thread(target=ana.forget, args=(entry_id,), kwargs={"erase": True}))
            erasing[0].start()
        whole(descriptor)

    monkeypatch.setattr(os, "fsync", erase)
    dir_home.jobs.run("dream")
    erasing[0].join()
    assert "harbour" not in (vault(directory) / "MEMORY.md").read_text()


@pytest.mark.parametrize("name", ["MEMORY.md", "DREAMS.md"])
def test_nothing_is_written_through_a_link(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str, tmp_path: Path, name: str
) -> None:
    hot(dir_home, ana, clock)
    (tmp_path / "mine.md").write_text("mine\n")
    vault(directory).mkdir(parents=True)
    (vault(directory) / name).symlink_to(tmp_path / "mine.md")
    run = dir_home.jobs.run("dream")
    assert (run.error is None) == (name == "DREAMS.md")
    assert (vault(directory) / name).is_symlink()
    assert (tmp_path / "mine.md").read_text() == "mine\n"


def test_a_deleted_memory_md_comes_back_with_the_next_promotion_only(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str
) -> None:
    first = hot(dir_home, ana, clock)
    dir_home.jobs.run("dream")
    path = vault(directory) / "MEMORY.md"
    path.unlink()
    dir_home.jobs.run("dream")
    assert not path.exists()
    second = hot(dir_home, ana, clock, "The lighthouse office opens at eight.")
    dir_home.jobs.run("dream")
    written = path.read_text()
    assert written.startswith("# MEMORY.md\n")
    assert (written.count(first), written.count(second)) == (0, 1)


def test_a_marker_that_the_ledger_does_not_know_is_taken_up(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str
) -> None:
    entry_id = hot(dir_home, ana, clock)
    dir_home.jobs.run("dream")
    before = (vault(directory) / "MEMORY.md").read_bytes()
    with raw(directory) as execute:
        execute("DELETE FROM promotions")
        execute("UPDATE entries SET lifetime = 'short_term'")
    run = dir_home.jobs.run("dream")
    assert [change.reason for change in run.changes] == ["MEMORY.md says that it was promoted"]
    assert run.figures["promoted"] == 0
    assert ana.get(entry_id).lifetime is Lifetime.LONG_TERM
    assert ledger(directory) == [(entry_id, "deep", "done")]
    assert (vault(directory) / "MEMORY.md").read_bytes() == before


def test_the_line_of_a_forgotten_note_leaves_and_that_of_an_unknown_one_stays(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str
) -> None:
    entry_id = hot(dir_home, ana, clock)
    dir_home.jobs.run("dream")
    path = vault(directory) / "MEMORY.md"
    foreign = "- from another database <!-- promo:00000000-0000-7000-8000-000000000000 -->\n"
    path.write_text(path.read_text() + foreign)
    ana.forget(entry_id)
    dir_home.jobs.run("dream")
    written = path.read_text()
    assert "harbour" not in written
    assert foreign in written


def test_a_marker_inside_the_text_of_a_note_is_no_marker(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str
) -> None:
    cold = ana.remember("Nobody asks for me.", lifetime="short_term")
    hot(dir_home, ana, clock, f"The harbour says <!-- promo:{cold.id} -->")
    dir_home.jobs.run("dream")
    dir_home.jobs.run("dream")
    assert ana.get(cold.id).lifetime is Lifetime.SHORT_TERM


@pytest.mark.parametrize("lifetime", [Lifetime.SHORT_TERM, Lifetime.LONG_TERM])
def test_an_undone_promotion_is_not_repeated_and_its_line_leaves(
    dir_home: Home, ana: Memory, clock: FixedClock, directory: str, lifetime: Lifetime
) -> None:
    entry_id = hot(dir_home, ana, clock, lifetime=lifetime)
    run = dir_home.jobs.run("dream")
    assert "harbour" in (vault(directory) / "MEMORY.md").read_text()
    assert dir_home.jobs.undo(run.id).figures == {"undone": 1}
    assert ana.get(entry_id).lifetime is lifetime
    assert dir_home.jobs.run("dream").changes == ()
    assert ana.get(entry_id).lifetime is lifetime
    assert entry_id not in (vault(directory) / "MEMORY.md").read_text()
    assert ledger(directory) == [(entry_id, "deep", "undone")]
