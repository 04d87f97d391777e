"""The file of one note in the layout `notes`: properties in front matter, then the content, byte for byte. Pure.

The front matter of a file that recollect creates shows what is stored, and its text ends with a line end. In a file
that a person wrote, only the id is added; another key is added or changed only when the entry changes, and keys that
recollect does not know stay.
"""

import re
import unicodedata
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from recollect import names
from recollect.clock import iso, milliseconds
from recollect.errors import Invalid
from recollect.model.entry import TAGS, Category, Entry, Origin
from recollect.vault.front_matter import FrontMatter, FrontMatterError, Value, split
from recollect.vault.links import without_code
from recollect.vault.state import ACTOR

__all__ = [
    "ID",
    "UNCATEGORISED",
    "NoteFile",
    "folded",
    "folder_of",
    "last_shown",
    "parse_note",
    "stem_of",
    "tags_in_text",
    "written_id",
]

ID = "recollect_id"
"""The key of the entry's id."""
UNCATEGORISED = "notes"
"""The folder of new files for notes without a category."""
LINE_ENDS = ("\n", "\r")
_TITLE_LENGTH = 60
_TAG = re.compile(r"(?<![\w/#&])#([^\W\d_][\w/-]*)")
_WRITTEN_ID = re.compile(rb"^" + ID.encode() + rb":[ \t]*[\"']?([0-9a-f-]{36})", re.M)
_DEFAULT_IMPORTANCE = 0.5
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
_NUMBERED = re.compile(r" [0-9]+\Z")


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A parsed file. Properties return what the front matter states; a value that is not valid counts as missing."""

    path: str
    front: FrontMatter
    body: str

    @property
    def text(self) -> str:
        """The verbatim text of the file."""
        return self.front.text + self.body

    @property
    def newline(self) -> str:
        """The line end of the file: that of its first line."""
        found = re.search(r"\r\n|\r|\n", self.text)
        return found[0] if found else "\n"

    @property
    def entry_id(self) -> str | None:
        """The id of the entry that the file shows."""
        written = self.front.get(ID)
        return written if isinstance(written, str) and names.is_id(written) else None

    @property
    def stem(self) -> str:
        """The file name without its suffix."""
        return stem_of(self.path)

    @property
    def name(self) -> str | None:
        """The name of the note: the file name, or the title that it was made from; None if neither is valid."""
        title, stem = _name(self.front.get("title")), self.stem
        if title is not None and names.as_file_name(title, "") in (stem, _NUMBERED.sub("", stem)):
            return title
        return _name(stem)

    @property
    def aliases(self) -> tuple[str, ...]:
        """The aliases, and the title if it is not the name."""
        written = [*_list(self.front, "aliases"), self.front.get("title")]
        return tuple(dict.fromkeys(one for each in written if (one := _name(each)) and one != self.name))

    @property
    def own_tags(self) -> tuple[str, ...]:
        """The tags in the front matter."""
        return _tags(self.front)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags in the front matter, then those in the text."""
        return tuple(dict.fromkeys([*self.own_tags, *tags_in_text(self.body)]))[: TAGS.count]

    @property
    def category(self) -> Category | None:
        """The category: the one in the front matter, or else that of the folder."""
        if "category" in self.front:
            written = self.front.get("category")
            return Category(written) if written in set(Category) else None
        return self.folder_category

    @property
    def folder_category(self) -> Category | None:
        """The category whose name the file's folder has."""
        parts = PurePosixPath(self.path).parts
        return Category(parts[1]) if len(parts) > 2 and parts[1] in set(Category) else None

    @property
    def importance(self) -> float | None:
        """The importance."""
        try:
            number = float(str(self.front.get("importance")))
        except ValueError:
            return None
        return number if 0 <= number <= 1 else None

    @property
    def origin(self) -> Origin | None:
        """The origin."""
        written = self.front.get("origin")
        return Origin(written) if written in set(Origin) else None

    def moment(self, key: str) -> int | None:
        """Return the time that a key states."""
        return _time(self.front.get(key))

    @property
    def written_at(self) -> int | None:
        """When the note was written: as the front matter states it, or else the day that the file is named by."""
        day = _DAY.match(self.stem)
        stated = (self.moment("created"), self.moment("date"), _time(day and day[0]))
        return next((when for when in stated if when is not None), None)

    @property
    def unusable(self) -> tuple[str, ...]:
        """The keys whose value is not valid, and is ignored."""
        found = {
            "importance": self.importance,
            "valid_from": self.moment("valid_from"),
            "valid_until": self.moment("valid_until"),
        }
        return tuple(key for key, value in found.items() if value is None and self.front.get(key) is not None)

    def with_id(self, entry_id: str) -> "NoteFile":
        """Return the file with this id."""
        return self if self.entry_id == entry_id else self._with({ID: entry_id})

    def showing(self, entry: Entry) -> "NoteFile":
        """Return the file updated from its entry: the content, and the properties that differ."""
        changes: dict[str, Value] = {}
        inline = tags_in_text(entry.content)
        own = tuple(tag for tag in entry.tags if tag in self.own_tags or tag not in inline)
        if own != self.own_tags:
            changes["tags"] = own or None
        if entry.category is not self.category:
            changes["category"] = entry.category or ("" if self.folder_category else None)
        if entry.importance != (_DEFAULT_IMPORTANCE if self.importance is None else self.importance):
            changes["importance"] = repr(entry.importance)
        for key, moment in (("valid_from", entry.valid_from), ("valid_until", entry.valid_until)):
            if not _same_second(self.moment(key), moment):
                changes[key] = None if moment is None else iso(moment)
        missing = [one for one in entry.aliases if one not in self.aliases]
        if missing:
            changes["aliases"] = (*_list(self.front, "aliases"), *missing)
        if "updated" in self.front and self.moment("updated") is not None:
            changes["updated"] = iso(entry.updated_at)
        ended = entry.source != ACTOR or self.body.endswith(LINE_ENDS)
        return replace(
            self._with(changes), body=_with_line_end(entry.content, self.newline) if ended else entry.content
        )

    def content_of(self, entry: Entry) -> str:
        """Return the content that the file states: its text, without the line end that `showing` adds."""
        if entry.source == ACTOR or entry.content.endswith(LINE_ENDS):
            return self.body
        return re.sub(r"(?:\r\n|\r|\n)\Z", "", self.body)

    def titled(self, old: str | None, new: str) -> "NoteFile":
        """Return the file after a rename: a title that was the old name becomes the new one."""
        return self._with({"title": new}) if old is not None and self.front.get("title") == old else self

    def _with(self, changes: dict[str, Value]) -> "NoteFile":
        if not changes:
            return self
        return replace(self, front=self.front.changed(changes, newline=self.newline))


