"""Fits the confidence of searches, and reports how well it is calibrated.

    python bench/confidence.py [FOLDER] [--stores N]

Asks each store of the question sets (as for quality.py) its own questions, and a fourth as many that belong to other
stores, with the names of its own speakers. The label is whether one of the first ten hits is evidence. Prints for
entries, for turns, and for turns of the speakers asked about: the coefficients fitted to everything, to be copied to
`search/confidence.py`; and, cross-validated by store, the share of evidence per bin of confidence and the share of
questions without an answer below the cut that keeps 95% of the others; at last the same for all turns at one cut.
"""

import argparse
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from question_sets import Query, Task, read
from turn_search import fill

import recollect
from recollect.search import confidence

STORES = {"locomo": 5, "beam_100k": 10, "longmemeval_s": 60, "scifact": 1}
TALKS = ("locomo", "beam_100k")
KINDS: dict[tuple[float, ...], str] = {
    confidence.ENTRIES: "entries",
    confidence.TURNS: "turns",
    confidence.SPEAKERS: "turns of named speakers",
}
KEPT = 0.95
FIRST = 10
RIDGE = 1.0


@dataclass(frozen=True)
class Sample:
    """One question: the features of the search, and what was found."""

    source: str
    store: int
    kind: str
    features: tuple[float, ...]
    answerable: bool
    foreign: bool
    evidence: bool


_seen: list[tuple[tuple[float, ...], str]] = []
_probability = confidence.probability


def recorded(features: Sequence[float], coefficients: tuple[float, ...]) -> float:
    """Note the features of a search."""
    _seen.append((tuple(features), KINDS[coefficients]))
    return _probability(features, coefficients)


def speakers(task: Task) -> list[str]:
    return sorted({doc.speaker for doc in task.docs} - {"", "user", "assistant"})


def questions(store: int, task: Task, others: Sequence[Task]) -> Iterator[tuple[Query, bool]]:
    """The questions of a store, and a fourth as many of other stores, each with whether it is foreign."""
    yield from ((query, False) for query in task.queries)
    pool = [(query.text, speakers(other)) for other in others for query in other.queries]
    size = len(task.queries)
    wanted = size * (store + 1) // 4 - size * store // 4
    for place in np.linspace(0, len(pool) - 1, wanted).astype(int):
        asked, strangers = pool[place]
        for stranger, name in zip(strangers, speakers(task), strict=False):
            asked = re.sub(rf"\b{stranger}\b", name, asked)
        yield Query(asked, frozenset(), False), True


def ask(
    source: str, store: int, task: Task, others: Sequence[Task], search: Callable[[str], list[str]]
) -> Iterator[Sample]:
    """Ask a store its questions; those without any word to search for are left out."""
    for query, foreign in questions(store, task, others):
        _seen.clear()
        found = search(query.text)[:FIRST]
        if _seen:
            features, kind = _seen[-1]
            evidence = query.answerable and not query.gold.isdisjoint(found)
            yield Sample(source, store, kind, features, query.answerable, foreign, evidence)


def samples(folder: Path, stores: int | None) -> Iterator[Sample]:
    """Ask every store: as entries, and where it is a conversation also as turns."""
    confidence.probability = recorded  # type: ignore[assignment]
    sets = {name: read(folder, name)[: min(stores or count, count)] for name, count in STORES.items()}
    with tempfile.TemporaryDirectory() as place, recollect.open(Path(place) / "confidence.db") as home:
        for name, tasks in sets.items():
            for store, task in enumerate(tasks):
                others = [other for other in tasks if other is not task][:5] or sets["beam_100k"]
                agent = f"{name.replace('_', '-')}-{store}"
                yield from ask(name, store, task, others, as_entries(home.agent(agent), task))
                if name in TALKS:
                    yield from ask(name, store, task, others, as_turns(home.agent(f"talks-{agent}"), task))


def as_entries(mem: recollect.Memory, task: Task) -> Callable[[str], list[str]]:
    """Store a task as entries, and return the search in it."""
    stored = mem.remember_many(recollect.Add(doc.content) for doc in task.docs)
    ids = {entry.id: doc.id for entry, doc in zip(stored, task.docs, strict=True)}
    return lambda query: [ids[hit.entry.id] for hit in mem.recall(query, limit=FIRST)]


