"""An encrypted home next to a plain one, on the same SQLite, in one run.

    PYTHONPATH=.venv/encryption python bench/encryption.py [entries]

The two take turns, one call each, so that both find the disk and the processor's caches in the same state.
"""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpus import corpus

import recollect
from recollect import Add, Settings
from recollect.config import EmbedderSettings, EncryptionSettings

QUESTIONS, WRITES, OPENINGS = 200, 1_000, 20
WORDS_ALONE = EmbedderSettings(kind="none")


def timed(run: Callable[[], object]) -> float:
    """How long something takes, in milliseconds."""
    began = time.perf_counter()
    run()
    return (time.perf_counter() - began) * 1000


def in_turn(values: dict[str, Any]) -> list[tuple[str, Any]]:
    """The items, in random order: the first to see a question fills caches that the others use."""
    return random.sample(list(values.items()), len(values))


def opened(path: Path, settings: Settings, question: str) -> None:
    with recollect.open(path, settings=settings) as home:
        home.agent("ana").recall(question)


def main() -> None:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    made = corpus(entries + WRITES, QUESTIONS)
    with tempfile.TemporaryDirectory() as folder:
        keys = {"64 hexadecimal digits": "ab" * 32, "passphrase": "a sentence that is hard to guess"}
        kinds = {"plain": Settings(embedder=WORDS_ALONE)}
        for name, key in keys.items():
            file = Path(folder, f"{name}.key")
            file.write_text(key)
            kinds[name] = Settings(embedder=WORDS_ALONE, encryption=EncryptionSettings(key_file=str(file)))
        homes = {name: recollect.open(Path(folder, f"{name}.db"), settings=kinds[name]) for name in kinds}
        figures: dict[str, dict[str, list[float]]] = {}

        def note(what: str, name: str, run: Callable[[], object]) -> None:
            figures.setdefault(what, {}).setdefault(name, []).append(timed(run))

        for home in homes.values():
            home.agent("ana").remember_many([Add(text) for text in made.texts[:entries]])
        for text in made.texts[entries:]:
            for name, home in in_turn(homes):
                note("remember", name, lambda home=home, text=text: home.agent("ana").remember(text))
        for question in made.questions:
            for name, home in in_turn(homes):
                note("recall", name, lambda home=home, question=question: home.agent("ana").recall(question))
        for home in homes.values():
            home.close()
        for _ in range(OPENINGS):
            for name, settings in in_turn(kinds):
                path = Path(folder, f"{name}.db")
                note("open and recall", name, lambda p=path, s=settings: opened(p, s, made.questions[0]))
        for what, by_kind in figures.items():
            plain = statistics.median(by_kind["plain"])
            for name, taken in by_kind.items():
                median = statistics.median(taken)
                print(f"{what:16} {name:24} {median:8.2f} ms  {median / plain:5.2f}×")


if __name__ == "__main__":
    main()
