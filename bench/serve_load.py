"""The server next to the library in one run, and under the load of many clients: times, errors, and lost writes.

    python bench/serve_load.py [--entries N] [--clients N] [--seconds N] [--workers N] [--location LOCATION]
    python bench/serve_load.py --before FOLDER [--rounds N] [--postgres URL] …

`recollect serve` runs in a process of its own. First one client asks it and the library the same questions in turns,
without background jobs, which take their share of either. Then, with them, the clients read, write, and do both (a
write for every four reads), for so many seconds each. All are connections of one process with prepared requests, which
takes a tenth of a millisecond of processor time for a request. Afterwards every entry whose write was acknowledged must
be there. The location is a new file by default; an empty PostgreSQL database will do as well. Words alone: no embedder.

With `--before`, the `src` folder of another version, only the clients run, on each version in turns, on new
memories and without background jobs; `--postgres` names a server on which it may make databases.

It also says how much processor time the server takes for a request, and, for one worker, how much it takes from the
moment a request is sent until its response is there: p50 and p99 of that do not depend on what other programs compute.
The requests of the first second are not counted: each client's first one waits for what the server reads only once.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import re
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
from typing import cast
from urllib.parse import urlsplit

import uvloop
from corpus import Corpus, corpus

import recollect
from recollect import Settings
from recollect.config import EmbedderSettings

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))
QUESTIONS = 200
ROUNDS = 3
WARMING = 1.0
"""Seconds before requests count."""
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass
class Done:
    """What one client did."""

    seconds: list[float] = field(default_factory=list)
    computed: list[float] = field(default_factory=list)
    """Processor time of the server while a request was under way, in seconds."""
    requests: int = 0
    """All of them, also those of the first second."""
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


class Connection(asyncio.Protocol):
    """One client of many: sends a request as soon as the response to the last one is complete."""

    def __init__(
        self, done: Done, requests: Iterator[tuple[bool, bytes]], end: float, seconds: float, server: int
    ) -> None:
        self._done, self._requests, self._since, self._until = done, requests, end - seconds, end
        self._server = ~server << 3 | 2  # Linux's number for the processor clock of a process
        self.ended = asyncio.get_running_loop().create_future()
        self._received, self._missing, self._writes, self._start = b"", 0, False, 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._next()

    def _next(self) -> None:
        self._start = time.perf_counter()
        if self._start >= self._until:
            self.ended.set_result(None)
            return
        self._writes, request = next(self._requests)
        self._received = b""
        self._computed = time.clock_gettime(self._server)
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < int(LENGTH.search(head)[1]):  # type: ignore[index]
            return
        self._done.requests += 1
        if self._start >= self._since:
            self._done.seconds.append(time.perf_counter() - self._start)
            self._done.computed.append(time.clock_gettime(self._server) - self._computed)
        if head[9:12] not in (b"200", b"201"):
            self._done.errors.append(f"{head[9:12]!r} {body[:200]!r}")
        elif self._writes:
            self._done.ids.append(json.loads(body)["id"])
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self._done.errors.append(repr(error))
            self.ended.set_result(None)


def prepared(number: int, kind: str, made: Corpus, host: str) -> Iterator[tuple[bool, bytes]]:
    """Whether it writes, and the bytes, of each request of a client."""
    turn = number * 1_000
    while True:
        turn += 1
        writes = kind == "writes" or (kind == "mix" and turn % 5 == 0)
        body: dict[str, object] = {"query": made.questions[turn % len(made.questions)], "limit": 10}
        if writes:
            body = {"content": f"{made.texts[turn % len(made.texts)]} {number} {turn}"}
        path, sent = "/v1/entries" if writes else "/v1/recall", json.dumps(body).encode()
        head = f"POST {path}?agent=bench HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        yield writes, head.encode() + b"Content-Length: %d\r\n\r\n" % len(sent) + sent


async def load(address: str, pid: int, clients: int, seconds: float, kind: str, made: Corpus) -> Done:
    """All clients, for so long."""
    done, where = Done(), urlsplit(address)
    end, loop = time.perf_counter() + WARMING + seconds, asyncio.get_running_loop()
    everyone = []
    for number in range(clients):
        requests = prepared(number, kind, made, where.netloc)
        _, one = await loop.create_connection(
            lambda requests=requests: Connection(done, requests, end, seconds, pid),  # type: ignore[misc]
            where.hostname or "",
            where.port or 0,
        )
        everyone.append(one)
    await asyncio.gather(*(one.ended for one in everyone))
    return done


def loaded(address: str, pid: int, clients: int, seconds: float, kind: str, made: Corpus) -> Done:
    """All clients, in a process of their own."""
    return uvloop.run(load(address, pid, clients, seconds, kind, made))


@contextmanager
def server(location: str, *options: str, code: Path | None = None) -> Iterator[tuple[str, int]]:
    """The address and the id of a server in a process of its own; its log goes to a file, as it would elsewhere."""
    environment = {**os.environ, "RECOLLECT_EMBEDDER_KIND": "none"}
    if code is not None:
        environment["PYTHONPATH"] = str(code)
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
            yield json.loads(received)["url"], process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0


def processor(pid: int) -> float:
    """Processor time that a process and its children have used, in seconds (Linux)."""
    used = 0.0
    for one in [pid, *(int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]:
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        used += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used


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


def percentiles(seconds: list[float]) -> list[float]:
    """p50, p95 and p99 in milliseconds."""
    ordered = sorted(seconds)
    return [ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000 for share in (0.5, 0.95, 0.99)]


def crowd(address: str, pid: int, clients: int, seconds: float, kind: str, made: Corpus) -> list[str]:
    """Many clients at once; the ids of everything that they were told is stored."""
    before = processor(pid)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        done = pool.apply(loaded, (address, pid, clients, seconds, kind, made))
    used = (processor(pid) - before) * 1000 / max(done.requests, 1)
    at, computed = percentiles(done.seconds), percentiles(done.computed)
    print(f"{kind:7} {at[0]:8.1f} {at[1]:8.1f} {at[2]:8.1f} ms {len(done.seconds) / seconds:10,.0f}/s ", end="")
    print(f"{len(done.errors):6} errors; processor time {used:6.2f} ms each, ", end="")
    print(f"while under way p50 {computed[0]:6.1f}, p99 {computed[2]:6.1f} ms", flush=True)
    for error in done.errors[:3]:
        print(f"        {error}")
    return done.ids


def fill(location: str, made: Corpus) -> None:
    """Write the entries, with the code that is imported."""
    with recollect.open(location, settings=WORDS_ALONE) as home:
        home.agent("bench").remember_many(recollect.Add(text) for text in made.texts)


def lost(location: str, stored: list[str]) -> int:
    """How many acknowledged writes are not there."""
    with recollect.open(location, settings=WORDS_ALONE) as home:
        mem = home.agent("bench")
        return sum(not mem.history(identity) for identity in stored)  # a job may have merged some meanwhile


@contextmanager
def new_location(postgres: str | None, number: int) -> Iterator[str]:
    """A location for a memory: a file, or a database on a server."""
    if postgres is None:
        with tempfile.TemporaryDirectory() as folder:
            yield str(Path(folder) / "memory.db")
        return
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS load{number}")
        connection.execute(f"CREATE DATABASE load{number}")
    yield f"{postgres.rpartition('/')[0]}/load{number}"


def alternate(given: argparse.Namespace, made: Corpus) -> None:
    """The clients on the former code and the present one, in turns."""
    print(f"{given.clients} clients, {given.workers} worker(s):   p50      p95      p99")
    for number in range(given.rounds):
        for name, code in (("before", given.before), ("now", Path(__file__).parents[1] / "src")):
            with new_location(given.postgres, number) as location:
                filling = [sys.executable, __file__, "--fill", location, "--entries", str(given.entries)]
                paths = f"{code}:{Path(__file__).parent}"
                subprocess.run(filling, env={**os.environ, "PYTHONPATH": paths}, check=True)
                stored = list[str]()
                options = ["--no-upkeep", *(["--workers", str(given.workers)] if given.workers > 1 else [])]
                with server(location, *options, code=code) as (address, pid):
                    for kind in given.kinds.split(","):
                        print(f"{name:7} ", end="")
                        stored += crowd(address, pid, given.clients, given.seconds, kind, made)
                if code != given.before:  # which cannot be imported beside this one
                    print(f"{len(stored):,} writes were acknowledged, {lost(location, stored)} of them are lost")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--location", help="a file that is not there yet, or an empty PostgreSQL database")
    parser.add_argument("--before", type=Path, help="the src folder of another version to compare with")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--kinds", default="reads,writes")
    parser.add_argument("--postgres", help="the URL of a database on a server that may be filled with others")
    parser.add_argument("--fill", help="only write the entries to this location")
    given = parser.parse_args()
    made = corpus(given.entries, QUESTIONS)
    if given.fill:
        fill(given.fill, made)
        return
    if given.before:
        alternate(given, made)
        return
    with tempfile.TemporaryDirectory() as folder:
        location = given.location or str(Path(folder) / "memory.db")
        fill(location, made)
        with server(location, "--no-upkeep") as (address, _), recollect.open(location, settings=WORDS_ALONE) as home:
            compare(home.agent("bench"), address, made.questions)
        with server(location, "--workers", str(given.workers)) as (address, pid):
            print(f"{given.clients} clients, {given.workers} worker(s):  p50      p95      p99")
            stored: list[str] = []
            for kind in ("reads", "writes", "mix"):
                stored += crowd(address, pid, given.clients, given.seconds, kind, made)
        print(f"{len(stored):,} writes were acknowledged, {lost(location, stored)} of them are lost")


if __name__ == "__main__":
    main()
