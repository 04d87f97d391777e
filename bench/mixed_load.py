"""A server under mixed load for minutes: its memory and the times of each kind of request, minute by minute.

    python bench/mixed_load.py [--entries N] [--clients N] [--minutes N] [--pause SECONDS] [--embedder none|local]
        [--rows FILE.jsonl] [--plot FILE.svg] [--code FOLDER] [--workers N] [--memory-limit MB]
    python bench/mixed_load.py --rows FILE.jsonl --plot FILE.svg --drawn

The clients, each a process with one connection, recall (6 of 10), write (2), build a context and list entries, with
a pause after each request, none by default. `--code` is the `src` folder of another version of recollect for the
server. `--rows` gets a line of JSON per minute while the load goes on; `--drawn` only draws the plot of such a file.
What the plot calls "without caches" is the resident memory without what `/metrics` says the caches hold: those grow
with the store, of which a fifth of the requests makes more.
"""

import argparse
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from http.client import HTTPConnection
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Empty
from urllib.parse import urlsplit

from corpus import Corpus, corpus

import recollect
from recollect import Settings
from recollect.config import EmbedderSettings

QUESTIONS = 200
JSON = {"Content-Type": "application/json"}
Sample = tuple[float, str, float]
"""When a request ended, in seconds since the start; its kind; how long it took."""
Row = dict[str, float]
"""The figures of a part of the time: memory and sizes in MB, times in milliseconds."""
CACHES = ("words", "turns", "vectors", "pages")
SEND_EVERY = 5.0
"""Seconds after which a client passes on its samples."""
KINDS = ("recall", "write", "context")


def request(turn: int, number: int, made: Corpus) -> tuple[str, str, str, object]:
    """The kind, method, path and body of a client's next request."""
    question = made.questions[turn % QUESTIONS]
    match turn % 10:
        case 6 | 7:
            content = f"{made.texts[turn % len(made.texts)]} {number} {turn}"
            return "write", "POST", "/v1/entries", {"content": content}
        case 8:
            return "context", "POST", "/v1/context", {"command": question}
        case 9:
            return "list", "GET", "/v1/entries?limit=20", None
        case _:
            return "recall", "POST", "/v1/recall", {"query": question, "limit": 10}


def client(
    address: str, number: int, span: tuple[float, float], pause: float, made: Corpus, done: "Queue[list[Sample]]"
) -> None:
    """One client, until the end. An answer that is no success has its status in its kind."""
    connection, samples, turn = HTTPConnection(urlsplit(address).netloc, timeout=120), list[Sample](), number * 1_000
    start, end = span
    sent = start
    while (begun := time.time()) < end:
        turn += 1
        kind, method, path, body = request(turn, number, made)
        connection.request(method, path, None if body is None else json.dumps(body), JSON)
        answer = connection.getresponse()
        answer.read()
        if answer.status not in (200, 201):
            kind = f"{kind} {answer.status}"
        samples.append((time.time() - start, kind, time.time() - begun))
        if time.time() - sent > SEND_EVERY:
            done.put(samples)
            samples, sent = [], time.time()
        time.sleep(pause)
    done.put(samples)
    done.put([])  # the end


