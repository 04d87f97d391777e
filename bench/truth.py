"""How well facts and their corrections are found, ordered and noticed, and what the job `review` costs.

    .venv/bin/python bench/truth.py ../shared/bench            # with the local embedder
    .venv/bin/python bench/truth.py ../shared/bench --embedder none
    .venv/bin/python bench/truth.py ../shared/bench --facts seen
    .venv/bin/python bench/truth.py ../shared/bench --notes 10000

Facts and corrections are stored between turns of LoCoMo, the fact 60 days before its correction. A question counts as
answered if both are among ten hits, and as ordered if the correction stands first. False alarms are the turns that
`review` pairs with another turn.
"""

import argparse
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from question_sets import read

import recollect
from recollect import Add, Entry, Memory, Settings

DAY = 86_400_000
START = 1_767_225_600_000
HERE = Path(__file__).with_name("truth")


@dataclass(frozen=True)
class Fact:
    kind: str
    older: str
    newer: str
    question: str


def facts(path: Path) -> list[Fact]:
    """The facts of a file: `[kind]` headings, and lines with older | newer | question."""
    found, kind = [], ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line.strip() and not line.startswith("#"):
            older, newer, question = (part.strip() for part in line.split("|"))
            found.append(Fact(kind, older, newer, question))
    return found


def turns(folder: Path, count: int) -> list[str]:
    """Turns of the conversations of LoCoMo, as they were said."""
    every = [doc.text for task in read(folder, "locomo") for doc in task.docs]
    return list(dict.fromkeys(every))[:count]


def is_newer_first(mem: Memory, fact: Fact, older: Entry, newer: Entry) -> bool:
    """Return whether the answer to a question holds the correction, and not after what it corrects."""
    hits = [hit.entry.id for hit in mem.recall(fact.question, limit=10, record=False)]
    return newer.id in hits and (older.id not in hits or hits.index(newer.id) < hits.index(older.id))


def report(path: Path, background: list[str], embedder: str) -> None:
    """Store the facts of a file among the turns, review them, ask, and print the shares."""
    known = facts(path)
    clock = recollect.FixedClock(START)
    settings = Settings(embedder={"kind": embedder})
    with (
        tempfile.TemporaryDirectory() as folder,
        recollect.open(f"{folder}/m.db", clock=clock, settings=settings) as home,
    ):
        mem = home.agent("ana")
        mem.remember_many([Add(text) for text in background])
        older = mem.remember_many([Add(fact.older) for fact in known])
        clock.advance(60 * DAY)
        newer = mem.remember_many([Add(fact.newer) for fact in known])
        clock.advance(DAY)
        at_once = sum(is_newer_first(mem, *one) for one in zip(known, older, newer, strict=True))
        spent = time.process_time()
        run = home.jobs.run("review")
        spent = time.process_time() - spent
        pairs = {frozenset((pair.older.id, pair.newer.id)) for pair in mem.review.list(limit=1_000_000)}
        own = {entry.id for entry in (*older, *newer)}
        alarms = {max(pair) for pair in pairs if not pair & own}
        counts: Counter[str] = Counter()
        missed = []
        for fact, before, after in zip(known, older, newer, strict=True):
            hits = [hit.entry.id for hit in mem.recall(fact.question, limit=10, record=False)]
            both = before.id in hits and after.id in hits
            noticed = frozenset((before.id, after.id)) in pairs
            counts["both"] += both
            counts["ordered"] += is_newer_first(mem, fact, before, after)
            counts["noticed"] += noticed
            missed += [] if noticed else [fact.kind]
        shares = ", ".join(f"{name} {counts[name] / len(known):.1%}" for name in ("both", "ordered", "noticed"))
        shares += f", ordered before the review {at_once / len(known):.1%}"
        print(f"{path.stem}, embedder {embedder}: {len(known)} facts: {shares}; not noticed: {dict(Counter(missed))}")
        if background:
            print(f"  false alarms: {len(alarms)} of {len(background)} turns ({len(alarms) / len(background):.1%})")
        print(f"  review: {run.figures['compared']} notes in {spent:.1f} s of processor time")


def cost(background: list[str], count: int, embedder: str) -> None:
    """Print the processor time that a review of `count` new notes takes."""
    settings = Settings(embedder={"kind": embedder})
    with tempfile.TemporaryDirectory() as folder, recollect.open(f"{folder}/m.db", settings=settings) as home:
        notes = [background[number % len(background)] for number in range(count)]
        home.agent("ana").remember_many(
            [Add(text if n < len(background) else f"{text} ({n})") for n, text in enumerate(notes)]
        )
        spent = time.process_time()
        run = home.jobs.run("review")
        spent = time.process_time() - spent
        print(
            f"review of {run.figures['compared']} notes: {spent:.1f} s of processor time, {run.figures['found']} pairs"
        )


def main() -> None:
    """Read the options and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder of the question sets")
    parser.add_argument("--embedder", default="local", choices=["local", "none"])
    parser.add_argument("--facts", nargs="+", default=["seen", "unseen"], help="which facts; rules are tuned on `seen`")
    parser.add_argument("--turns", type=int, default=2_000, help="turns of LoCoMo to store as background")
    parser.add_argument("--notes", type=int, help="measure the review of this many notes instead")
    given = parser.parse_args()
    if given.notes:
        cost(turns(given.folder, given.notes), given.notes, given.embedder)
        return
    background = turns(given.folder, given.turns)
    for name in given.facts:
        report(HERE / f"{name}.txt", background, given.embedder)


if __name__ == "__main__":
    main()
