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
    """The task of a session."""

    command: Command
    budget: Annotated[int, Field(ge=0, le=1_000_000, description="Maximum number of tokens."), StrictNumber] | None = (
        None
    )
    profile: ProfileName = "default"
    conversation: ShortText | None = None


class NewProject(Body):
    """The project description."""

    content: Content
    replace: Annotated[StrictBool, Field(description="Whether to replace an existing description.")] = True


class Project(BaseModel):
    """The project description; null if there is none."""

    content: str | None


class ProjectWritten(BaseModel):
    """Whether the description was written."""

    written: bool


@router.get("/project")
def project(caller: Reader) -> Project:
    """The project description, shared by all agents of the workspace."""
    return Project(content=caller.memory.project())


@router.put("/project")
def set_project(new: NewProject, caller: Writer) -> ProjectWritten:
    """Set the project description for all agents of the workspace; needs a token for all of them."""
    caller.must(Right.WRITE, agent=ANY)
    return ProjectWritten(written=caller.memory.set_project(new.content, replace=new.replace))


@router.post("/context", response_model=Context)
def context(beginning: ContextRequest, caller: Reader) -> Response:
    """The context block of a new session, within a token budget."""
    return json_response(caller.memory.context(**dict(beginning)))


@router.post("/orient", response_model=OrientationDocument)
def orient(beginning: ContextRequest, caller: Reader) -> Response:
    """The same selection as markdown for a system prompt; a configured model may narrow it."""
    return json_response(caller.memory.orient(**dict(beginning)))


@router.get("/profiles", response_model=list[str])
def profiles(caller: Reader) -> Response:
    """The names of the profiles, which set how much of each section a context holds."""
    return json_response(caller.memory.profiles)
