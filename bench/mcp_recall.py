"""A recall through the MCP server in a process of its own, next to the same call of the library, in turns.

python bench/mcp_recall.py [entries]      goal: less than twice the library's time and 5 ms
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from corpus import corpus
from mcp import Client, StdioServerParameters

import recollect

QUESTIONS = 200


async def measured(path: Path, questions: list[str], mode: str) -> tuple[list[float], list[float]]:
    """What the library and the server took for each question, one after the other, so that both meet the same load."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "recollect", "mcp", "--home", str(path)], env=dict(os.environ)
    )
    library, served = [], []
    with recollect.open(path) as home:
        mem = home.agent("default")
        async with Client(server, mode=mode) as client:
            for place, question in enumerate([questions[0], *questions]):
                start = time.perf_counter()
                mem.recall(question, limit=5)
                between = time.perf_counter()
                done = await client.call_tool("memory", {"action": "recall", "query": question, "limit": 5})
                end = time.perf_counter()
                assert not getattr(done, "is_error", False)
                if place:  # the first one opens the file
                    library.append((between - start) * 1000)
                    served.append((end - between) * 1000)
    return library, served


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    made = corpus(size, QUESTIONS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with recollect.open(path) as home:
            home.agent("default").remember_many(recollect.Add(text) for text in made.texts)
        print(f"{size:,} entries, {QUESTIONS} questions; median and p95 in ms")
        for mode, revision in (("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")):
            library, served = asyncio.run(measured(path, made.questions, mode))
            for name, taken in (("library", library), (f"MCP {revision}", served)):
                print(f"{name:16} {statistics.median(taken):8.2f} {sorted(taken)[int(len(taken) * 0.95)]:8.2f}")
            limit = 2 * statistics.median(library) + 5
            verdict = "met" if statistics.median(served) < limit else "missed"
            print(f"the goal of {limit:.2f} ms is {verdict}")


if __name__ == "__main__":
    main()
