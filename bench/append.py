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
from pathlib import Path

import apsw
from corpus import corpus
from remember import PRAGMAS, WORDS_ALONE, Recorder, Statement, again, report, timed

import recollect
from recollect import Conversation, Event, EventType

EVENTS = 4_096
BATCH = 500


def median(run: Callable[[], object], times: int = 200) -> float:
    """The median time of a call, in milliseconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


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


def waits(path: Path) -> dict[str, float]:
    """What a user waits for, in milliseconds."""
    with recollect.open(path, settings=WORDS_ALONE) as home:
        conv = home.agent("bench").conversations.start()
        fill(conv, 48)
        append = median(lambda: home.agent("bench").conversations.get(conv.id).info, 1)  # warm up
        opened: list[Conversation] = []

        def appended() -> None:
            opened[-1].user("one more")

        taken = []
        for _ in range(20):
            opened.append(home.agent("bench").conversations.start())
            opened[-1].user("begins")
            taken.append(median(appended, 20))
        append = statistics.median(taken)
        window, messages = median(conv.window), median(conv.messages)

    def reopened() -> None:
        with recollect.open(path, settings=WORDS_ALONE) as again:
            again.agent("bench").conversations.get(conv.id).window()

    return {"append": append, "window": window, "messages()": messages, "open and read": median(reopened, 20)}


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
        small = waits(folder / "small.db")
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
        large = waits(path)
        print("in milliseconds      48 events   all events")
        for what, figure in small.items():
            print(f"  {what:16} {figure:10.3f} {large[what]:12.3f}")


if __name__ == "__main__":
    main()
