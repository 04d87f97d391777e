"""What commands on entries share: short ids, storing a note, applying an operation, and printing the result."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.cli.invocation import Invocation
from recollect.cli.options import text_of
from recollect.cli.output import SHORT_ID, document, said
from recollect.errors import Conflict, NotFound
from recollect.model.entry import Entry
from recollect.model.operation import Alias, Remove, Rename, Write

if TYPE_CHECKING:
    from recollect.memory import Memory

__all__ = ["apply", "identified", "identified_in_trash", "print_entry", "remember_note"]

NEWEST = 1_000
"""Number of newest entries that are searched for an id by its end."""


def remember_note(call: Invocation, verb: str, text: str, name: str | None, fields: dict[str, Any]) -> None:
    """Store a note and print it."""
    with call.memory() as mem:
        if fields["supersedes"] is not None:
            fields["supersedes"] = identified(mem, fields["supersedes"])
        entry = mem.remember(text_of(text), name=name, **fields)
    print_entry(call, verb, entry)


def apply(call: Invocation, verb: str, operation: Rename | Alias | Write | Remove) -> None:
    """Apply an operation whose target may be a short id, and print the entry."""
    with call.memory() as mem:
        entry = mem.apply(replace(operation, target=identified(mem, operation.target)))
    print_entry(call, verb, entry)


def print_entry(call: Invocation, verb: str, entry: Entry) -> None:
    """Print an entry as JSON, or what was done to it in one line."""
    if call.json:
        document(entry)
    else:
        said(verb, entry)


def identified(mem: "Memory", target: str) -> str:
    """Expand a short id, as tables show it, to the full id among the newest entries; otherwise return the target."""
    return _completed(target, lambda: mem.get(target), lambda: _newest(mem))


def identified_in_trash(mem: "Memory", target: str) -> str:
    """Expand a short id among the newest entries in the trash, and those that no longer hold."""

    def ids() -> list[str]:
        return [*(one.entry.id for one in mem.trash(limit=NEWEST)), *_newest(mem)]

    return _completed(target, lambda: mem.history(target), ids)


def _newest(mem: "Memory") -> list[str]:
    return [one.id for one in mem.list(kind=None, include_past=True, limit=NEWEST)]


def _completed(target: str, find: Callable[[], object], ids: Callable[[], list[str]]) -> str:
    if not re.fullmatch(f"[0-9a-f]{{{SHORT_ID}}}", target):
        return target
    try:
        find()  # names take precedence
        return target
    except NotFound:
        found = [one for one in ids() if one.endswith(target)]
    if len(found) > 1:
        raise Conflict(f"{len(found)} entry ids end with {target}: {', '.join(found)}; pass a full id")
    return found[0] if found else target
