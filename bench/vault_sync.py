"""A vault of many notes: making its files, a sync with nothing to do, and a sync after one file was edited, in one run.

    python bench/vault_sync.py [notes] [agents]

The notes are spread over agents and the five categories. Files are counted by watching what Python opens in the vault.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from corpus import corpus

import recollect
from recollect import Category, Settings
from recollect.config import EmbedderSettings

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))
TIMES = 20


class Opened:
    """Counts the files that are opened under a folder, for reading and for writing."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.read, self.written = str(folder), 0, 0
        sys.addaudithook(self._heard)

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and str(args[0]).startswith(self._folder) and str(args[0]).endswith((".md", ".md.tmp")):
            if str(args[0]).endswith(".tmp"):
                self.written += 1
            else:
                self.read += 1

    def since(self) -> tuple[int, int]:
        """How many were read and written since the last time."""
        counted = self.read, self.written
        self.read = self.written = 0
        return counted


def main() -> None:
    notes = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    agents = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    texts = corpus(max(notes, 300), 200).texts[:notes]
    categories = list(Category)
    with tempfile.TemporaryDirectory() as folder:
        vault_folder = Path(folder) / "vault"
        opened = Opened(vault_folder)
        with recollect.open(Path(folder) / "memory.db", settings=WORDS_ALONE, vault=vault_folder) as home:
            for agent in range(agents):
                home.agent(f"agent-{agent}").remember_many(
                    recollect.Add(entry, category=categories[number // agents % len(categories)])
                    for number, entry in enumerate(texts)
                    if number % agents == agent
                )
            vault = home.vault()
            began = time.perf_counter()
            vault.sync()
            made, files = time.perf_counter() - began, opened.since()
            idle: list[float] = []
            edited: list[float] = []
            touched = (0, 0)
            file = vault_folder / "agent-0" / "decisions.md"
            for number in range(TIMES):
                began = time.perf_counter()
                vault.sync()
                idle.append(time.perf_counter() - began)
                nothing = opened.since()
                file.write_text(file.read_text() + f"\n## 2026-03-02T10:00\n\nNew note {number}\n")
                opened.since()
                began = time.perf_counter()
                report = vault.sync()
                edited.append(time.perf_counter() - began)
                touched = opened.since()
                assert report.added == 1
    print(f"{notes:,} notes of {agents} agents")
    for name, seconds, (read, written) in (
        ("all files made", made, files),
        ("nothing changed", statistics.median(idle), nothing),
        ("one file edited", statistics.median(edited), touched),
    ):
        print(f"  {name:16} {seconds * 1000:9.1f} ms, files opened: {read} to read, {written} to write")
    print(f"  making all ÷ one edited: {made / statistics.median(edited):.1f}")


if __name__ == "__main__":
    main()
