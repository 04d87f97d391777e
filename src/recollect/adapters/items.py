"""Items of the key-value stores of frameworks as entries.

An item is an entry whose name is its path, such as `langgraph:users/ana/preferences`, with the kind of store as its
tag. So recalls and contexts find it, the page shows it, and it has a history, a trash and an export. Names sort by
their path, so the items of a namespace are read through the index of names.
"""

import json
import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from recollect import Add, Conflict, Entry, Memory, NotFound, RecollectError, SystemClock, Write
from recollect.adapters.session_items import NotJson

__all__ = ["Draft", "Items", "Sweeper", "as_json", "expired"]

EMPTY = "%"
"""Stands for an empty key."""
_clock = SystemClock()
_log = logging.getLogger("recollect.items")


@dataclass(frozen=True, slots=True)
class Draft:
    """What to store at a path."""

    path: tuple[str, ...]
    content: str
    context: str | None = None
    """What else belongs to the item, as JSON."""
    valid_until: int | None = None
    vectors: Mapping[str, bytes] = field(default_factory=dict)
    """Vectors of the framework's embedder, by field."""


class Items:
    """The items of one kind of store of an agent, by path; with a model, `put` stores the vectors of drafts as well."""

    def __init__(self, memory: Memory, kind: str, model: str | None = None) -> None:
        self.memory, self.kind, self._model = memory, kind, model

    @property
    def root(self) -> str:
        """What the names of all items begin with."""
        return f"{self.kind}:"

    def get(self, path: Sequence[str]) -> Entry | None:
        """Return the item at a path; None if there is none, or it has expired."""
        try:
            entry = self.memory.get(self._name(path))
        except NotFound:
            return None
        return entry if self._is_item(entry) and not expired(entry) else None

    def put(self, drafts: Sequence[Draft]) -> list[Entry]:
        """Store items in place of those at the same paths; return their entries.

        Raises Invalid if a path is too long to be a name, and Conflict if another entry has it.
        """
        with suppress(Conflict):  # most are new, and then one transaction is enough
            return self._add_all(drafts)
        found: dict[int, Entry] = {}
        for place, draft in enumerate(drafts):
            if (entry := self._replace(draft)) is not None:
                found[place] = entry
        new = [draft for place, draft in enumerate(drafts) if place not in found]
        try:
            added = iter(self._add_all(new) if new else [])
        except Conflict:  # another process was first with one of them
            added = iter([self._replace(draft) or self._add_all([draft])[0] for draft in new])
        return [found[place] if place in found else next(added) for place in range(len(drafts))]

    def delete(self, path: Sequence[str]) -> bool:
        """Move the item at a path to the trash; return whether there was one."""
        name = self._name(path)
        try:
            known = self._is_item(self.memory.get(name))
        except NotFound:
            return False
        return known and self.memory.forget(name)

    def below(self, prefix: Sequence[str] = (), *, past: bool = False) -> Iterator[Entry]:
        """Iterate over the items below a path, in the order of their names; with `past`, expired ones too."""
        start = f"{self._name(prefix)}/" if prefix else self.root
        for entry in self.memory.item_names.below(start):
            if self._is_item(entry) and (past or not expired(entry)):
                yield entry

    def path(self, entry: Entry) -> tuple[str, ...]:
        """Return the path of an item."""
        parts = str(entry.name).removeprefix(self.root).split("/")
        return tuple("" if part == EMPTY else unquote(part, errors="surrogatepass") for part in parts)

    def extend(self, entry: Entry, valid_until: int) -> None:
        """Let an item expire later."""
        self.memory.apply(Write(entry.id, valid_until=valid_until))

    def _name(self, path: Sequence[str]) -> str:
        return self.root + "/".join(map(_segment, path))

    def _is_item(self, entry: Entry) -> bool:
        return self.kind in entry.tags

    def _add_all(self, drafts: Sequence[Draft]) -> list[Entry]:
        adds = [self._add(draft) for draft in drafts]
        if self._model is None:
            return self.memory.remember_many(adds)
        return self.memory.item_vectors.add(
            self._model, [(add, draft.vectors) for add, draft in zip(adds, drafts, strict=True)]
        )

    def _add(self, draft: Draft) -> Add:
        return Add(
            draft.content,
            self._name(draft.path),
            tags=[self.kind],
            context=draft.context,
            valid_until=draft.valid_until,
        )

    def _replace(self, draft: Draft) -> Entry | None:
        """Write a draft to the item at its path; None if there is none."""
        name = self._name(draft.path)
        try:
            if not self._is_item(self.memory.get(name)):
                raise Conflict(f"{name!r} is the name of another entry; rename that entry, or use another key")
            write = Write(name, draft.content, context=draft.context or "", valid_until=draft.valid_until or "")
            if self._model is None:
                return self.memory.apply(write)
            return self.memory.item_vectors.write(self._model, write, draft.vectors)
        except NotFound:
            return None


class Sweeper:
    """A thread that calls `sweep` at intervals, until it is stopped."""

    def __init__(self, sweep: Callable[[], object]) -> None:
        self._sweep, self._stopped = sweep, threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, seconds: float) -> None:
        """Start the thread, unless it runs already."""
        if self._thread is None:
            self._stopped.clear()
            self._thread = threading.Thread(target=self._run, args=(seconds,), name="recollect-sweeper", daemon=True)
            self._thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """Stop the thread; return False if it still runs after `timeout` seconds."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout)
            self._thread = self._thread if self._thread.is_alive() else None
        return self._thread is None

    def _run(self, seconds: float) -> None:
        while not self._stopped.wait(seconds):
            try:
                self._sweep()
            except RecollectError as error:  # the next sweep may succeed
                _log.warning("expired items stay for now: %s", error)


def expired(entry: Entry) -> bool:
    """Return whether the time to live of an item is over. A date that its text states is none."""
    until = None if entry.validity_inferred else entry.valid_until
    return until is not None and until <= _clock.now()


def as_json(value: object, what: str) -> str:
    """Return a value as JSON text that every database can store. Raises NotJson."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:  # lone surrogates are valid JSON if they are escaped
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(f"{what} is not JSON: {error}") from None
    return text


def _segment(text: Any) -> str:
    """Return a part of a path as it is in a name: without slashes, control characters and spaces at its ends."""
    if not isinstance(text, str):
        raise NotJson(f"a key is text, not {type(text).__name__}")
    escaped = "".join(
        c if c.isprintable() and c not in "%/" else quote(c, safe="", errors="surrogatepass") for c in text
    )
    return re.sub(r"^ | $", "%20", escaped) or EMPTY
