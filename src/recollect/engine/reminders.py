"""Reminders: each is delivered once, across all processes.

The argument. A process claims a reminder in one transaction before it delivers it, and gets a token; marking it as
delivered or releasing it requires the token. If the process dies in between, the claim expires and the reminder is
delivered later. Clocks may go back, and those of two machines differ slightly: a claim time somewhat in the future
counts as new, one further ahead than a claim lasts counts as expired.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import replace

from recollect import names
from recollect.clock import LAST, Clock, Moment, milliseconds
from recollect.engine.agent_store import Store
from recollect.errors import Invalid
from recollect.model.fields import CONTENT_BYTES
from recollect.model.reminder import Reminder
from recollect.storage.database import Row

__all__ = ["CLAIM", "MOST", "add", "cancel", "claim", "deliver", "deliver_due", "due", "listed", "moment", "release"]

CLAIM = 5 * 60_000
"""Lifetime of a claim in milliseconds."""
MOST = 32
"""Maximum number of reminders in one claim."""
UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
FORMS = "write it as RFC 3339 (2026-03-16T14:32:00Z), or from now on as 30s, 10m, 2h, 1d, 1w or 1h30m"
FIELDS = ("id", "session_id", "plugin", "recipient", "message", "due_at", "claimed_at", "delivered_at", "created_at")
_PART = re.compile(r"([0-9]{1,9})([smhdw])\s*")
_log = logging.getLogger("recollect.reminders")


def moment(at: Moment, now: int) -> int:
    """Return a moment as UTC milliseconds; text such as `10m` or `1h30m` is relative to `now`."""
    if isinstance(at, str):
        written = at.strip()
        if re.fullmatch(rf"(?:{_PART.pattern})+", written):
            at = now + sum(int(number) * UNITS[unit] for number, unit in _PART.findall(written))
            if at > LAST:
                raise Invalid(f"{written[:60]!r} from now is after the year 9999; pass an earlier time")
        else:
            try:
                at = milliseconds(written)
            except Invalid:
                raise Invalid(f"{written[:60]!r} is not a time for a reminder; {FORMS}") from None
    return milliseconds(at)


def add(
    store: Store,
    at: Moment,
    message: str,
    now: int,
    *,
    session_id: str | None = None,
    plugin: str | None = None,
    recipient: str | None = None,
) -> Reminder:
    """Create a reminder. One in the past is due at once."""
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
    with store.write() as work:  # creates the counters, which make the agent known to the home
        work.tx.run(
            "reminders.put",
            id=made.id,
            session_id=made.session_id,
            plugin=made.plugin,
            recipient=made.recipient,
            message=made.message,
            due_at=made.due_at,
            created_at=now,
        )
    return made


def due(store: Store, now: int, limit: int = MOST) -> list[Reminder]:
    """Return the due reminders without a valid claim, oldest first."""
    with store.read() as tx:
        return [_reminder(row) for row in tx.all("reminders.due", now=now, limit=limit, **_claims(now))]


def claim(store: Store, now: int, limit: int = MOST) -> list[Reminder]:
    """Claim due reminders, oldest first, at most 32 at once. Writes nothing if none is due."""
    if not due(store, now, 1):
        return []
    token = names.new_id(now)
    with store.write() as work:  # locks the counters, so that concurrent claims are serialised
        rows = work.tx.all("reminders.due", now=now, limit=min(limit, MOST), **_claims(now))
        claimed = [replace(_reminder(row), claimed_at=now, claim=token) for row in rows]
        work.tx.run("reminders.claim", now=now, claim=token, ids=[reminder.id for reminder in claimed])
    return claimed


def deliver(store: Store, reminder_id: str, claim: str | None, now: int) -> bool:
    """Mark a reminder as delivered; False if it is already, does not exist, or another caller has claimed it."""
    return _changed(store, "reminders.deliver", id=reminder_id, claim=claim, now=now, **_claims(now))


def release(store: Store, reminder_id: str, claim: str | None, now: int) -> bool:
    """Release a claim, so that it can be claimed again; False if there is none, or another caller's is valid."""
    return _changed(store, "reminders.release", id=reminder_id, claim=claim, **_claims(now))


def cancel(store: Store, reminder_id: str) -> bool:
    """Delete a reminder; False if it was delivered or does not exist."""
    return _changed(store, "reminders.cancel", id=reminder_id)


def listed(store: Store, *, include_delivered: bool, limit: int, after: tuple[int, str] = (-1, "")) -> list[Reminder]:
    """Return the agent's reminders by due time; `after` is the (due time, id) of the last item of the previous page."""
    query = "reminders.every" if include_delivered else "reminders.waiting"
    with store.read() as tx:
        rows = tx.all(query, limit=limit, due_at=after[0], id=after[1])
    return [_reminder(row) for row in rows]


def deliver_due(store: Store, clock: Clock, callback: Callable[[Reminder], object] | None) -> int:
    """Pass every due reminder to the callback; return how many were delivered.

    If the callback raises, the reminder is released and retried next time; without a callback all stay due. If a call
    outlasts the claim, another process may deliver the same reminder as well.
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
                    failed.append(claimed.pop(0))  # released at the end, so that it is not retried at once
                else:
                    claimed.pop(0)
                    delivered += deliver(store, reminder.id, reminder.claim, clock.now())
    finally:
        for reminder in failed + claimed:
            release(store, reminder.id, reminder.claim, clock.now())
    return delivered


def _held(store: Store, reminder: Reminder, now: int) -> bool:
    """Whether the claim is still valid. Renews an ageing one, as earlier callbacks may have been slow."""
    if reminder.claimed_at is not None and abs(now - reminder.claimed_at) < CLAIM // 5:
        return True
    return _changed(store, "reminders.hold", id=reminder.id, claim=reminder.claim, now=now)


def _claims(now: int) -> dict[str, int]:
    """Return the bounds between which a claim time is valid."""
    return {"expired": now - CLAIM, "ahead": now + CLAIM}


def _message(value: object) -> str:
    message = names.plain("message", value, lines=True)
    if not message.strip():
        raise Invalid("the message is empty; pass a text")
    size = len(message.encode())
    if size > CONTENT_BYTES:
        raise Invalid(f"the message has {size:,} bytes; at most {CONTENT_BYTES:,} are allowed. Shorten it")
    return message


def _reminder(row: Row) -> Reminder:
    return Reminder(**dict(zip(FIELDS, row, strict=True)))


def _changed(store: Store, query: str, **values: object) -> bool:
    """Run a statement that changes one reminder; return whether it did. Never creates the store."""
    if not store.exists():
        return False
    with store.database.write(store.agent) as tx:
        return tx.run(query, **values) > 0
