"""How well and how fast the search over past conversations is.

    python bench/turn_search.py [FOLDER] [--stores N] [--active | --imported] [--sizes …] [--postgres URL]

First the question sets (as for quality.py), stored as conversations of an agent: how well turns and whole conversations
are found when each has ended, by words alone and with vectors; with `--active` when each goes on, with `--imported` as
an import leaves them, before and after the job `chunk`. Then made-up journals: what appending costs, how much of
it the index takes, and how long a search takes.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from corpus import corpus
from memory_use import current_megabytes
from question_sets import Task, measure, read

import recollect
from recollect.engine import conversation_search, conversations
from recollect.model.events import checked_event
from recollect.model.history import Event, EventType
from recollect.providers.local import LocalEmbedder

SETS = (("locomo", "turn"), ("beam_100k", "turn"), ("longmemeval_s", "conversation"))
DAY = 86_400_000
PER_CONVERSATION = 40
QUESTIONS = 100


def said(task: Task) -> Iterator[list[tuple[Event, str]]]:
    """The conversations of a task: their events, each with the document that it belongs to."""
    for _, docs in groupby(task.docs, lambda doc: doc.session):
        talk: list[tuple[Event, str]] = []
        for doc in docs:
            named = doc.speaker not in ("", "user", "assistant")
            # The sessions of LongMemEval hold one turn of the user per line.
            for line in doc.text.splitlines() if task.docs[0].session == task.docs[0].id else [doc.text]:
                if line.strip():
                    kind = EventType.MODEL if doc.speaker == "assistant" else EventType.USER
                    at = doc.day * DAY + 1_000 * len(talk)
                    speaker = doc.speaker if named else None
                    talk.append((Event(type=kind, content=line, speaker=speaker, created_at=at), doc.id))
        yield talk


def fill(mem: recollect.Memory, task: Task) -> dict[int, str]:
    """Tell an agent a whole task, and end each conversation; which document each event belongs to."""
    belongs: dict[int, str] = {}
    for talk in said(task):
        conversation = mem.conversations.start()
        stored = conversation.append([event for event, _ in talk])
        belongs.update((event.seq, doc) for event, (_, doc) in zip(stored, talk, strict=True))
        conversation.end()
    return belongs


def begin(mem: recollect.Memory, task: Task, *, imported: bool) -> dict[int, str]:
    """Tell an agent a whole task without ending a conversation; which document each event belongs to."""
    belongs: dict[int, str] = {}
    for talk in said(task):
        conversation = mem.conversations.start()
        if imported:  # without compaction
            events = [checked_event(event, conversation.id, 0) for event, _ in talk]
            stored: Sequence[Event] = conversations.append(mem._workspace, conversation.id, events)
            with mem._workspace.write() as work:
                work.tx.run("history.status", id=conversation.id, status="idle", ended_at=talk[-1][0].created_at)
                work.tx.run(
                    "history.summary_set", id=conversation.id, summary=None, by="import", ending='["long_term"]'
                )
        else:
            stored = conversation.append([event for event, _ in talk])
        belongs.update((event.seq, doc) for event, (_, doc) in zip(stored, talk, strict=True))
    return belongs


def unended(folder: Path, stores: int | None, *, imported: bool) -> None:
    """Recall in conversations that never end, before and after the job `chunk`."""
    print(f"{'':64}{'recall@5':>10}{'recall@10':>10}{'NDCG@10':>10}{'MB':>8}")
    for name, unit in SETS:
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "turns.db"
            with recollect.open(file, embedder=LocalEmbedder()) as home:
                filled = []
                for number, task in enumerate(read(folder, name)[:stores]):
                    mem = home.agent(f"agent-{number}")
                    filled.append((mem, begin(mem, task, imported=imported), task))
                for chunked in (False, True):
                    while chunked and home.jobs.run("chunk").figures["chunks"]:
                        pass
                    found = []
                    for mem, belongs, task in filled:
                        for query in task.scored:
                            hits = mem.conversations.search(query.text, limit=50, unit=unit)
                            docs = list(dict.fromkeys(belongs[hit.event.seq] for hit in hits))
                            found.append(measure(docs, query.gold))
                    size = sum(one.stat().st_size for one in Path(place).iterdir()) / 1e6
                    title = f"{name}, {unit}s, {'with' if chunked else 'without'} chunks ({len(found)} questions)"
                    columns = "".join(f"{mean:10.3f}" for mean in np.mean(found, axis=0)[:3])
                    print(f"{title:64}{columns}{size:8.0f}", flush=True)


def quality(folder: Path, stores: int | None) -> None:
    """Recall on the question sets."""
    print(f"{'':64}{'recall@5':>10}{'recall@10':>10}{'NDCG@10':>10}{'ms':>8}")
    for name, unit in SETS:
        with (
            tempfile.TemporaryDirectory() as place,
            recollect.open(Path(place) / "turns.db", embedder=LocalEmbedder()) as home,
        ):
            filled = []
            for number, task in enumerate(read(folder, name)[:stores]):
                mem = home.agent(f"agent-{number}")
                filled.append((mem, fill(mem, task), task))
            for meaning in (False, True):
                found, taken = [], []
                for mem, belongs, task in filled:
                    for query in task.scored:
                        start = time.perf_counter()
                        hits = mem.conversations.search(query.text, limit=50, unit=unit, meaning=meaning)
                        taken.append(time.perf_counter() - start)
                        docs = list(dict.fromkeys(belongs[hit.event.seq] for hit in hits))
                        found.append(measure(docs, query.gold))
                title = f"{name}, {unit}s, {'words and vectors' if meaning else 'words'} ({len(found)} questions)"
                columns = "".join(f"{mean:10.3f}" for mean in np.mean(found, axis=0)[:3])
                print(f"{title:64}{columns}{statistics.median(taken) * 1000:8.1f}", flush=True)


def scale(size: int, location: str) -> None:
    """A journal of so many made-up turns: appending, and searching."""
    made = corpus(size, QUESTIONS)
    flushing = 0.0
    keep_up = conversation_search.keep_up

    def timed(*arguments: object) -> None:
        nonlocal flushing
        start = time.perf_counter()
        keep_up(*arguments)  # type: ignore[arg-type]
        flushing += time.perf_counter() - start

    conversation_search.keep_up = timed  # type: ignore[assignment]
    with recollect.open(location) as home:
        store = home.agent("bench")._workspace
        start = time.perf_counter()
        for first in range(0, size, PER_CONVERSATION):
            # Written at once, past the window and its compaction, which are no part of what is measured here.
            info = conversations.start(store, channel="general", chat_id=None, model_id=None, participants=(), now=0)
            talk = [
                Event(type=EventType.MODEL if n % 2 else EventType.USER, content=content, created_at=n * 60_000)
                for n, content in enumerate(made.texts[first : first + PER_CONVERSATION], first)
            ]
            conversations.append(store, info.id, [checked_event(event, info.id, 0) for event in talk])
        whole = time.perf_counter() - start
    conversation_search.keep_up = keep_up
    with recollect.open(location) as home:
        mem = home.agent("bench")
        before, start = current_megabytes(), time.perf_counter()
        mem.conversations.search(made.questions[0], limit=10)
        first_search = time.perf_counter() - start
        taken = []
        for question in made.questions:
            start = time.perf_counter()
            mem.conversations.search(question, limit=10)
            taken.append(time.perf_counter() - start)
        grown = current_megabytes() - before
    print(f"\n{size:,} events, in batches of {PER_CONVERSATION}")
    print(f"  appending {whole / size * 1e6:.0f} µs per event, of which the index {flushing / size * 1e6:.0f} µs")
    print(f"  the first search of a process {first_search * 1000:.0f} ms, {grown:.0f} MB more memory")
    print(f"  later ones {statistics.median(taken) * 1000:.1f} ms (median), {max(taken) * 1000:.0f} ms (slowest)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[2] / "shared" / "bench"
    parser.add_argument("folder", type=Path, nargs="?", default=default, help="the folder with the question sets")
    parser.add_argument("--stores", type=int, help="take so many stores of each set, not all")
    parser.add_argument("--active", action="store_true", help="conversations that go on, and nothing else")
    parser.add_argument("--imported", action="store_true", help="conversations that were imported, and nothing else")
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--postgres", help="a PostgreSQL database for the made-up journals, in place of a file")
    arguments = parser.parse_args()
    if arguments.active or arguments.imported:
        unended(arguments.folder, arguments.stores, imported=arguments.imported)
        return
    if arguments.stores != 0:
        quality(arguments.folder, arguments.stores)
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as place:
            scale(size, arguments.postgres or str(Path(place) / "turns.db"))


if __name__ == "__main__":
    main()
