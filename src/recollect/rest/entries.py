"""Entries over HTTP: the five operations, reads, the trash, the operation log."""

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel, Discriminator, Field

from recollect.errors import NotFound, Stale
from recollect.model.entry import Category, Entry, Kind, Lifetime, Origin, Scope
from recollect.model.listing import Cursor as Place
from recollect.model.listing import Removed, Sort
from recollect.model.operation import Add, Alias, Operation, Remove, Rename, Revision, Write
from recollect.model.provenance import Provenance
from recollect.model.recall import Accesses
from recollect.model.report import Receipt
from recollect.rest.caller import Caller, Reader, Writer
from recollect.rest.errors import described
from recollect.rest.idempotency import Route
from recollect.rest.types import (
    FIRST_ERROR,
    AsOf,
    Body,
    BodyMoment,
    Content,
    IncludePast,
    InPath,
    Name,
    Page,
    PageCursor,
    PageLimit,
    QueryMoment,
    References,
    ShortText,
    Tag,
    Tags,
    body_of,
    json_response,
    short_tag,
)
from recollect.rest.vault import redacted

__all__ = [
    "AddBody",
    "AliasBody",
    "EmptiedTrash",
    "EntryChanges",
    "EntryLinks",
    "KnowledgeBody",
    "LastChange",
    "NameBody",
    "NewEntries",
    "NewEntry",
    "NewEntryOfKind",
    "RemoveBody",
    "RenameBody",
    "RestoreBody",
    "RetractBody",
    "SupersedeBody",
    "WriteBody",
    "router",
]

router = APIRouter(prefix="/v1", tags=["entries"], route_class=Route)
OfAccount = Annotated[bool, Query(description="Operations on account entries, if the account has its own log.")]
Transcripts = Annotated[bool, Query(description="Include archives, chunks and automatic hand-offs.")]
IfMatch = Annotated[
    str | None,
    Header(description="Change the entry only if it still has this ETag.", max_length=200, pattern=r"^[\x20-\x7e]*$"),
]
IfNoneMatch = Annotated[
    str | None, Header(description="Answer 304 if it still has this ETag.", max_length=200, pattern=r"^[\x20-\x7e]*$")
]


OF_KIND = ("kind", "first_event", "last_event")
"""Fields of an entry that is not a note."""


class NewEntry(body_of(Add, *OF_KIND)):  # type: ignore[misc]
    """A new entry; `supersedes` names one that it replaces."""

    supersedes: Name | None = None


class NewEntryOfKind(body_of(Add)):  # type: ignore[misc]
    """A new entry of any kind; an archive or a chunk names the part of the journal that it covers."""


class NewEntries(Body):
    """New entries, written a thousand at a time."""

    entries: Annotated[list[NewEntryOfKind], FIRST_ERROR, Field(max_length=10_000)]


class EntryChanges(body_of(Write)):  # type: ignore[misc]
    """Changes of an entry. Omitted fields stay; an empty category or context is removed."""


class KnowledgeBody(Body):
    """The knowledge stored under a key."""

    content: Content
    tags: Tags = ()
    origin: Origin | None = None


class NameBody(Body):
    """A name for an entry."""

    name: Name


class RestoreBody(Body):
    """The name of a restored entry, by default its old one."""

    name: Name | None = None


class SupersedeBody(Body):
    """The successor of an entry, since when it holds, and why."""

    content: Content
    since: BodyMoment | None = None
    why: Content | None = None
    origin: Origin | None = None
    evidence: References = ()


class RetractBody(Body):
    """Why an entry no longer holds."""

    why: Content | None = None


class EntryLinks(BaseModel):
    """The links of an entry, its backlinks, and its links without a target."""

    out: list[Entry]
    back: list[Entry]
    broken: list[str]


class EmptiedTrash(BaseModel):
    """The number of entries whose text was removed."""

    emptied: int


class LastChange(BaseModel):
    """The sequence number of the last operation."""

    seq: int


class AddBody(NewEntryOfKind):
    """Add an entry."""

    op: Literal["add"]


