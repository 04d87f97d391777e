"""Recall over chunks of conversations of which there are many copies, and over as many that are all different.

    python bench/repeated_texts.py [--chunks N] [--copies N]

Prints the processor time per question, the entries that it read and the hits that it had, of ten.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from corpus import corpus
from timing import timed

import recollect
from recollect import Add, Settings
from recollect.config import EmbedderSettings
from recollect.storage import entries
from recollect.storage.database import NamedQuery, Transaction

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))
TURNS = 14
"""Texts of a chunk, which then has about 2,000 characters."""
QUESTIONS = 50


def run(path: Path, different: int, copies: int) -> None:
    made = corpus(different * TURNS, QUESTIONS, seed=3)
    chunks = ["\n".join(made.texts[start : start + TURNS]) for start in range(0, len(made.texts), TURNS)]
    every, read = entries.read_docs, list[int]()

    def counted(tx: Transaction, docs: Sequence[int], *queries: NamedQuery, named: bool) -> object:
        read.extend(docs)
        return every(tx, docs, *queries, named=named)

    with recollect.open(path, settings=WORDS_ALONE) as home:
        mem = home.agent("bench")
        for _ in range(copies):
            mem.remember_many(Add(chunk, kind="chunk") for chunk in chunks)
        taken = timed(lambda question: mem.recall(question, limit=10, record=False), made.questions, time.thread_time)
        entries.read_docs = counted
        hits = [len(mem.recall(question, limit=10, record=False)) for question in made.questions]
        entries.read_docs = every
    print(
        f"{different:6,} chunks, {copies:3} of each: {taken:6.2f} ms, {len(read) / QUESTIONS:6.1f} entries read, "
        f"{statistics.mean(hits):4.1f} hits"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=8_000)
    parser.add_argument("--copies", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder, "different.db"), given.chunks, 1)
        run(Path(folder, "repeated.db"), given.chunks // given.copies, given.copies)


if __name__ == "__main__":
    main()
