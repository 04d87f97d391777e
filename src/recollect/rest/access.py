"""Tokens, workspaces, agents and statistics of a home over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field

from recollect.model.access import ANY, Right, Token
from recollect.model.entry import Origin
from recollect.model.stats import AgentCounts, Stats
from recollect.rest.caller import SEGMENT, Anyone, Caller, Owner
from recollect.rest.idempotency import Route
from recollect.rest.types import FIRST_ERROR, Body, BodyMoment, InPath, Name, Page, json_response

__all__ = ["CreatedToken", "NewToken", "router"]

router = APIRouter(prefix="/v1", tags=["access"], route_class=Route)
NO_STORE = {"Cache-Control": "no-store"}
SegmentName = Annotated[str, Field(min_length=1, max_length=64, pattern=SEGMENT)]
Wildcard = Annotated[str, Field(max_length=1, pattern=r"^\*$", examples=["*"])]


class NewToken(Body):
    """The name, scope and rights of a new token."""

    name: Name
    workspace: SegmentName | Wildcard = ANY
    agents: Annotated[tuple[SegmentName | Wildcard, ...], FIRST_ERROR, Field(min_length=1, max_length=100)] = (ANY,)
    right: Right = Right.WRITE
    expires: BodyMoment | None = None
    origin: Annotated[Origin, Field(description="The most trusted origin that it may claim.")] = Origin.USER


class CreatedToken(BaseModel):
    """A token and its secret, which is shown only once."""

    token: Token
    secret: Annotated[str, Field(examples=["rcl_…"])]


@router.get("/tokens", response_model=Page[Token])
def tokens(caller: Owner, revoked: Annotated[bool, Query(description="Include revoked tokens.")] = False) -> Response:
    """The tokens of this home, oldest first; never their secrets."""
    return json_response({"items": caller.home.tokens.list(include_revoked=revoked), "next": None})


@router.post("/tokens", status_code=201, response_model=CreatedToken)
def create_token(wanted: NewToken, caller: Owner) -> Response:
    """Create a token. Its secret appears only in this response."""
    given = dict(wanted)
    token, secret = caller.home.tokens.create(given.pop("name"), **given)
    return json_response({"token": token, "secret": secret}, 201, NO_STORE)


@router.delete("/tokens/{id_or_name}", response_model=Token)
def revoke_token(id_or_name: InPath, caller: Owner) -> Response:
    """Revoke a token, effective at once."""
    return json_response(caller.home.tokens.revoke(id_or_name))


@router.get("/workspaces", response_model=list[str])
def workspaces(caller: Anyone) -> Response:
    """The workspaces with data that the caller may see."""
    return json_response([name for name in caller.home.workspaces() if _reads_some_of(caller, name)])


@router.get("/workspaces/counts", response_model=list[AgentCounts])
def counts(caller: Anyone) -> Response:
    """How much each agent that the caller may read has in each workspace, and when it changed last."""
    known = caller.home.counts()
    return json_response([one for one in known if caller.may(Right.READ, one.workspace, one.agent)])


@router.delete("/workspaces/{name}", status_code=204, response_model=None)
def delete_workspace(
    name: Annotated[str, Path(min_length=1, max_length=64, pattern=SEGMENT, examples=["default"])], caller: Owner
) -> Response:
    """Delete a workspace with the memories of all its agents. Only a backup can bring it back."""
    caller.home.delete_workspace(name)
    return Response(status_code=204)


@router.get("/agents", response_model=list[str])
def agents(caller: Anyone) -> Response:
    """The agents with data in the workspace that the caller may see."""
    known = caller.home.agents(caller.workspace)
    return json_response([name for name in known if caller.may(Right.READ, agent=name)])


@router.get("/stats", response_model=Stats)
def stats(caller: Anyone) -> Response:
    """Statistics of the workspace: counts, growth and size."""
    caller.must(Right.ADMIN, agent=ANY)
    return json_response(caller.home.stats(caller.workspace))


def _reads_some_of(caller: Caller, workspace: str) -> bool:
    return caller.token is None or caller.token.workspace in (ANY, workspace)