def as_turns(mem: recollect.Memory, task: Task) -> Callable[[str], list[str]]:
    """Store a task as conversations, and return the search in it."""
    belongs = fill(mem, task)
    return lambda query: [belongs[turn.event.seq] for turn in mem.conversations.search(query, limit=FIRST)]


def fit(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The coefficients of a logistic regression, the intercept first, by Newton's method with a small ridge."""
    mean, deviation = features.mean(0), features.std(0) + 1e-9
    scaled = np.column_stack([np.ones(len(labels)), (features - mean) / deviation])
    ridge = RIDGE * np.diag([1e-9, *np.ones(features.shape[1])])
    weights = np.zeros(scaled.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (chance - labels) + ridge @ weights
        weights -= np.linalg.solve((scaled * (chance * (1 - chance))[:, None]).T @ scaled + ridge, slope)
    slopes = weights[1:] / deviation
    return np.array([weights[0] - slopes @ mean, *slopes])


def validated(features: np.ndarray, labels: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The confidence of each sample, by coefficients fitted to the other groups."""
    found = np.zeros(len(labels))
    for group in np.unique(groups):
        rest = groups != group
        intercept, *slopes = fit(features[rest], labels[rest])
        found[~rest] = 1 / (1 + np.exp(-intercept - features[~rest] @ np.array(slopes)))
    return found


def rejected(found: np.ndarray, answerable: np.ndarray, without: np.ndarray) -> str:
    if not without.any() or not answerable.any():
        return "      -"
    return f"{(found[without] < np.quantile(found[answerable], 1 - KEPT)).mean():7.3f}"


def report(kind: str, every: Sequence[Sample]) -> tuple[list[Sample], np.ndarray]:
    """Print the report for the samples of a kind; return them and their confidences."""
    chosen = [sample for sample in every if sample.kind == kind]
    features = np.array([sample.features for sample in chosen])
    labels = np.array([float(sample.evidence) for sample in chosen])
    answerable = np.array([sample.answerable for sample in chosen])
    sources = np.array([sample.source for sample in chosen])
    groups = np.array([f"{sample.source} {sample.store}" for sample in chosen])
    alone = np.isin(sources, [name for name, count in STORES.items() if count == 1])
    groups[alone] = [f"part {number % 5}" for number in range(int(alone.sum()))]
    found = validated(features, labels, groups)
    print(f"\n{kind}: {len(chosen)} questions, {labels.mean():.2f} with evidence")
    print(f"  coefficients {tuple(round(float(value), 2) for value in fit(features, labels))}")
    print(f"  cut that keeps {KEPT:.0%} of the answerable {np.quantile(found[answerable], 1 - KEPT):.2f}")
    print("  confidence   questions   mean   with evidence")
    for low in range(10):
        within = (found >= low / 10) & (found < (low + 1) / 10)
        if within.any():
            counts = f"{within.sum():9}{found[within].mean():9.2f}{labels[within].mean():12.2f}"
            print(f"  {low / 10:.1f} to {(low + 1) / 10:.1f}{counts}")
    recognised(chosen, found)
    return chosen, found


def recognised(chosen: Sequence[Sample], found: np.ndarray) -> None:
    """Print for each set the share of its questions without an answer that is below the cut."""
    answerable = np.array([sample.answerable for sample in chosen])
    foreign = np.array([sample.foreign for sample in chosen])
    sources = np.array([sample.source for sample in chosen])
    print("  below the cut                 without an answer   of other stores")
    for source in dict.fromkeys(sources):
        here = sources == source
        own, strange = here & ~answerable & ~foreign, here & foreign
        columns = [rejected(found, here & answerable, which) for which in (own, strange)]
        print(f"  {source:16}({own.sum():4}, {strange.sum():4}) {columns[0]:>14} {columns[1]:>18}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[2] / "shared" / "bench"
    parser.add_argument("folder", type=Path, nargs="?", default=default, help="the folder with the question sets")
    parser.add_argument("--stores", type=int, help="take at most so many stores of each set")
    arguments = parser.parse_args()
    every = list(samples(arguments.folder, arguments.stores))
    _, *turns = [report(kind, every) for kind in KINDS.values()]
    print("\nall turns")
    recognised([sample for chosen, _ in turns for sample in chosen], np.concatenate([found for _, found in turns]))


if __name__ == "__main__":
    main()
