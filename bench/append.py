"""A durable append to the journal next to the same rows written by bare apsw, and what size does to it; in one run.

    python bench/append.py [events]

What recollect's connections write is recorded, statement by statement, and written again through a plain apsw
connection with the same settings; the two take turns. Then the journal
grows to the given number of events, and appending, the window, `messages()` and opening are timed again.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
from corpus import corpus
from remember import COUNTED, PRAGMAS, WORDS_ALONE, Recorder, Statement, again, report, timed

import recollect
from recollect import Conversation, Event, EventType

EVENTS = 4_096
BATCH = 500


def compare(folder: Path, texts: list[str]) -> None:
    """Appending by recollect and by bare apsw, in turns."""
    recorder = Recorder()
    written: list[list[Statement]] = []
    with recollect.open(folder / "recorded.db", settings=WORDS_ALONE) as home:
        conv = home.agent("bench").conversations.start()
        conv.user("so that the tables are there")
        recorder.on = True
        for number, text in enumerate(texts):
            if number % 40 == 39:  # the window stays small: compaction is measured elsewhere
                recorder.on = False
                conv = home.agent("bench").conversations.start()
                recorder.on = True
            conv.user(text)
            written.append(recorder.statements)
            recorder.statements = []
    apsw.connection_hooks.remove(recorder._attach)

    with recollect.open(folder / "empty.db", settings=WORDS_ALONE) as home:
        home.agent("bench").conversations.start().user("so that the tables are there")
    bare = apsw.Connection(str(folder / "empty.db"))
    bare.execute(PRAGMAS)
    for (table,) in bare.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        if table not in COUNTED:
            bare.execute(f"DELETE FROM {table}")
    ours: list[float] = []
    theirs: list[float] = []
    with recollect.open(folder / "memory.db", settings=WORDS_ALONE) as home:
        for number, (text, statements) in enumerate(zip(texts, written, strict=True)):
            if number % 40 == 0:
                conv = home.agent("bench").conversations.start()
                conv.user("begins")
            ours.append(timed(lambda conv=conv, text=text: conv.user(text)))
            theirs.append(timed(lambda statements=statements: again(bare, statements)))
    report("events, one durable transaction each (index segments included)", "event", ours, theirs)


def waits(paths: list[Path]) -> dict[str, list[float]]:
    """What a user waits for in each of the files, in milliseconds; they take turns, so that noise meets all alike."""
    homes = [recollect.open(path, settings=WORDS_ALONE) for path in paths]
    read = [home.agent("bench").conversations.start() for home in homes]
    for conv in read:
        fill(conv, 48)
    taken: dict[str, list[list[float]]] = {}

    def turns(what: str, runs: list[Callable[[], object]]) -> None:
        for place, run in enumerate(runs):
            taken.setdefault(what, [[] for _ in paths])[place].append(timed(run) * 1000)

    for _ in range(20):
        said = [home.agent("bench").conversations.start() for home in homes]
        for conv in said:
            conv.user("begins")
        for _ in range(20):
            turns("append", [lambda conv=conv: conv.user("one more") for conv in said])
        for _ in range(10):
            turns("window", [conv.window for conv in read])
            turns("messages()", [conv.messages for conv in read])
    for home in homes:
        home.close()

    def reopened(path: Path, conv: Conversation) -> None:
        with recollect.open(path, settings=WORDS_ALONE) as again:
            again.agent("bench").conversations.get(conv.id).window()

    for _ in range(20):
        turns("open and read", [partial(reopened, path, conv) for path, conv in zip(paths, read, strict=True)])
    return {what: [statistics.median(figures) for figures in places] for what, places in taken.items()}


def fill(conv: Conversation, events: int) -> None:
    """A talk of users, models and tools."""
    for number in range(events // 4):
        calls = [{"id": f"c{number}", "name": "look", "arguments": {"at": number}}]
        conv.append(
            [
                Event(type=EventType.USER, content=f"What about number {number}, and what should we do with it next?"),
                Event(type=EventType.MODEL, content="", tool_calls=calls),
                Event(type=EventType.TOOL, content="a result of some length " * 10, tool_call_id=f"c{number}"),
                Event(type=EventType.MODEL, content=f"Number {number} is fine; we leave it as it is for another week."),
            ]
        )


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    texts = corpus(20_000, 200).texts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compare(folder, texts[:EVENTS])
        path = folder / "large.db"
        start = time.perf_counter()
        with recollect.open(path, settings=WORDS_ALONE) as home:
            mem = home.agent("bench")
            done = 0
            while done < size:
                conv = mem.conversations.start()
                some = [Event(type=EventType.USER, content=texts[(done + n) % len(texts)]) for n in range(BATCH)]
                conv.append(some)
                conv.idle()
                done += BATCH
        taken, each = time.perf_counter() - start, path.stat().st_size / size
        print(f"{size:,} events filled in {taken:.0f} s; {each:,.0f} bytes each")
        print("in milliseconds      48 events   all events")
        for what, (small, large) in waits([folder / "small.db", path]).items():
            print(f"  {what:16} {small:10.3f} {large:12.3f}")


if __name__ == "__main__":
    main()
