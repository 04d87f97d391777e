"""An export back into a home, and one home into another: exactly where an agent is not there, else what it lacks.

An agent is written in one transaction, with its indexes. What an existing agent has is never changed: conversations are
compared by id, entries by id, name and text, and what was forgotten stays forgotten. Its log, signals, ledger and jobs
stay its own.
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
from recollect.storage.counters import Counters
from recollect.storage.database import Database, Row, Transaction
from recollect.storage.history import Journal
from recollect.transfer import account as account_rows
from recollect.transfer.account import AccountRows
from recollect.transfer.archive import (
    Place,
    Progress,
    Section,
    Tables,
    databases_of,
    file_errors,
    kept,
    label,
    opened,
    quiet,
    rows_of,
    tables_of,
    verified,
)
from recollect.transfer.known import Known

__all__ = ["ACTOR", "import_", "move"]

ACTOR = "import"
"""Who the log says it was."""
Rows = Iterator[tuple[str, dict[str, Any]]]
"""Rows of a file, each with its table."""
_INDEX_NUMBERS = {
    "counters": ("documents", "flushed", "live", "tokens", "removals", "layout"),
    "journals": ("flushed", "live", "tokens", "layout"),
}


def import_(
    place: Place, path: Path, now: int, *, dry_run: bool = False, progress: Progress = quiet,
    touched: Callable[[str | None, str], None] = lambda workspace, agent: None,
) -> Imported:  # fmt: skip
    """Restore an export. Agents that are not there become what they were; to others is added what they do not have."""
    total = 2 * path.stat().st_size if path.is_file() else 0
    whole = _stamp(path)
    sections = verified(path, lambda done: progress(path.name, min(done, total // 2), total))
    databases = [
        place.account() if section.workspace is None else place.workspace(section.workspace) for section in sections
    ]
    parts: list[Part] = []
    remarks: list[str] = []

    def rows(section: Section) -> Rows:
        """The rows of a section, of the file that was verified: an error if it was changed since."""
        try:
            yield from rows_of(file, section)
        except ValueError:  # no line of a whole file is unreadable
            pass
        else:
            if _stamp(path) == whole:
                return
        raise Invalid(f"{path} was changed while it was imported; import it again when it is whole")

    with opened(path) as file:
        for number, (section, database) in enumerate(zip(sections, databases, strict=True), 1):

            def tables(section: Section = section) -> Tables:
                return tables_of(rows(section))

            # An export of a single file has the account's entries among those of the workspace.
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
    """What changes when a file is written to or replaced."""
    with file_errors(path):
        found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def move(source: Place, target: Place, *, progress: Progress = quiet) -> Imported:
    """Copy everything to another home, which must be empty. Nothing is taken away from the first one.

    An agent is copied in one transaction, so a move that was interrupted has left whole agents. Doing it again goes on
    with the others: what the target holds counts as empty as long as it is what this would write.
    """
    work = list(_pieces(source, target))
    wanted = {(id(database), agent) for _, database, agent, _ in work}
    for workspace, database in databases_of(target):
        for agent in database.agents():
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
            raise Conflict(f"somebody wrote {where} to the target meanwhile; give an empty one")
        parts += [made] if made.added else []
        progress(where, number, len(left))
    return Imported(format=Format.RECOLLECT, path="", parts=tuple(parts))


_Piece = tuple[str, Database, str, Callable[[], Tables]]
"""What a report calls it, the database and the agent it goes to, and its rows."""


def _pieces(source: Place, target: Place) -> Iterator[_Piece]:
    """Everything of a home, and where in another one it goes. Account entries go to where that one keeps them."""
    databases = dict(databases_of(source))
    account = databases.pop(None, None)
    into_account = target.account()
    shared: set[str] = set()
    """The agents whose account entries went together with those of a workspace."""
    for name, database in databases.items():
        assert name is not None
        into = target.workspace(name)
        for agent in sorted(database.agents()):
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
    for agent in sorted(account.agents()) if account is not None else ():
        if agent not in shared:
            yield label(None, agent), into_account, agent, _dumped(account, agent)  # type: ignore[arg-type]


def _dumped(database: Database, agent: str) -> Callable[[], Tables]:
    def tables() -> Tables:
        with database.dump(agent) as found:
            yield from kept(found, include_vectors=True)

    return tables


def _part_of(tables: Callable[[], Tables], found: AccountRows, *, account: bool) -> Tables:
    return account_rows.part(tables(), found, account=account)


def _joined(own: Callable[[], Tables], account: Callable[[], Tables]) -> Tables:
    return account_rows.joined(own(), account())


def _digests(tables: Tables) -> dict[str, int]:
    """A fingerprint of each table that has rows, in whatever order; of vectors only whose they are."""
    found: dict[str, int] = {}
    for table, columns, rows in tables:
        places = [place for place, name in enumerate(columns) if name != "vector"]
        for row in rows:
            line = json.dumps([row[place] for place in places]).encode()
            found[table] = found.get(table, 0) + int.from_bytes(hashlib.sha256(line).digest(), "big")
    return found


def _not_empty(where: str) -> str:
    return f"the target is not empty, it holds {where}; give an empty one, or use export and import"


# An agent that is not there


def _foreseen(store: Store, where: str, tables: Callable[[], Tables]) -> Part:
    """What an import would do: all of it where the agent is new; else nobody knows before it is compared."""
    present = False
    if store.exists():
        with store.read() as tx:
            present = tx.one("transfer.present") == (1,)
    figures = _figures({table: sum(1 for _ in rows) for table, _, rows in tables()})
    return Part(where=where, known=figures) if present else Part(where=where, added=figures)


def _restore(store: Store, where: str, tables: Callable[[], Tables]) -> Part | None:
    """Write an agent's rows as they are and build the indexes; None, and nothing is changed, if it has rows already."""
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
            more["doc"] = count(1)  # reindex gives them the same numbers: both go by the order of ids
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
    """One by one, because that also makes what the search for them needs."""
    import numpy as np

    from recollect.search.vectors import Vectors

    makers: dict[tuple[str, int], Vectors] = {}
    for values in rows:
        row = dict(zip(columns, values, strict=True))
        raw = row["vector"] if isinstance(row["vector"], bytes) else base64.b64decode(row["vector"])
        if len(raw) != 4 * row["dim"]:
            raise Invalid(f"the vector of entry {row['entry_id']} has {len(raw) // 4} numbers, not {row['dim']}")
        made = makers.setdefault((row["model"], row["dim"]), Vectors(row["model"], row["dim"]))
        made.put(tx, counters, row["entry_id"], np.frombuffer(raw, "<f4"))


