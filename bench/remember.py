"""A durable `remember` next to the same rows written by bare apsw, one transaction each, in one run.

    python bench/remember.py [entries]

What recollect's connections write is recorded, statement by statement, and written again through a plain apsw
connection with the same settings. The two take turns in blocks, so that a busy disk slows both alike.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import apsw
from corpus import corpus

import recollect

BLOCK = 256
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
        if self.on and sql.lstrip().startswith(("INSERT", "UPDATE", "DELETE")) and "RETURNING" not in sql:
            self.statements.append((sql, dict(bindings)))
        return True


def main() -> None:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 4_096
    texts = corpus(max(entries, 300), 200).texts[:entries]
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder()
        with recollect.open(Path(folder) / "recorded.db") as home:
            mem = home.agent("bench")
            mem.remember("so that the tables are there")
            written: list[list[Statement]] = []
            recorder.on = True
            for entry in texts:
                mem.remember(entry)
                written.append(recorder.statements)
                recorder.statements = []
        apsw.connection_hooks.remove(recorder._attach)

        with recollect.open(Path(folder) / "empty.db") as home:
            home.agent("bench").remember("so that the tables are there")
        bare = apsw.Connection(str(Path(folder) / "empty.db"))
        bare.execute(PRAGMAS)
        for (table,) in bare.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            bare.execute(f"DELETE FROM {table}")
        home = recollect.open(Path(folder) / "memory.db")
        mem = home.agent("bench")
        mem.recall("warm up")

        ours: list[float] = []
        theirs: list[float] = []
        for start in range(0, entries, BLOCK):
            began = time.perf_counter()
            for entry in texts[start : start + BLOCK]:
                mem.remember(entry)
            ours.append(time.perf_counter() - began)
            began = time.perf_counter()
            for statements in written[start : start + BLOCK]:
                bare.execute("BEGIN IMMEDIATE")
                for sql, values in statements:
                    bare.execute(sql, values)
                bare.execute("COMMIT")
            theirs.append(time.perf_counter() - began)
        home.close()
    ratio = statistics.median(mine / bare for mine, bare in zip(ours, theirs, strict=True))
    print(f"{entries:,} entries, one durable transaction each (index merges included)")
    print(f"  recollect        {sum(ours) / entries * 1000:8.3f} ms per entry")
    print(f"  bare apsw        {sum(theirs) / entries * 1000:8.3f} ms per entry")
    print(f"  ratio            {sum(ours) / sum(theirs):8.2f} over all, {ratio:.2f} median of blocks of {BLOCK}")


if __name__ == "__main__":
    main()