def megabytes(pid: int) -> float:
    """Resident memory of a process (Linux)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor(pid: int) -> float:
    """Processor time that a process has used, in seconds (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def at(values: list[float], share: float) -> float:
    """A percentile of sorted values, in milliseconds."""
    return values[min(int(len(values) * share), len(values) - 1)] * 1000 if values else 0.0


def caches(address: str) -> dict[str, float]:
    """What `/metrics` says about memory, in MB by part."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    found = re.findall(r'^recollect_memory_bytes\{.*?part="(\w+)".*?\} (\S+)$', text, re.MULTILINE)
    return {part: float(size) / 1e6 for part, size in found}


def row(minute: float, samples: list[Sample], sizes: Row, used: float) -> Row:
    """The figures of one part of the time."""
    found: Row = {"minute": minute, **sizes, "requests": len(samples)}
    found["failed"] = sum(" " in kind for _, kind, _ in samples)
    found["cpu"] = 1000 * used / max(len(samples), 1)
    for name in KINDS:
        times = sorted(took for _, kind, took in samples if kind == name)
        found |= {f"{name} p{share}": at(times, share / 100) for share in (25, 50, 75, 99)}
    return found


def show(one: Row) -> None:
    """Print a line of figures."""
    times = "  ".join(f"{one[name]:7.1f}" for name in ("recall p25", "recall p50", "recall p75", "recall p99"))
    print(
        f"{one['minute']:6.1f} {one['resident']:8.0f} {one['resident'] - held(one):8.0f} {one['file']:7.0f} "
        f"{one['requests']:8.0f} {one['cpu']:8.2f} {times} {one['write p50']:9.1f} {one['context p50']:11.1f}",
        flush=True,
    )


def held(one: Row) -> float:
    """What the caches hold, in MB."""
    return sum(one.get(name, 0.0) for name in CACHES)


def panel(rows: list[Row], top: int, lines: list[tuple[str, str, list[float]]]) -> list[str]:
    """One diagram of several lines, each with its name, colour and values."""
    width, height, left = 640, 170, 60
    most = max(max(values) for _, _, values in lines) * 1.1 or 1.0
    scale = 10.0 ** len(str(int(most / 2))) / 10
    scale = max(step for step in (scale, 2 * scale, 5 * scale) if step <= most / 2)
    made = [f'<path d="M{left} {top}V{top + height}H{width - 10}" fill="none" stroke="#57606a"/>']
    for mark in range(int(most / scale) + 1):
        y = top + height - mark * scale / most * height
        made.append(f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{mark * scale:g}</text>')
        made.append(f'<path d="M{left} {y:.1f}H{width - 10}" stroke="#d0d7de" stroke-width="0.5"/>')
    last = rows[-1]["minute"]
    for number, (name, colour, values) in enumerate(lines):
        points = " ".join(
            f"{left + one['minute'] / last * (width - left - 10):.1f},{top + height - value / most * height:.1f}"
            for one, value in zip(rows, values, strict=True)
        )
        made.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
        made.append(f'<text x="{left + 8 + 190 * number}" y="{top - 6}" fill="{colour}">{name}</text>')
    marks = range(0, int(last) + 1, 10 if last >= 20 else max(int(last / 4), 1))
    for minute in marks:
        x = left + minute / last * (width - left - 10)
        made.append(f'<text x="{x:.0f}" y="{top + height + 14}" text-anchor="middle">{minute} min</text>')
    return made


def plot(rows: list[Row]) -> str:
    """An SVG of memory and times by minute."""
    memory = [
        ("resident memory, MB", "#1f6feb", [one["resident"] for one in rows]),
        ("without caches, MB", "#8250df", [one["resident"] - held(one) for one in rows]),
        ("file of the memory, MB", "#57606a", [one["file"] for one in rows]),
    ]
    times = [
        ("recall, p50, ms", "#2da44e", [one["recall p50"] for one in rows]),
        ("recall, p99, ms", "#cf222e", [one["recall p99"] for one in rows]),
        ("context, p50, ms", "#bf8700", [one["context p50"] for one in rows]),
    ]
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 470" font-family="sans-serif" font-size="12">'
    back = '<rect width="640" height="470" fill="#fff"/>'
    return "\n".join([head, back, *panel(rows, 30, memory), *panel(rows, 265, times), "</svg>\n"])


def watch(
    server: int, address: str, location: Path, span: tuple[float, float], done: "Queue[list[Sample]]", clients: int
) -> Iterator[Row]:
    """Yield the figures of each minute, or of each sixth of a shorter run, until all clients have ended."""
    start, end = span
    step = min(60.0, (end - start) / 6)
    samples, due, used, most = list[Sample](), start + step, processor(server), 0.0
    while clients:
        with suppress(Empty):
            some = done.get(timeout=1)
            samples += some
            clients -= not some
        most = max(most, megabytes(server))
        if time.time() >= due or not clients:
            sizes = {"resident": most, "file": location.stat().st_size / 1e6}
            sizes |= {part: size for part, size in caches(address).items() if part in CACHES}
            now = processor(server)
            yield row((time.time() - start) / 60, samples, sizes, now - used)
            samples, due, used, most = [], due + step, now, 0.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, default=23_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--embedder", choices=("none", "local"), default="local")
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--drawn", action="store_true", help="only draw the plot of the rows of an earlier run")
    parser.add_argument("--code", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--memory-limit", type=int, default=0)
    parser.add_argument("--fill", help="only write the entries to this location, with the code that is imported")
    given = parser.parse_args()
    if given.drawn:
        given.plot.write_text(plot([json.loads(line) for line in given.rows.read_text().splitlines()]))
        return
    made = corpus(given.entries, QUESTIONS)
    if given.fill:
        with recollect.open(given.fill, settings=Settings(embedder=EmbedderSettings(kind=given.embedder))) as home:
            home.agent("default").remember_many(recollect.Add(text) for text in made.texts)
        return
    environment = {**os.environ, "RECOLLECT_EMBEDDER_KIND": given.embedder}
    environment["RECOLLECT_SERVER_MEMORY_LIMIT"] = str(given.memory_limit)
    if given.code:
        environment["PYTHONPATH"] = f"{given.code}:{Path(__file__).parent}:{environment.get('PYTHONPATH', '')}"
    with tempfile.TemporaryDirectory() as folder, Path(folder, "log").open("wb") as log:
        location = str(Path(folder, "memory.db"))
        filling = [__file__, "--fill", location, "--entries", str(given.entries), "--embedder", given.embedder]
        subprocess.run([sys.executable, *filling], env=environment, check=True)
        words = ["-m", "recollect", "--json", "serve", "--home", location, "--port", "0"]
        words += ["--workers", str(given.workers)] if given.workers > 1 else []
        server = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=log, env=environment)
        assert server.stdout is not None
        received = b""
        while not received.endswith(b"}\n"):
            received += server.stdout.readline()
        address = json.loads(received)["url"]
        start = time.time()
        span = start, start + given.minutes * 60
        context = multiprocessing.get_context("fork")
        done: Queue[list[Sample]] = context.Queue()
        clients = [
            context.Process(target=client, args=(address, number, span, given.pause, made, done))
            for number in range(given.clients)
        ]
        for one in clients:
            one.start()
        print("minute resident  without    file requests      CPU   recall p25      p50      p75      p99  write p50")
        rows = list[Row]()
        with given.rows.open("w") if given.rows else nullcontext() as file:
            for figures in watch(server.pid, address, Path(location), span, done, given.clients):
                rows.append(figures)
                show(figures)
                if file is not None:
                    print(json.dumps(figures), file=file, flush=True)
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0
    print(f"{sum(one['requests'] for one in rows):,.0f} requests, {sum(one['failed'] for one in rows):.0f} failed")
    if given.plot:
        given.plot.write_text(plot(rows))


if __name__ == "__main__":
    main()
