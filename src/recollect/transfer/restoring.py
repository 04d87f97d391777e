"""Restore an export into a home, and copy one home to another: new agents exactly, existing ones by adding what is new.

A new agent is written in one transaction, with its indexes. Rows of an existing agent are never changed: conversations
are compared by id, entries by id, name and text, and forgotten entries stay forgotten. Its log, signals, ledger and
jobs are not merged.
"""

import base64
import hashlib
import json
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count, repeat
from pathlib import Path
from typing import Any

from recollect import text
from recollect.engine import conversation_search
from recollect.engine.agent_store import Store, Work, document, reindex
from recollect.errors import Conflict, Corrupt, Invalid
from recollect.model.history import EventType
from recollect.model.operation import Revision
from recollect.model.transfer import Format, Imported, Part
from recollect.storage import entries, history
from recollect.storage.columns import from_columns, from_export
from recollect.storage.counters import Counters
from recollect.storage.database import Database, Row, Transaction
from recollect.storage.history import Journal
from recollect.transfer import account as account_rows
from recollect.transfer.account import AccountRows
from recollect.transfer.archive import (
    ArchiveSection,
    HomeDatabases,
    Progress,
    Tables,
    databases_of,
    file_errors,
    kept,
    label,
    opened,
    plain,
    quiet,
    rows_of,
    tables_of,
    verified,
)
from recollect.transfer.known import LoggedEntries

__all__ = ["ACTOR", "import_", "move"]

ACTOR = "import"
"""The actor recorded in the log."""
Rows = Iterator[tuple[str, dict[str, Any]]]
"""Rows of a file as (table, row)."""
_INDEX_NUMBERS = {
    "counters": ("documents", "flushed", "live", "tokens", "removals", "layout"),
    "journals": ("flushed", "live", "tokens", "layout"),
}


