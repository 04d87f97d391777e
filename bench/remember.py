"""A durable `remember` next to the same rows written by bare apsw, one transaction each, in one run.

    python bench/remember.py [entries]

What recollect's connections write is recorded, statement by statement, and written again through a plain apsw
connection with the same settings. The two take turns, one transaction each, so that both find the disk and the
processor's caches in the same state.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
from corpus import corpus

import recollect
from recollect import Settings
from recollect.config import EmbedderSettings

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))
COUNTED = ("counters", "journals")
"""Tables of one row that every write changes: bare apsw has them, too, so that it really writes the same."""
PRAGMAS = "PRAGMA journal_mode = wal; PRAGMA synchronous = full; PRAGMA secure_delete = on; PRAGMA cache_size = -16000"
Statement = tuple[str, Any]


class Recorder:
    """Keeps what is written on every connection that is opened while it is on."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.on = False
        apsw.connection_hooks.append(self._attach)

    def _attach(self, connection: apsw.Connection) -> None:
        connection.exec_trace = self._seen

    def _seen(self, cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        if self.on and sql.startswith(("INSERT", "UPDATE", "DELETE")):
            self.statements.append((sql, tuple(bindings or ())))
        return True


def timed(run: Callable[[], object]) -> float:
    """How long something takes, in seconds."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def again(bare: apsw.Connection, statements: list[Statement]) -> None:
    """What was recorded, as one transaction."""
    bare.execute("BEGIN IMMEDIATE")
    for sql, values in statements:
        bare.execute(sql, values)
    bare.execute("COMMIT")


def report(what: str, unit: str, ours: list[float], theirs: list[float]) -> None:
    """Print both, and the ratio: of the medians, and of everything."""
    medians = statistics.median(ours), statistics.median(theirs)
    print(f"{len(ours):,} {what}")
    for name, median, taken in (("recollect", medians[0], ours), ("bare apsw", medians[1], theirs)):
        print(f"  {name:16} {median * 1000:8.3f} ms per {unit} (median; mean {statistics.mean(taken) * 1000:.3f})")
    print(f"  ratio            {medians[0] / medians[1]:8.2f} of the medians, {sum(ours) / sum(theirs):.2f} over all")


def main() -> None:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 4_096
    texts = corpus(max(entries, 300), 200).texts[:entries]
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder()
        with recollect.open(Path(folder) / "recorded.db", settings=WORDS_ALONE) as home:
            mem = home.agent("bench")
            mem.remember("so that the tables are there")
            written: list[list[Statement]] = []
            recorder.on = True
            for entry in texts:
                mem.remember(entry)
                written.append(recorder.statements)
                recorder.statements = []
        apsw.connection_hooks.remove(recorder._attach)

        with recollect.open(Path(folder) / "empty.db", settings=WORDS_ALONE) as home:
            home.agent("bench").remember("so that the tables are there")
        bare = apsw.Connection(str(Path(folder) / "empty.db"))
        bare.execute(PRAGMAS)
        for (table,) in bare.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            if table not in COUNTED:
                bare.execute(f"DELETE FROM {table}")
        home = recollect.open(Path(folder) / "memory.db", settings=WORDS_ALONE)
        mem = home.agent("bench")
        mem.recall("warm up")

        ours: list[float] = []
        theirs: list[float] = []
        for entry, statements in zip(texts, written, strict=True):
            ours.append(timed(lambda entry=entry: mem.remember(entry)))
            theirs.append(timed(lambda statements=statements: again(bare, statements)))
        home.close()
    report("entries, one durable transaction each (index merges included)", "entry", ours, theirs)


if __name__ == "__main__":
    main()
