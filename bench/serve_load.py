"""The server next to the library in one run, and under the load of many clients: times, errors, and lost writes.

    python bench/serve_load.py [--entries N] [--clients N] [--seconds N] [--workers N] [--location LOCATION]

`recollect serve` runs in a process of its own. First one client asks it and the library the same questions in turns,
without background jobs, which take their share of either. Then, with them, the clients, each a process with one
connection, read, write, and do both (a write for every four reads), for so many seconds each. Afterwards every entry
whose write was acknowledged must be there. The location is a new file by default; an empty PostgreSQL database will do
as well. Words alone: no embedder.
"""

import argparse
import json
import multiprocessing
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from corpus import corpus

import recollect
from recollect import Settings
from recollect.config import EmbedderSettings

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))
QUESTIONS = 200
ROUNDS = 3


@dataclass
class Done:
    """What one client did."""

    seconds: list[float] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Client:
    """One connection to the server."""

    def __init__(self, address: str) -> None:
        self._connection = HTTPConnection(urlsplit(address).netloc, timeout=60)

    def post(self, path: str, body: object) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", f"{path}?agent=bench", json.dumps(body), headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()


def load(address: str, number: int, seconds: float, kind: str, questions: list[str], texts: list[str]) -> Done:
    """One client of many, for so long."""
    done, client = Done(), Client(address)
    end = time.perf_counter() + seconds
    turn = number
    while (start := time.perf_counter()) < end:
        turn += 1
        writes = kind == "writes" or (kind == "mix" and turn % 5 == 0)
        try:
            if writes:
                status, body = client.post("/v1/entries", {"content": f"{texts[turn % len(texts)]} {number} {turn}"})
            else:
                status, body = client.post("/v1/recall", {"query": questions[turn % len(questions)], "limit": 10})
        except OSError as error:
            done.errors.append(repr(error))
            client = Client(address)
            continue
        done.seconds.append(time.perf_counter() - start)
        if status not in (200, 201):
            done.errors.append(f"{status} {body[:200]!r}")
        elif writes:
            done.ids.append(json.loads(body)["id"])
    return done


@contextmanager
def server(location: str, *options: str) -> Iterator[str]:
    """The address of a server in a process of its own; its log goes to a file, as it would elsewhere."""
    environment = {**os.environ, "RECOLLECT_EMBEDDER_KIND": "none"}
    words = ["-m", "recollect", "--json", "serve", "--home", location, "--port", "0", *options]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=log, env=environment)
        assert process.stdout is not None
        received = b""
        while not received.endswith(b"}\n"):
            line = process.stdout.readline()
            assert line, "the server did not start"
            received += line
        try:
            yield json.loads(received)["url"]
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0


def compare(mem: recollect.Memory, address: str, questions: list[str]) -> None:
    """The same questions to the library and to the server, in turns."""
    client = Client(address)
    ours: list[float] = []
    served: list[float] = []
    for turn in range(ROUNDS + 1):
        for question in questions:
            start = time.perf_counter()
            mem.recall(question, limit=10)
            between = time.perf_counter()
            status, _ = client.post("/v1/recall", {"query": question, "limit": 10})
            end = time.perf_counter()
            assert status == 200
            if turn:  # the first round warms up
                ours.append(between - start)
                served.append(end - between)
    library, rest = statistics.median(ours) * 1000, statistics.median(served) * 1000
    print(f"recall, one client: library {library:.2f} ms, server {rest:.2f} ms: {rest / library:.2f} ×, ", end="")
    print(f"{rest - library:+.2f} ms; aim {2 * library + 2:.2f} ms at most")


def crowd(address: str, clients: int, seconds: float, kind: str, questions: list[str], texts: list[str]) -> list[str]:
    """Many clients at once; the ids of everything that they were told is stored."""
    work = [(address, number, seconds, kind, questions, texts) for number in range(clients)]
    with multiprocessing.get_context("fork").Pool(clients) as pool:
        done = pool.starmap(load, work, chunksize=1)
    taken = sorted(one for client in done for one in client.seconds)
    errors = [error for client in done for error in client.errors]
    at = [taken[min(int(len(taken) * share), len(taken) - 1)] * 1000 for share in (0.5, 0.95, 0.99)]
    print(f"{kind:7} {at[0]:8.1f} {at[1]:8.1f} {at[2]:8.1f} ms {len(taken) / seconds:10,.0f}/s {len(errors):6} errors")
    for error in errors[:3]:
        print(f"        {error}")
    return [identity for client in done for identity in client.ids]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--location", help="a file that is not there yet, or an empty PostgreSQL database")
    given = parser.parse_args()
    made = corpus(given.entries, QUESTIONS)
    with tempfile.TemporaryDirectory() as folder:
        location = given.location or str(Path(folder) / "memory.db")
        with recollect.open(location, settings=WORDS_ALONE) as home:
            home.agent("bench").remember_many(recollect.Add(text) for text in made.texts)
        with server(location, "--no-upkeep") as address, recollect.open(location, settings=WORDS_ALONE) as home:
            compare(home.agent("bench"), address, made.questions)
        with server(location, "--workers", str(given.workers)) as address:
            print(f"{given.clients} clients, {given.workers} worker(s):  p50      p95      p99")
            stored: list[str] = []
            for kind in ("reads", "writes", "mix"):
                stored += crowd(address, given.clients, given.seconds, kind, made.questions, made.texts)
        with recollect.open(location, settings=WORDS_ALONE) as home:
            mem = home.agent("bench")
            lost = sum(not mem.history(identity) for identity in stored)  # a job may have merged some meanwhile
        print(f"{len(stored):,} writes were acknowledged, {lost} of them are lost")


if __name__ == "__main__":
    main()