_SHOWN = {
    "entries": "entries", "operations": "operations", "conversations": "conversations", "events": "messages",
    "reminders": "reminders", "channels": "channels", "scratchpads": "scratchpad values", "embeddings": "vectors",
    "promotions": "promotions", "recall_events": "recall signals",
}  # fmt: skip
"""What a report tells of, and how it calls it."""


def _figures(counts: dict[str, int]) -> dict[str, int]:
    return {shown: counts[table] for table, shown in _SHOWN.items() if counts.get(table)}


# An agent that is there


def _merge(
    store: Store, section: Section, rows: Callable[[Section], Rows], now: int, remarks: list[str], *, where: str,
    found: AccountRows, account: bool,
) -> Part:  # fmt: skip
    """Add what an agent does not have: conversations by their id, entries by id, name and text; the rest stays."""
    merging = _Merging(store, section, rows, now, remarks, lambda entry_id: (entry_id in found.ids) is account)
    if account:
        with store.write() as work:
            merging.entries(work)
        return Part(where=where, added=_figures(merging.added), known=_figures(merging.known))
    if section.counts.get("channels"):
        with store.database.write(store.agent) as tx:
            merging.channels(tx)
    if any(section.counts.get(table) for table in ("entries", "conversations", "reminders")):
        with store.write() as work:
            merging.conversations(work.tx)
            merging.entries(work)
            merging.reminders(work.tx)
    return Part(where=where, added=_figures(merging.added), known=_figures(merging.known))


