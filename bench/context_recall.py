"""How much of the evidence for a question is in `context(question)`, next to other ways to fill the same budget.

    python bench/context_recall.py [FOLDER] [--sets locomo beam_100k] [--stores N …] [--notes] [--running]
                                   [--tokenizer o200k_base]

Each conversation of a set is appended to a memory and ended (`--running`: not ended). Every question that has an answer
is the command of a context with 500, 1,000 and 2,000 tokens. The bench prints the mean share of the evidence turns that
the text contains whole, next to a prompt of the same size filled with the newest turns, with the first turns of FTS5,
and with the first turns of `conversations.search`. Long turns are shown in part, so a second figure counts turns of
which at least one sentence is in the text. `--notes` stores every other conversation as notes, one per turn.

The prompts are measured by `text.estimate_tokens`; with `--tokenizer` (and the package tiktoken) by a real tokenizer,
and the error of the estimate is printed, too.
"""

import argparse
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

import apsw
import numpy as np
from question_sets import Doc, Query, Task, read
from turn_search import said

import recollect
from recollect import fencing, text
from recollect.clock import iso
from recollect.providers.local import LocalEmbedder

BUDGETS = (500, 1_000, 2_000)
FEW_WORDS = 4
"""A sentence of fewer words does not count as a part of a turn."""
DAY = 86_400_000
DEPTH = 200

Count = Callable[[str], int]


def plain(content: str) -> str:
    """The text as it is in a prompt, without its line breaks."""
    return " ".join(fencing.one_line(content).split())


@dataclass
class Received:
    """A memory that was told a task, with what the comparison needs."""

    task: Task
    mem: recollect.Memory
    belongs: dict[int, str]
    """The document of each event."""
    table: apsw.Connection

    def __post_init__(self) -> None:
        self.docs = {doc.id: doc for doc in self.task.docs}
        self.whole = {doc.id: plain(doc.text) for doc in self.task.docs}
        self.parts = {
            doc.id: [part for part in map(plain, text.sentences(doc.text)) if len(part.split()) >= FEW_WORDS]
            for doc in self.task.docs
        }
        self.table.execute("CREATE VIRTUAL TABLE turns USING fts5(doc UNINDEXED, content, tokenize = 'porter')")
        for doc in self.task.docs:
            self.table.execute("INSERT INTO turns VALUES (?, ?)", (doc.id, doc.content))

    def newest(self, query: Query) -> Iterator[Doc]:
        yield from reversed(self.task.docs)

    def fts5(self, query: Query) -> Iterator[Doc]:
        words = set(re.findall(r"\w+", query.text))
        found = self.table.execute(
            "SELECT doc FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT ?",
            (" OR ".join(f'"{word}"' for word in sorted(words)), DEPTH),
        )
        yield from (self.docs[doc] for (doc,) in found)

    def search(self, query: Query) -> Iterator[Doc]:
        hits = self.mem.conversations.search(query.text, limit=DEPTH)
        for doc in dict.fromkeys(self.belongs[hit.event.seq] for hit in hits):
            yield self.docs[doc]

    def shares(self, block: str, query: Query) -> tuple[float, float]:
        """The share of the evidence that is in a prompt whole, and whole or in part."""
        block = plain(block)
        gold = [doc for doc in query.gold if doc in self.docs]
        whole = [self.whole[doc] in block for doc in gold]
        part = [any(one in block for one in self.parts[doc]) for doc in gold]
        both = [a or b for a, b in zip(whole, part, strict=True)]
        return sum(whole) / max(len(gold), 1), sum(both) / max(len(gold), 1)


def fill(mem: recollect.Memory, task: Task, *, end: bool, notes: bool) -> dict[int, str]:
    """Tell an agent a task; which document each event belongs to."""
    belongs: dict[int, str] = {}
    sessions = [list(docs) for _, docs in groupby(task.docs, lambda doc: doc.session)]
    for number, (talk, docs) in enumerate(zip(said(task), sessions, strict=True)):
        if notes and number % 2:
            mem.remember_many(
                recollect.Add(f"{doc.speaker}: {doc.text}", at=doc.day * DAY + place * 1_000)
                for place, doc in enumerate(docs)
            )
            continue
        conversation = mem.conversations.start()
        stored = conversation.append([event for event, _ in talk])
        belongs.update((event.seq, doc) for event, (_, doc) in zip(stored, talk, strict=True))
        if end:
            conversation.end()
    return belongs


