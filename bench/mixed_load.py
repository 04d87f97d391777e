"""A server under mixed load for minutes: its memory and the times of each kind of request, minute by minute.

    python bench/mixed_load.py [--entries N] [--clients N] [--minutes N] [--pause SECONDS] [--embedder none|local]
        [--plot FILE.svg] [--code FOLDER]

The clients, each a process with one connection, recall (6 of 10), write (2), build a context and list entries, with
a pause after each request, none by default. `--code` is the `src` folder of another version of recollect for the
server. The plot has the memory and the median and slow end of recalls.
"""

import argparse
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from multiprocessing.queues import Queue
from pathlib import Path
from urllib.parse import urlsplit

from corpus import Corpus, corpus

import recollect
from recollect import Settings
from recollect.config import EmbedderSettings

QUESTIONS = 200
JSON = {"Content-Type": "application/json"}
Sample = tuple[float, str, float]
"""When a request ended, in seconds since the start; its kind; how long it took."""

Usage = tuple[float, float, float]
"""When the server was looked at, its resident memory in MB, and the processor time that it has used, in seconds."""
PlotRow = tuple[float, float, float, float]
"""Minute, memory in MB, median and p99 of recalls in milliseconds."""
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
    while (begun := time.time()) < end:
        turn += 1
        kind, method, path, body = request(turn, number, made)
        connection.request(method, path, None if body is None else json.dumps(body), JSON)
        answer = connection.getresponse()
        answer.read()
        if answer.status not in (200, 201):
            kind = f"{kind} {answer.status}"
        samples.append((time.time() - start, kind, time.time() - begun))
        time.sleep(pause)
    done.put(samples)


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


def plot(rows: list[PlotRow]) -> str:
    """An SVG of (minute, memory, median, p99)."""
    width, height, left = 640, 300, 60
    most = [max(row[column] for row in rows) * 1.15 or 1.0 for column in (1, 3)]
    step = (width - 2 * left) / max(len(rows) - 1, 1)

    def line(column: int, top: float, colour: str) -> str:
        at_row = enumerate(rows)
        points = " ".join(f"{left + i * step:.1f},{height - 40 - row[column] / top * 220:.1f}" for i, row in at_row)
        return f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>'

    texts = [
        (left, 20, "#1f6feb", f"memory, MB (top {most[0]:.0f})"),
        (left + 170, 20, "#2da44e", "recall p50, ms"),
        (left + 300, 20, "#cf222e", f"recall p99, ms (top {most[1]:.0f})"),
        (left, height - 15, "#57606a", f"{rows[0][0]:.1f} min"),
        (width - left - 50, height - 15, "#57606a", f"{rows[-1][0]:.1f} min"),
    ]
    drawn = [f'<text x="{x}" y="{y}" fill="{colour}" font-size="13">{text}</text>' for x, y, colour, text in texts]
    lines = [line(1, most[0], "#1f6feb"), line(2, most[1], "#2da44e"), line(3, most[1], "#cf222e")]
    axis = f'<path d="M{left} 40V{height - 40}H{width - left}" fill="none" stroke="#57606a"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="#fff"/>', axis, *lines, *drawn, "</svg>\n"])


def report(samples: list[Sample], usage: list[Usage], minutes: float) -> list[PlotRow]:
    """Print a line for each part of the time; return (minute, memory, median and p99 of recalls) of each."""
    parts = max(int(minutes), 6)
    rows = []
    print("minute     MB  requests  CPU ms each   recall p25      p50      p75      p99  write p50  context p50 (ms)")
    for part in range(parts):
        low, high = part * minutes * 60 / parts, (part + 1) * minutes * 60 / parts
        inside = [one for one in samples if low <= one[0] < high]
        times = {
            kind: sorted(took for _, name, took in inside if name == kind) for kind in ("recall", "write", "context")
        }
        here = [one for one in usage if low <= one[0] < high] or [(low, 0.0, 0.0)]
        held, used = max(size for _, size, _ in here), here[-1][2] - here[0][2]
        recall, write, context = times["recall"], times["write"], times["context"]
        rows.append((high / 60, held, at(recall, 0.5), at(recall, 0.99)))
        print(
            f"{high / 60:6.1f} {held:6.0f} {len(inside):9,} {1000 * used / max(len(inside), 1):12.2f} "
            f"{at(recall, 0.25):12.1f} {at(recall, 0.5):8.1f} {at(recall, 0.75):8.1f} {at(recall, 0.99):8.1f} "
            f"{at(write, 0.5):10.1f} {at(context, 0.5):12.1f}"
        )
    failed = sorted({kind for _, kind, _ in samples if " " in kind})
    print(f"{len(samples):,} requests; failed: {', '.join(failed) or 'none'}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, default=23_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--embedder", choices=("none", "local"), default="local")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--code", type=Path)
    parser.add_argument("--fill", help="only write the entries to this location, with the code that is imported")
    given = parser.parse_args()
    made = corpus(given.entries, QUESTIONS)
    if given.fill:
        with recollect.open(given.fill, settings=Settings(embedder=EmbedderSettings(kind=given.embedder))) as home:
            home.agent("default").remember_many(recollect.Add(text) for text in made.texts)
        return
    environment = {**os.environ, "RECOLLECT_EMBEDDER_KIND": given.embedder}
    if given.code:
        environment["PYTHONPATH"] = f"{given.code}:{Path(__file__).parent}"
    with tempfile.TemporaryDirectory() as folder, Path(folder, "log").open("wb") as log:
        location = str(Path(folder, "memory.db"))
        filling = [__file__, "--fill", location, "--entries", str(given.entries), "--embedder", given.embedder]
        subprocess.run([sys.executable, *filling], env=environment, check=True)
        words = ["-m", "recollect", "--json", "serve", "--home", location, "--port", "0"]
        server = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=log, env=environment)
        assert server.stdout is not None
        received = b""
        while not received.endswith(b"}\n"):
            received += server.stdout.readline()
        address = json.loads(received)["url"]
        start = time.time()
        end = start + given.minutes * 60
        context = multiprocessing.get_context("fork")
        done: Queue[list[Sample]] = context.Queue()
        clients = [
            context.Process(target=client, args=(address, number, (start, end), given.pause, made, done))
            for number in range(given.clients)
        ]
        for one in clients:
            one.start()
        usage = []
        while time.time() < end:
            usage.append((time.time() - start, megabytes(server.pid), processor(server.pid)))
            time.sleep(min(2.0, max(end - time.time(), 0)))
        samples = [sample for _ in clients for sample in done.get()]
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0
    rows = report(samples, usage, given.minutes)
    print(f"processor time of the server: {os.times().children_user + os.times().children_system:.0f} s with clients")
    if given.plot:
        given.plot.write_text(plot(rows))


if __name__ == "__main__":
    main()
