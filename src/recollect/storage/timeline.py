"""The timeline of an agent: rows in, values out."""

from collections.abc import Iterable

from recollect.model.timeline import TimelineItem
from recollect.sentences import shortened
from recollect.storage import history
from recollect.storage.database import Row, Transaction
from recollect.storage.entries import CHUNK

__all__ = ["conversations", "counts", "extent", "notes"]

TITLE = 80
"""Maximum characters of a title."""


def extent(tx: Transaction) -> list[int]:
    """Return the times of the first and last note and conversation, as far as there are any."""
    rows = (tx.one("timeline.first_note"), tx.one("timeline.last_note"), tx.one("timeline.conversation_times"))
    return [at for row in rows if row for at in row if at is not None]


def counts(tx: Transaction, what: str, since: int, until: int, width: int) -> dict[int, int]:
    """Return how many notes or conversations (`note` or `conversation`) each bucket has, by its index."""
    return dict(tx.all(f"timeline.{what}_buckets", since=since, until=until, width=width))


def notes(tx: Transaction, since: int, until: int, limit: int) -> list[TimelineItem]:
    """Return the notes that were written in a period, and others that are valid in it."""
    span = {"since": since, "until": until, "limit": limit}
    rows = [row for query in ("timeline.notes", "timeline.holding") for row in tx.all(query, **span)]
    titles = dict[str, str]()
    for start in range(0, len(rows), CHUNK):
        bound = tx.all("names.of", ids=[row[0] for row in rows[start : start + CHUNK]])
        titles |= {entry_id: name for entry_id, name, canonical in bound if canonical}
    return [_note(row, titles.get(row[0])) for row in rows]


def _note(row: Row, name: str | None) -> TimelineItem:
    entry_id, text, at, since, until, category, successor = row
    return TimelineItem(
        kind="entry",
        id=entry_id,
        title=name or _title(text.splitlines()),
        at=at,
        since=since,
        until=until,
        category=category,
        superseded_by=successor,
    )


def _title(lines: Iterable[str]) -> str:
    return shortened(next(filter(None, (line.strip("#>*- \t") for line in lines)), ""), TITLE)


def conversations(tx: Transaction, since: int, until: int, limit: int) -> list[TimelineItem]:
    """Return the conversations that began in a period."""
    ids = [row[0] for row in tx.all("timeline.conversations", since=since, until=until, limit=limit)]
    found = [history.info(row) for row in tx.all("history.conversations_by_id", ids=ids)] if ids else []
    return [
        TimelineItem(kind="conversation", id=one.ref_code, title=one.title, at=one.started_at, until=one.ended_at)
        for one in history.titled(tx, found)
    ]
