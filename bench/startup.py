"""Importing the package, the command line's help, and opening files of growing size: nothing may grow with the file.

python bench/startup.py [sizes …]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from corpus import corpus

import recollect

RUNS = 9
OPEN = """
import sys, time, recollect
start = time.perf_counter()
home = recollect.open(sys.argv[1])
mem = home.agent("bench")
opened = time.perf_counter()
mem.list(limit=1)
read = time.perf_counter()
mem.recall("what did we say about the first thing", mode="keyword")
found = time.perf_counter()
mem.remember("one more")
print(opened - start, read - opened, found - read, time.perf_counter() - found)
"""


def seconds(*command: str) -> float:
    """The median time of a command from start to end."""
    taken = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main() -> None:
    bare = seconds("-c", "pass")
    print(f"python -c pass            {bare * 1000:6.0f} ms")
    print(f"import sqlite3            {(seconds('-c', 'import sqlite3') - bare) * 1000:6.0f} ms more")
    print(f"import apsw               {(seconds('-c', 'import apsw') - bare) * 1000:6.0f} ms more")
    print(f"import recollect          {(seconds('-c', 'import recollect') - bare) * 1000:6.0f} ms more")
    print(f"recollect --help          {seconds('-m', 'recollect', '--help') * 1000:6.0f} ms")
    with tempfile.TemporaryDirectory() as folder:
        with recollect.open(folder) as home:
            home.agent("default").remember("We chose SQLite because it is one file.")
        command = "-m", "recollect", "--home", folder, "recall", "why did we choose this database"
        print(f"recollect recall          {seconds(*command) * 1000:6.0f} ms")
    sizes = [int(size) for size in sys.argv[1:]] or [1_000, 10_000, 100_000]
    with tempfile.TemporaryDirectory() as folder:
        print("entries      open   first list   first recall   first remember   (ms, in a new process)")
        for size in sizes:
            path = Path(folder) / f"{size}.db"
            with recollect.open(path) as home:
                home.agent("bench").remember_many(recollect.Add(entry) for entry in corpus(size, 1).texts)
            os.sync()
            runs = [
                [
                    float(figure)
                    for figure in subprocess.run(
                        [sys.executable, "-c", OPEN, str(path)], check=True, capture_output=True, text=True
                    ).stdout.split()
                ]
                for _ in range(RUNS)
            ]
            middle = [statistics.median(run[i] for run in runs) * 1000 for i in range(4)]
            print(f"{size:9,} {middle[0]:7.2f} {middle[1]:12.2f} {middle[2]:14.2f} {middle[3]:16.2f}")


if __name__ == "__main__":
    main()