class RenameBody(Body):
    """Give an entry a new name; the old one stays as an alias."""

    op: Literal["rename"]
    target: Name
    name: Name


class AliasBody(Body):
    """Add an alias to an entry."""

    op: Literal["alias"]
    target: Name
    name: Name


class WriteBody(EntryChanges):
    """Change an entry."""

    op: Literal["write"]
    target: Name


class RemoveBody(Body):
    """Forget an entry; it stays in the trash for a while."""

    op: Literal["remove"]
    target: Name


AnyOperation = Annotated[
    AddBody | RenameBody | AliasBody | WriteBody | RemoveBody,
    Discriminator("op"),
    short_tag("op"),
    Field(examples=[{"op": "rename", "target": "deploy day", "name": "release day"}]),
]
OPERATIONS: dict[str, type[Operation]] = {
    "add": Add,
    "rename": Rename,
    "alias": Alias,
    "write": Write,
    "remove": Remove,
}


@router.get("/entries", response_model=Page[Entry])
def list_entries(
    caller: Reader,
    *,
    kind: Kind | None = None,
    category: Category | None = None,
    scope: Scope | None = None,
    lifetime: Lifetime | None = None,
    source: Annotated[ShortText | None, Query()] = None,
    tag: Annotated[Tag | None, Query()] = None,
    conversation: Annotated[ShortText | None, Query(description="By its id or ref code.")] = None,
    channel: Annotated[ShortText | None, Query()] = None,
    since: Annotated[QueryMoment | None, Query()] = None,
    until: Annotated[QueryMoment | None, Query()] = None,
    as_of: AsOf = None,
    include_past: IncludePast = False,
    min_origin: Origin = Origin.EXTERNAL,
    transcripts: Transcripts = True,
    recalled: Annotated[bool | None, Query(description="Only entries that recalls found, or never found.")] = None,
    embedded: Annotated[bool | None, Query(description="Only entries with a vector, or those that lack one.")] = None,
    sort: Sort = Sort.CREATED,
    descending: Annotated[bool | None, Query(description="Default: false when sorting by name, else true.")] = None,
    limit: PageLimit = 100,
    cursor: PageCursor = None,
) -> Response:
    """Entries, newest first or in another sort order. A cursor is valid for the sort order and filters of its page."""
    found = caller.memory.list(
        kind=kind,
        category=category,
        scope=scope,
        lifetime=lifetime,
        source=source,
        tag=tag,
        conversation=conversation,
        channel=channel,
        since=since,
        until=until,
        as_of=as_of,
        include_past=include_past,
        min_origin=min_origin,
        transcripts=transcripts,
        recalled=recalled,
        embedded=embedded,
        sort=sort,
        descending=descending,
        limit=limit,
        after=cursor,
    )
    full = len(found) == limit
    return json_response({"items": found, "next": Place.of(found[-1], sort).text(sort) if full else None})


@router.post("/entries", status_code=201, response_model=Entry)
def remember(draft: NewEntry, caller: Writer) -> Response:
    """Store a note. The write is durable when the response is sent."""
    return _made(caller.memory.remember(**dict(draft)))


@router.post("/entries/batch", status_code=201, response_model=Page[Entry])
def remember_many(drafts: NewEntries, caller: Writer) -> Response:
    """Store many entries. All are validated before the first is written."""
    made = caller.memory.remember_many([Add(**dict(draft)) for draft in drafts.entries])
    return json_response({"items": made, "next": None}, 201)


@router.post("/operations", response_model=Entry, responses=described(412))
def apply(operation: AnyOperation, caller: Writer, if_match: IfMatch = None) -> Response:
    """Apply one operation: add, rename, alias, write or remove. Returns the entry after it; for remove, before it."""
    given = dict(operation)
    made = OPERATIONS[given.pop("op")](**given)
    if isinstance(made, Add):
        return _one(caller.memory.apply(made, if_version=if_match))
    return _apply(caller, made, if_match)


