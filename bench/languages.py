"""How well notes in several languages are found by words alone, and how often the language of a short text is right.

    python bench/languages.py

`languages.tsv` has short notes, each with a question that uses other forms of its words. All notes are in one store.
Prints for each language: the share of notes and questions whose language is guessed right, and the share of questions
whose note is the first hit by keyword, or among three. Runs on older versions of the package, too.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import recollect
from recollect import text

NAMES = {
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "nl": "dutch",
    "sv": "swedish",
    "pt": "portuguese",
    "en": "english",
}


def guess(content: str) -> str:
    """The language in which a text is indexed."""
    leading = getattr(text, "leading", None)
    return leading(sum(chunk[0] for chunk in text.chunks(content)))[0] if leading else ""


def mean(found: Sequence[bool]) -> float:
    return sum(found) / len(found)


def main() -> None:
    lines = (Path(__file__).with_suffix(".tsv")).read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    with tempfile.TemporaryDirectory() as folder, recollect.open(Path(folder) / "notes.db") as home:
        mem = home.agent("bench")
        entries = mem.remember_many(recollect.Add(note) for _, note, _ in rows)
        print(f"{'':12}{'questions':>10}{'notes right':>13}{'questions':>11}{'first hit':>11}{'of three':>11}")
        for code, name in NAMES.items():
            own = [(entry.id, *row[1:]) for entry, row in zip(entries, rows, strict=True) if row[0] == code]
            places = [[hit.entry.id for hit in mem.recall(question, limit=3, mode="keyword")] for _, _, question in own]
            first = mean([found[:1] == [entry] for (entry, _, _), found in zip(own, places, strict=True)])
            three = mean([entry in found for (entry, _, _), found in zip(own, places, strict=True)])
            notes = mean([guess(note) == name for _, note, _ in own])
            questions = mean([guess(question) == name for _, _, question in own])
            print(f"{name:12}{len(own):10}{notes:13.2f}{questions:11.2f}{first:11.2f}{three:11.2f}")


if __name__ == "__main__":
    main()
