"""One run of every job over a large memory, while other processes read and write: times, memory, and what they notice.

    python bench/upkeep.py [entries] [conversations] [crowded] [alone]

The entries are passing notes with vectors of the local model in one SQLite file, spread over agents so that none has
more than may stay; one in twenty nearly repeats another one, one in twenty has faded. With `crowded` all are one
agent's, who has room for 10,000. Four processes recall and four remember, each with a pause between two calls; `before`
is the same without the jobs, and `alone` at the end of the command runs the jobs without them.
"""

import multiprocessing
import statistics
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event as Stop
from pathlib import Path

from corpus import corpus
from memory_use import current_megabytes

import recollect
from recollect import Settings
from recollect.config import EmbedderSettings

SETTINGS = Settings(embedder=EmbedderSettings(kind="local"))
QUESTIONS = 200
ROOM = 9_000
"""Entries of one agent."""
BEFORE_SECONDS = 15.0
WARM_SECONDS = 10.0
PAUSES = {"reader": 0.05, "writer": 0.1}
EACH = 4
JOBS = ("checkpoints", "extract", "shelve", "embed", "consolidate", "dream", "age", "retain", "reindex", "vacuum")
Calls = list[tuple[float, float]]
"""When each call began, and what it took; in seconds."""


def fill(path: Path, entries: int, conversations: int, crowded: bool) -> None:
    """Write the memory, in a process of its own so that the measured one starts with nothing."""
    texts = corpus(entries, QUESTIONS).texts
    with recollect.open(path, settings=SETTINGS) as home:
        room = entries if crowded else ROOM
        for start in range(0, entries, room):
            drafts = [
                recollect.Add(
                    f"{texts[number - 1]} again" if number % 20 == 19 else texts[number],
                    importance=0.009 if number % 20 == 9 else 0.5,
                )
                for number in range(start, min(start + room, entries))
            ]
            home.agent(f"agent-{start // room}").remember_many(drafts)
        mem = home.agent("agent-0")
        for number in range(conversations):
            talk = mem.conversations.start()
            talk.user(texts[number])
            talk.assistant(texts[-number - 1])
            if number % 10:
                talk.end()


def work(kind: str, number: int, agent: str, path: Path, stop: Stop, results: Connection) -> None:
    """What another process does all the time: recall, or remember."""
    made = corpus(1_000, QUESTIONS, seed=number)
    calls: Calls = []
    with recollect.open(path, settings=SETTINGS) as home:
        mem = home.agent(agent)
        while not stop.wait(PAUSES[kind]):
            began, start = time.time(), time.perf_counter()
            if kind == "reader":
                mem.recall(made.questions[len(calls) % QUESTIONS], limit=10)
            else:
                mem.remember(f"{made.texts[len(calls) % 1_000]} {number} {len(calls)}")
            calls.append((began, time.perf_counter() - start))
    results.send(calls)


class Peak:
    """The most memory that this process has held since the start of the block."""

    def __enter__(self) -> "Peak":
        self.megabytes, self._stop = current_megabytes(), threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self.megabytes = max(self.megabytes, current_megabytes())


def median(calls: Calls, since: float, until: float) -> float:
    """The median of the calls that began in a time, in milliseconds."""
    taken = [seconds for began, seconds in calls if since <= began < until]
    return statistics.median(taken) * 1000 if taken else float("nan")


def worst(calls: Calls, since: float, until: float) -> float:
    """The longest of the calls that began in a time, in milliseconds."""
    return max((seconds for began, seconds in calls if since <= began < until), default=float("nan")) * 1000


def main() -> None:
    crowded, alone = "crowded" in sys.argv, "alone" in sys.argv
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    entries, conversations = (*numbers, *(100_000, 1_000)[len(numbers) :])
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        start = time.perf_counter()
        filling = processes.Process(target=fill, args=(path, entries, conversations, crowded))
        filling.start()
        filling.join()
        print(
            f"{entries:,} entries and {conversations:,} conversations in {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        stop, workers = processes.Event(), []
        for number in range(0 if alone else 2 * EACH):
            kind = "reader" if number < EACH else "writer"
            agent = f"agent-{0 if crowded else number % EACH}"
            receiving, sending = processes.Pipe(duplex=False)
            worker = processes.Process(target=work, args=(kind, number + 1, agent, path, stop, sending))
            worker.start()
            workers.append((kind, worker, receiving))
        with recollect.open(path, settings=SETTINGS) as home:
            home.agent("agent-0").recall("what did we say about the", limit=1)
            time.sleep(0 if alone else WARM_SECONDS)
            before = time.time()
            time.sleep(0 if alone else BEFORE_SECONDS)
            idle = current_megabytes()
            spans: list[tuple[str, float, float, str]] = []
            with Peak() as peak:
                for job in JOBS:
                    began = time.time()
                    run = home.jobs.run(job)
                    received = (
                        f"error: {run.error}" if run.error else ", ".join(f"{k} {v:,}" for k, v in run.figures.items())
                    )
                    spans.append((job, began, time.time(), received))
                    print(f"  {job}: {time.time() - began:.1f} s, {received}", file=sys.stderr, flush=True)
                    del run
            stop.set()
            calls: dict[str, Calls] = {} if alone else {"reader": [], "writer": []}
            for kind, worker, receiving in workers:
                calls[kind] += receiving.recv()
                worker.join()
            home.jobs.run_due()
            taken = []
            for _ in range(50):
                start = time.perf_counter()
                home.jobs.run_due()
                taken.append((time.perf_counter() - start) * 1000)
        began, ended = spans[0][1], spans[-1][2]
        print(f"{'job':12} {'seconds':>8}{''.join(f'{kind:>9}×' for kind in calls)}  figures")
        usual = {kind: median(made, before, began) for kind, made in calls.items()}
        for job, since, until, received in spans:
            ratios = "".join(f"{median(calls[kind], since, until) / usual[kind]:10.2f}" for kind in usual)
            print(f"{job:12} {until - since:8.1f}{ratios}  {received}")
        print(f"{'all':12} {ended - began:8.1f} s; {peak.megabytes - idle:.0f} MB above the idle {idle:.0f} MB")
        for kind, made in calls.items():
            during = median(made, began, ended)
            print(
                f"{kind}s: median {usual[kind]:.1f} ms before, {during:.1f} ms during ({during / usual[kind]:.2f} ×); "
                f"worst {worst(made, before, began):.0f} ms before, {worst(made, began, ended):.0f} ms during"
            )
        print(f"run_due with nothing due: {statistics.median(taken):.2f} ms")


if __name__ == "__main__":
    main()
