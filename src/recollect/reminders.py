"""The facade of reminders: methods validate their input and delegate to the engine."""

import builtins

from recollect import names
from recollect.clock import Clock, Moment
from recollect.engine import reminders
from recollect.engine.agent_store import Store
from recollect.model.checks import count
from recollect.model.reminder import Reminder

__all__ = ["Reminders"]


class Reminders:
    """The reminders of an agent, as `mem.reminders`."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._claims: dict[str, Reminder] = {}
        """What was claimed here, so that its id is enough to deliver it."""

    def add(
        self,
        at: Moment,
        message: str,
        *,
        session_id: str | None = None,
        plugin: str | None = None,
        recipient: str | None = None,
    ) -> Reminder:
        """Add a reminder for a time, or after a duration such as `10m`, `2h`, `1d` or `1h30m`. A past time is due at
        once.

        Raises Invalid if the time or the message is malformed.
        """
        return reminders.add(
            self._store, at, message, self._clock.now(), session_id=session_id, plugin=plugin, recipient=recipient
        )

    def due(self, limit: int = reminders.MOST) -> list[Reminder]:
        """Return reminders that are due and not claimed, oldest first. Changes nothing."""
        return reminders.due(self._store, self._clock.now(), count(limit, "reminders"))

    def claim(self, limit: int = reminders.MOST) -> list[Reminder]:
        """Claim due reminders for delivery, oldest first and at most 32. A claim excludes other processes for five
        minutes.
        """
        now = self._clock.now()
        claimed = reminders.claim(self._store, now, count(limit, "reminders"))
        known = {key: one for key, one in self._claims.items() if abs(now - (one.claimed_at or 0)) <= reminders.CLAIM}
        self._claims = known | {one.id: one for one in claimed}
        return claimed

    def deliver(self, reminder: Reminder | str) -> bool:
        """Mark a reminder as delivered. False if it was delivered before, does not exist, or another process claimed
        it.
        """
        reminder_id, claim = self._claimed(reminder)
        return reminders.deliver(self._store, reminder_id, claim, self._clock.now())

    def release(self, reminder: Reminder | str) -> bool:
        """Release a claim, so that the reminder is due again. False if it is not claimed, or by another process."""
        reminder_id, claim = self._claimed(reminder)
        return reminders.release(self._store, reminder_id, claim, self._clock.now())

    def list(
        self, *, include_delivered: bool = False, limit: int = 100, after: Reminder | str | None = None
    ) -> builtins.list[Reminder]:
        """Return pending reminders by due time, with delivered ones if `include_delivered` is set.

        For the next page, pass the last one of this page as `after`, or its `cursor`.
        """
        place = (-1, "") if after is None else names.place(getattr(after, "cursor", after))
        return reminders.listed(
            self._store, include_delivered=include_delivered, limit=count(limit, "reminders"), after=place
        )

    def cancel(self, reminder: Reminder | str) -> bool:
        """Remove a reminder. False if it was delivered or does not exist."""
        return reminders.cancel(self._store, self._claimed(reminder)[0])

    def _claimed(self, reminder: Reminder | str) -> tuple[str, str | None]:
        """Return its id, and the proof that the caller claimed it."""
        if isinstance(reminder, Reminder):
            return reminder.id, reminder.claim
        reminder_id = names.name(reminder, "id of a reminder")
        known = self._claims.get(reminder_id)
        return reminder_id, known.claim if known else None
