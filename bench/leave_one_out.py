"""How much of the quality of the search in conversations is owed to weights that were chosen on the same questions.

    python bench/leave_one_out.py [FOLDER] [--sets locomo beam_100k]

The weights of turns are fitted to all conversations of a set but one, by trying factors of each weight in turn, and
scored on the one left out; then fitted to all and scored on all. Prints recall@5 and recall@10 of the weights as they
are, of the fitted ones, and of those fitted without the conversation asked about. If the second is far above the third,
the fit has learnt the questions.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from quality import filled
from question_sets import Query, measure, read
from searches import Searches, best

from recollect.search import turn_text, turns

SETS = ("locomo", "beam_100k")
FACTORS = (0.0, 0.5, 0.75, 1.0, 1.33, 2.0)
ROUNDS = 2


@dataclass(frozen=True)
class Asked:
    """A question with the features of its candidates, one row for each weight."""

    names: Sequence[str]
    features: np.ndarray
    docs: Sequence[str]
    gold: frozenset[str]

    def score(self, factors: np.ndarray) -> tuple[float, float]:
        """Return recall@5 and recall@10 with the weights multiplied by these factors."""
        found = best(factors @ self.features, 10)
        return measure([self.docs[place] for place, _ in found], self.gold)[:2]


def asked(search: Searches, query: Query) -> Asked:
    question, candidates, numbers, _ = search._candidates(query, True)
    average = search._words.average
    found = turns.evidence(question, candidates, average=average)
    found["length"] = turn_text.length_score(
        search._words.lengths[numbers], candidates.role == turns.Role.PERSON, average
    )
    wanted = turn_text.TurnTextQuery.read(query.text, set(candidates.speaker))
    found["text"] = np.zeros(len(numbers))
    for place, _ in best(np.sum(list(found.values()), axis=0), turn_text.READ):
        found["text"][place] = wanted.score(search.task.docs[numbers[place]].text)
    docs = [search.task.docs[number].id for number in numbers]
    return Asked(list(found), np.array(list(found.values())), docs, query.gold)


def mean(questions: Sequence[Asked], factors: np.ndarray) -> np.ndarray:
    return np.mean([one.score(factors) for one in questions], axis=0)


def fitted(questions: Sequence[Asked]) -> np.ndarray:
    """Return the factors with the best sum of both recalls; the first weight, that of words, is the unit."""
    factors = np.ones(len(questions[0].names))
    reached = mean(questions, factors).sum()
    for _ in range(ROUNDS):
        for place in range(1, len(factors)):
            for factor in FACTORS:
                tried = factors.copy()
                tried[place] = factor
                if (value := mean(questions, tried).sum()) > reached + 1e-9:
                    factors, reached = tried, value
    return factors


def report(name: str, stores: Sequence[Sequence[Asked]]) -> None:
    every = [one for store in stores for one in store]
    plain = np.ones(len(every[0].names))
    within = fitted(every)
    folds = []
    for left in stores:
        factors = fitted([one for store in stores if store is not left for one in store])
        folds += [one.score(factors) for one in left]
    rows = {"as they are": mean(every, plain), "fitted": mean(every, within), "left out": np.mean(folds, axis=0)}
    print(f"\n{name}: {len(every)} questions in {len(stores)} stores\n  {'':16}{'recall@5':>10}{'recall@10':>10}")
    for title, values in rows.items():
        print(f"  {title:16}{values[0]:10.3f}{values[1]:10.3f}", flush=True)
    changed = {one: factor for one, factor in zip(every[0].names, within, strict=True) if factor != 1}
    print("  factors of the fit: " + ", ".join(f"{one} {factor:g}" for one, factor in changed.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[2] / "shared" / "bench"
    parser.add_argument("folder", type=Path, nargs="?", default=default, help="the folder with the question sets")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    arguments = parser.parse_args()
    for name in arguments.sets:
        with filled(read(arguments.folder, name)) as searches:
            report(name, [[asked(search, query) for query in search.task.scored] for search in searches])


if __name__ == "__main__":
    main()
