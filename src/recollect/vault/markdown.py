"""Lossless parser and writer for the markdown of a category file. Pure: no I/O.

The argument. A file belongs to the users who edit it, so it is never re-rendered: it is split into blocks, every block
keeps its text verbatim, and only blocks that must change are changed. A block extends from its id comment (or, if
handwritten, from its dated heading) to the next one; the `---` at its end is decoration. A content line that would
start a block is escaped with a backslash, so any content round-trips.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

__all__ = ["Block", "File", "clean", "new_block", "parse", "slug", "tags_in"]

_START = r"(?:\A|(?<=[\r\n]))"
_END = r"[ \t]*(?=[\r\n]|\Z)"
_ID = r"<!--[ \t]*id:[ \t]*[1-9][0-9]{0,14}[ \t]*-->" + _END
_HEADING = r"##[ \t]+[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}Z?(?:[ \t]*·)?(?:[ \t]*#[\w/-]+)*" + _END
_MARKS = re.compile(rf"{_START}(?:(?P<id>{_ID})|(?P<heading>{_HEADING})|(?P<fence>[ ]{{0,3}}(?:```|~~~)))")
_TO_ESCAPE = re.compile(rf"{_START}(?=\\*(?:{_ID}|{_HEADING}))")
_ESCAPED = re.compile(rf"{_START}\\(?=\\*(?:{_ID}|{_HEADING}))")
_BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")
_LINE_END = re.compile(r"\r\n|\r|\n")
_NUMBER = re.compile(r"[1-9][0-9]*")
_DATE = re.compile(r"([0-9-]{10})[T ]([0-9:]{5})")
_HEADING_TAG = re.compile(r"#([\w/-]+)")
_CONTENT_TAG = re.compile(r"#(\w+)")
_NOT_IN_A_TAG = re.compile(r"[^\w/-]+")
_RULE = "---"
_FRONT_MATTER = re.compile(r"---[ \t]*[\r\n].*?(?:[\r\n]---[ \t]*(?=[\r\n]|\Z)|\Z)", re.S)
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Block:
    """The text of one entry in a file: the id comment, the heading and the body."""

    opening: str
    heading: str
    body: str

    @property
    def text(self) -> str:
        """The verbatim text of the block."""
        return self.opening + self.heading + self.body

    @property
    def number(self) -> int | None:
        """The number in the id comment; None if there is no id comment yet."""
        found = _NUMBER.search(self.opening)
        return int(found[0]) if found else None

    @property
    def at(self) -> int | None:
        """The timestamp in the heading, in UTC milliseconds; None if missing or invalid."""
        found = _DATE.search(self.heading)
        try:
            moment = datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00") if found else None
        except ValueError:
            return None
        return None if moment is None or moment.year < 1970 else round(moment.timestamp() * 1000)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the heading, or if it has none, the hashtags in the content."""
        return tuple(dict.fromkeys(_HEADING_TAG.findall(self.heading))) or tags_in(self.content)

    @property
    def content(self) -> str:
        """The unescaped content, without surrounding blank lines and with `\\n` line ends, whatever the file uses."""
        return clean(_ESCAPED.sub("", _parts(self.body)[1]))

    @property
    def closed(self) -> bool:
        """True if the block ends with its `---` rule, so that text below it is not part of it."""
        return _RULE in _parts(self.body)[2]

    def with_number(self, number: int, newline: str) -> "Block":
        """Return the block with this number in its id comment."""
        if self.opening:
            return replace(self, opening=_NUMBER.sub(str(number), self.opening, count=1))
        return replace(self, opening=f"<!-- id:{number} -->{newline}")

    def with_heading(self, at: int, tags: tuple[str, ...], newline: str) -> "Block":
        """Return the block with this date and these tags in its heading."""
        return replace(
            self,
            opening=_ended(self.opening, newline),
            heading=_heading(at, tags) + newline,
            body=self.body if _LINE_END.match(self.body) else newline + self.body,
        )

    def with_content(self, content: str, newline: str) -> "Block":
        """Return the block with other content; the text around the content stays."""
        lead, core, tail = _parts(self.body)
        if not core or _RULE not in tail:
            spare = _LINE_END.findall(tail)[1:] if core else []
            lead, tail = lead if core else newline, f"{newline}{newline}{_RULE}{newline}{''.join(spare)}"
        body = lead + _escape(clean(content)).replace("\n", newline) + tail
        return Block(_ended(self.opening, newline), _ended(self.heading, newline), body)

    def split(self, length: int) -> "list[Block]":
        """Split at `length`, the block's previous end: return the block, then the text below it as further blocks."""
        end = length + len(_BLANK_LINES.match(self.text[length:])[0])  # type: ignore[index]  # it matches always
        kept = end - len(self.opening) - len(self.heading)
        below = parse(self.body[kept:])
        first = [Block("", "", below.preamble)] if below.preamble else []
        return [replace(self, body=self.body[:kept]), *first, *below.blocks]


