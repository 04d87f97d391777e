"""A recall through the MCP server in a process of its own, next to the same call of the library, in turns.

The client here writes a line and reads one: what a client does besides is not the server's time. The time on the clock
depends on what else the machine does; the processor time of both much less.

python bench/mcp_recall.py [entries]      goal: less than twice the library's time and 5 ms
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

import psutil
from corpus import corpus

import recollect

QUESTIONS = 200
OLD, NEW = "2025-11-25", "2026-07-28"
CLIENT = {"name": "bench", "version": "1"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Server:
    """The program, talked to over its streams in one of the revisions."""

    def __init__(self, path: Path, revision: str) -> None:
        words = [sys.executable, "-m", "recollect", "mcp", "--home", str(path)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ))
        self._numbers, self._revision = count(1), revision
        if revision == OLD:
            self.ask("initialize", {"protocolVersion": OLD, "capabilities": {}, "clientInfo": CLIENT})
            self._write({"method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a request."""
        if self._revision == NEW:
            params = {**params, "_meta": ENVELOPE}
        self._write({"id": next(self._numbers), "method": method, "params": params})
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())["result"]

    def busy(self) -> float:
        """The processor time so far, in seconds."""
        used = psutil.Process(self.process.pid).cpu_times()
        return used.user + used.system

    def stop(self) -> None:
        """End it."""
        self.process.communicate()

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()


def measured(path: Path, questions: list[str], revision: str) -> tuple[list[float], list[float], float, float]:
    """What the library and the server took for each question, one after the other, so that both meet the same load.

    Then the mean processor time of both. All in ms.
    """
    library, served, worked = list[float](), list[float](), 0.0
    server = Server(path, revision)
    with recollect.open(path) as home:
        mem = home.agent("default")
        for place, question in enumerate([questions[0], *questions]):
            start, busy = time.perf_counter(), time.thread_time()
            mem.recall(question, limit=5)
            between, busy = time.perf_counter(), time.thread_time() - busy
            done = server.ask(
                "tools/call", {"name": "memory", "arguments": {"action": "recall", "query": question, "limit": 5}}
            )
            end = time.perf_counter()
            assert not done.get("isError")
            if place:
                library.append((between - start) * 1000)
                served.append((end - between) * 1000)
                worked += busy * 1000
            else:  # the first one opens the file
                began = server.busy()
        spent = (server.busy() - began) * 1000
    server.stop()
    return library, served, worked / len(questions), spent / len(questions)


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    made = corpus(size, QUESTIONS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with recollect.open(path) as home:
            home.agent("default").remember_many(recollect.Add(text) for text in made.texts)
        print(f"{size:,} entries, {QUESTIONS} questions; median, p95 and processor time in ms")
        for revision in (OLD, NEW):
            library, served, worked, spent = measured(path, made.questions, revision)
            for name, taken, busy in (("library", library, worked), (f"MCP {revision}", served, spent)):
                late = sorted(taken)[int(len(taken) * 0.95)]
                print(f"{name:16} {statistics.median(taken):8.2f} {late:8.2f} {busy:8.2f}")
            limit = 2 * statistics.median(library) + 5
            verdict = "met" if statistics.median(served) < limit else "missed"
            print(f"the goal of {limit:.2f} ms is {verdict}")


if __name__ == "__main__":
    main()
