"""A reminder as a value: a message to deliver at a given time. Frozen; no I/O."""

from dataclasses import dataclass, field

__all__ = ["Reminder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """A message that is due at a given time. Times are UTC milliseconds."""

    id: str
    session_id: str
    """The conversation it belongs to, or an id of its own."""
    plugin: str | None
    """Name of the plugin that delivers it."""
    recipient: str | None
    message: str
    due_at: int
    claimed_at: int | None
    """When it was claimed for delivery; the claim is a lease that expires."""
    delivered_at: int | None
    created_at: int
    claim: str | None = field(default=None, repr=False)
    """Secret that proves ownership of the claim; set only on reminders returned by `claim()`."""

    @property
    def cursor(self) -> str:
        """The pagination cursor that follows it in a list."""
        return f"{self.due_at}-{self.id}"
