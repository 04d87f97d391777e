"""Tokens, workspaces, agents and statistics of a home over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field

from recollect.model.access import ANY, Right, Token
from recollect.model.stats import Stats
from recollect.rest.caller import SEGMENT, Anyone, Caller, Owner
from recollect.rest.idempotency import Route
from recollect.rest.types import FIRST_ERROR, Body, BodyMoment, InPath, Name, Page, json_response

__all__ = ["CreatedToken", "NewToken", "router"]

router = APIRouter(prefix="/v1", tags=["access"], route_class=Route)
NO_STORE = {"Cache-Control": "no-store"}
SegmentName = Annotated[str, Field(min_length=1, max_length=64, pattern=SEGMENT)]
Wildcard = Annotated[str, Field(max_length=1, pattern=r"^\*$", examples=["*"])]


class NewToken(Body):
    """What a token is to be for."""

    name: Name
    workspace: SegmentName | Wildcard = ANY
    agents: Annotated[tuple[SegmentName | Wildcard, ...], FIRST_ERROR, Field(min_length=1, max_length=100)] = (ANY,)
    right: Right = Right.WRITE
    expires: BodyMoment | None = None


class CreatedToken(BaseModel):
    """A token and its secret, which is shown this once."""

    token: Token
    secret: Annotated[str, Field(examples=["rcl_…"])]


@router.get("/tokens", response_model=Page[Token])
def tokens(
    caller: Owner, revoked: Annotated[bool, Query(description="Also those that were revoked.")] = False
) -> Response:
    """The tokens of this home, oldest first; never their secrets."""
    return json_response({"items": caller.home.tokens.list(include_revoked=revoked), "next": None})


@router.post("/tokens", status_code=201, response_model=CreatedToken)
def create_token(wanted: NewToken, caller: Owner) -> Response:
    """Make a token. Its secret is in this answer and nowhere else."""
    given = dict(wanted)
    token, secret = caller.home.tokens.create(given.pop("name"), **given)
    return json_response({"token": token, "secret": secret}, 201, NO_STORE)


@router.delete("/tokens/{id_or_name}", response_model=Token)
def revoke_token(id_or_name: InPath, caller: Owner) -> Response:
    """End a token, at once."""
    return json_response(caller.home.tokens.revoke(id_or_name))


@router.get("/workspaces", response_model=list[str])
def workspaces(caller: Anyone) -> Response:
    """The workspaces that hold anything, as far as the caller may know of them."""
    return json_response([name for name in caller.home.workspaces() if _reads_some_of(caller, name)])


@router.delete("/workspaces/{name}", status_code=204, response_model=None)
def delete_workspace(
    name: Annotated[str, Path(min_length=1, max_length=64, pattern=SEGMENT, examples=["default"])], caller: Owner
) -> Response:
    """Remove a workspace with all its agents' memories. There is no way back but a backup."""
    caller.home.delete_workspace(name)
    return Response(status_code=204)


@router.get("/agents", response_model=list[str])
def agents(caller: Anyone) -> Response:
    """The agents that remember anything in the workspace, as far as the caller may know of them."""
    known = caller.home.agents(caller.workspace)
    return json_response([name for name in known if caller.may(Right.READ, agent=name)])


@router.get("/stats", response_model=Stats)
def stats(caller: Anyone) -> Response:
    """Figures about the workspace: what is in it, how it grows, how much room it takes."""
    caller.must(Right.ADMIN, agent=ANY)
    return json_response(caller.home.stats(caller.workspace))


def _reads_some_of(caller: Caller, workspace: str) -> bool:
    return caller.token is None or caller.token.workspace in (ANY, workspace)