def parse_note(path: str, text: str) -> NoteFile:
    """Parse a file. Raises FrontMatterError."""
    front, body = split(text)
    return NoteFile(path, FrontMatter.parse(front), body)


def last_shown(entry: Entry, path: str) -> NoteFile:
    """Return the file of an entry as it was at the last sync: with the front matter that it had, or with a new one."""
    try:
        if entry.front_matter is not None:
            body = entry.content if entry.source == ACTOR else _with_line_end(entry.content)
            return NoteFile(path, FrontMatter.parse(entry.front_matter), body).with_id(entry.id)
    except FrontMatterError:  # stored by another version
        pass
    values: dict[str, Value] = {
        ID: entry.id,
        "title": entry.name,
        "aliases": entry.aliases or None,
        "tags": entry.tags or None,
        "category": entry.category,
        "importance": None if entry.importance == _DEFAULT_IMPORTANCE else repr(entry.importance),
        "valid_from": None if entry.valid_from is None else iso(entry.valid_from),
        "valid_until": None if entry.valid_until is None else iso(entry.valid_until),
        "origin": entry.origin,
        "created": iso(entry.created_at),
        "updated": iso(entry.updated_at),
    }
    return NoteFile(path, FrontMatter.parse("").changed(values), _with_line_end(entry.content))


def folder_of(entry: Entry) -> str:
    """Return the folder in which a new file for the entry is created."""
    return entry.category or UNCATEGORISED


def stem_of(source: Entry | str) -> str:
    """Return the file name, without suffix, of a path, or for an entry: from its name, or the start of its content."""
    if isinstance(source, str):
        return unicodedata.normalize("NFC", PurePosixPath(source).stem)
    if source.name is not None:
        return names.as_file_name(source.name, "note")
    line = next((one for one in source.content.splitlines() if one.strip(" \t#>*-")), "").strip(" \t#>*-")
    short = line if len(line) <= _TITLE_LENGTH else line[:_TITLE_LENGTH].rpartition(" ")[0] or line[:_TITLE_LENGTH]
    return names.as_file_name(short, "note")


def folded(path: str) -> str:
    """Return a path in the form in which a file system that ignores case compares it."""
    return unicodedata.normalize("NFC", path).casefold()


def written_id(raw: bytes) -> str | None:
    """Return the id in the bytes of a file whose front matter cannot be parsed."""
    found = _WRITTEN_ID.search(raw)
    return found[1].decode() if found else None


def tags_in_text(content: str) -> tuple[str, ...]:
    """Return the tags in running text, nested ones included, but not those in code."""
    if "#" not in content:
        return ()
    return tuple(dict.fromkeys(tag for tag in _TAG.findall(without_code(content)) if len(tag) <= TAGS.length))


def _with_line_end(content: str, newline: str = "\n") -> str:
    """Return the content with a line end, so that text which a program appends to the file starts a line."""
    return content if content.endswith(LINE_ENDS) else content + newline


def _list(front: FrontMatter, key: str) -> tuple[str, ...]:
    written = front.get(key)
    if isinstance(written, str):
        return tuple(part for one in written.split(",") if (part := one.strip()))
    return written or ()


def _tags(front: FrontMatter) -> tuple[str, ...]:
    written = (_name(one.strip().lstrip("#")) for one in _list(front, "tags"))
    return tuple(dict.fromkeys(tag for tag in written if tag and len(tag) <= TAGS.length))


def _name(written: Value) -> str | None:
    try:
        return names.name(written) if isinstance(written, str) else None
    except Invalid:
        return None


def _time(written: Value) -> int | None:
    try:
        return milliseconds(written) if isinstance(written, str) and written else None
    except (Invalid, OverflowError):
        return None


def _same_second(one: int | None, other: int | None) -> bool:
    """Compare two times as files show them."""
    return one == other if one is None or other is None else one // 1000 == other // 1000
