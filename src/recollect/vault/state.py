"""Sync state of a file: fingerprints of its blocks and entries at the last sync. No text is stored."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from recollect.engine.project import NAMES as PROJECT_NAMES
from recollect.model.entry import Entry
from recollect.storage.columns import to_columns
from recollect.storage.database import Transaction
from recollect.storage.entries import content_hash

if TYPE_CHECKING:
    from recollect.vault.markdown import Block

__all__ = [
    "ACTOR",
    "NOTES",
    "FileSyncState",
    "Mark",
    "Member",
    "NoteMark",
    "digest",
    "fingerprint",
    "known_notes",
    "known_state",
    "note_fingerprint",
    "note_members",
    "of_block",
    "save_state",
]

ACTOR = "vault"
"""The actor recorded in the history for file edits, and the source of notes created from a file."""
NOTES = "notes"
"""Key of the state that all files of an agent share, in the layout with one file per note."""
_SHOWN = ("tags", "category", "importance", "valid_from", "valid_until")
"""Fields whose changes a note's file shows besides the content, in the order of the query."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Fingerprints of a block and its entry at the last sync, and the length of the block."""

    size: int
    block: str
    entry: str


@dataclass(frozen=True, slots=True)
class FileSyncState:
    """The stored state of a file at the last sync."""

    stat: str = ""
    operations: int = 0
    marks: dict[int, Mark] = field(default_factory=dict)
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """An entry that belongs in the file."""

    id: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class NoteMark:
    """Fingerprints of a note's file and its entry at the last sync."""

    path: str
    stem: str
    stat: str
    file: str
    entry: str
    names: str

    @property
    def of_entry(self) -> tuple[str, str]:
        """The fingerprints of the entry and of its names."""
        return self.entry, self.names


def known_notes(tx: Transaction, vault_id: str) -> dict[str, NoteMark]:
    """Return the stored state of the notes' files by entry id."""
    return {entry_id: NoteMark(*mark) for entry_id, *mark in tx.all("vault.note_files", vault=vault_id)}


def note_members(tx: Transaction) -> dict[str, tuple[str, str]]:
    """Return the entries that have a file of their own, by id: the fingerprints of their fields and of their names."""
    names: dict[str, str] = {}
    aliases: dict[str, list[str]] = {}
    for entry_id, name, canonical in tx.all("vault.names"):
        if canonical:
            names[entry_id] = name
        else:
            aliases.setdefault(entry_id, []).append(name)
    return {
        entry_id: (
            _of_values([content_hash(content), *values]),
            _of_names(names.get(entry_id, ""), aliases.get(entry_id, ())),
        )
        for entry_id, content, *values in tx.all("vault.notes")
        if names.get(entry_id) not in PROJECT_NAMES
    }


def note_fingerprint(entry: Entry) -> tuple[str, str]:
    """Return the fingerprints of an entry's fields and of its names."""
    values = to_columns(entry, 0)
    shown = [entry.content_hash, *(values[name] for name in _SHOWN)]
    return _of_values(shown), _of_names(entry.name or "", entry.aliases)


def _of_names(name: str, aliases: Iterable[str]) -> str:
    return digest("\0".join([name, *sorted(aliases)]).encode())


def _of_values(values: Iterable[object]) -> str:
    return digest("\0".join(map(str, values)).encode())


def save_state(tx: Transaction, vault_id: str, category: str, state: FileSyncState) -> None:
    """Store the state of a file."""
    blocks = {str(number): [mark.size, mark.block, mark.entry] for number, mark in state.marks.items()}
    tx.run(
        "vault.save",
        vault=vault_id,
        category=str(category),
        stat=state.stat,
        doubt=state.doubt,
        operations=state.operations,
        blocks=json.dumps(blocks, separators=(",", ":")),
    )


def known_state(tx: Transaction, vault_id: str, category: str) -> FileSyncState:
    """Return the stored state of a file; an empty State if the vault or the file is new."""
    row = tx.one("vault.state", vault=vault_id, category=str(category)) if vault_id else None
    if row is None:
        return FileSyncState()
    known, operations, blocks, doubt = row
    marks: dict[str, Any] = json.loads(blocks)
    return FileSyncState(known, operations, {int(number): Mark(*mark) for number, mark in marks.items()}, doubt)


def fingerprint(content_hash: str, tags: Iterable[str]) -> str:
    """Return a digest of an entry's content hash and tags."""
    return digest("\0".join([content_hash, *tags]).encode())


def of_block(block: "Block") -> str:
    """Return a digest of a block's text, ignoring trailing white space."""
    return digest(block.text.rstrip().encode())


def digest(raw: bytes) -> str:
    """Return the first 16 hex digits of the SHA-256 hash."""
    return sha256(raw).hexdigest()[:16]