@router.get("/entries/{name_or_id}", response_model=Entry, responses={304: {"description": "It is still the same."}})
def get_entry(name_or_id: InPath, caller: Reader, if_none_match: IfNoneMatch = None) -> Response:
    """The entry with this name, alias or id."""
    entry = caller.memory.get(name_or_id)
    if if_none_match is not None and ({"*", entry.version} & set(_tags(if_none_match, weak=True))):
        return Response(status_code=304, headers=_etag(entry))
    return _one(entry)


@router.patch("/entries/{name_or_id}", response_model=Entry, responses=described(412))
def write_entry(name_or_id: InPath, changes: EntryChanges, caller: Writer, if_match: IfMatch = None) -> Response:
    """Change an entry's content or other fields. With If-Match only if it is unchanged since it was read."""
    return _apply(caller, Write(name_or_id, **dict(changes)), if_match)


@router.delete(
    "/entries/{name_or_id}",
    status_code=204,
    response_model=None,
    responses={200: {"model": Receipt, "description": "What was erased and verified."}, **described(412)},
)
def forget(
    request: Request,
    name_or_id: InPath,
    caller: Writer,
    erase: Annotated[bool, Query(description="Erase every trace of it, also from the trash.")] = False,
    if_match: IfMatch = None,
) -> Response:
    """Forget an entry; it stays in the trash for a while. With erase=true its text is removed permanently."""
    version = _version(caller, name_or_id, if_match)
    if erase:
        receipt = caller.memory.forget(name_or_id, erase=True, if_version=version)
        return json_response(replace(receipt, remaining=tuple(redacted(request, caller, receipt.remaining))))
    caller.memory.apply(Remove(name_or_id), if_version=version)
    return Response(status_code=204)


@router.put("/entries/{key}/knowledge", response_model=Entry, responses=described(412))
def upsert(key: InPath, knowledge: KnowledgeBody, caller: Writer, if_match: IfMatch = None) -> Response:
    """Create the note named `key`, or replace its content. With If-Match it must exist."""
    version = _version(caller, key, if_match)
    if if_match is not None and version is None:
        version = caller.memory.get(key).version
    return _one(caller.memory.upsert(key, **dict(knowledge), if_version=version))


@router.post("/entries/{name_or_id}/supersede", status_code=201, response_model=Entry)
def supersede(name_or_id: InPath, successor: SupersedeBody, caller: Writer) -> Response:
    """Store what holds instead of an entry and close that entry, which stays readable by its id."""
    return _made(caller.memory.supersede(name_or_id, **dict(successor)))


@router.post("/entries/{name_or_id}/retract", response_model=Entry)
def retract(name_or_id: InPath, caller: Writer, reason: RetractBody | None = None) -> Response:
    """Withdraw an entry without a successor; it stays readable."""
    return _one(caller.memory.retract(name_or_id, why=reason.why if reason else None))


@router.get("/entries/{name_or_id}/history", response_model=Page[Revision])
def history(name_or_id: InPath, caller: Reader) -> Response:
    """The operations on an entry, oldest first; also for a forgotten entry."""
    return json_response({"items": caller.memory.history(name_or_id), "next": None})


@router.get("/entries/{name_or_id}/provenance", response_model=Provenance)
def provenance(name_or_id: InPath, caller: Reader) -> Response:
    """Where an entry comes from: what it was made from, down to the turns of conversations."""
    return json_response(caller.memory.provenance(name_or_id))


@router.get("/entries/{name_or_id}/links", response_model=EntryLinks)
def links(name_or_id: InPath, caller: Reader) -> Response:
    """The [[links]] of an entry, its backlinks, and its links without a target."""
    return json_response(caller.memory.links(name_or_id))


@router.get("/entries/{name_or_id}/accesses", response_model=Accesses)
def accesses(name_or_id: InPath, caller: Reader) -> Response:
    """When recalls found an entry, for which queries, and its relevance over time."""
    return json_response(caller.memory.accesses(name_or_id))


