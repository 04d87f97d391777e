"""Reminders: each is delivered once, however many processes look for what is due.

The argument. Whoever delivers claims first, in one transaction, and gets a token: only with it can the reminder be
marked as delivered or given back. A process that dies between the two leaves its claim, which expires, and the reminder
is delivered later. A clock may go back, and those of two machines differ a little: a claim that lies somewhat ahead is
honoured as a new one is, one that is further ahead than a claim lasts counts as expired.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import replace

from recollect import names
from recollect.clock import LAST, Clock, Moment, milliseconds
from recollect.engine.agent_store import Store
from recollect.engine.remember import CONTENT_BYTES
from recollect.errors import Invalid
from recollect.model.reminder import Reminder
from recollect.storage.database import Row

__all__ = ["CLAIM", "MOST", "add", "cancel", "claim", "deliver", "deliver_due", "due", "listed", "moment", "release"]

CLAIM = 5 * 60_000
"""Milliseconds after which a claim expires."""
MOST = 32
"""Reminders in one claim."""
UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
FORMS = "write it as RFC 3339 (2026-03-16T14:32:00Z), or from now on as 30s, 10m, 2h, 1d, 1w or 1h30m"
FIELDS = ("id", "session_id", "plugin", "recipient", "message", "due_at", "claimed_at", "delivered_at", "created_at")
_PART = re.compile(r"([0-9]{1,9})([smhdw])\s*")
_log = logging.getLogger("recollect.reminders")


def moment(at: Moment, now: int) -> int:
    """When that is, in UTC milliseconds: a moment, or text such as `10m` or `1h30m` from now on."""
    if isinstance(at, str):
        written = at.strip()
        if re.fullmatch(rf"(?:{_PART.pattern})+", written):
            at = now + sum(int(number) * UNITS[unit] for number, unit in _PART.findall(written))
            if at > LAST:
                raise Invalid(f"{written[:60]!r} from now is after the year 9999; give a moment before")
        else:
            try:
                at = milliseconds(written)
            except Invalid:
                raise Invalid(f"{written[:60]!r} is not a time for a reminder; {FORMS}") from None
    return milliseconds(at)


def add(
    store: Store, at: Moment, message: str, now: int, *, session_id: str | None = None, plugin: str | None = None,
    recipient: str | None = None,
) -> Reminder:  # fmt: skip
    """Make a reminder. One whose moment has passed is due at once."""
    made = Reminder(
        id=names.new_id(now),
        session_id=names.new_id(now) if session_id is None else names.name(session_id, "session"),
        plugin=None if plugin is None else names.name(plugin, "plugin"),
        recipient=None if recipient is None else names.name(recipient, "recipient"),
        message=_message(message),
        due_at=moment(at, now),
        claimed_at=None,
        delivered_at=None,
        created_at=now,
    )
    with store.write() as work:  # with its counters, so that the agent is known to the home
        work.tx.run(
            "reminders.put", id=made.id, session_id=made.session_id, plugin=made.plugin, recipient=made.recipient,
            message=made.message, due_at=made.due_at, created_at=now,
        )  # fmt: skip
    return made


def due(store: Store, now: int, limit: int = MOST) -> list[Reminder]:
    """What is due and claimed by nobody, oldest first."""
    with store.read() as tx:
        return [_reminder(row) for row in tx.all("reminders.due", now=now, limit=limit, **_claims(now))]


def claim(store: Store, now: int, limit: int = MOST) -> list[Reminder]:
    """Claim what is due, oldest first, at most 32 at once. Nothing is written when nothing is due."""
    if not due(store, now, 1):
        return []
    token = names.new_id(now)
    with store.write() as work:  # with its counters, so that of two claims one waits for the other
        rows = work.tx.all("reminders.due", now=now, limit=min(limit, MOST), **_claims(now))
        claimed = [replace(_reminder(row), claimed_at=now, claim=token) for row in rows]
        work.tx.run("reminders.claim", now=now, claim=token, ids=[reminder.id for reminder in claimed])
    return claimed


def deliver(store: Store, reminder_id: str, claim: str | None, now: int) -> bool:
    """Mark it as delivered; False if it is already, is not there, or is claimed by somebody else."""
    return _changed(store, "reminders.deliver", id=reminder_id, claim=claim, now=now, **_claims(now))


def release(store: Store, reminder_id: str, claim: str | None, now: int) -> bool:
    """Give it back, so that it can be claimed again; False if there is no claim, or it is somebody else's."""
    return _changed(store, "reminders.release", id=reminder_id, claim=claim, **_claims(now))


def cancel(store: Store, reminder_id: str) -> bool:
    """Remove it; False if it was delivered, or is not there."""
    return _changed(store, "reminders.cancel", id=reminder_id)


def listed(store: Store, *, include_delivered: bool, limit: int, after: tuple[int, str] = (-1, "")) -> list[Reminder]:
    """The agent's reminders after a moment and id, those that are due first at the beginning."""
    query = "reminders.every" if include_delivered else "reminders.waiting"
    with store.read() as tx:
        rows = tx.all(query, limit=limit, due_at=after[0], id=after[1])
    return [_reminder(row) for row in rows]


def deliver_due(store: Store, clock: Clock, callback: Callable[[Reminder], object] | None) -> int:
    """Hand everything that is due to the callback; how many it took.

    What it raises on is released and comes again the next time; without a callback everything stays due. A call that
    takes longer than a claim lasts may see its reminder delivered by another process as well.
    """
    delivered = 0
    failed: list[Reminder] = []
    claimed: list[Reminder] = []
    try:
        while callback is not None and (claimed := claim(store, clock.now())):
            while claimed:
                reminder = claimed[0]
                if not _held(store, reminder, clock.now()):
                    claimed.pop(0)
                    continue
                try:
                    callback(reminder)
                except Exception as error:
                    _log.warning("the reminder %s could not be delivered: %r", reminder.id, error)
                    failed.append(claimed.pop(0))  # kept until the end, so that it does not come again at once
                else:
                    claimed.pop(0)
                    delivered += deliver(store, reminder.id, reminder.claim, clock.now())
    finally:
        for reminder in failed + claimed:
            release(store, reminder.id, reminder.claim, clock.now())
    return delivered


def _held(store: Store, reminder: Reminder, now: int) -> bool:
    """Whether the claim still holds; one that grows old is made anew, as the calls before may have taken long."""
    if reminder.claimed_at is not None and abs(now - reminder.claimed_at) < CLAIM // 5:
        return True
    return _changed(store, "reminders.hold", id=reminder.id, claim=reminder.claim, now=now)


def _claims(now: int) -> dict[str, int]:
    """Between which moments a claim counts."""
    return {"expired": now - CLAIM, "ahead": now + CLAIM}


def _message(value: object) -> str:
    message = names.plain("message", value, lines=True)
    if not message.strip():
        raise Invalid("the message is empty; there is nothing to be reminded of")
    size = len(message.encode())
    if size > CONTENT_BYTES:
        raise Invalid(f"the message has {size:,} bytes; at most {CONTENT_BYTES:,} are allowed. Shorten it")
    return message


def _reminder(row: Row) -> Reminder:
    return Reminder(**dict(zip(FIELDS, row, strict=True)))


def _changed(store: Store, query: str, **values: object) -> bool:
    """Run a query that changes one reminder; whether it did. Where nothing is stored, nothing is created, either."""
    if not store.exists():
        return False
    with store.database.write(store.agent) as tx:
        return tx.run(query, **values) > 0
