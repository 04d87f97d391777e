"""Hybrid recall next to keyword recall on the same entries, in one run, embedding of the query included.

    python bench/hybrid_recall.py [entries]

The vectors are those of the local model.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from corpus import corpus
from memory_use import current_megabytes

import recollect
from recollect import Settings
from recollect.config import EmbedderSettings

QUESTIONS = 200


def median(mem: recollect.Memory, questions: list[str], mode: str) -> float:
    """The median time of a recall in milliseconds, after some to warm up."""
    for question in questions[:20]:
        mem.recall(question, limit=10, mode=mode)
    taken = []
    for question in questions:
        start = time.perf_counter()
        mem.recall(question, limit=10, mode=mode)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


def main() -> None:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    made = corpus(entries, QUESTIONS)
    settings = Settings(embedder=EmbedderSettings(kind="local"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        start = time.perf_counter()
        with recollect.open(path, settings=settings) as home:
            home.agent("bench").remember_many(recollect.Add(entry) for entry in made.texts)
        built = time.perf_counter() - start
        del made.texts[:]
        with recollect.open(path, settings=settings) as home:
            mem = home.agent("bench")
            figures = {mode: median(mem, made.questions, mode) for mode in ("keyword", "hybrid", "vector")}
            memory = current_megabytes()
        print(f"{entries:,} entries with vectors, built in {built:.0f} s ({entries / built:,.0f}/s)")
        print(f"{path.stat().st_size / entries:,.0f} bytes on disk per entry; {memory:.0f} MB in the whole process")
        for mode, figure in figures.items():
            print(f"  {mode:10} {figure:8.2f} ms   {figure / figures['keyword']:6.2f} × keyword")


if __name__ == "__main__":
    main()
