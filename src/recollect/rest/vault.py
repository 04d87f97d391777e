"""The vault over HTTP: the markdown files of a workspace on the server's disk, and their git history."""

import logging
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field

from recollect.errors import ConfigError
from recollect.model.access import ANY, Right
from recollect.model.transfer import Format, Imported
from recollect.model.vault import SyncReport
from recollect.rest.caller import Anyone, Caller, Reader, Writer, local_only
from recollect.rest.idempotency import Route
from recollect.rest.types import Body, PageLimit, ShortText, StrictBool

__all__ = [
    "CheckpointNote",
    "Instructions",
    "SyncRequest",
    "VaultCheckpoint",
    "VaultCommit",
    "VaultHistory",
    "redacted",
    "router",
]

router = APIRouter(prefix="/v1/vault", tags=["vault"], route_class=Route)


class SyncRequest(Body):
    """Which files to synchronise."""

    everyone: Annotated[StrictBool, Field(description="All agents of the workspace, not only this one.")] = False


class CheckpointNote(Body):
    """The reason for a checkpoint."""

    note: ShortText | None = None


class VaultCommit(BaseModel):
    """One commit."""

    oid: str
    subject: str
    body: str
    author: str
    timestamp_unix: int


class VaultHistory(BaseModel):
    """Commits, newest first, and on request the difference from the oldest to the newest of them."""

    commits: list[VaultCommit]
    diff: str | None = None


class VaultCheckpoint(BaseModel):
    """A commit on request; skipped, with the reason, when there was nothing to commit."""

    oid: str | None = None
    subject: str | None = None
    skipped: bool = False
    reason: str | None = None


class Instructions(BaseModel):
    """Instructions for an agent that writes the files itself."""

    instructions: str


ONE, NOTHING = SyncRequest(), CheckpointNote()
_PATH = re.compile(r"'/(?:[^']*/)?([^'/]+)'")
_log = logging.getLogger("recollect.rest")


@router.post("/sync")
def sync(request: Request, caller: Writer, chosen: SyncRequest = ONE) -> SyncReport:
    """Synchronise files and memory."""
    if chosen.everyone:
        caller.must(Right.WRITE, agent=ANY)
    report = caller.home.vault(caller.workspace).sync(None if chosen.everyone else caller.agent)
    messages = redacted(request, caller, [one.message for one in report.problems])
    problems = (replace(one, message=text) for one, text in zip(report.problems, messages, strict=True))
    return replace(report, problems=tuple(problems))


@router.post("/checkpoint", response_model=VaultCheckpoint)
def checkpoint(caller: Writer, given: CheckpointNote = NOTHING) -> Any:
    """Commit the current state of the agent's files."""
    return caller.home.vault(caller.workspace).checkpoint(caller.agent, given.note)


@router.get("/history", response_model=VaultHistory)
def history(caller: Reader, limit: Annotated[PageLimit, Query()] = 10, diff: bool = False) -> Any:
    """The commits of the agent's files, newest first; empty if git is off."""
    return caller.home.vault(caller.workspace).history(caller.agent, limit, diff)


@router.get("/instructions")
def instructions(
    request: Request,
    caller: Reader,
    host_project: Annotated[str | None, Query(max_length=4_096, pattern=r"^[^\x00-\x1f]+$")] = None,
) -> Instructions:
    """Instructions for an agent that writes the files itself. If tokens are required, the folder is `vault`."""
    folder = "vault" if request.app.state.needs_token else None
    text = caller.home.vault(caller.workspace).instructions(caller.agent, host_project, folder=folder)
    return Instructions(instructions=text)


@router.post("/migrate", dependencies=[Depends(local_only)])
def migrate(request: Request, caller: Anyone) -> Imported:
    """Import files of an older layout in the folder. Repeating it changes nothing.

    From the server's own machine only.
    """
    caller.must(Right.ADMIN, agent=ANY)
    vault = caller.home.vault(caller.workspace)
    if not vault.folder.is_dir():
        return Imported(format=Format.MEMORY_FOLDER, path="vault")
    done = vault.migrate()
    path, *remarks = redacted(request, caller, [done.path, *done.remarks])
    return replace(done, path=path, remarks=tuple(remarks))


def redacted(request: Request, caller: Caller, texts: Iterable[str]) -> list[str]:
    """Redact server paths from texts when tokens are required; the full texts go to the log."""
    if not request.app.state.needs_token:
        return [*texts]
    try:
        folder = str(caller.home.vault(caller.workspace).folder)
    except ConfigError:  # no vault folder, so no text can name it
        return [*texts]
    texts_without_paths = []
    for text in texts:
        texts_without_paths.append(_PATH.sub(r"'\1'", text.replace(f"{folder}/", "").replace(folder, "the vault")))
        if texts_without_paths[-1] != text:
            _log.warning("redacted in the response: %s", text)
    return texts_without_paths
