"""What an embedder is worth: recall with the local one and with transformers of your own, and what they cost.

    python bench/embedders.py [FOLDER] [--onnx MODEL …] [--reranker MODEL] [--sets locomo …] [--stores N] [--mid-term N]

MODEL is a folder with `model.onnx` and `tokenizer.json`. Each set is stored, embedded and searched through the library:
conversations are ended and their turns searched, sessions and abstracts are entries that are recalled. Prints
recall@5, recall@10 and NDCG@10, the number of vectors, and the processor time of one vector and of one question.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from question_sets import NAMES, Task, measure, read
from turn_search import fill

import recollect
from recollect.config import ConversationSettings, RecallSettings, Settings
from recollect.providers.base import Embedder
from recollect.providers.local import LocalEmbedder
from recollect.providers.onnx import OnnxEmbedder

TALKS = ("locomo", "beam_100k")
"""The sets that are conversations; the others are entries."""
DEPTH = 10

Search = Callable[[str], Sequence[str]]
"""Returns the documents that a question finds, best first."""


class TimedEmbedder:
    """An embedder that adds up the processor time of its vectors."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.vectors, self.seconds = 0, 0.0
        self.model, self.dimension = embedder.model, embedder.dimension
        self.instant = getattr(embedder, "instant", False)
        self.contextual = getattr(embedder, "contextual", False)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        start = time.process_time()
        found = self._embedder.embed(texts)
        self.seconds += time.process_time() - start
        self.vectors += len(texts)
        return found


def turns(mem: recollect.Memory, task: Task) -> Search:
    """Append the conversations of a task and end them."""
    belongs = fill(mem, task)
    return lambda question: [belongs[hit.event.seq] for hit in mem.conversations.search(question, limit=DEPTH)]


def entries(mem: recollect.Memory, task: Task) -> Search:
    """Store each document of a task as an entry."""
    stored = mem.remember_many(recollect.Add(doc.content) for doc in task.docs)
    belongs = {entry.id: doc.id for entry, doc in zip(stored, task.docs, strict=True)}
    return lambda question: [belongs[hit.entry.id] for hit in mem.recall(question, limit=DEPTH)]


def compare(name: str, tasks: Sequence[Task], embedder: Embedder, settings: Settings) -> str:
    """Return a row of figures: one set with one embedder."""
    timed = TimedEmbedder(embedder)
    with (
        tempfile.TemporaryDirectory() as folder,
        recollect.open(Path(folder) / "embedders.db", settings=settings, embedder=timed) as home,
    ):
        store = turns if name in TALKS else entries
        searches = [store(home.agent(f"agent-{number}"), task) for number, task in enumerate(tasks)]
        while home.backfill():
            pass
        embedding, vectors = timed.seconds, timed.vectors
        start = time.process_time()
        found = [
            measure(search(query.text), query.gold)[:3]
            for search, task in zip(searches, tasks, strict=True)
            for query in task.scored
        ]
        asking = time.process_time() - start
    recalls = "".join(f"{mean:11.3f}" for mean in np.mean(found, axis=0))
    return f"{recalls}{vectors:9,}{1000 * embedding / max(vectors, 1):11.2f}{1000 * asking / len(found):13.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[2] / "shared" / "bench"
    parser.add_argument("folder", type=Path, nargs="?", default=default, help="the folder with the question sets")
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=NAMES, metavar="SET", help=", ".join(NAMES))
    parser.add_argument("--stores", type=int, help="take so many stores of each set, not all")
    parser.add_argument("--mid-term", type=int, default=10, help="conversations whose turns keep their vectors")
    parser.add_argument("--onnx", nargs="+", type=Path, default=[], metavar="MODEL", help="folders of transformers")
    parser.add_argument("--reranker", type=Path, metavar="MODEL", help="the folder of a cross-encoder")
    arguments = parser.parse_args()
    embedders: dict[str, Embedder] = {"local": LocalEmbedder()}
    embedders |= {str(folder.name): OnnxEmbedder(folder) for folder in arguments.onnx}
    settings = Settings(
        conversation=ConversationSettings(mid_term=arguments.mid_term),
        recall=RecallSettings(reranker=arguments.reranker and str(arguments.reranker)),
    )
    columns = ("recall@5", "recall@10", "NDCG@10")
    heading = "".join(f"{column:>11}" for column in columns) + f"{'vectors':>9}{'ms/vector':>11}{'ms/question':>13}"
    for name in arguments.sets:
        tasks = read(arguments.folder, name)[: arguments.stores]
        print(f"\n{name + ', ' + ('turns' if name in TALKS else 'entries'):28}{heading}", flush=True)
        for title, embedder in embedders.items():
            print(f"  {title:26}{compare(name, tasks, embedder, settings)}", flush=True)


if __name__ == "__main__":
    main()
