"""The scratchpad of a conversation over HTTP: JSON values by key."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import JsonValue

from recollect import Scratchpad
from recollect.errors import NotFound
from recollect.rest.caller import Reader, Writer
from recollect.rest.conversations import Agent, Ref
from recollect.rest.idempotency import Route
from recollect.rest.types import Body, InPath

__all__ = ["Value", "router"]

router = APIRouter(prefix="/v1/conversations/{ref}/scratchpad", tags=["scratchpad"], route_class=Route)
Owner = Annotated[
    Agent | None, Query(description="Whose conversation it is, where this agent is one of its participants.")
]


class Value(Body):
    """Any JSON value of at most a million bytes."""

    value: JsonValue


def _readable(ref: Ref, caller: Reader, owner: Owner = None) -> Scratchpad:
    return caller.memory.conversations.scratchpad(ref, owner)


def _writable(ref: Ref, caller: Writer, owner: Owner = None) -> Scratchpad:
    return caller.memory.conversations.scratchpad(ref, owner)


Read = Annotated[Scratchpad, Depends(_readable)]
Written = Annotated[Scratchpad, Depends(_writable)]


@router.get("")
def everything(scratchpad: Read) -> dict[str, Any]:
    """All values by their keys."""
    return dict(scratchpad)


@router.delete("", status_code=204)
def clear(scratchpad: Written) -> None:
    """Remove all values."""
    scratchpad.clear()


@router.get("/{key}")
def get(key: InPath, scratchpad: Read) -> Value:
    """One value."""
    try:
        return Value(value=scratchpad[key])
    except KeyError:
        raise _missing(key) from None


@router.put("/{key}")
def put(key: InPath, given: Value, scratchpad: Written) -> Value:
    """Set a value."""
    scratchpad[key] = given.value
    return given


@router.delete("/{key}", status_code=204)
def drop(key: InPath, scratchpad: Written) -> None:
    """Remove a value."""
    try:
        del scratchpad[key]
    except KeyError:
        raise _missing(key) from None


def _missing(key: str) -> NotFound:
    return NotFound(f"the scratchpad has no {key!r}; GET it without a key to see what it has")
