"""A program for test_encryption_crash.py: encrypts a home in children that are killed, and looks at what is left.

    python conversions.py FOLDER STEP

Child n is killed at the n-th line of code that it executes in the module that replaces a file. It runs on the SQLite
that encrypts, in a process of its own. Prints what was found as JSON.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import recollect
from recollect import Settings
from recollect.storage.sqlite import conversion
from recollect.wiring import change_key, encrypted_files, key_of

LINES = {conversion.__file__}
ROWS = ("_require_equal", "<genexpr>")
"""Code that runs for every row; a kill there is like one before or after it."""
SENTENCES = ["We deploy on Tuesdays", "Prices include tax"]


def in_child(work: Callable[[], None], kill_at: int | None = None) -> bool:
    """Run a function in a forked child; return False if it was killed."""
    child = os.fork()
    if not child:
        left = kill_at or 0

        def count(frame, event, arg):
            nonlocal left
            if frame.f_code.co_filename not in LINES or frame.f_code.co_name in ROWS:
                return None
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return count

        code = 1
        try:
            if kill_at is not None:
                sys.settrace(count)
            work()
            sys.settrace(None)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return False
    assert os.WEXITSTATUS(status) == 0, "the child failed"
    return True


def require_content(place: Path, settings: Settings) -> None:
    """Fail if a sentence is missing."""
    with recollect.open(place, settings=settings) as home:
        for workspace, sentence in zip(("default", "shop"), SENTENCES, strict=True):
            assert [entry.content for entry in home.agent("ana", workspace=workspace).list()] == [sentence]


def main(folder: Path, step: int) -> None:
    none = Settings(embedder={"kind": "none"})
    (folder / "key").write_text("ab" * 32)
    keyed = Settings(embedder={"kind": "none"}, encryption={"key_file": str(folder / "key")})
    key = key_of(keyed)

    def fill() -> None:
        with recollect.open(folder / "original", settings=none) as home:
            for workspace, sentence in zip(("default", "shop"), SENTENCES, strict=True):
                home.agent("ana", workspace=workspace).remember(sentence)

    in_child(fill)
    kills, states = 0, set()
    for number in range(0, 100_000, step):
        place = folder / "home"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(folder / "original", place)
        finished = in_child(lambda place=place: change_key(str(place), None, key), kill_at=number)
        encrypted, plain = encrypted_files(str(place))
        assert encrypted + plain == 2
        states.add((encrypted, plain))
        if not encrypted:  # nothing has happened: the home is what it was
            in_child(lambda place=place: require_content(place, none))
        in_child(lambda place=place: change_key(str(place), None, key))
        in_child(lambda place=place: require_content(place, keyed))
        left = [str(path) for path in place.rglob("*") if path.name.endswith((".new", "-wal", "-shm", "-journal"))]
        assert not left, left
        if finished:
            break
        kills += 1
    print(json.dumps({"kills": kills, "states": sorted(states)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
