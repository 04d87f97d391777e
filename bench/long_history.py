"""The history of one agent over years: size, and the times of recall, context and every kind of upkeep, year by year.

    python bench/long_history.py [--years N] [--scale SHARE] [--location FOLDER] [--alone]

A year is 500,000 events in 5,000 conversations that end, and 30,000 entries that repeat some of what was said; `--scale
0.01` makes a hundredth of it. After each year every job runs once, then the memory is checked and copied. Meanwhile a
thread of the same process and another process recall, and so does a process with a copy of the memory, the control
series: what the slowest recall of the first two takes longer than that of the control is what the job made it wait.

With `--alone` nothing recalls meanwhile, and all times are processor time, which does not depend on what else the
machine computes.
"""

import argparse
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

from corpus import Corpus, corpus
from timing import timed

import recollect
from recollect import FixedClock, Home, Settings
from recollect.config import EmbedderSettings

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))
CONVERSATIONS, EVENTS, ENTRIES = 5_000, 100, 30_000
"""Conversations of a year, events of each, and entries of a year."""
JOBS = ("extract", "shelve", "consolidate", "dream", "age", "retain", "review", "reindex", "vacuum")
YEAR = 365 * 86_400_000
QUESTIONS = 50
PAUSE = 0.005
"""Seconds between two recalls of a series."""


def recall_steadily(home: Home, questions: list[str], ended: Callable[[], bool]) -> list[float]:
    """Recall every few milliseconds until it has ended; return how many milliseconds each took."""
    mem, taken = home.agent("ana"), list[float]()
    while not taken or not ended():
        start = time.perf_counter()
        mem.recall(questions[len(taken) % len(questions)], limit=10)
        taken.append((time.perf_counter() - start) * 1000)
        time.sleep(PAUSE)
    return taken


def recalling_process(path: Path, questions: list[str], orders: Connection) -> None:
    """Another process: from each message to the next it recalls, then sends the times. It ends when the pipe does."""
    with recollect.open(path, settings=WORDS_ALONE) as home, suppress(EOFError):
        home.agent("ana").recall(questions[0])
        orders.send(None)
        while True:
            orders.recv()
            taken = recall_steadily(home, questions, orders.poll)
            orders.recv()
            orders.send(taken)


class Recallers:
    """Three that recall while a job runs: a thread of its process, another process, and a process with a copy.

    The last is the control series: it waits for the processor and the disk like the others, and for nothing of the job.
    """

    def __init__(self, home: Home, path: Path, copy: Path, questions: list[str]) -> None:
        self._home, self._questions = home, questions
        context = multiprocessing.get_context("spawn")
        self._pipes, self._processes = list[Connection](), list[SpawnProcess]()
        for one in (path, copy):
            ours, theirs = context.Pipe()
            self._processes.append(context.Process(target=recalling_process, args=(one, questions, theirs)))
            self._processes[-1].start()
            theirs.close()
            self._pipes.append(ours)
        for pipe in self._pipes:
            pipe.recv()

    def beside(self, work: Callable[[], object]) -> tuple[float, list[list[float]]]:
        """Run it; return its seconds, and the times of the recalls meanwhile, those of the control last."""
        done = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            thread = pool.submit(recall_steadily, self._home, self._questions, done.is_set)
            for pipe in self._pipes:
                pipe.send(None)
            seconds = spent(work)
            for pipe in self._pipes:
                pipe.send(None)
            done.set()
            return seconds, [thread.result(), *(pipe.recv() for pipe in self._pipes)]

    def close(self) -> None:
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            pipe.close()
            process.join()


def said_in(year: int, scale: float) -> Corpus:
    """The texts of a year, each said once; `repeated_texts.py` measures what copies cost."""
    return corpus(max(round(CONVERSATIONS * EVENTS * scale), EVENTS), QUESTIONS, seed=year)


def live(home: Home, said: Corpus, clock: FixedClock, scale: float) -> None:
    """Write one year."""
    mem, texts = home.agent("ana"), iter(said.texts)
    conversations = max(round(CONVERSATIONS * scale), 1)
    for _ in range(conversations):
        clock.advance(YEAR // conversations)
        talk = mem.conversations.start()
        for _ in range(EVENTS // 2):
            talk.user(next(texts))
            talk.assistant(next(texts))
        talk.end()
    mem.remember_many(recollect.Add(f"{text} {clock.now()}") for text in said.texts[: round(ENTRIES * scale)])


def spent(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds that it takes."""
    start = clock()
    work()
    return clock() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--years", type=int, default=10)
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--location", type=Path)
    parser.add_argument("--alone", action="store_true", help="without recalls meanwhile, in processor time")
    given = parser.parse_args()
    made = said_in(1, given.scale)
    clock_used = time.process_time if given.alone else time.perf_counter
    width = 7 if given.alone else 18
    columns = "  ".join(f"{name[:width]:>{width}}" for name in (*JOBS, "check", "backup"))
    print(f"year       MB    live  recall  search  context ms |  {columns}", flush=True)
    with tempfile.TemporaryDirectory(dir=given.location) as folder:
        path, clock = Path(folder, "memory.db"), FixedClock()
        with recollect.open(path, settings=WORDS_ALONE, clock=clock) as home:
            mem = home.agent("ana")
            for year in range(1, given.years + 1):
                lived = spent(partial(live, home, said_in(year, given.scale), clock, given.scale), clock_used)
                times = [
                    timed(lambda question: mem.recall(question, limit=10), made.questions, clock_used),
                    timed(lambda question: mem.conversations.search(question), made.questions, clock_used),
                    timed(lambda question: mem.context(command=question), made.questions[:10], clock_used),
                ]
                copy, backup = Path(folder, "before.db"), Path(folder, "copy.db")
                steps: list[Callable[[], object]] = [partial(home.jobs.run, job) for job in JOBS]
                steps += [home.check, partial(home.backup, backup)]
                print(f"{year:4} {home.stats().bytes / 1e6:8.1f} {lived:7.1f}", end=" ")
                print(" ".join(f"{one:7.2f}" for one in times), end=" |", flush=True)
                if given.alone:
                    for step in steps:
                        print(f"  {spent(step, clock_used):7.2f}", end="", flush=True)
                else:
                    home.backup(copy)
                    with closing(Recallers(home, path, copy, made.questions)) as recallers:
                        for step in steps:
                            seconds, series = recallers.beside(step)
                            slowest = "/".join(f"{max(taken):.0f}" for taken in series)
                            print(f"  {f'{seconds:.2f}:{slowest}':>18}", end="", flush=True)
                    copy.unlink()
                print(f"  copy {backup.stat().st_size / 1e6:.1f} MB", flush=True)
                backup.unlink()
    if not given.alone:
        print("of a job: seconds : slowest recall in milliseconds of a thread beside it / a process / the control")


if __name__ == "__main__":
    main()
