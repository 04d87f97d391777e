"""A reminder as a value: a message that is to be told at a moment. Frozen; nothing here reads or writes."""

from dataclasses import dataclass, field

__all__ = ["Reminder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """A message that is due at a moment. Times are UTC milliseconds."""

    id: str
    session_id: str
    """The conversation that it belongs to, or an id of its own."""
    plugin: str | None
    """Through what it is to be told."""
    recipient: str | None
    message: str
    due_at: int
    claimed_at: int | None
    """Since when somebody is about to deliver it."""
    delivered_at: int | None
    created_at: int
    claim: str | None = field(default=None, repr=False)
    """What shows that it was claimed by whoever holds this value; only `claim()` gives one."""

    @property
    def cursor(self) -> str:
        """Its place in a list, for the page that comes after it."""
        return f"{self.due_at}-{self.id}"
