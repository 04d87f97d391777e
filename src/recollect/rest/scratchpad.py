"""The scratchpad of a conversation over HTTP: JSON values by key."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from pydantic import JsonValue

from recollect import Scratchpad
from recollect.errors import NotFound
from recollect.rest.caller import AgentName, Reader, Writer
from recollect.rest.conversation_types import Ref
from recollect.rest.idempotency import Route
from recollect.rest.types import Body, InPath, json_response

__all__ = ["ScratchpadValue", "router"]

router = APIRouter(prefix="/v1/conversations/{ref}/scratchpad", tags=["scratchpad"], route_class=Route)
ScratchpadOwner = Annotated[
    AgentName | None, Query(description="The agent of the conversation, if the caller is a participant.")
]


class ScratchpadValue(Body):
    """Any JSON value of at most a million bytes."""

    value: JsonValue


def _readable(ref: Ref, caller: Reader, owner: ScratchpadOwner = None) -> Scratchpad:
    return caller.memory.conversations.scratchpad(ref, owner)


def _writable(ref: Ref, caller: Writer, owner: ScratchpadOwner = None) -> Scratchpad:
    return caller.memory.conversations.scratchpad(ref, owner)


ReadablePad = Annotated[Scratchpad, Depends(_readable)]
WritablePad = Annotated[Scratchpad, Depends(_writable)]


@router.get("")
def everything(scratchpad: ReadablePad) -> dict[str, Any]:
    """All values by their keys."""
    return dict(scratchpad)


@router.delete("", status_code=204)
def clear(scratchpad: WritablePad) -> None:
    """Remove all values."""
    scratchpad.clear()


@router.get("/{key}")
def get(key: InPath, scratchpad: ReadablePad) -> ScratchpadValue:
    """One value."""
    try:
        return ScratchpadValue(value=scratchpad[key])
    except KeyError:
        raise _missing(key) from None


@router.put("/{key}", response_model=ScratchpadValue)
def put(key: InPath, given: ScratchpadValue, scratchpad: WritablePad) -> Response:
    """Set a value."""
    scratchpad[key] = given.value
    return json_response({"value": given.value})


@router.delete("/{key}", status_code=204)
def drop(key: InPath, scratchpad: WritablePad) -> None:
    """Remove a value."""
    try:
        del scratchpad[key]
    except KeyError:
        raise _missing(key) from None


def _missing(key: str) -> NotFound:
    return NotFound(f"the scratchpad has no {key!r}; GET it without a key to see what it has")
