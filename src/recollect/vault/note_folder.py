"""The files in an agent's folder that are notes, in the layout with one file per note, and reading them."""

from pathlib import Path, PurePosixPath

from recollect.model.entry import Category
from recollect.vault.files import DIARY, MEMORY, LeftAlone, markdown_files, read_bytes
from recollect.vault.front_matter import FrontMatterError
from recollect.vault.note_file import NoteFile, parse_note

__all__ = ["note_files", "read_note"]

OTHER_FILES = frozenset([MEMORY, DIARY, "USER.md", "SOUL.md", "SOUL-CORE.md"])
"""Files in an agent's folder that are not notes."""
BLOCK = b"<!-- id:"
"""Appears in every file of the layout with one file per category."""


def note_files(folder: Path, agent: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the disk states of the files of an agent's notes by path, and why other files are not read."""
    found, skipped = markdown_files(folder, agent)
    for name in OTHER_FILES:
        found.pop(f"{agent}/{name}", None)
        skipped.pop(f"{agent}/{name}", None)
    return found, skipped


def read_note(folder: Path, path: str) -> tuple[bytes, NoteFile | str]:
    """Return the bytes of a file, and the parsed note or the reason why it cannot be parsed."""
    raw = b""
    try:
        raw = read_bytes(folder, path) or b""
        if len(PurePosixPath(path).parts) == 2 and PurePosixPath(path).stem in set(Category) and BLOCK in raw:
            return raw, "it is a file of the layout 'categories'; `recollect vault convert` converts it"
        return raw, parse_note(path, raw.decode())
    except UnicodeDecodeError as error:
        return raw, f"it is not UTF-8 (byte {error.start}); save it as UTF-8"
    except FrontMatterError as error:
        return raw, f"its front matter was not read, {error}"
    except (LeftAlone, OSError) as error:
        return raw, str(error)