@dataclass(frozen=True, slots=True)
class File:
    """A parsed file: the text before the first block, and the blocks."""

    preamble: str
    blocks: tuple[Block, ...]
    newline: str

    @property
    def text(self) -> str:
        """The verbatim text of the file."""
        return self.preamble + "".join(block.text for block in self.blocks)

    @property
    def unread(self) -> str:
        """Why the text before the first note is not read; empty if it is only front matter and a title."""
        text = self.preamble.removeprefix(_BYTE_ORDER_MARK)
        front = _FRONT_MATTER.match(text)
        for number, line in enumerate(text.splitlines(), 1):
            within = front is not None and number <= len(front[0].splitlines())
            if line.strip() not in ("", _RULE) and not line.startswith("# ") and not within:
                return f"line {number} is not read: a note starts with a heading such as `## 2026-03-16T14:32 · #tag`"
        return ""

    def inserted(self, new: Iterable[Block]) -> "File":
        """Return the file with new blocks, newest first: each before the first older block, else at the end."""
        waiting = sorted(new, key=_order)
        blocks: list[Block] = []
        for block in self.blocks:
            while waiting and block.number is not None and _order(waiting[-1]) > block.number:
                newest = waiting.pop()
                blocks.append(replace(newest, body=newest.body + self.newline))
            blocks.append(block)
        preamble = self.preamble
        for block in reversed(waiting):
            gap = self.newline * _missing_lines(blocks[-1].text if blocks else preamble)
            if blocks:
                blocks[-1] = replace(blocks[-1], body=blocks[-1].body + gap)
            else:
                preamble += gap
            blocks.append(block)
        return replace(self, preamble=preamble, blocks=tuple(blocks))


def parse(text: str) -> File:
    """Parse a file. Never fails; `parse(text).text == text` for any text."""
    line_end = _LINE_END.search(text)
    mark = len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0
    rest = text[mark:]
    starts: list[tuple[int, int, int]] = []  # offsets of a block, its heading and its body
    fence = ""
    for found in _MARKS.finditer(rest):
        if found["fence"]:
            kind = found["fence"].strip()
            fence = "" if fence == kind else fence or kind
            continue
        end = _line_end(rest, found.end())
        if found["id"]:
            starts.append((found.start(), end, end))
            fence = ""
        elif starts and starts[-1][1] == starts[-1][2] and not rest[starts[-1][2] : found.start()].strip():
            starts[-1] = (starts[-1][0], found.start(), end)
        elif not fence:
            starts.append((found.start(), found.start(), end))
    edges = [start for start, _, _ in starts] + [len(rest)]
    blocks = tuple(
        Block(rest[start:heading], rest[heading:body], rest[body:end])
        for (start, heading, body), end in zip(starts, edges[1:], strict=True)
    )
    return File(text[: mark + edges[0]], blocks, line_end[0] if line_end else "\n")


def new_block(number: int, at: int, tags: tuple[str, ...], content: str, newline: str = "\n") -> Block:
    """Return a block for an entry in the standard layout."""
    block = Block(f"<!-- id:{number} -->{newline}", _heading(at, tags) + newline, "")
    return block.with_content(content, newline)


def clean(content: str) -> str:
    """Normalise content: `\\n` line ends, no leading blank lines, no trailing white space."""
    lines = _LINE_END.sub("\n", content)
    return lines[len(_BLANK_LINES.match(lines)[0]) :].rstrip()  # type: ignore[index]  # it matches always


def slug(tag: str) -> str:
    """Return a tag as a single word for the heading; hyphens and slashes are allowed."""
    return _NOT_IN_A_TAG.sub("-", tag).strip("-")


def tags_in(content: str) -> tuple[str, ...]:
    """Return the hashtags in running text, without duplicates."""
    return tuple(dict.fromkeys(_CONTENT_TAG.findall(content)))


def _heading(at: int, tags: tuple[str, ...]) -> str:
    shown = [f"#{word}" for word in dict.fromkeys(map(slug, tags)) if word]
    date = datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M")
    return f"## {date} · {' '.join(shown)}" if shown else f"## {date}"


def _order(block: Block) -> int:
    return block.number or 0


def _missing_lines(text: str) -> int:
    """Return how many line ends to add so that a blank line separates `text` from the next block."""
    if not text.removeprefix(_BYTE_ORDER_MARK) or text.endswith(("\n\n", "\r\n\r\n", "\r\r")):
        return 0
    return 1 if text.endswith(("\r", "\n")) else 2


def _escape(content: str) -> str:
    return _TO_ESCAPE.sub(r"\\", content)


def _ended(line: str, newline: str) -> str:
    return line + newline if line and not line.endswith(("\r", "\n")) else line


def _line_end(text: str, place: int) -> int:
    found = _LINE_END.match(text, place)
    return found.end() if found else place


def _parts(body: str) -> tuple[str, str, str]:
    """Split a body into leading blank lines, the escaped content, and the closing rule with white space."""
    lead = len(_BLANK_LINES.match(body)[0])  # type: ignore[index]  # it matches always
    core = body.rstrip()
    line = max(core.rfind("\n"), core.rfind("\r")) + 1
    if core[line:] == _RULE:
        core = core[:line].rstrip()
    end = max(len(core), lead)
    return body[:lead], body[lead:end], body[end:]
