"""Review over HTTP: pairs of entries that may not both hold, and which one does."""

from typing import Annotated

from fastapi import APIRouter, Query

from recollect.model.entry import Origin
from recollect.model.review import Resolution, ReviewPair
from recollect.rest.caller import Reader, Writer
from recollect.rest.idempotency import Route
from recollect.rest.types import Body, Content, InPath, Page, PageLimit, page

__all__ = ["ResolveBody", "router"]

router = APIRouter(prefix="/v1/review", tags=["review"], route_class=Route)

PairCursor = Annotated[
    str | None, Query(pattern=r"^[0-9a-f-]{36}$", description="`next` of the page before.", max_length=36)
]


class ResolveBody(Body):
    """What to do with a pair. `merge` takes the content of the entry that replaces both, and its origin."""

    resolution: Resolution
    content: Content | None = None
    origin: Origin | None = None
    why: Content | None = None


@router.get("")
def pairs(
    caller: Reader, include_resolved: bool = False, limit: PageLimit = 100, cursor: PairCursor = None
) -> Page[ReviewPair]:
    """Open pairs with both entries, found last first; optionally also resolved ones."""
    found = caller.memory.review.list(include_resolved=include_resolved, limit=limit, after=cursor)
    return page(found, limit, found[-1].cursor if found else None)


@router.post("/{id}")
def resolve(id: InPath, how: ResolveBody, caller: Writer) -> ReviewPair:
    """Resolve a pair: the entry that no longer holds is superseded. Restoring it undoes this."""
    return caller.memory.review.resolve(id, **dict(how))


@router.post("/{id}/reopen")
def reopen(id: InPath, caller: Writer) -> ReviewPair:
    """Open a pair again that was resolved as `both`."""
    return caller.memory.review.reopen(id)
