"""Continuous import: polls a folder and imports the files that changed.

No state is kept between runs, because imports are idempotent. A file counts as imported once its import has returned,
so a failed one is retried.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.cli.output import counted, remark, safe
from recollect.errors import RecollectError
from recollect.model.transfer import Format, Imported

__all__ = ["watch"]

POLL_INTERVAL = 1.0
"""Seconds between two polls."""
BY_FILE = (Format.CLAUDE_CODE, Format.CODEX)
"""Formats whose files are imported one by one; for other formats, the whole path is."""

States = dict[Path, tuple[int, int, int]]
"""Size, modification time and inode of each file."""


def watch(path: Path, import_: Callable[[Path, Format | None], Imported], show: Callable[[Imported], None]) -> None:
    """Import the path now and whenever its files change, until SIGINT or SIGTERM.

    Raises the errors of the first import; later ones are printed, and the import is retried.
    """
    with _stop_event() as stop:
        seen = _states(path)
        first = import_(path, None)
        show(first)
        remark(f"watching {counted(len(seen), 'file')} in {safe(str(path))}; Ctrl-C ends")
        failures: dict[Path, str] = {}
        while not stop.wait(POLL_INTERVAL):
            for part, states in _changed(path, first.format, seen):
                try:
                    done = import_(part, first.format)
                except RecollectError as error:
                    if failures.get(part) != str(error):
                        remark(f"{error}; retrying")
                    failures[part] = str(error)
                    continue
                seen.update(states)
                failures.pop(part, None)
                if done.changed:
                    show(done)


def _changed(path: Path, kind: Format, seen: States) -> list[tuple[Path, States]]:
    """Return the paths to import because files changed, with the states of these files."""
    found = _states(path)
    new = {file: state for file, state in found.items() if seen.get(file) != state}
    if kind in BY_FILE:
        return [(file, {file: state}) for file, state in new.items() if file.suffix == ".jsonl"]
    return [(path, new)] if new else []


def _states(path: Path) -> States:
    """Return the state of each file below a path. Links are not followed, and hidden files are ignored."""
    names = [str(path)] if path.is_file() else []
    for folder, folders, files in os.walk(path):
        folders[:] = [one for one in folders if not one.startswith(".")]
        names += [os.path.join(folder, file) for file in files if not file.startswith(".")]
    found: States = {}
    for name in names:
        try:
            state = os.lstat(name)
        except OSError:  # it was removed meanwhile
            continue
        found[Path(name)] = (state.st_size, state.st_mtime_ns, state.st_ino)
    return found


@contextmanager
def _stop_event() -> Iterator[threading.Event]:
    """Yield an event that is set by SIGINT or SIGTERM, so that a running import ends first; a second one interrupts."""
    stop = threading.Event()

    def on_signal(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
