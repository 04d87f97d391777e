"""How well recall finds the right thing, next to what people use otherwise, on public question sets.

    python bench/quality.py [FOLDER] [--sets scifact locomo …] [--ablate]

FOLDER has one folder per set with a `tasks.jsonl`; the default is `../shared/bench` beside the repository. Prints for
each set recall@5, recall@10, NDCG@10 and MRR, then for how many of the questions without an answer the search can tell
that it does not know, and with `--ablate` what each part of the ranking contributes.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
from question_sets import METRICS, NAMES, Query, Task, measure, read
from searches import Searches

import recollect
from recollect.search.turns import Weights

TALKS = ("locomo", "beam_100k")
"""The sets whose documents are turns of conversations."""
ABOUT = {
    "scifact": "abstracts as entries",
    "longmemeval_s": "sessions of chats with an assistant as entries",
    "beam_100k": "messages of chats with an assistant as turns",
    "locomo": "turns of talks between two people",
}
KEPT = 0.95

Ranking = Callable[[Searches, Query], Sequence[tuple[int, float]]]


@contextmanager
def filled(tasks: Sequence[Task], *, b: float | None = None) -> Iterator[list[Searches]]:
    """The searches over the tasks, and a memory for them that goes away again."""
    with tempfile.TemporaryDirectory() as folder, recollect.open(Path(folder) / "quality.db") as home:
        yield [Searches(task, home, b=b) for task in tasks]


def score(searches: Sequence[Searches], ranking: Ranking) -> np.ndarray:
    """The means of the metrics over all questions that have an answer."""
    found = [
        measure([search.task.docs[number].id for number, _ in ranking(search, query)], query.gold)
        for search in searches
        for query in search.task.scored
    ]
    return np.mean(found, axis=0)


def row(name: str, values: Sequence[float], form: str = "12.3f") -> None:
    print(f"  {name:44}" + "".join(f"{value:{form}}" for value in values), flush=True)


def heading(title: str, columns: Sequence[str] = METRICS) -> None:
    print(f"\n{title}\n  {'':44}" + "".join(f"{column:>12}" for column in columns))


def compare(name: str, searches: Sequence[Searches]) -> None:
    """recollect next to the others on one set."""
    questions = sum(len(search.task.scored) for search in searches)
    heading(f"{name}: {ABOUT[name]}; {questions} questions in {len(searches)} store(s)")
    ways: dict[str, Ranking] = {}
    if name in TALKS:
        ways |= {
            "recollect": Searches.best_turns,
            "recollect without vectors": lambda s, q: s.best_turns(q, by_vector=False),
            "recollect, each turn stored as an entry": Searches.hybrid,
            "the same without vectors": Searches.keyword,
        }
    else:
        ways |= {"recollect": Searches.hybrid, "recollect without vectors": Searches.keyword}
    ways |= {
        "FTS5 with porter": Searches.fts5,
        "rank-bm25": Searches.rank_bm25,
        "vectors alone": Searches.vectors_alone,
        "equal-weight RRF of FTS5 and vectors": Searches.equal_rrf,
    }
    for way, ranking in ways.items():
        row(way, score(searches, ranking))


def compare_sessions(name: str, searches: Sequence[Searches]) -> None:
    """Whole conversations, found by their turns or as documents of their own."""
    heading(f"{name}: whole conversations")
    whole = [(search, search.task.sessions()) for search in searches]
    for way, by_vector in {"recollect, by the best turn": True, "the same without vectors": False}.items():
        found = [
            measure([session for session, _ in search.best_conversations(query, by_vector=by_vector)], query.gold)
            for search, task in whole
            for query in task.scored
        ]
        row(way, np.mean(found, axis=0))
    with filled([task for _, task in whole]) as documents:
        row("recollect, each conversation as an entry", score(documents, Searches.hybrid))
        row("FTS5 with porter", score(documents, Searches.fts5))
        row("vectors alone", score(documents, Searches.vectors_alone))
        row("equal-weight RRF of FTS5 and vectors", score(documents, Searches.equal_rrf))


def unanswerable(sets: dict[str, list[Searches]]) -> None:
    """How many questions without an answer fall below the cut that keeps nearly all that have one."""
    heading(
        f"Questions without an answer: share below the cut that keeps {KEPT:.0%} of the others; and how often such a "
        "question\nhas the lower value of a pair (0.5 is chance)",
        ("questions", "best score", "pairs", "confidence", "pairs"),
    )
    for name, searches in sets.items():
        ranking: Ranking = (lambda s, q: s.best_turns(q, by_vector=False)) if name in TALKS else Searches.keyword
        asked = [(search, query) for search in searches for query in search.task.queries]
        answerable = np.array([query.answerable for _, query in asked])
        if answerable.all():
            continue
        columns: list[float] = []
        tops = [max((value for _, value in ranking(search, query)), default=0.0) for search, query in asked]
        for values in (np.array(tops), np.array([search.confidence(query) for search, query in asked])):
            known, unknown = values[answerable], values[~answerable]
            pairs = (unknown[:, None] < known).mean() + (unknown[:, None] == known).mean() / 2
            columns += [float((unknown < np.quantile(known, 1 - KEPT)).mean()), float(pairs)]
        row(name, [int((~answerable).sum()), *columns], "12.3g")


def ablate(name: str, searches: Sequence[Searches], tasks: Sequence[Task]) -> None:
    """What is lost when a part of the ranking is left out."""
    if name in TALKS:
        heading(f"{name}: what recollect loses without …")
        whole = score(searches, Searches.best_turns)
        for part in fields(Weights):
            weights = replace(Weights(), **{part.name: 0.0})
            row(part.name, score(searches, lambda s, q, w=weights: s.best_turns(q, weights=w)) - whole, "+12.3f")
        with filled(tasks, b=0.75) as plain:
            row("b from the length of turns (0.75 instead)", score(plain, Searches.best_turns) - whole, "+12.3f")
    else:
        heading(f"{name}: what recollect loses with …")
        whole = score(searches, Searches.hybrid)
        row("words alone", score(searches, Searches.keyword) - whole, "+12.3f")
        row("vectors alone", score(searches, Searches.vectors_alone) - whole, "+12.3f")
        row('fusion="rrf"', score(searches, lambda s, q: s.hybrid(q, "rrf")) - whole, "+12.3f")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[2] / "shared" / "bench"
    parser.add_argument("folder", type=Path, nargs="?", default=default, help="the folder with the question sets")
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=NAMES, metavar="SET", help=", ".join(NAMES))
    parser.add_argument("--ablate", action="store_true", help="tell what each part of the ranking contributes")
    arguments = parser.parse_args()
    start = time.perf_counter()
    tasks = {name: read(arguments.folder, name) for name in arguments.sets}
    with filled([task for found in tasks.values() for task in found]) as every:
        rest = iter(every)
        sets = {name: [next(rest) for _ in found] for name, found in tasks.items()}
        for name, searches in sets.items():
            compare(name, searches)
        if "locomo" in sets:
            compare_sessions("locomo", sets["locomo"])
        unanswerable(sets)
        if arguments.ablate:
            for name, searches in sets.items():
                ablate(name, searches, tasks[name])
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