def filled(docs: Iterator[Doc], budget: int, count: Count) -> str:
    """A prompt with the first documents that fit, as a user would write it."""
    lines: list[str] = []
    size = 0
    for doc in docs:
        line = f"- {doc.speaker or 'user'} ({iso(doc.day * DAY)[:10]}): {plain(doc.text)}"
        if size + count(line) + 1 > budget:
            break
        lines.append(line)
        size += count(line) + 1
    return "\n".join(lines)


@cache
def tokenizer(name: str | None) -> Count:
    if name is None:
        return text.estimate_tokens
    import tiktoken

    encoding = tiktoken.get_encoding(name)
    return lambda content: len(encoding.encode(content, disallowed_special=()))


def measure(name: str, stores: Sequence[Received], count: Count) -> None:
    ways: dict[str, Callable[[Received, Query, int], str]] = {
        "context(question)": lambda received, query, budget: received.mem.context(query.text, budget=budget).text,
        "newest turns": lambda received, query, budget: filled(received.newest(query), budget, count),
        "first turns of FTS5 (porter)": lambda received, query, budget: filled(received.fts5(query), budget, count),
        "first turns of conversations.search": lambda received, query, budget: filled(
            received.search(query), budget, count
        ),
    }
    asked = [(received, query) for received in stores for query in received.task.scored]
    names = ", ".join(received.task.name for received in stores)
    print(f"\n{name} ({names}): {len(asked)} questions; evidence turns in the prompt whole / whole or in part")
    print(f"  {'':38}" + "".join(f"{f'{budget:,} tokens':>18}" for budget in BUDGETS) + f"{'ms':>8}")
    for way, prompt in ways.items():
        columns, sizes, start = [], [], time.perf_counter()
        for budget in BUDGETS:
            blocks = [prompt(received, query, budget) for received, query in asked]
            shares = [received.shares(block, query) for (received, query), block in zip(asked, blocks, strict=True)]
            columns.append("{:.3f} / {:.3f}".format(*np.mean(shares, axis=0)))
            sizes += [(count(block), text.estimate_tokens(block), budget) for block in blocks if block]
        taken = (time.perf_counter() - start) / len(asked) / len(BUDGETS) * 1000
        print(f"  {way:38}" + "".join(f"{column:>18}" for column in columns) + f"{taken:8.1f}", flush=True)
        if way.startswith("context") and sizes:
            exact, estimated, allowed = np.array(sizes).T
            errors = estimated / exact - 1
            print(
                f"  {'':4}size: {np.mean(exact / allowed):.2f} of the budget (at most {np.max(exact / allowed):.2f});"
                f" error of the estimate {errors.mean():+.3f} (from {errors.min():+.3f} to {errors.max():+.3f})"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[2] / "shared" / "bench"
    parser.add_argument("folder", type=Path, nargs="?", default=default, help="the folder with the question sets")
    parser.add_argument("--sets", nargs="+", default=["locomo", "beam_100k"], metavar="SET")
    parser.add_argument("--stores", type=int, nargs="+", help="take only the stores with these numbers, from 0")
    parser.add_argument("--notes", action="store_true", help="store every other conversation as notes")
    parser.add_argument("--running", action="store_true", help="do not end the conversations")
    parser.add_argument("--tokenizer", help="the name of an encoding of tiktoken")
    arguments = parser.parse_args()
    count = tokenizer(arguments.tokenizer)
    for name in arguments.sets:
        tasks = read(arguments.folder, name)
        chosen = tasks if arguments.stores is None else [tasks[number] for number in arguments.stores]
        with (
            tempfile.TemporaryDirectory() as place,
            recollect.open(Path(place) / "context.db", embedder=LocalEmbedder()) as home,
        ):
            stores = []
            for number, task in enumerate(chosen):
                mem = home.agent(f"agent-{number}")
                belongs = fill(mem, task, end=not arguments.running, notes=arguments.notes)
                stores.append(Received(task, mem, belongs, apsw.Connection(":memory:")))
            measure(name, stores, count)


if __name__ == "__main__":
    main()
