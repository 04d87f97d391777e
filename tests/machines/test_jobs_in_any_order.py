"""The real jobs on random memories: any order ends in the same state, twice is as good as once, no text is lost."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import recollect
from recollect import FixedClock, Memory
from recollect.storage import entries
from recollect.upkeep.schedule import JOBS

DAY = 24 * 3_600_000
WORDS = ["harbour", "crane", "rope", "gate", "pier", "boat", "anchor", "sail"]
NAMES = [job.name for job in JOBS]

note = st.fixed_dictionaries(
    {
        "words": st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
        "category": st.sampled_from([None, None, "decisions", "lessons", "tasks"]),
        "importance": st.sampled_from([0.1, 0.5, 1.0]),
        "age": st.integers(0, 200),
        "name": st.booleans(),
    }
)
talk = st.lists(st.sampled_from(["We decided to use ropes.", "Hello there", "Learned: gates rust", "ok"]), max_size=24)


def fill(mem: Memory, clock: FixedClock, notes: list[dict[str, Any]], talks: list[list[str]], asked: list[str]) -> None:
    now = clock.now()
    for number, one in enumerate(sorted(notes, key=lambda one: -one["age"])):
        clock.set(now - one["age"] * DAY)
        mem.remember(
            " ".join(one["words"]),
            category=one["category"],
            importance=one["importance"],
            name=f"note {number}" if one["name"] else None,
        )
    for days, query in enumerate(asked):
        clock.set(now - (len(asked) - days) * DAY // 2)
        mem.recall(query)
    clock.set(now)
    for lines in talks:
        conv = mem.conversations.start()
        for number, line in enumerate(lines):
            (conv.assistant if number % 2 else conv.user)(line)


def state(mem: Memory) -> list[tuple[Any, ...]]:
    """Everything that jobs may touch, without what differs from run to run: ids, times, the order of writing."""
    return sorted(
        (entry.content, entry.name or "", str(entry.category), str(entry.lifetime), str(entry.kind), entry.tags)
        for entry in mem.list(limit=10_000)
    )


def texts(mem: Memory) -> set[str]:
    """Every text that can still be had: of entries, of the log, of the journal."""
    found = {entry.content for entry in mem.list(limit=10_000)}
    with mem._workspace.read() as tx:
        for one in entries.logged_after(tx, 0, 100_000):
            found |= {part["content"] for part in (one.before, one.after) if part.get("content")}
        found |= {row[5] for row in tx.all("history.journal_after", after=0, limit=100_000)}
    return found


@settings(max_examples=12)
@given(
    notes=st.lists(note, max_size=12),
    talks=st.lists(talk, max_size=2),
    asked=st.lists(st.sampled_from(WORDS), max_size=8),
    order=st.permutations(NAMES),
)
def test_jobs_in_any_order_end_in_the_same_state_and_lose_nothing(
    notes: list[dict[str, Any]], talks: list[list[str]], asked: list[str], order: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        clock = FixedClock()
        with recollect.open(path, clock=clock) as home:
            mem = home.agent("ana")
            fill(mem, clock, notes, talks, asked)
            home.flush()
            known = texts(mem)
        ends = []
        for names in (NAMES, order):
            copy = Path(folder) / f"copy{len(ends)}.db"
            if path.exists():
                shutil.copy(path, copy)
            with recollect.open(copy, clock=clock) as home:
                mem = home.agent("ana")
                for _ in range(2):  # what one job makes another may tidy, whichever comes first
                    for name in names:
                        assert home.jobs.run(name).error is None
                ends.append(state(mem))
                for name in names:
                    assert home.jobs.run(name).changes == (), name
                assert known <= texts(mem)
                assert home.check().ok
        assert ends[0] == ends[1]
