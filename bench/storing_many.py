"""How many entries `remember_many` stores per second, index included, and what they take on disk.

    python bench/storing_many.py [entries] [times]

The seconds of processor time vary less on a busy machine than those of the clock.
"""

import sys
import tempfile
import time
from pathlib import Path

from corpus import corpus

import recollect
from recollect import Settings
from recollect.config import EmbedderSettings

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    texts = corpus(size, 1).texts
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "memory.db"
            with recollect.open(path, settings=WORDS_ALONE) as home:
                mem = home.agent("bench")
                began, used = time.perf_counter(), time.process_time()
                mem.remember_many(map(recollect.Add, texts))
                took, used = time.perf_counter() - began, time.process_time() - used
            print(
                f"{size:,} entries: {size / used:,.0f}/s of processor time, {size / took:,.0f}/s of the clock; "
                f"{path.stat().st_size / size:,.0f} bytes each"
            )


if __name__ == "__main__":
    main()
