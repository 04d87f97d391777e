"""How much of what is extracted from conversations would a person keep, and how much of what was planted is found?

    python bench/extraction.py [FOLDER] [--sample 300] [--seed 1] [--show]

The statements are those that the ending of a conversation stores, over the question sets in FOLDER and the coding
sessions in `bench/extraction`, which were written for this bench: `sessions.json` while the rules were made,
`sessions_fresh.json` and `sessions_later.json` afterwards. Of these notes, a sample with a fixed seed is compared with
`bench/extraction/judged.json`: there, each note that was read has 1 if a person would keep it (a decision, rule,
preference, lesson or lasting fact, understood without the talk around it) and 0 if not. The keys are hashes, so that no
text of a set is in the repository. The bench prints precision = kept / judged by set, how many notes of the sample have
no judgement yet, and the share of the planted statements of the coding sessions that were found. `--show` prints the
notes without a judgement, with their keys.
"""

import argparse
import hashlib
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from question_sets import read
from turn_search import said

from recollect import Event
from recollect.statements import insights

HERE = Path(__file__).parent / "extraction"
SETS = ("locomo", "beam_100k", "longmemeval_s")
CUT = 490
"""Length from which a turn of LongMemEval is cut in the middle of a sentence, which the bench leaves out."""


@dataclass(frozen=True)
class Extracted:
    group: str
    content: str

    @property
    def key(self) -> str:
        return hashlib.sha256(" ".join(self.content.split()).encode()).hexdigest()[:16]


def talks(folder: Path, name: str) -> Iterator[list[Event]]:
    """The conversations of a set, each once, although tasks share some."""
    seen: set[tuple[str, ...]] = set()
    for task in read(folder, name):
        for talk in said(task):
            events = [event for event, _ in talk]
            if name == "longmemeval_s" and sum(len(event.content) + 1 for event in events) > CUT:
                events.pop()
            content = tuple(event.content for event in events)
            if events and content not in seen:
                seen.add(content)
                yield events


def extract(group: str, turns: Iterable[tuple[str, str]]) -> list[Extracted]:
    """What the ending of a conversation of these turns stores."""
    found = insights(turns, wide=True)
    return [Extracted(group, content) for content in (*found.decisions, *found.lessons)]


def coding(file: str) -> tuple[list[Extracted], int, int]:
    """The notes of the coding sessions, how many statements were planted, and how many of them were found."""
    notes, planted, found = list[Extracted](), 0, 0
    for session in json.loads((HERE / file).read_text(encoding="utf-8")):
        made = extract(file, session["turns"])
        notes += made
        planted += len(session["planted"])
        found += sum(any(one in note.content for note in made) for one in session["planted"])
    return notes, planted, found


def main() -> None:
    parser = argparse.ArgumentParser(description="Precision and recall of extraction.")
    default = Path(__file__).resolve().parents[2] / "shared" / "bench"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    judged = json.loads((HERE / "judged.json").read_text(encoding="utf-8"))
    notes: list[Extracted] = []
    for file in sorted(path.name for path in HERE.glob("sessions*.json")):
        made, planted, found = coding(file)
        notes += made
        print(f"{file}: {found} of {planted} planted statements found ({found / planted:.2f})")
    for name in SETS:
        for talk in talks(options.folder, name):
            notes += extract(name, ((event.role, event.content) for event in talk))
    unique = sorted({note.key: note for note in notes}.values(), key=lambda note: note.key)
    chosen = random.Random(options.seed).sample(unique, min(options.sample, len(unique)))
    print(f"{len(unique)} notes, of which {len(chosen)} are in the sample")
    for group in (*sorted({note.group for note in chosen}), "all"):
        own = [note for note in chosen if group in (note.group, "all")]
        marks = [judged[note.key] for note in own if note.key in judged]
        rate = f"{sum(marks) / len(marks):.3f}" if marks else "-"
        print(f"{group:24} kept {sum(marks):4} of {len(marks):4} judged: {rate}   ({len(own) - len(marks)} not judged)")
    if options.show:
        for note in chosen:
            if note.key not in judged:
                print(note.key, note.group, note.content, sep=" | ")


if __name__ == "__main__":
    main()
