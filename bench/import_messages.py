"""Importing a large `conversations.json`: messages per second, the memory it takes, and importing it again.

    python bench/import_messages.py [messages]

The file is written first, in ChatGPT's form, and imported in a process of its own, so that the peak of its memory is
that of the import. Twice the messages must not take more memory.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from corpus import corpus
from remember import WORDS_ALONE

import recollect

EACH = 20
"""Messages of a chat."""


def write(path: Path, messages: int) -> None:
    """A file with so many messages."""
    texts = corpus(20_000, 200).texts
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for chat in range(messages // EACH):
            nodes: dict[str, object] = {"root": {"id": "root", "message": None, "parent": None, "children": ["0"]}}
            for number in range(EACH):
                at = 1_700_000_000 + chat * 3_600 + number * 60
                nodes[str(number)] = {
                    "id": str(number),
                    "parent": str(number - 1) if number else "root",
                    "children": [str(number + 1)] if number + 1 < EACH else [],
                    "message": {
                        "author": {"role": "assistant" if number % 2 else "user"},
                        "create_time": at,
                        "content": {"content_type": "text", "parts": [texts[(chat * EACH + number) % len(texts)]]},
                        "recipient": "all",
                    },
                }
            one = {
                "id": f"chat-{chat}",
                "title": f"Chat {chat}",
                "create_time": 1_700_000_000 + chat * 3_600,
                "current_node": str(EACH - 1),
                "mapping": nodes,
            }
            file.write(("," if chat else "") + json.dumps(one))
        file.write("]")


def run(file: str, home: str) -> None:
    """Import once, and tell how long it took and how much memory the process had at most."""
    start, worked = time.perf_counter(), time.process_time()
    with recollect.open(home, settings=WORDS_ALONE) as opened:
        done = opened.import_(file, agent="bench")
    taken, worked = time.perf_counter() - start, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    added = sum(part.added.get("messages", 0) for part in done.parts)
    print(json.dumps({"seconds": taken, "processor": worked, "peak": peak, "added": added}))


def imported(file: Path, home: Path) -> dict[str, float]:
    """The same in a new process."""
    done = subprocess.run([sys.executable, __file__, str(file), str(home)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def main() -> None:
    if len(sys.argv) == 3:
        run(sys.argv[1], sys.argv[2])
        return
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("messages      MB   seconds  of processor  per second  peak MB  again s  added again")
        for size in (messages, 2 * messages):
            file, home = folder / f"{size}.json", folder / f"{size}.db"
            write(file, size)
            first, again = imported(file, home), imported(file, home)
            print(
                f"{size:8,} {file.stat().st_size / 1e6:7.0f} {first['seconds']:9.1f} {first['processor']:13.1f} "
                f"{size / first['seconds']:11,.0f} "
                f"{first['peak']:8.0f} {again['seconds']:8.1f} {again['added']:12,.0f}"
            )


if __name__ == "__main__":
    main()
