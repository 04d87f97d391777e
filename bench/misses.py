"""The questions that a search in conversations fails, with what would have answered them and what was found instead.

    python bench/misses.py [FOLDER] [--sample locomo=100 beam_100k=75 longmemeval_s=25] [--seed 1] > misses.txt
    python bench/misses.py --counts

Each conversation of a set is appended to a memory and ended. A question fails if a turn of its evidence is not among
the first ten (LongMemEval: if a conversation of its evidence is not among the first five). A sample of the failing
questions is printed, in proportion to their kinds, with the evidence, the rank of each piece and the first hits.
`misses/classes.json` says why each of them fails, by id, judged by reading them; `--counts` counts these classes.
"""

import argparse
import json
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from question_sets import Doc, Query, Task, read
from turn_search import fill

import recollect
from recollect.providers.local import LocalEmbedder

SETS = {"locomo": ("turn", 10, 100), "beam_100k": ("turn", 10, 75), "longmemeval_s": ("conversation", 5, 25)}
"""What is searched in each set, how deep the evidence may stand, and how many failing questions are sampled."""
CLASSES = Path(__file__).with_name("misses") / "classes.json"
DEPTH = 200
SHOWN = 8
LONGEST = 700


@dataclass(frozen=True)
class Miss:
    task: Task
    query: Query
    ranked: list[str]
    """The documents that were found, best first."""

    def lines(self, depth: int) -> Iterator[str]:
        docs = {doc.id: doc for doc in self.task.docs}
        order = [doc.id for doc in self.task.docs]
        places = {doc: place for place, doc in enumerate(self.ranked, 1)}
        yield f"## {self.query.id} [{self.query.kind}] {self.query.text}"
        yield f"answer: {self.query.answer}"
        for gold in sorted(self.query.gold, key=order.index):
            before = order.index(gold) - 1
            if places.get(gold, DEPTH) > depth and before >= 0 and docs[order[before]].session == docs[gold].session:
                yield f"    before: {shown(docs[order[before]])[:200]}"
            yield f"  gold {gold} at {places.get(gold, 'no')} place: {shown(docs[gold])[:LONGEST]}"
        for place, found in enumerate(self.ranked[:SHOWN], 1):
            mark = "+" if found in self.query.gold else "-"
            yield f"  {mark}{place} {found}: {shown(docs[found])[:160]}"
        yield ""


def shown(doc: Doc) -> str:
    return " ".join(f"{doc.speaker} ({doc.date}): {doc.text}".split())


def misses(folder: Path, name: str) -> list[Miss]:
    """All failing questions of a set."""
    unit, depth, _ = SETS[name]
    found = []
    with (
        tempfile.TemporaryDirectory() as place,
        recollect.open(Path(place) / "turns.db", embedder=LocalEmbedder()) as home,
    ):
        for number, task in enumerate(read(folder, name)):
            mem = home.agent(f"agent-{number}")
            belongs = fill(mem, task)
            known = {doc.id for doc in task.docs}
            for query in task.scored:
                gold = query.gold & known
                hits = mem.conversations.search(query.text, limit=DEPTH, unit=unit)
                ranked = list(dict.fromkeys(belongs[hit.event.seq] for hit in hits))
                if not gold <= set(ranked[:depth]):
                    query = Query(query.text, gold, True, query.id, query.kind, query.answer)
                    found.append(Miss(task, query, ranked))
    return found


def sampled(found: list[Miss], size: int, seed: int) -> list[Miss]:
    """So many of the questions, of each kind in proportion."""
    kinds: dict[str, list[Miss]] = defaultdict(list)
    for miss in found:
        kinds[miss.query.kind].append(miss)
    chance = random.Random(seed)
    keyed = []
    for ones in kinds.values():
        chance.shuffle(ones)
        keyed += [((place + 0.5) / len(ones), one) for place, one in enumerate(ones)]
    keyed.sort(key=lambda pair: pair[0])
    return [one for _, one in keyed[:size]]


def counts() -> None:
    sets = json.loads(CLASSES.read_text(encoding="utf-8"))
    total = Counter(label for labels in sets.values() for label in labels.values())
    print(f"{'':24}" + "".join(f"{name:>15}" for name in sets) + f"{'all':>8}")
    for label, number in total.most_common():
        each = [sum(one == label for one in labels.values()) for labels in sets.values()]
        print(f"{label:24}" + "".join(f"{one:15}" for one in each) + f"{number:8}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[2] / "shared" / "bench"
    parser.add_argument("folder", type=Path, nargs="?", default=default, help="the folder with the question sets")
    parser.add_argument("--sample", nargs="+", default=[f"{name}={size}" for name, (_, _, size) in SETS.items()])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--counts", action="store_true", help="count the classes of the judged questions")
    arguments = parser.parse_args()
    if arguments.counts:
        counts()
        return
    for wanted in arguments.sample:
        name, size = wanted.split("=")
        found = misses(arguments.folder, name)
        chosen = sampled(found, int(size), arguments.seed)
        kinds = Counter(miss.query.kind for miss in found)
        print(f"# {name}: {len(chosen)} of {len(found)} failing questions; failing by kind: {dict(kinds)}\n")
        for miss in chosen:
            print("\n".join(miss.lines(SETS[name][1])), flush=True)


if __name__ == "__main__":
    main()
