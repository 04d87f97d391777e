"""Reminders over HTTP. A claim is proven by the value that claiming returned, so any process can handle the request."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, WithJsonSchema

from recollect.errors import Conflict, NotFound
from recollect.model.reminder import Reminder
from recollect.rest.caller import Reader, Writer
from recollect.rest.conversation_types import ListCursor
from recollect.rest.idempotency import Route
from recollect.rest.types import (
    MOMENT,
    Body,
    Content,
    InPath,
    Page,
    PageLimit,
    ShortText,
    StrictNumber,
    UnpagedLimit,
    page,
)

__all__ = ["ClaimProof", "ClaimRequest", "NewReminder", "router"]

router = APIRouter(prefix="/v1/reminders", tags=["reminders"], route_class=Route)

Id = InPath
At = Annotated[
    Annotated[int, StrictNumber] | str,
    WithJsonSchema(
        {"anyOf": [*MOMENT, {"type": "string", "maxLength": 40, "pattern": r"^([0-9]{1,5}[smhdw] ?){1,4}$"}]}
    ),
    Field(description="UTC milliseconds, RFC 3339 text, or a delay: 30s, 10m, 2h, 1d, 1w, 1h30m."),
]
"""A time in any form that the library parses."""


class NewReminder(Body):
    """A message to deliver at a given time. A time in the past is due at once."""

    at: At
    message: Content
    session_id: ShortText | None = None
    plugin: ShortText | None = None
    recipient: ShortText | None = None


class ClaimRequest(Body):
    """Number of reminders to claim."""

    limit: Annotated[int, Field(ge=0, le=10_000, description="At most 32 are returned."), StrictNumber] = 32


class ClaimProof(Body):
    """Proof of a claim: the `claim` that claiming returned."""

    claim: ShortText | None = None


@router.get("")
def reminders(
    caller: Reader,
    include_delivered: bool = False,
    limit: PageLimit = 100,
    cursor: ListCursor = None,
) -> Page[Reminder]:
    """Pending reminders in the order of their due times; optionally also delivered ones."""
    found = caller.memory.reminders.list(include_delivered=include_delivered, limit=limit, after=cursor)
    return page(found, limit, found[-1].cursor if found else None)


@router.post("", status_code=201)
def add(new: NewReminder, caller: Writer) -> Reminder:
    """Add a reminder."""
    return caller.memory.reminders.add(**dict(new))


@router.get("/due")
def due(caller: Reader, limit: UnpagedLimit = 32) -> Page[Reminder]:
    """Due reminders that are not claimed, oldest first. Read-only."""
    return Page(items=caller.memory.reminders.due(limit))


@router.post("/claim")
def claim(caller: Writer, wanted: ClaimRequest | None = None) -> list[Reminder]:
    """Claim due reminders for delivery, exclusively for five minutes. Deliver and release need the `claim` of each."""
    return caller.memory.reminders.claim((wanted or ClaimRequest()).limit)


@router.post("/{id}/deliver", status_code=204)
def deliver(id: Id, caller: Writer, held: ClaimProof | None = None) -> None:
    """Mark a reminder as delivered."""
    if not caller.memory.reminders.deliver(_shown(id, held)):
        raise Conflict(f"the reminder {id!r} was already delivered, does not exist, or is claimed by another caller")


@router.post("/{id}/release", status_code=204)
def release(id: Id, caller: Writer, held: ClaimProof | None = None) -> None:
    """Release a claim, so that the reminder is due again."""
    if not caller.memory.reminders.release(_shown(id, held)):
        raise Conflict(
            f"the reminder {id!r} is not claimed, or claimed by another caller; send the `claim` that claiming returned"
        )


@router.delete("/{id}", status_code=204)
def cancel(id: Id, caller: Writer) -> None:
    """Cancel a reminder."""
    if not caller.memory.reminders.cancel(id):
        raise NotFound(f"no pending reminder {id!r}; it may have been delivered")


def _shown(id: str, held: ClaimProof | None) -> Reminder:
    """Build a reminder from its id and claim. The id alone is no proof: another caller of this process may hold it."""
    return Reminder(
        id=id,
        session_id="",
        plugin=None,
        recipient=None,
        message="",
        due_at=0,
        claimed_at=None,
        delivered_at=None,
        created_at=0,
        claim=held.claim if held else None,
    )