def import_(
    place: HomeDatabases,
    path: Path,
    now: int,
    *,
    dry_run: bool = False,
    progress: Progress = quiet,
    touched: Callable[[str | None, str], None] = lambda workspace, agent: None,
) -> Imported:
    """Restore an export. Missing agents are restored exactly; existing ones get the rows they do not have."""
    total = 2 * path.stat().st_size if path.is_file() else 0
    whole = _stamp(path)
    sections = verified(path, lambda done: progress(path.name, min(done, total // 2), total))
    databases = [
        place.account() if section.workspace is None else place.workspace(section.workspace) for section in sections
    ]
    parts: list[Part] = []
    remarks: list[str] = []

    def rows(section: ArchiveSection) -> Rows:
        """Yield the rows of a section; raise Invalid if the file changed since it was verified."""
        try:
            yield from rows_of(file, section)
        except ValueError:  # every line was readable when the file was verified
            pass
        else:
            if _stamp(path) == whole:
                return
        raise Invalid(f"{path} was changed while it was imported; import it again when it is complete")

    with opened(path) as file:
        for number, (section, database) in enumerate(zip(sections, databases, strict=True), 1):

            def tables(section: ArchiveSection = section) -> Tables:
                return tables_of(rows(section))

            # An export of a single-file home has the account's entries among those of the workspace.
            apart = database is not place.account() and all(one.workspace is not None for one in sections)
            found = account_rows.found_in(tables()) if apart else account_rows.NOTHING
            goals = [(Store(database, section.agent), section.workspace, False)]
            goals += [(Store(place.account(), section.agent), None, True)] if found.ids else []
            for into, workspace, account in goals:
                where, content = label(workspace, section.agent), partial(_part_of, tables, found, account=account)
                if dry_run:
                    parts.append(_foreseen(into, where, content))
                    continue
                try:
                    parts.append(
                        _restore(into, where, content)
                        or _merge(into, section, rows, now, remarks, where=where, found=found, account=account)
                    )
                except (Conflict, Corrupt) as error:
                    raise Invalid(f"the rows of {where} in {path} cannot be stored, and none was: {error}") from error
                touched(workspace, section.agent)
            progress(path.name, total // 2 + (total // 2) * number // len(sections), total)
    return Imported(
        format=Format.RECOLLECT, path=str(path), dry_run=dry_run, parts=tuple(parts), remarks=tuple(remarks)
    )


def _stamp(path: Path) -> tuple[int, ...]:
    """Return device, inode, size and mtime, to detect that a file was written to or replaced."""
    with file_errors(path):
        found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def move(source: HomeDatabases, target: HomeDatabases, *, progress: Progress = quiet) -> Imported:
    """Copy everything to another home, which must be empty. The source is not changed.

    An agent is copied in one transaction, so an interrupted move leaves complete agents. A repeated move resumes with
    the others: agents in the target that equal what would be written do not count against emptiness.
    """
    work = list(_pieces(source, target))
    wanted = {(id(database), agent) for _, database, agent, _ in work}
    for workspace, database in databases_of(target):
        for agent in database.admin.agents():
            if (id(database), agent) not in wanted and _digests(_dumped(database, agent)()):
                raise Conflict(_not_empty(label(workspace, agent)))
    parts: list[Part] = []
    left = []
    for piece in work:
        where, database, agent, tables = piece
        there = _digests(_dumped(database, agent)()) if database.exists(agent) else {}
        if not there:
            left.append(piece)
        elif there != _digests(tables()):
            raise Conflict(_not_empty(where))
    for number, (where, database, agent, tables) in enumerate(left, 1):
        made = _restore(Store(database, agent), where, tables)
        if made is None:
            raise Conflict(f"another process wrote {where} to the target in the meantime; pass an empty one")
        parts += [made] if made.added else []
        progress(where, number, len(left))
    return Imported(format=Format.RECOLLECT, path="", parts=tuple(parts))


_Piece = tuple[str, Database, str, Callable[[], Tables]]
"""Name in reports, target database, target agent, and rows."""


def _pieces(source: HomeDatabases, target: HomeDatabases) -> Iterator[_Piece]:
    """Yield everything in a home with its destination in another. Account entries go where the target stores them."""
    databases = dict(databases_of(source))
    account = databases.pop(None, None)
    into_account = target.account()
    shared: set[str] = set()
    """Agents whose account entries were joined with those of a workspace."""
    for name, database in databases.items():
        assert name is not None
        into = target.workspace(name)
        for agent in sorted(database.admin.agents()):
            tables = _dumped(database, agent)
            if account is None and into is not into_account:
                found = account_rows.found_in(tables())
                yield label(name, agent), into, agent, partial(_part_of, tables, found, account=False)
                if found.ids:
                    yield label(None, agent), into_account, agent, partial(_part_of, tables, found, account=True)
            elif account is not None and into is into_account and account.exists(agent):
                shared.add(agent)
                yield label(name, agent), into, agent, partial(_joined, tables, _dumped(account, agent))
            else:
                yield label(name, agent), into, agent, tables
    for agent in sorted(account.admin.agents()) if account is not None else ():
        if agent not in shared:
            yield label(None, agent), into_account, agent, _dumped(account, agent)  # type: ignore[arg-type]


def _dumped(database: Database, agent: str) -> Callable[[], Tables]:
    def tables() -> Tables:
        with database.admin.dump(agent, complete=True) as found:
            yield from kept(found, include_vectors=True)

    return tables


def _part_of(tables: Callable[[], Tables], found: AccountRows, *, account: bool) -> Tables:
    return account_rows.part(tables(), found, account=account)


def _joined(own: Callable[[], Tables], account: Callable[[], Tables]) -> Tables:
    return account_rows.joined(own(), account())


def _digests(tables: Tables) -> dict[str, int]:
    """Return an order-independent digest of each non-empty table; the content of vectors is ignored."""
    found: dict[str, int] = {}
    for table, columns, rows in tables:
        places = [place for place, name in enumerate(columns) if name != "vector"]
        for row in rows:
            line = json.dumps([row[place] for place in places], default=plain).encode()
            found[table] = found.get(table, 0) + int.from_bytes(hashlib.sha256(line).digest(), "big")
    return found


def _not_empty(where: str) -> str:
    return f"the target is not empty, it contains {where}; pass an empty one, or use export and import"


# New agents


def _foreseen(store: Store, where: str, tables: Callable[[], Tables]) -> Part:
    """Predict an import: everything is added if the agent is new; otherwise only a comparison would show it."""
    present = False
    if store.exists():
        with store.read() as tx:
            present = tx.one("transfer.present") == (1,)
    figures = _figures({table: sum(1 for _ in rows) for table, _, rows in tables()})
    return Part(where=where, known=figures) if present else Part(where=where, added=figures)


def _restore(store: Store, where: str, tables: Callable[[], Tables]) -> Part | None:
    """Write an agent's rows as they are and build its indexes; None, without changes, if it already has rows."""
    counts: dict[str, int] = {}
    content = iter(tables())
    first = next(content, None)
    if first is None:
        return Part(where=where)
    with store.database.write(store.agent) as tx:
        if tx.one("transfer.present") == (1,):
            return None
        _fill(store, tx, chain([first], content), counts)
    return Part(where=where, added=_figures(counts))


def _fill(store: Store, tx: Transaction, tables: Tables, counts: dict[str, int]) -> None:
    counters: Counters | None = None
    for table, columns, rows in tables:
        rows = _counted(rows, table, counts)
        if table == "embeddings":
            counters = counters or Counters.lock(tx, text.ANALYSIS_VERSION)
            _put_vectors(tx, counters, columns, rows)
            continue
        more: dict[str, Iterator[Any]] = {"agent": repeat(store.agent)}
        if table == "entries":
            rows = map(partial(from_export, columns), rows)
            more["doc"] = count(1)  # same numbers as reindex assigns: both follow the order of ids
        if table in _INDEX_NUMBERS:
            more |= {name: repeat(0) for name in _INDEX_NUMBERS[table]}
            more["analysis"] = repeat(text.ANALYSIS_VERSION)
        whole = ((*row, *(next(value) for value in more.values())) for row in rows)
        tx.load(table, [*columns, *more], whole)
    if counts.get("counters") or counts.get("entries"):
        counters = counters or Counters.lock(tx, text.ANALYSIS_VERSION)
        reindex(Work(tx, counters, store.index))
        counters.save(tx)
    if counts.get("journals"):
        conversation_search.rebuild(store, tx)


def _counted(rows: Iterable[Row], table: str, counts: dict[str, int]) -> Iterator[Row]:
    for row in rows:
        counts[table] = counts.get(table, 0) + 1
        yield row


def _put_vectors(tx: Transaction, counters: Counters, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Store vectors one by one, because `Vectors.put` also maintains the search structures."""
    import numpy as np

    from recollect.search.vectors import Vectors

    makers: dict[tuple[str, int], Vectors] = {}
    for values in rows:
        row = dict(zip(columns, values, strict=True))
        raw = row["vector"] if isinstance(row["vector"], bytes) else base64.b64decode(row["vector"])
        if len(raw) != 4 * row["dim"]:
            raise Invalid(f"the vector of entry {row['entry_id']} has {len(raw) // 4} numbers, not {row['dim']}")
        made = makers.setdefault((row["model"], row["dim"]), Vectors(row["model"], row["dim"]))
        stale = bool(row.get("stale", 0))
        made.put(tx, counters, row["entry_id"], np.frombuffer(raw, "<f4"), stale=stale)


_SHOWN = {
    "entries": "entries",
    "operations": "operations",
    "conversations": "conversations",
    "events": "messages",
    "reminders": "reminders",
    "channels": "channels",
    "scratchpads": "scratchpad values",
    "embeddings": "vectors",
    "graph_checkpoints": "graph checkpoints",
    "promotions": "promotions",
    "recall_events": "recall signals",
}
"""Tables that a report counts, and their names in it."""


def _figures(counts: dict[str, int]) -> dict[str, int]:
    return {shown: counts[table] for table, shown in _SHOWN.items() if counts.get(table)}


# Existing agents


def _merge(
    store: Store,
    section: ArchiveSection,
    rows: Callable[[ArchiveSection], Rows],
    now: int,
    remarks: list[str],
    *,
    where: str,
    found: AccountRows,
    account: bool,
) -> Part:
    """Add missing conversations (compared by id) and entries (by id, name and text) to an agent; the rest stays."""
    merging = _Merging(store, section, rows, now, remarks, lambda entry_id: (entry_id in found.ids) is account)
    if account:
        with store.write() as work:
            merging.entries(work)
        return Part(where=where, added=_figures(merging.added), known=_figures(merging.known))
    if section.counts.get("channels"):
        with store.database.write(store.agent) as tx:
            merging.channels(tx)
    if section.counts.get("graph_checkpoints"):
        with store.database.write(store.agent) as tx:
            merging.graphs(tx)
    if any(section.counts.get(table) for table in ("entries", "conversations", "reminders")):
        with store.write() as work:
            merging.conversations(work.tx)
            merging.entries(work)
            merging.reminders(work.tx)
    return Part(where=where, added=_figures(merging.added), known=_figures(merging.known))


class _Merging:
    """Merge of one section of a file into an agent that already has rows."""

    def __init__(
        self,
        store: Store,
        section: ArchiveSection,
        rows: Callable[[ArchiveSection], Rows],
        now: int,
        remarks: list[str],
        wanted: Callable[[str], bool],
    ) -> None:
        """`wanted` returns True for the ids of entries that belong here."""
        self.store, self.section, self.rows, self.now, self.remarks = store, section, rows, now, remarks
        self.wanted = wanted
        self.added: dict[str, int] = {}
        self.known: dict[str, int] = {}
        self._new: set[str] = set()
        """Ids of the conversations that are new here."""
        self._numbers = array("q")
        """Sequence numbers of their events in the file."""
        self._base = 0
        """Last sequence number of the journal before them."""

    def _rows(self, table: str) -> Iterator[dict[str, Any]]:
        if not self.section.counts.get(table):
            return iter(())
        return (row for name, row in self.rows(self.section) if name == table)

    def _count(self, table: str, new: bool) -> None:
        figures = self.added if new else self.known
        figures[table] = figures.get(table, 0) + 1

    def channels(self, tx: Transaction) -> None:
        for row in self._rows("channels"):
            self._count("channels", tx.run("history.channel_put", **row) > 0)

    def conversations(self, tx: Transaction) -> None:
        chunked: dict[str, int] = {}
        for row in self._rows("conversations"):
            new = history.conversation(tx, row["id"]) is None and history.conversation(tx, row["ref_code"]) is None
            self._count("conversations", new)
            if new:
                self._new.add(row["id"])
                chunked[row["id"]] = row.get("chunked_to") or 0
                self._load(tx, "conversations", {**row, "chunked_to": 0})
        if not self._new:
            return
        self._events(tx)
        for identity, seq in chunked.items():
            tx.run("history.chunked_renumber", id=identity, upto=self._number(seq))
        for row in self._rows_of_new("lanes"):
            self._load(tx, "lanes", row | self._moved_lane(row))
        for row in self._rows_of_new("checkpoints"):
            self._load(tx, "checkpoints", row | {"upto": self._number(row["upto"])})
        for row in self._rows_of_new("saved_views"):
            self._load(tx, "saved_views", row | self._moved_view(row))
        for row in self._rows_of_new("scratchpads"):
            self._count("scratchpads", True)
            self._load(tx, "scratchpads", row)

    def _rows_of_new(self, table: str) -> Iterator[dict[str, Any]]:
        """Return the rows of a table that belong to conversations that are new here."""
        return (row for row in self._rows(table) if row["conversation_id"] in self._new)

    def _moved_lane(self, row: dict[str, Any]) -> dict[str, Any]:
        """Translate the event numbers of a lane to this journal."""
        kept = json.dumps([self._number(seq) for seq in json.loads(row["kept"])])
        return {"marker": self._number(row["marker"]), "boundary": self._number(row["boundary"]), "kept": kept}

    def _moved_view(self, row: dict[str, Any]) -> dict[str, Any]:
        """Translate the event numbers of a saved view to this journal."""
        spans = json.dumps([[self._number(first), self._number(last)] for first, last in json.loads(row["spans"])])
        # If nothing of a conversation is loaded, shown_from is one past its last event, so it may match no event.
        shown_from = self._base + bisect_left(self._numbers, row["shown_from"]) + 1 if row["shown_from"] else 0
        return {"spans": spans, "upto": self._number(row["upto"]), "shown_from": shown_from}

    def _load(self, tx: Transaction, table: str, row: dict[str, Any]) -> None:
        tx.load(table, ["agent", *row], [(self.store.agent, *row.values())])

    def _events(self, tx: Transaction) -> None:
        """Append events to the journal; translate the event numbers in markers and rebuild the hash chain.

        Tombstones keep their hash, and the chain goes on from it.
        """
        journal = Journal.advance(tx, 0, text.ANALYSIS_VERSION)
        self._base = journal.events
        previous: dict[str, str] = {}
        fields = (
            *("seq", "id", "conversation_id", "lane", "type", "content", "payload"),
            *("tool_call_id", "hash", "previous", "created_at"),
        )
        for row in self._rows_of_new("events"):
            event = history.event((*(row[name] for name in fields), row.get("erased_at")))
            self._numbers.append(event.seq)
            if event.type is EventType.MARKER:
                payload = dict(event.payload)
                payload["boundary"] = self._number(payload["boundary"])
                payload["kept"] = [self._number(seq) for seq in payload["kept"]]
                event = replace(event, payload=payload)
            journal = Journal.advance(tx, 1, text.ANALYSIS_VERSION)
            before = previous.get(event.conversation_id, "")
            (stored,) = history.append(tx, journal.events, before, [event])
            previous[event.conversation_id] = stored.hash
            conversation_search.keep_up(self.store, tx, journal)
            self._count("events", True)

    def _number(self, seq: int) -> int:
        """Return the sequence number of an event in this journal; 0 if it was not imported."""
        place = bisect_left(self._numbers, seq)
        return self._base + place + 1 if place < len(self._numbers) and self._numbers[place] == seq else 0

    def entries(self, work: Work) -> None:
        tx = work.tx
        known, new = LoggedEntries(tx), set[str]()
        bound: dict[str, list[tuple[str, int]]] = {}
        for row in self._rows("names"):
            bound.setdefault(row["entry_id"], []).append((row["name"], row["canonical"]))
        for row in self._rows("entries"):
            if not self.wanted(row["id"]):
                continue
            own = bound.get(row["id"], [])
            name = next((one for one, canonical in own if canonical), None)
            if entries.is_logged(tx, row["id"]) or known.has_text(row["category"], row["content"]):
                self._count("entries", False)
            elif name is not None and (entries.binding(tx, name) or known.has_name(name)):
                self._count("entries", False)
                self.remarks.append(f"{self.section.where}: {name!r} is there with another text, and was left as it is")
            else:
                aliases = [one for one, canonical in own if not canonical and not entries.binding(tx, one)]
                self._add(work, row, name, aliases)
                new.add(row["id"])
                known.add(name, row["category"], row["content"])
                self._count("entries", True)
        for row in self._rows("item_vectors"):
            if row["entry_id"] in new:
                self._load(tx, "item_vectors", row)

    def _add(self, work: Work, row: dict[str, Any], name: str | None, aliases: Sequence[str]) -> None:
        """Store an entry under its own id and log the addition."""
        try:
            entry = from_columns({**row})
        except (TypeError, ValueError, KeyError) as error:
            raise Corrupt(f"entry {row['id']} of the export is invalid: {error}; nothing was changed") from error
        if entry.content_hash != entries.content_hash(entry.content):
            raise Corrupt(f"the content of entry {entry.id} is not what was written: its fingerprint differs")
        work.counters.entries += 1
        work.counters.operations += 1
        first, last = self._number(entry.first_event or 0), self._number(entry.last_event or 0)
        entry = replace(
            entry,
            name=name,
            aliases=tuple(aliases),
            seq=work.counters.entries,
            first_event=first or None,
            last_event=last or None,
        )
        entries.insert(work.tx, entry, work.index.put(work.tx, work.counters, document(entry)))
        for one in (name, *aliases):
            if one is not None:
                work.tx.run("names.bind", name=one, entry_id=entry.id, canonical=int(one == name))
        entries.log(
            work.tx,
            Revision(
                seq=work.counters.operations,
                at=self.now,
                actor=ACTOR,
                operation="add",
                entry_id=entry.id,
                after=entries.snapshot(entry),
            ),
        )

    def reminders(self, tx: Transaction) -> None:
        there = {row[0] for row in tx.all("reminders.every", limit=history.LONGEST, due_at=-1, id="")}
        for row in self._rows("reminders"):
            self._count("reminders", row["id"] not in there)
            if row["id"] not in there:
                self._load(tx, "reminders", row)

    def graphs(self, tx: Transaction) -> None:
        """Add checkpoints that are not here. Those that are here stay as they are, and so do their writes."""
        new = set()
        for row in self._rows("graph_checkpoints"):
            added = tx.run("graphs.add", **row) > 0
            self._count("graph_checkpoints", added)
            if added:
                new.add((row["thread"], row["namespace"], row["id"]))
        for row in self._rows("graph_writes"):
            if (row["thread"], row["namespace"], row["checkpoint"]) in new:
                tx.run("graphs.write_add", **row)
