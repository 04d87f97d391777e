"""Files of a memory tool as entries: what the model's commands view, create, edit, delete and rename.

A file is an entry whose name is its path, such as `/memories/preferences.md`, with the tag `memory-file`. So recalls
and contexts find it, the page shows it, and it has a history, a trash and an export. A directory exists as long as a
file is in it. A renamed file is a new entry: an alias would keep the old path taken.
"""

import posixpath
from collections.abc import Callable, Iterator
from typing import Any

from recollect import Conflict, Entry, Invalid, Memory, NotFound, Stale, Write
from recollect.adapters.file_texts import PIECE, FileTexts

__all__ = ["MemoryFiles"]

ROOT = "/memories"
TAG = "memory-file"
MOST_LINES = 999_999
DEPTH = 2


class MemoryFiles:
    """The commands of the tool on the files of one agent. Results and errors (Invalid) are texts for the model."""

    def __init__(self, memory: Memory) -> None:
        self._memory, self._texts = memory, FileTexts(memory)

    def view(self, command: Any) -> str:
        """Return the lines of a file, or the files of a directory."""
        path, shown = _resolved(command.path), command.path
        if (entry := self._file(path)) is None:
            return self._directory(path, shown)
        lines = self._text(entry)[1].split("\n")
        if len(lines) > MOST_LINES:
            raise Invalid(f"File {shown} exceeds maximum line limit of {MOST_LINES:,} lines.")
        first, last = 1, len(lines)
        if command.view_range and len(command.view_range) == 2:
            first = max(1, command.view_range[0])
            last = last if command.view_range[1] == -1 else command.view_range[1]
        return f"Here's the content of {shown} with line numbers:\n" + _numbered(lines, first, last)

    def create(self, command: Any) -> str:
        """Create a file that does not exist yet."""
        path, text = _resolved(command.path), _text(command.file_text)
        # Names are unique, so `remember` refuses one that is taken; only a large text stores something before that.
        if path == ROOT or self._is_directory(path) or (len(text) > PIECE and self._file(path) is not None):
            raise Invalid(f"File {command.path} already exists")
        try:
            self._add(path, text)
        except Conflict:
            raise Invalid(f"File {command.path} already exists") from None
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: Any) -> str:
        """Replace a text that occurs once in a file."""

        def change(text: str) -> str:
            found = text.count(command.old_str)
            if found == 0:
                raise Invalid(
                    f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in "
                    f"{command.path}."
                )
            if found > 1:
                lines = ", ".join(map(str, _occurrences(text, command.old_str)))
                raise Invalid(
                    f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: "
                    f"{lines}. Please ensure it is unique"
                )
            return text.replace(command.old_str, command.new_str)

        before, after = self._edit(command.path, change)
        line = before[: before.find(command.old_str)].count("\n") + 1
        snippet = _numbered(after.split("\n"), max(1, line - 2), line + 2)
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
        )

    def insert(self, command: Any) -> str:
        """Insert text after a line of a file."""

        def change(text: str) -> str:
            lines = text.removesuffix("\n").split("\n") if text else []
            if not 0 <= command.insert_line <= len(lines):
                raise Invalid(
                    f"Invalid `insert_line` parameter: {command.insert_line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            return "\n".join(lines).removesuffix("\n") + "\n"

        self._edit(command.path, change)
        return f"The file {command.path} has been edited."

    def delete(self, command: Any) -> str:
        """Move a file, or all files of a directory, to the trash."""
        path = _resolved(command.path)
        if path == ROOT:
            raise Invalid(f"Cannot delete the {ROOT} directory itself")
        gone = [entry for entry in self._below(path) if self._forget(entry)]
        if not gone:
            raise Invalid(f"The path {command.path} does not exist")
        return f"Successfully deleted {command.path}"

    def rename(self, command: Any) -> str:
        """Give a file, or all files of a directory, another path."""
        old, new = _resolved(command.old_path), _resolved(command.new_path)
        if old == ROOT:
            raise Invalid(f"Cannot rename the {ROOT} directory itself")
        if new == ROOT or self._exists(new):
            raise Invalid(f"The destination {command.new_path} already exists")
        moved = list(self._below(old))
        if not moved:
            raise Invalid(f"The path {command.old_path} does not exist")
        if new.startswith(f"{old}/"):
            raise Invalid(f"The destination {command.new_path} is inside of {command.old_path}")
        for entry in moved:  # first the copies: a crash leaves a file twice, never none
            self._add(new + str(entry.name).removeprefix(old), self._text(entry)[1])
        for entry in moved:
            self._forget(entry)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear(self) -> str:
        """Move all files to the trash. Other entries stay."""
        for entry in list(self._below(ROOT)):
            self._forget(entry)
        return "All memory cleared"

    def texts(self) -> dict[str, str]:
        """Return the texts of all files by their paths."""
        return {str(entry.name): self._text(entry)[1] for entry in self._below(ROOT)}

    def _directory(self, path: str, shown: str) -> str:
        sizes: dict[str, int] = {}
        total = 0
        for entry in self._below(path):
            size = self._texts.size(entry)
            total += size
            parts = str(entry.name).removeprefix(path).strip("/").split("/")
            if any(part.startswith(".") for part in parts):
                continue
            for depth in range(1, min(len(parts), DEPTH) + 1):
                place = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
                sizes[place] = sizes.get(place, 0) + size
        if path != ROOT and not total and not sizes and not self._exists(path):
            raise Invalid(f"The path {shown} does not exist. Please provide a valid path.")
        lines = [f"{_as_size(total)}\t{shown}", *(f"{_as_size(sizes[one])}\t{shown}/{one}" for one in sorted(sizes))]
        head = f"Here're the files and directories up to {DEPTH} levels deep in {shown}, excluding hidden items:"
        return "\n".join([head, *lines])

    def _edit(self, shown: str, change: Callable[[str], str]) -> tuple[str, str]:
        """Change the text of a file; return it before and after. Another process's change in between is not lost."""
        path = _resolved(shown)
        while True:
            if (entry := self._file(path)) is None:
                if self._exists(path):
                    raise Invalid(f"The path {shown} is not a file.")
                raise Invalid(f"The path {shown} does not exist. Please provide a valid path.")
            entry, before = self._text(entry)
            after = change(before)
            content, context = self._texts.stored(after)
            try:
                self._memory.apply(Write(entry.id, content, context=context or ""), if_version=entry.version)
            except Stale:
                self._texts.drop(context)
                continue
            self._texts.drop(entry.context)
            return before, after

    def _add(self, path: str, text: str) -> None:
        content, context = self._texts.stored(text)
        try:
            self._memory.remember(content, name=path, tags=[TAG], context=context)
        except Conflict:
            self._texts.drop(context)
            raise

    def _forget(self, entry: Entry) -> bool:
        gone = self._memory.forget(entry.id)
        self._texts.drop(entry.context)
        return gone

    def _text(self, entry: Entry) -> tuple[Entry, str]:
        """Return a file and its text; if another process has changed it in between, as it is now."""
        while True:
            try:
                return entry, self._texts.text(entry)
            except NotFound:
                now = self._memory.get(entry.id)
                if now.version == entry.version:
                    raise Invalid(f"A part of {entry.name} is gone; restore it from the trash.") from None
                entry = now

    def _file(self, path: str) -> Entry | None:
        try:
            entry = self._memory.get(path)
        except NotFound:
            return None
        return entry if TAG in entry.tags and entry.name == path else None

    def _exists(self, path: str) -> bool:
        return path == ROOT or self._file(path) is not None or self._is_directory(path)

    def _is_directory(self, path: str) -> bool:
        return self._memory.item_names.exist(f"{path}/") and next(self._inside(path), None) is not None

    def _below(self, path: str) -> Iterator[Entry]:
        """Iterate over a file, or over the files in a directory and below."""
        if (file := self._file(path)) is not None:
            yield file
        else:
            yield from self._inside(path)

    def _inside(self, path: str) -> Iterator[Entry]:
        """Iterate over the files in a directory and below, in the order of their paths."""
        return (entry for entry in self._memory.item_names.below(f"{path}/") if TAG in entry.tags)


def _resolved(path: str) -> str:
    """Return the path of a file or directory without `.` and `..`; raise Invalid if it is not below /memories."""
    if not _text(path).startswith(ROOT):
        raise Invalid(f"Path must start with {ROOT}, got: {path}")
    found = posixpath.normpath(f"{ROOT}/{path[len(ROOT) :].lstrip('/')}")
    if found != ROOT and not found.startswith(f"{ROOT}/"):
        raise Invalid(f"Path {path} would escape {ROOT} directory")
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Invalid(f"a path or a file must be text, not {type(value).__name__}")
    return value


def _numbered(lines: list[str], first: int, last: int) -> str:
    """Return lines with their numbers in front."""
    shown = enumerate(lines[first - 1 : last], first)
    return "\n".join(f"{number:>{len(str(MOST_LINES))}}\t{line}" for number, line in shown)


def _occurrences(text: str, part: str) -> Iterator[int]:
    """Iterate over the numbers of the lines in which a text begins to occur."""
    place = text.find(part)
    while place >= 0:
        yield text.count("\n", 0, place) + 1
        place = text.find(part, place + 1)


def _as_size(count: int) -> str:
    """Return a number of bytes as 17B, 1.5K or 3M."""
    size, units = float(count), "BKMG"
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{int(size) if size == int(size) else round(size, 1)}{units[0]}"
