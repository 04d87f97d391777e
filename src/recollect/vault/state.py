"""What is known of a file from the last time: fingerprints of its blocks and of their entries. It keeps no text."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from recollect.storage.database import Transaction
from recollect.vault.markdown import Block

__all__ = ["ACTOR", "Mark", "Member", "State", "digest", "fingerprint", "known_state", "of_block"]

ACTOR = "vault"
"""Who the history names for an edit of a file, and the source of notes that were written into one."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Fingerprints of a block and of its entry when they last agreed, and how long the block was."""

    size: int
    block: str
    entry: str


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a file from the last time."""

    stat: str = ""
    operations: int = 0
    marks: dict[int, Mark] = field(default_factory=dict)
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """An entry that belongs into the file."""

    id: str
    fingerprint: str


def known_state(tx: Transaction, vault_id: str, category: str) -> State:
    """What was saved for a file; nothing where the vault or the file is new."""
    row = tx.one("vault.state", vault=vault_id, category=str(category)) if vault_id else None
    if row is None:
        return State()
    known, operations, blocks, doubt = row
    marks: dict[str, Any] = json.loads(blocks)
    return State(known, operations, {int(number): Mark(*mark) for number, mark in marks.items()}, doubt)


def fingerprint(content_hash: str, tags: Iterable[str]) -> str:
    """What tells one state of an entry from another."""
    return digest("\0".join([content_hash, *tags]).encode())


def of_block(block: Block) -> str:
    """What tells one state of a block from another, whatever blank lines follow it."""
    return digest(block.text.rstrip().encode())


def digest(raw: bytes) -> str:
    """A short hash."""
    return sha256(raw).hexdigest()[:16]
