"""Export, import, backup, check and vectors over HTTP.

A download is a temporary file that is unlinked before its first byte is sent, so nothing is left behind however the
connection ends; an upload is a temporary file until it is imported. Neither is ever held in memory as a whole.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from recollect.errors import ConfigError, NotFound, RecollectError, Unavailable
from recollect.home import Home
from recollect.model.access import ANY, Right
from recollect.model.report import Finding
from recollect.model.transfer import Format, Imported
from recollect.rest.caller import Anyone, Owner
from recollect.rest.idempotency import Route
from recollect.rest.types import Body, StrictBool, StrictNumber

__all__ = ["BackfillLimit", "CheckRequest", "CheckResult", "Embedded", "SentFile", "router"]

router = APIRouter(prefix="/v1", tags=["transfer"], route_class=Route)
BLOCK = 1 << 18
FILE = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
FILE_NAME = r"^[^./\\\x00-\x1f\x7f-\x9f][^/\\\x00-\x1f\x7f-\x9f]*$"
LINES = {"content": {"application/jsonl": {"schema": {"type": "string"}}}}


def _fits(name: str) -> str:
    if len(name.encode()) > 200:
        raise ValueError("must be a file name of at most 200 bytes")
    return name


FileName = Annotated[
    str, Query(max_length=200, pattern=FILE_NAME, description="What the file is called."), AfterValidator(_fits)
]


class CheckRequest(Body):
    """Whether to repair what is found."""

    repair: Annotated[StrictBool, Field(description="Rebuild derived data: the index, and names without an entry.")] = (
        False
    )


class CheckResult(BaseModel):
    """Counts and findings; no findings if everything is intact."""

    ok: bool
    entries: int
    operations: int
    events: int
    findings: list[Finding]


class BackfillLimit(Body):
    """The maximum number of entries."""

    limit: Annotated[int, Field(ge=1, le=100_000, description="How many entries at most."), StrictNumber] = 1_000


class Embedded(BaseModel):
    """The number of entries that got a vector."""

    embedded: int


LOOK, SOME = CheckRequest(), BackfillLimit()


@router.get("/export", response_class=StreamingResponse, responses={200: LINES})
def export(caller: Owner, vectors: bool = False) -> Response:
    """Export everything as JSON Lines, without blocking writers. An import restores it, on either database."""

    def write(folder: Path) -> Path:
        caller.home.export(folder / "memory.jsonl", include_vectors=vectors)
        return folder / "memory.jsonl"

    return _sent(write, "application/jsonl")


@router.get("/backup", response_class=StreamingResponse, responses={200: FILE})
def backup(caller: Owner) -> Response:
    """A consistent copy that can be opened: a .db of a single file, or a .zip of a directory."""
    return _sent(lambda folder: _copied(caller.home, folder), "application/octet-stream")


@router.post(
    "/import",
    openapi_extra={"requestBody": {"required": True, **FILE}},
)
async def import_(
    request: Request,
    caller: Anyone,
    format: Annotated[Format | None, Query(description="Else it is recognised.")] = None,
    dry_run: bool = False,
    name: FileName | None = None,
) -> Imported:
    """Import an export, or a file of another system, sent as the body. Importing it again adds nothing.

    An export says itself whose it is. What another system wrote goes to the agent, except where it names agents.
    """
    foreign = format not in (None, Format.RECOLLECT)
    caller.must(Right.ADMIN, caller.workspace if foreign else ANY, ANY)
    if "content-encoding" in request.headers:
        raise HTTPException(415, "send the file without Content-Encoding; a compressed file may stay compressed")
    with _room() as folder:
        # A conversation that names no agent belongs to the agent that its file is named after.
        by_name = format in (None, Format.CONVERSATION)
        path = folder / (name or (f"{caller.agent}.json" if by_name else "import"))
        with path.open("wb") as file:
            async for block in request.stream():
                await run_in_threadpool(file.write, block)

        def run_import() -> Imported:
            return caller.home.import_(
                path, agent=caller.agent, workspace=caller.workspace, format=format, dry_run=dry_run
            )

        called = name or "the body"
        try:
            done = await run_in_threadpool(run_import)
        except RecollectError as error:
            raise type(error)(str(error).replace(str(path), called)) from error.__cause__
    remarks = tuple(remark.replace(path.name, called) for remark in done.remarks)
    if not (done.parts or remarks or done.migrated or done.skipped):
        remarks = (f"{called} contains nothing to import",)
    return replace(done, path=name or "import", remarks=remarks)


@router.post("/check")
def check(caller: Owner, order: CheckRequest = LOOK) -> CheckResult:
    """Verify files, entries, names, logs and indexes; with `repair`, rebuild what is derived."""
    found = caller.home.check(repair=order.repair)
    return CheckResult(
        ok=found.ok,
        entries=found.entries,
        operations=found.operations,
        events=found.events,
        findings=list(found.findings),
    )


@router.post("/backfill")
def backfill(caller: Owner, most: BackfillLimit = SOME) -> Embedded:
    """Embed entries that have no vector yet, over all agents."""
    return Embedded(embedded=caller.home.backfill(most.limit))


@router.post("/reembed")
def reembed(caller: Owner) -> Embedded:
    """Compute the vectors of all entries that are not of this server's embedder.

    It can be broken off and asked for again at any time, and recall works throughout.
    """
    return Embedded(embedded=caller.home.reembed())


@router.post("/flush", status_code=204)
def flush(caller: Owner) -> None:
    """Write pending recall signals."""
    caller.home.flush()


@contextmanager
def _room() -> Iterator[Path]:
    """Yield a temporary folder for one request. Its path is removed from error messages."""
    try:
        with TemporaryDirectory(prefix="recollect-") as folder:
            try:
                yield Path(folder)
            except RecollectError as error:
                raise type(error)(str(error).replace(f"{folder}/", "")) from error.__cause__
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Unavailable(f"the server cannot store the file temporarily: {reason}; try again later") from error


def _copied(home: Home, folder: Path) -> Path:
    try:
        home.backup(folder / "memory")
    except ConfigError:  # the home is a single file, so its copy must be one
        home.backup(folder / "memory.db")
        return folder / "memory.db"
    if not (folder / "memory").exists():
        raise NotFound("nothing is stored here yet; there is nothing to back up")
    return Path(shutil.make_archive(str(folder / "memory"), "zip", folder / "memory"))


def _sent(write: Callable[[Path], Path], kind: str) -> Response:
    """Return a response that streams the file which `write` creates in a temporary folder."""
    with _room() as folder:
        path = write(folder)
        file = path.open("rb")
        length = path.stat().st_size
    headers = {"Content-Length": str(length), "Content-Disposition": f'attachment; filename="{path.name}"'}
    return SentFile(file, headers, kind)


class SentFile(StreamingResponse):
    """Streams a file and closes it at the end, also when the client disconnects."""

    def __init__(self, file: IO[bytes], headers: Mapping[str, str], kind: str) -> None:
        super().__init__(iter(partial(file.read, BLOCK), b""), headers=headers, media_type=kind)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file."""
        with self._file:
            await super().__call__(scope, receive, send)
