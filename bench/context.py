"""`mem.context()` over a large memory, next to one recall with the same words, in one run.

    python bench/context.py [entries] [file] [--alike]

Of a hundred entries twelve are decisions, twelve lessons and one is a hand-off; twenty notes have short open tasks, the
project is a note, as many turns as entries were said in conversations of forty, and the last one stopped a moment ago.
Each command is given to `context()`, to `recall(limit=5)` and to a recall of three decisions in turn; times are
processor times. With a file the memory is kept there, and a second run uses it again. With `--alike` all entries and
turns differ in one number only.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from corpus import Corpus, corpus

import recollect
from recollect import Settings
from recollect.config import EmbedderSettings
from recollect.engine import conversations
from recollect.model.events import checked_event
from recollect.model.history import Event, EventType

COMMANDS = 200
PER_CONVERSATION = 40
WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))
TASKS = 20
OF_DECISIONS: dict[str, Any] = {"category": "decisions", "limit": 3}


def category(number: int) -> str | None:
    """What the entry of a number is for."""
    place = number % 100
    return "decisions" if place < 12 else "lessons" if place < 24 else "handoffs" if place == 24 else None


def fill(path: Path, texts: list[str]) -> None:
    """Write the memory."""
    with recollect.open(path, settings=WORDS_ALONE) as home:
        mem = home.agent("bench")
        for first in range(0, len(texts), PER_CONVERSATION):
            # Written at once, past the window and its compaction, which are no part of what is measured here.
            store = mem._workspace
            info = conversations.start(store, channel="general", chat_id=None, model_id=None, participants=(), now=0)
            talk = [
                Event(type=EventType.MODEL if n % 2 else EventType.USER, content=content, created_at=n * 60_000)
                for n, content in enumerate(texts[first : first + PER_CONVERSATION], first)
            ]
            conversations.append(store, info.id, [checked_event(event, info.id, 0) for event in talk])
        mem.remember_many(recollect.Add(entry, category=category(number)) for number, entry in enumerate(texts))
        mem.remember_many(
            recollect.Add(f"- [ ] {' '.join(texts[n].split()[:5])}\n- [x] done", category="tasks") for n in range(TASKS)
        )
        mem.remember("The shop sells boats and ropes.", name="_project")
        talk = mem.conversations.start()
        talk.user("Where were we?")
        talk.assistant("At the gate.")


def timed(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def main() -> None:
    given = [word for word in sys.argv[1:] if word != "--alike"]
    entries = int(given[0]) if given else 100_000
    made = corpus(entries, COMMANDS)
    if "--alike" in sys.argv:
        alike = [f"We decided that boat {n} leaves the harbour gate at eight" for n in range(entries)]
        asked = [f"when does boat {n * (entries // COMMANDS)} leave the harbour gate?" for n in range(COMMANDS)]
        made = Corpus(alike, asked)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(given[1]) if len(given) > 1 else Path(folder) / "memory.db"
        if not path.exists():
            fill(path, made.texts)
        contexts: list[float] = []
        recalls: list[float] = []
        decisions: list[float] = []
        with recollect.open(path, settings=WORDS_ALONE) as home:
            mem = home.agent("bench")
            for number, command in enumerate([*made.questions[:20], *made.questions]):
                calls = [
                    (contexts, mem.context),
                    (recalls, mem.recall),
                    (decisions, partial(mem.recall, **OF_DECISIONS)),
                ]
                for taken, call in calls[number % 3 :] + calls[: number % 3]:  # those that come later find warm caches
                    seconds = timed(lambda call=call, command=command: call(command))
                    taken += [seconds] if number >= 20 else []  # the first commands warm up
            example = mem.context(made.questions[0])
    print(f"{entries:,} entries and turns, {COMMANDS} commands; a block has about {example.tokens:,} tokens")
    for name, taken in (("context", contexts), ("recall", recalls), ("recall of decisions", decisions)):
        median = statistics.median(taken)
        ratios = f"{median / statistics.median(recalls):.2f} (over all {sum(taken) / sum(recalls):.2f}) × recall"
        print(
            f"  {name:20} {median * 1000:7.2f} ms (median; 95th percentile {sorted(taken)[-10] * 1000:.2f}), {ratios}"
        )


if __name__ == "__main__":
    main()
