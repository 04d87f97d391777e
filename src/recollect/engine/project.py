"""What the project is about: the file `_project.md` of the workspace's vault, else the agent's note of that name.

Nothing is read or written through a link.
"""

from pathlib import Path

from recollect.engine.store import Store
from recollect.errors import Conflict, Unavailable
from recollect.model.entry import Entry
from recollect.storage import entries
from recollect.vault.files import Edited, LeftAlone, opened, rewrite_file

__all__ = ["FILE", "find", "put_file"]

FILE = "_project.md"
NAMES = (FILE, "_project")


def find(store: Store, folder: Path | None, length: int = -1) -> tuple[str, Entry | None]:
    """The text, or as many characters of it as are wanted, and the note that has it, if it is no file."""
    if folder is not None:
        try:
            with opened(folder, FILE) as file:
                content = file.read(4 * length if length >= 0 else -1).decode("utf-8", "replace")
                return content[: length if length >= 0 else None], None
        except FileNotFoundError:
            pass
        except LeftAlone as problem:
            raise Unavailable(f"{folder / FILE} cannot be read: {problem}") from None
    with store.read() as tx:
        known = next((found for found in (entries.find(tx, name) for name in NAMES) if found), None)
        entry = entries.get(tx, known) if known else None
    return (entry.content, entry) if entry else ("", None)


def put_file(folder: Path, content: str, *, replace: bool) -> bool:
    """Write the file; False if there is one that says something and must not be replaced."""
    path, wanted = folder / FILE, f"{content.rstrip()}\n".encode()
    try:
        written = rewrite_file(folder, FILE, lambda known: known if known.strip() and not replace else wanted)
    except Edited:
        raise Conflict(f"{path} was edited at this moment; look at it and try again") from None
    except LeftAlone as problem:
        raise Conflict(f"{path} was left alone: {problem}") from None
    except OSError as error:
        raise Unavailable(f"{path} could not be written: {error}") from error
    return written or replace
