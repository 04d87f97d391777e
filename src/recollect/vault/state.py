"""Sync state of a file: fingerprints of its blocks and entries at the last sync. No text is stored."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from recollect.storage.database import Transaction
from recollect.vault.markdown import Block

__all__ = ["ACTOR", "FileSyncState", "Mark", "Member", "digest", "fingerprint", "known_state", "of_block"]

ACTOR = "vault"
"""The actor recorded in the history for file edits, and the source of notes created from a file."""


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


def of_block(block: Block) -> str:
    """Return a digest of a block's text, ignoring trailing white space."""
    return digest(block.text.rstrip().encode())


def digest(raw: bytes) -> str:
    """Return the first 16 hex digits of the SHA-256 hash."""
    return sha256(raw).hexdigest()[:16]
