"""Output: JSON for programs, short text for people. Content is data: nothing in it reaches the terminal as a colour, a
control character or a bidirectional override.
"""

import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from recollect.clock import iso
from recollect.environment import styles_forced
from recollect.model.entry import Entry, State

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = [
    "SHORT_ID",
    "breadth",
    "brief",
    "columns",
    "complain",
    "counted",
    "document",
    "heading",
    "holding",
    "json_text",
    "label",
    "line",
    "nothing_found",
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
"""Width where stdout is not a terminal, so that programs get uncut lines."""
PIPED = 100
"""Width of `table` where stdout is not a terminal."""
WIDEST = 40
"""Maximum width of a column in cells, except for the last one; an id takes 36."""
SHORT_ID = 8
"""Length of the short ids in tables."""
LEAST = 8
"""Minimum width of the last column in cells, unless its values are shorter."""

_ALLOWED = {ord("\n"), ord("\t")}
_CONTROLS = {*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029}
# Bidirectional controls, with which a text can be made to look like another one.
_TURNS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_SHOWN = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in (_CONTROLS | _TURNS) - _ALLOWED}
_JSON = {code: f"\\u{code:04x}" for code in (_CONTROLS | _TURNS) if code >= 0x7F}
"""Characters that JSON does not escape, but a terminal interprets."""


def document(value: Any) -> None:
    """Print one JSON document, always in UTF-8; objects of the library become objects with their field names."""
    sys.stdout.flush()
    sys.stdout.buffer.write(json_text(value).encode())


def json_text(value: Any) -> str:
    """Return one JSON document, with the characters escaped that a terminal interprets, and a line break."""
    text = json.dumps(value, default=dataclasses.asdict, ensure_ascii=False, indent=2)
    return f"{text.translate(_JSON)}\n"


def safe(text: str) -> str:
    """Escape control characters and bidirectional controls, except for tabs and line breaks."""
    return text.replace("\r\n", "\n").translate(_SHOWN)


def line(text: str) -> str:
    """Return the text on one line, safe for a terminal."""
    return safe(" ".join(text.split()))


def words(name: str) -> str:
    """Split the name of a figure into words: checkpointsCleaned becomes checkpoints cleaned."""
    return re.sub("[A-Z]", lambda found: f" {found[0].lower()}", name)