class _Merging:
    """One section of a file on its way into an agent that has rows already."""

    def __init__(
        self, store: Store, section: Section, rows: Callable[[Section], Rows], now: int, remarks: list[str],
        wanted: Callable[[str], bool],
    ) -> None:  # fmt: skip
        """`wanted` tells by its id whether an entry goes here."""
        self.store, self.section, self.rows, self.now, self.remarks = store, section, rows, now, remarks
        self.wanted = wanted
        self.added: dict[str, int] = {}
        self.known: dict[str, int] = {}
        self._new: set[str] = set()
        """The conversations that were not there."""
        self._numbers = array("q")
        """The numbers that their events have in the file."""
        self._base = 0
        """The last number of the journal before them."""

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
        for row in self._rows("conversations"):
            new = history.conversation(tx, row["id"]) is None and history.conversation(tx, row["ref_code"]) is None
            self._count("conversations", new)
            if new:
                self._new.add(row["id"])
                self._load(tx, "conversations", row)
        if not self._new:
            return
        self._events(tx)
        for row in self._rows("lanes"):
            if row["conversation_id"] in self._new:
                kept = json.dumps([self._number(seq) for seq in json.loads(row["kept"])])
                moved = {"marker": self._number(row["marker"]), "boundary": self._number(row["boundary"]), "kept": kept}
                self._load(tx, "lanes", row | moved)
        for row in self._rows("checkpoints"):
            if row["conversation_id"] in self._new:
                self._load(tx, "checkpoints", row | {"upto": self._number(row["upto"])})
        for row in self._rows("saved_views"):
            if row["conversation_id"] in self._new:
                self._load(tx, "saved_views", row | self._moved_view(row))
        for row in self._rows("scratchpads"):
            if row["conversation_id"] in self._new:
                self._count("scratchpads", True)
                self._load(tx, "scratchpads", row)

    def _moved_view(self, row: dict[str, Any]) -> dict[str, Any]:
        """The event numbers of a saved view as they are here."""
        spans = json.dumps([[self._number(first), self._number(last)] for first, last in json.loads(row["spans"])])
        # A talk of which nothing is loaded is shown from the number after its last event, which is no event of it.
        shown_from = self._base + bisect_left(self._numbers, row["shown_from"]) + 1 if row["shown_from"] else 0
        return {"spans": spans, "upto": self._number(row["upto"]), "shown_from": shown_from}

    def _load(self, tx: Transaction, table: str, row: dict[str, Any]) -> None:
        tx.load(table, ["agent", *row], [(self.store.agent, *row.values())])

    def _events(self, tx: Transaction) -> None:
        """Events go to the end of the journal. Where one tells numbers, it tells the new ones, and the chain is new."""
        journal = Journal.advance(tx, 0, text.ANALYSIS_VERSION)
        self._base = journal.events
        previous: dict[str, str] = {}
        fields = ("seq", "id", "conversation_id", "lane", "type", "content", "payload", "tool_call_id", "hash",
                  "previous", "created_at")  # fmt: skip
        for row in self._rows("events"):
            if row["conversation_id"] not in self._new:
                continue
            event = history.event(tuple(row[name] for name in fields))
            self._numbers.append(event.seq)
            if event.type is EventType.MARKER:
                told = dict(event.payload)
                told["boundary"] = self._number(told["boundary"])
                told["kept"] = [self._number(seq) for seq in told["kept"]]
                event = replace(event, payload=told)
            journal = Journal.advance(tx, 1, text.ANALYSIS_VERSION)
            before = previous.get(event.conversation_id, "")
            (stored,) = history.append(tx, journal.events, before, [event])
            previous[event.conversation_id] = stored.hash
            conversation_search.keep_up(self.store, tx, journal)
            self._count("events", True)

    def _number(self, seq: int) -> int:
        """The number that an event has here."""
        place = bisect_left(self._numbers, seq)
        return self._base + place + 1 if place < len(self._numbers) and self._numbers[place] == seq else 0

    def entries(self, work: Work) -> None:
        tx = work.tx
        known = Known(tx)
        bound: dict[str, list[tuple[str, int]]] = {}
        for row in self._rows("names"):
            bound.setdefault(row["entry_id"], []).append((row["name"], row["canonical"]))
        for row in self._rows("entries"):
            if not self.wanted(row["id"]):
                continue
            own = bound.get(row["id"], [])
            name = next((one for one, canonical in own if canonical), None)
            if tx.one("transfer.logged", entry_id=row["id"]) or known.has_text(row["category"], row["content"]):
                self._count("entries", False)
            elif name is not None and (entries.binding(tx, name) or known.has_name(name)):
                self._count("entries", False)
                self.remarks.append(f"{self.section.where}: {name!r} is there with another text, and was left as it is")
            else:
                aliases = [one for one, canonical in own if not canonical and not entries.binding(tx, one)]
                self._add(work, row, name, aliases)
                known.add(name, row["category"], row["content"])
                self._count("entries", True)

    def _add(self, work: Work, row: dict[str, Any], name: str | None, aliases: Sequence[str]) -> None:
        """Store an entry under its own id, and log that it was added."""
        values = {key: value for key, value in row.items() if value is not None and key != "id"}
        values |= {"tags": json.loads(row["tags"]), "concept_tags": json.loads(row["concept_tags"])}
        try:
            entry = entries.from_snapshot(row["id"], values)
        except (TypeError, ValueError, KeyError) as error:
            raise Corrupt(f"entry {row['id']} of the export makes no sense: {error}; nothing was changed") from error
        if entry.content_hash != row["content_hash"]:
            raise Corrupt(f"the content of entry {entry.id} is not what was written: its fingerprint differs")
        work.counters.entries += 1
        work.counters.operations += 1
        first, last = self._number(entry.first_event or 0), self._number(entry.last_event or 0)
        entry = replace(
            entry, name=name, aliases=tuple(aliases), seq=work.counters.entries, first_event=first or None,
            last_event=last or None,
        )  # fmt: skip
        entries.insert(work.tx, entry, work.index.put(work.tx, work.counters, document(entry)))
        for one in (name, *aliases):
            if one is not None:
                work.tx.run("names.bind", name=one, entry_id=entry.id, canonical=int(one == name))
        entries.log(
            work.tx,
            Revision(
                seq=work.counters.operations, at=self.now, actor=ACTOR, operation="add", entry_id=entry.id,
                after=entries.snapshot(entry),
            ),
        )  # fmt: skip

    def reminders(self, tx: Transaction) -> None:
        there = {row[0] for row in tx.all("reminders.every", limit=history.LONGEST, due_at=-1, id="")}
        for row in self._rows("reminders"):
            self._count("reminders", row["id"] not in there)
            if row["id"] not in there:
                self._load(tx, "reminders", row)
