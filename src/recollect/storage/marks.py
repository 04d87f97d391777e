"""Marks of requests with an idempotency key: a row that the transaction of a write inserts into the same database.

A server that stops between this commit and the response leaves a key in progress without a response. When the request
is executed again, its first write finds the mark and fails before it changes anything, and the mark names what the
first execution wrote. Concurrent executions are covered, too: the second one to write finds the mark.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from os import urandom

from recollect.errors import Conflict
from recollect.storage.database import Transaction

__all__ = ["AlreadyApplied", "executing", "leave", "record"]


@dataclass(frozen=True, slots=True)
class _Execution:
    key: str
    at: int
    id: str = field(default_factory=lambda: urandom(16).hex())


_current: ContextVar[_Execution | None] = ContextVar("execution", default=None)


class AlreadyApplied(Conflict):
    """An earlier execution of the request changed this database. Nothing was changed now."""

    def __init__(self, entry: str | None) -> None:
        super().__init__(
            "the request took effect, at least in part, before its server stopped, and its response is lost; "
            "read what it changed"
        )
        self.entry = entry
        """The id of the entry that it wrote; None if it wrote none or several, or something else."""


@contextmanager
def executing(key: str, at: int) -> Iterator[None]:
    """Mark the transactions that the block opens as writes of a request."""
    token = _current.set(_Execution(key, at))
    try:
        yield
    finally:
        _current.reset(token)


def leave(tx: Transaction) -> None:
    """Insert the mark of the current request, if any; raise AlreadyApplied if another execution inserted it before."""
    execution = _current.get()
    if execution is None:
        return
    key = _key(execution)
    if tx.run("marks.leave", key=key, fingerprint=execution.id, created_at=execution.at):
        return
    ((found, operations),) = tx.all("marks.get", key=key)
    if found != execution.id:
        raise AlreadyApplied(_entry(tx, *json.loads(operations)) if operations else None)


def record(tx: Transaction, first: int, last: int) -> None:
    """Record in the mark which operations the current request logged."""
    if (execution := _current.get()) is not None:
        tx.send("marks.record", key=_key(execution), body=json.dumps([first, last]))


def _key(execution: _Execution) -> str:
    return f"mark {execution.key}"  # on SQLite, marks and requests may be rows of the same table


def _entry(tx: Transaction, first: int, last: int) -> str | None:
    entries = {entry for (entry,) in tx.all("marks.entries", first=first, last=last)}
    return entries.pop() if len(entries) == 1 else None
