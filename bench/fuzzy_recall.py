"""Recall with misspelled words, next to looking for near words with difflib, which everybody has, in one run.

    python bench/fuzzy_recall.py [entries]

Every question has five words of the vocabulary with a letter changed each, so that none is found as it is typed. The
time of difflib is for one word over the same vocabulary, with nothing searched yet.
"""

import random
import sys
import tempfile
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from corpus import corpus
from timing import timed

import recollect
from recollect import Settings
from recollect.config import EmbedderSettings
from recollect.text import analyse

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))
QUESTIONS = 40
WAYS = (
    ("as typed", False, 0.0),
    ("prefix", True, 0.0),
    ("fuzzy 0.2", False, 0.2),
    ("prefix and fuzzy 0.2", True, 0.2),
    ("fuzzy 0.5", False, 0.5),
)


def misspelled(word: str, chance: random.Random) -> str:
    """The word with another letter at one place."""
    place = chance.randrange(1, len(word))
    return word[:place] + "q" + word[place + 1 :]


def main() -> None:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    texts, chance = corpus(entries, 1).texts, random.Random(7)
    vocabulary = sorted({term for text in texts for term in analyse(text)})
    long = [word for word in vocabulary if len(word) > 5]
    questions = [" ".join(misspelled(chance.choice(long), chance) for _ in range(5)) for _ in range(QUESTIONS)]
    with (
        tempfile.TemporaryDirectory() as folder,
        recollect.open(Path(folder) / "memory.db", settings=WORDS_ALONE) as home,
    ):
        mem = home.agent("bench")
        mem.remember_many(recollect.Add(text) for text in texts)
        print(f"{entries:,} entries, {len(vocabulary):,} terms; questions of five misspelled words, medians")
        for name, prefix, fuzzy in WAYS:
            taken = timed(partial(mem.recall, record=False, prefix=prefix, fuzzy=fuzzy), questions)
            print(f"  {name:22} {taken:9.1f} ms")
    words = [question.split()[0] for question in questions[:3]]
    taken = timed(partial(get_close_matches, possibilities=vocabulary, n=10), words)
    print(f"  {'difflib, one word':22} {taken:9.1f} ms")


if __name__ == "__main__":
    main()
