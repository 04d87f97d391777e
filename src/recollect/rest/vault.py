"""The vault over HTTP: markdown files of a workspace, on the server's disk, and their history."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from recollect.model.access import ANY, Right
from recollect.model.transfer import Imported
from recollect.model.vault import Report
from recollect.rest.caller import Anyone, Reader, Writer
from recollect.rest.once import Route
from recollect.rest.wire import Body, Limit, Short

__all__ = ["Checkpoint", "Commit", "History", "Instructions", "Note", "Sync", "router"]

router = APIRouter(prefix="/v1/vault", tags=["vault"], route_class=Route)


class Sync(Body):
    """Whose files."""

    everyone: Annotated[bool, Field(description="All agents of the workspace, not only this one.")] = False


class Note(Body):
    """What a checkpoint is for."""

    note: Short | None = None


class Commit(BaseModel):
    """One commit."""

    oid: str
    subject: str
    body: str
    author: str
    timestamp_unix: int


class History(BaseModel):
    """The newest commits, newest first; the difference from the oldest of them to the newest, if it was asked for."""

    commits: list[Commit]
    diff: str | None = None


class Checkpoint(BaseModel):
    """A commit on request; skipped, with the reason, when there was nothing to commit."""

    oid: str | None = None
    subject: str | None = None
    skipped: bool = False
    reason: str | None = None


class Instructions(BaseModel):
    """What to tell an agent that writes the files itself."""

    instructions: str


ONE, NOTHING = Sync(), Note()


@router.post("/sync")
def sync(caller: Writer, chosen: Sync = ONE) -> Report:
    """Bring files and memory in step. The first time makes the files."""
    if chosen.everyone:
        caller.must(Right.WRITE, agent=ANY)
    return caller.home.vault(caller.workspace).sync(None if chosen.everyone else caller.agent)


@router.post("/checkpoint", response_model=Checkpoint)
def checkpoint(caller: Writer, given: Note = NOTHING) -> Any:
    """Commit the agent's files as they are."""
    return caller.home.vault(caller.workspace).checkpoint(caller.agent, given.note)


@router.get("/history", response_model=History)
def history(caller: Reader, limit: Annotated[Limit, Query()] = 10, diff: bool = False) -> Any:
    """The commits of the agent's files, newest first; none when git is off."""
    return caller.home.vault(caller.workspace).history(caller.agent, limit, diff)


@router.get("/instructions")
def instructions(
    caller: Reader,
    host_project: Annotated[str | None, Query(max_length=4_096, pattern=r"^[^\x00-\x1f]+$")] = None,
) -> Instructions:
    """What to tell an agent that writes the files itself."""
    text = caller.home.vault(caller.workspace).instructions(caller.agent, host_project)
    return Instructions(instructions=text)


@router.post("/migrate")
def migrate(caller: Anyone) -> Imported:
    """Take in files of an older layout that lie in the folder. Doing it again changes nothing."""
    caller.must(Right.ADMIN, agent=ANY)
    return caller.home.vault(caller.workspace).migrate()