@router.post("/entries/{name_or_id}/rename", response_model=Entry, responses=described(412))
def rename(name_or_id: InPath, naming: NameBody, caller: Writer, if_match: IfMatch = None) -> Response:
    """Give an entry a new name; the old one stays as an alias."""
    return _apply(caller, Rename(name_or_id, naming.name), if_match)


@router.post("/entries/{name_or_id}/aliases", response_model=Entry, responses=described(412))
def alias(name_or_id: InPath, naming: NameBody, caller: Writer, if_match: IfMatch = None) -> Response:
    """Add an alias to an entry."""
    return _apply(caller, Alias(name_or_id, naming.name), if_match)


@router.post("/entries/{name_or_id}/restore", response_model=Entry)
def restore(name_or_id: InPath, caller: Writer, back: RestoreBody | None = None) -> Response:
    """Restore a forgotten entry, under its old name or another; or reopen a superseded or retracted one."""
    return _one(caller.memory.restore(name_or_id, name=back.name if back else None))


@router.get("/trash", response_model=Page[Removed])
def trash(
    caller: Reader,
    limit: PageLimit = 100,
    cursor: Annotated[str | None, Query(pattern=r"^-?[0-9]{1,15}$", description="`next` of the previous page.")] = None,
) -> Response:
    """Forgotten entries that can be restored, newest first."""
    found = caller.memory.trash(limit=limit, before=None if cursor is None else int(cursor))
    return json_response({"items": found, "next": str(found[-1].seq) if len(found) == limit else None})


@router.delete("/trash")
def empty_trash(caller: Writer) -> EmptiedTrash:
    """Permanently remove the text of everything in the trash."""
    return EmptiedTrash(emptied=caller.memory.empty_trash())


@router.get("/changes", response_model=Page[Revision])
def changes(
    caller: Reader,
    after: Annotated[
        int, Query(ge=-(2**63), le=2**63 - 1, description="Number of the last operation that the caller has.")
    ] = 0,
    limit: PageLimit = 100,
    account: OfAccount = False,
) -> Response:
    """The operations on entries of this workspace, in order. Pass `next` as `after` for the next page."""
    found = caller.memory.changes(after, limit=limit, account=account)
    return json_response({"items": found, "next": str(found[-1].seq) if len(found) == limit else None})


@router.get("/changes/last")
def last_change(caller: Reader, account: OfAccount = False) -> LastChange:
    """The sequence number of the last operation, 0 if there is none. Cheap enough to poll."""
    return LastChange(seq=caller.memory.last_change(account=account))


def _apply(caller: Caller, operation: Rename | Alias | Write | Remove, if_match: str | None) -> Response:
    version = _version(caller, operation.target, if_match)
    if isinstance(operation, Write) and operation == Write(operation.target):  # a write without changes
        entry = caller.memory.get(operation.target)
        if version not in (None, entry.version):
            raise Stale("the entry was changed since it was read; read it again")
        return _one(entry)
    return _one(caller.memory.apply(operation, if_version=version))


def _made(entry: Entry) -> Response:
    return json_response(entry, 201, {**_etag(entry), "Location": f"/v1/entries/{entry.id}"}, kind=Entry)


def _one(entry: Entry) -> Response:
    return json_response(entry, headers=_etag(entry), kind=Entry)


def _etag(entry: Entry) -> dict[str, str]:
    return {"ETag": f'"{entry.version}"'}


def _tags(header: str, *, weak: bool = False) -> list[str]:
    """Return the entity tags of a header. Weak ones are valid for If-None-Match, but not for If-Match."""
    found = [part.strip() for part in header.split(",")]
    return [one.removeprefix("W/" if weak else "").strip('"') for one in found]


def _version(caller: Caller, name_or_id: str, if_match: str | None) -> str | None:
    """Return the version that If-Match requires; of several the current one, if it is among them."""
    if if_match is None or if_match.strip() == "*":
        return None
    wanted = _tags(if_match)
    if len(wanted) > 1:
        try:
            current = caller.memory.get(name_or_id).version
        except NotFound:
            current = ""
        return current if current in wanted else wanted[0]
    return wanted[0]
