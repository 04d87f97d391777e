"""The facade of reminders: methods check their input and delegate to the engine."""

import builtins

from recollect import names
from recollect.clock import Clock, Moment
from recollect.engine import reminders
from recollect.engine.agent_store import Store
from recollect.errors import Invalid
from recollect.model.reminder import Reminder

__all__ = ["Reminders"]


class Reminders:
    """The reminders of an agent: `mem.reminders`."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._claims: dict[str, Reminder] = {}
        """What was claimed here, so that its id is enough to deliver it."""

    def add(
        self, at: Moment, message: str, *, session_id: str | None = None, plugin: str | None = None,
        recipient: str | None = None,
    ) -> Reminder:  # fmt: skip
        """Remind of something at a moment, or after a time such as `10m`, `2h`, `1d` or `1h30m`.

        A moment that has passed is due at once.
        """
        return reminders.add(
            self._store, at, message, self._clock.now(), session_id=session_id, plugin=plugin, recipient=recipient
        )

    def due(self, limit: int = reminders.MOST) -> list[Reminder]:
        """What is due and claimed by nobody, oldest first. Nothing is changed."""
        return reminders.due(self._store, self._clock.now(), _count(limit))

    def claim(self, limit: int = reminders.MOST) -> list[Reminder]:
        """Take what is due, oldest first and at most 32, to deliver it; nobody else gets it for five minutes."""
        now = self._clock.now()
        claimed = reminders.claim(self._store, now, _count(limit))
        known = {key: one for key, one in self._claims.items() if abs(now - (one.claimed_at or 0)) <= reminders.CLAIM}
        self._claims = known | {one.id: one for one in claimed}
        return claimed

    def deliver(self, reminder: Reminder | str) -> bool:
        """Mark it as delivered. False if it is already, is not there, or is claimed by somebody else."""
        reminder_id, claim = self._claimed(reminder)
        return reminders.deliver(self._store, reminder_id, claim, self._clock.now())

    def release(self, reminder: Reminder | str) -> bool:
        """Give back what was claimed, so that it is due again. False if it is not claimed, or by somebody else."""
        reminder_id, claim = self._claimed(reminder)
        return reminders.release(self._store, reminder_id, claim, self._clock.now())

    def list(
        self, *, include_delivered: bool = False, limit: int = 100, after: Reminder | str | None = None
    ) -> builtins.list[Reminder]:
        """The reminders that wait, in the order in which they are due; with those that were delivered, if asked.

        For the next page give the last one of this page as `after`, or its `cursor`.
        """
        place = (-1, "") if after is None else names.place(getattr(after, "cursor", after))
        return reminders.listed(self._store, include_delivered=include_delivered, limit=_count(limit), after=place)

    def cancel(self, reminder: Reminder | str) -> bool:
        """Remove it. False if it was delivered already, or is not there."""
        return reminders.cancel(self._store, self._claimed(reminder)[0])

    def _claimed(self, reminder: Reminder | str) -> tuple[str, str | None]:
        """Its id, and what shows that it was claimed by the caller."""
        if isinstance(reminder, Reminder):
            return reminder.id, reminder.claim
        reminder_id = names.name(reminder, "id of a reminder")
        known = self._claims.get(reminder_id)
        return reminder_id, known.claim if known else None


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Invalid(f"the limit is how many reminders to give, 0 or more; not {value!r}")
    return min(value, 1_000_000)