def counted(number: int, one: str, many: str | None = None) -> str:
    """Format a count with its noun: 1 entry, 2 entries."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def on_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return not _is_plain("stdout") and _output().is_terminal


def breadth() -> int:
    """Return the width of the output in cells."""
    return UNCUT if _is_plain("stdout") else _output().width


def padded(text: str, cells: int) -> str:
    """Pad the text with spaces to a width in cells; wide characters take two."""
    from rich.cells import cell_len

    return text + " " * (cells - cell_len(text))


def label(entry: Entry) -> str:
    """Return the name of an entry, otherwise its id."""
    return safe(entry.name or entry.id)


def short(entry_id: str) -> str:
    """Return the end of an id, which is distinctive, unlike the timestamp at its start. Commands accept it."""
    return entry_id[-SHORT_ID:]


def complain(message: str) -> None:
    """Print an error as one line on stderr: what went wrong and what to do."""
    _print("stderr", (f"recollect: {line(message)}", ""))


def remark(message: str, *, limit: int | None = None) -> None:
    """Print a remark on stderr, separate from the results; with `limit=0` one about that limit instead."""
    _print("stderr", ("--limit 0 returns nothing; pass 1 or more" if limit == 0 else line(message), "dim"))


def nothing_found(query: str, *, limit: int, min_confidence: float = 0.0) -> None:
    """Remark that a search found nothing, or nothing of enough confidence."""
    least = f" with a confidence of {min_confidence:g} or more" if min_confidence else ""
    remark(f"nothing found for {line(query)!r}{least}", limit=limit)


def said(verb: str, entry: Entry) -> None:
    """Print what was done to an entry, as one line."""
    also = f"  also: {', '.join(map(safe, entry.aliases))}" if entry.aliases else ""
    _print("stdout", (f"{verb} ", ""), (label(entry), "bold"), (also, "dim"))


def shown(text: "Text") -> None:
    """Print one styled line to stdout, unwrapped."""
    _output().print(text, soft_wrap=True)


def heading(title: str, facts: str = "") -> None:
    """Print a title in bold, followed by a few facts: on the same line if they fit, else below, wrapped."""
    if facts and not _is_plain("stdout"):
        from rich.cells import cell_len

        if cell_len(title) + 2 + cell_len(facts) > breadth():
            _print("stdout", (title, "bold"))
            _indented(facts, "dim")
            return
    _print("stdout", (title, "bold"), ("  " if facts else "", ""), (facts, "dim"))


def holding(entry: Entry, state: State) -> str:
    """Return since when, until when and whether an entry holds; empty if it holds without a limit."""
    since = "" if entry.valid_from is None else f"since {iso(entry.valid_from)[:10]}"
    until = "" if entry.valid_until is None else f"until {iso(entry.valid_until)[:10]}"
    return " ".join(filter(None, (since, until, "" if state is State.CURRENT else f"({state})")))


def brief(entry: Entry, text: str, state: State) -> None:
    """Print an entry in brief: name or id, a few facts, and some text, wrapped on a terminal."""
    facts = [entry.category or "", *(f"#{tag}" for tag in entry.tags), iso(entry.created_at)[:10], entry.origin]
    facts.append(holding(entry, state))
    heading(label(entry), "  ".join(line(fact) for fact in facts if fact))
    _indented(line(text))


def pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Print aligned names and values, one pair per line; empty values are omitted."""
    from rich.cells import cell_len
    from rich.text import Text

    shown = [(name, value) for name, value in rows if value]
    names = max((cell_len(name) for name, _ in shown), default=0)
    console = _output()
    for name, value in shown:
        for row in Text(value).wrap(console, max(console.width - names - 4, 20)):
            row.rstrip()
            console.print(Text.assemble("  ", (padded(name, names), "dim"), "  ", row), soft_wrap=True)
            name = ""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns truncated to a readable width even if stdout is not a terminal: programs use --json."""
    width = breadth() if on_terminal() else PIPED
    columns(header, rows, width=width, most=width // 4)


def columns(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None = None, most: int | None = None
) -> None:
    """Print aligned columns; empty ones are omitted. On a terminal lines are truncated to its width.

    If it is too narrow for all but the last column, each row is printed as one pair per column.
    """
    from rich.cells import cell_len
    from rich.text import Text

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


def _indented(text: str, style: str = "") -> None:
    if _is_plain("stdout"):
        _print("stdout", (f"  {text}", ""))
        return
    from rich.text import Text

    console = _output()
    for row in Text(text, style).wrap(console, max(console.width - 2, 20)):
        row.rstrip()
        console.print(Text("  ") + row, soft_wrap=True)


def _print(stream: str, *parts: tuple[str, str]) -> None:
    """Print texts with their styles as one unwrapped line; without loading `rich` if there are no styles."""
    if stream == "stderr":
        sys.stdout.flush()  # keep the order of stdout and stderr
    if _is_plain(stream):
        print("".join(text for text, _ in parts), file=getattr(sys, stream), flush=True)
        return
    from rich.text import Text

    _console(stream).print(Text.assemble(*parts), soft_wrap=True)


def _is_plain(stream: str) -> bool:
    """Return whether a stream has neither a width nor styles; `rich` decides for the others."""
    return not getattr(sys, stream).isatty() and not styles_forced()


def _output() -> "Console":
    return _console("stdout")


@cache
def _console(stream: str) -> "Console":
    from rich.console import Console

    file = getattr(sys, stream)
    console = Console(file=file, highlight=False)
    if not console.is_terminal:
        return Console(file=file, highlight=False, color_system=None, width=UNCUT)
    return Console(file=file, highlight=False, color_system=None) if console.no_color else console
