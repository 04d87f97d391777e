"""How long a job keeps the other threads of its process waiting for the lock of the interpreter.

    python bench/interpreter_holds.py [--events N] [--runs N]

While a job runs, a thread sleeps for half a millisecond again and again. What the process has computed until the thread
runs again, in processor time, is what a recall of that thread would have waited for; unlike a time by the clock, it
does not count what other programs of the machine compute. It still counts what the job computes without the lock while
the system runs no other thread of the process, so of several runs the least is the nearest to the truth.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from long_history import JOBS, WORDS_ALONE, live, said_in

import recollect
from recollect import FixedClock

YEAR_EVENTS = 500_000


def longest_hold(work: Callable[[], object]) -> tuple[float, float]:
    """Return the processor time of the work, and the longest hold, both in milliseconds."""
    holds, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.is_set():
            before = time.process_time()
            time.sleep(0.0005)
            holds.append(time.process_time() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.process_time()
    try:
        work()
    finally:
        spent = time.process_time() - start
        ended.set()
        watcher.join()
    return spent * 1000, max(holds) * 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    scale = given.events / YEAR_EVENTS
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(given.runs):
        said, clock = said_in(1, scale), FixedClock()
        with (
            tempfile.TemporaryDirectory() as folder,
            recollect.open(Path(folder, "memory.db"), settings=WORDS_ALONE, clock=clock) as home,
        ):
            live(home, said, clock, scale)
            steps: dict[str, Callable[[], object]] = {job: partial(home.jobs.run, job) for job in JOBS}
            steps |= {"check": home.check, "backup": partial(home.backup, Path(folder, "copy.db"))}
            for name, step in steps.items():
                found.setdefault(name, []).append(longest_hold(step))
    print("step          processor ms   longest hold ms: least of the runs, most")
    for name, runs in found.items():
        holds = [hold for _, hold in runs]
        print(f"{name:12} {min(spent for spent, _ in runs):14.0f} {min(holds):17.1f} {max(holds):6.1f}")


if __name__ == "__main__":
    main()
