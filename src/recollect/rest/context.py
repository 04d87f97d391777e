"""The context of a prompt over HTTP: project, context block, orientation."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from recollect.model.access import ANY, Right
from recollect.model.context import Context, OrientationDocument
from recollect.rest.caller import Reader, Writer
from recollect.rest.idempotency import Route
from recollect.rest.types import Body, Content, QueryText, ShortText, StrictBool, StrictNumber, json_response

__all__ = ["ContextRequest", "NewProject", "Project", "ProjectWritten", "router"]

router = APIRouter(prefix="/v1", tags=["context"], route_class=Route)
Command = Annotated[QueryText, Field(examples=["deploy the web shop"])]
ProfileName = Annotated[ShortText, Field(examples=["coding"])]


class ContextRequest(Body):
    """What a session is about to do."""

    command: Command
    budget: (
        Annotated[int, Field(ge=0, le=1_000_000, description="How many tokens it may take."), StrictNumber] | None
    ) = None
    profile: ProfileName = "default"
    conversation: ShortText | None = None


class NewProject(Body):
    """What the project is about."""

    content: Content
    replace: Annotated[StrictBool, Field(description="Whether it takes the place of what was said before.")] = True


class Project(BaseModel):
    """What the project is about; null when nobody has said it."""

    content: str | None


class ProjectWritten(BaseModel):
    """Whether it was written."""

    written: bool


@router.get("/project")
def project(caller: Reader) -> Project:
    """What the project is about: one text for all agents of the workspace."""
    return Project(content=caller.memory.project())


@router.put("/project")
def set_project(new: NewProject, caller: Writer) -> ProjectWritten:
    """Set what the project is about, for all agents of the workspace; that takes a token for all of them."""
    caller.must(Right.WRITE, agent=ANY)
    return ProjectWritten(written=caller.memory.set_project(new.content, replace=new.replace))


@router.post("/context", response_model=Context)
def context(beginning: ContextRequest, caller: Reader) -> Response:
    """The block that a new session starts with, within a budget of tokens."""
    return json_response(caller.memory.context(**dict(beginning)))


@router.post("/orient", response_model=OrientationDocument)
def orient(beginning: ContextRequest, caller: Reader) -> Response:
    """The same selection as markdown for a system prompt; a model, if there is one, may narrow it."""
    return json_response(caller.memory.orient(**dict(beginning)))


@router.get("/profiles", response_model=list[str])
def profiles(caller: Reader) -> Response:
    """The names of the profiles: how much of what a context holds."""
    return json_response(caller.memory.profiles)
