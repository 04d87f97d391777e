"""What goes into a prompt, over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from recollect.model.context import Context, OrientationDocument
from recollect.rest.caller import Reader
from recollect.rest.once import Route
from recollect.rest.wire import Body, Number, Short, Words, answer

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["context"], route_class=Route)
Command = Annotated[Words, Field(examples=["deploy the web shop"])]
Profile = Annotated[Short, Field(examples=["coding"])]


class Beginning(Body):
    """What a session is about to do."""

    command: Command
    budget: Annotated[int, Field(ge=0, le=1_000_000, description="How many tokens it may take."), Number] | None = None
    profile: Profile = "default"
    conversation: Short | None = None


class Direction(Body):
    """What a session is about to do."""

    command: Command
    profile: Profile = "default"
    conversation: Short | None = None


@router.post("/context", response_model=Context)
def context(beginning: Beginning, caller: Reader) -> Response:
    """The block that a new session starts with, within a budget of tokens."""
    return answer(caller.memory.context(**dict(beginning)))


@router.post("/orient", response_model=OrientationDocument)
def orient(direction: Direction, caller: Reader) -> Response:
    """The same selection as markdown for a system prompt; a model, if there is one, may narrow it."""
    return answer(caller.memory.orient(**dict(direction)))


@router.get("/profiles", response_model=list[str])
def profiles(caller: Reader) -> Response:
    """The names of the profiles: how much of what a context holds."""
    return answer(caller.memory.profiles)
