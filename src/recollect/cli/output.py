"""How results are shown: JSON for programs, short text for people. Content is data: nothing in it reaches the terminal
as a colour, a control character or a change of direction.
"""

import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from recollect.clock import iso
from recollect.model.entry import Entry

__all__ = [
    "SHORT_ID",
    "breadth",
    "brief",
    "columns",
    "complain",
    "counted",
    "document",
    "heading",
    "label",
    "line",
    "on_terminal",
    "padded",
    "pairs",
    "remark",
    "safe",
    "said",
    "short",
    "shown",
    "table",
    "words",
]

UNCUT = 1_000_000
"""The width of an output that is not a terminal: a program that reads it gets everything."""
PIPED = 100
"""The width of a table for people whose output is not a terminal."""
WIDEST = 40
"""Cells of a terminal that a column may take, except for the last one; an id has 36."""
SHORT_ID = 8
"""Characters of an id that tables show."""
LEAST = 8
"""Cells that the last column has at the least, if it has something to show."""

_ALLOWED = {ord("\n"), ord("\t")}
_CONTROLS = {*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029}
# Marks that turn the direction of what follows, so that a text can pose as another one.
_TURNS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_SHOWN = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in (_CONTROLS | _TURNS) - _ALLOWED}
_JSON = {code: f"\\u{code:04x}" for code in (_CONTROLS | _TURNS) if code >= 0x7F}
"""What JSON lets through, although a terminal acts on it."""


def document(value: Any) -> None:
    """One JSON document: values of the library under the names of their fields, always in UTF-8."""
    text = json.dumps(value, default=dataclasses.asdict, ensure_ascii=False, indent=2)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.translate(_JSON).encode() + b"\n")


def safe(text: str) -> str:
    """The text with control characters and turns of direction spelled out; tabs and line breaks stay."""
    return text.replace("\r\n", "\n").translate(_SHOWN)


def line(text: str) -> str:
    """The text on one line, safe to show."""
    return safe(" ".join(text.split()))


def words(name: str) -> str:
    """The name of a figure as people write it: checkpointsCleaned are checkpoints cleaned."""
    return re.sub("[A-Z]", lambda found: f" {found[0].lower()}", name)


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things: 1 entry, 2 entries."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def on_terminal() -> bool:
    """Whether people read the output, and no program."""
    return _output().is_terminal


def breadth() -> int:
    """How many cells fit into a row of the output."""
    return _output().width


def padded(text: str, cells: int) -> str:
    """The text with spaces behind it, up to so many cells: some letters take two."""
    return text + " " * (cells - cell_len(text))


def label(entry: Entry) -> str:
    """How an entry is addressed: by its name, else by its id."""
    return safe(entry.name or entry.id)


def short(entry_id: str) -> str:
    """The end of an id, which tells entries apart; its beginning is the time. Commands accept it."""
    return entry_id[-SHORT_ID:]


def complain(message: str) -> None:
    """One line on stderr: what went wrong and what to do."""
    _errors().print(Text(f"recollect: {line(message)}"), soft_wrap=True)


def remark(message: str, *, limit: int | None = None) -> None:
    """A remark for people on stderr, where it does not get into the results; another one where the limit was 0."""
    told = "--limit 0 asks for nothing; give 1 or more" if limit == 0 else line(message)
    _errors().print(Text(told, "dim"), soft_wrap=True)


def said(verb: str, entry: Entry) -> None:
    """One line that says what was done to which entry."""
    parts = [Text(f"{verb} "), Text(label(entry), "bold")]
    if entry.aliases:
        parts.append(Text(f"  also: {', '.join(map(safe, entry.aliases))}", "dim"))
    _output().print(Text.assemble(*parts), soft_wrap=True)


def shown(text: Text) -> None:
    """One line as it is, on the standard output."""
    _output().print(text, soft_wrap=True)


def heading(title: str, facts: str = "") -> None:
    """The first line of something: what it is, and a few facts about it."""
    parts = [Text(title, "bold"), *([Text(facts, "dim")] if facts else [])]
    _output().print(Text("  ").join(parts), soft_wrap=True)


def brief(entry: Entry, text: str) -> None:
    """An entry in short: what it is called, a few facts, and some text, wrapped on a terminal."""
    facts = [entry.category or "", *(f"#{tag}" for tag in entry.tags), iso(entry.created_at)[:10]]
    console = _output()
    heading(label(entry), "  ".join(line(fact) for fact in facts if fact))
    for row in Text(line(text)).wrap(console, max(console.width - 2, 20)):
        row.rstrip()
        console.print(Text("  ") + row, soft_wrap=True)


def pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Names and their values, one pair a line, aligned; empty values are left out."""
    shown = [(name, value) for name, value in rows if value]
    names = max((cell_len(name) for name, _ in shown), default=0)
    console = _output()
    for name, value in shown:
        for row in Text(value).wrap(console, max(console.width - names - 4, 20)):
            row.rstrip()
            console.print(Text.assemble("  ", (padded(name, names), "dim"), "  ", row), soft_wrap=True)
            name = ""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns that are cut to a readable width also where the output is not a terminal: programs have --json."""
    width = breadth() if on_terminal() else PIPED
    columns(header, rows, width=width, most=width // 4)


def columns(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None = None, most: int | None = None
) -> None:
    """Aligned columns; empty ones are left out. On a terminal the last one is cut where the line ends.

    On one that is too narrow for the others, each row is shown as a pair for each column.
    """
    console = _output()
    used = [i for i in range(len(header)) if any(row[i] for row in rows)]
    width, most = width or console.width, most or (WIDEST if console.is_terminal else UNCUT)
    widths = [min(max(cell_len(row[i]) for row in (header, *rows)), most) for i in used]
    if sum(cells + 2 for cells in widths[:-1]) + min([LEAST, *widths[-1:]]) > width:
        for row in rows:
            first, *others = used
            heading(row[first])
            pairs([(header[i], row[i]) for i in others])
        return
    for n, row in enumerate((header, *rows)):
        style = "dim" if n == 0 else ""
        cells = [Text(row[i], style) for i in used]
        for cell, cells_wide in zip(cells[:-1], widths[:-1], strict=True):
            cell.truncate(cells_wide, overflow="ellipsis", pad=True)
        whole = Text("  ").join(cells)
        whole.truncate(width, overflow="ellipsis")
        console.print(whole, soft_wrap=True)


def _errors() -> Console:
    sys.stdout.flush()  # what was said before stands before
    return _console("stderr")


def _output() -> Console:
    return _console("stdout")


@cache
def _console(stream: str) -> Console:
    file = getattr(sys, stream)
    console = Console(file=file, highlight=False)
    if not console.is_terminal:
        return Console(file=file, highlight=False, color_system=None, width=UNCUT)
    return Console(file=file, highlight=False, color_system=None) if console.no_color else console
