"""Login for the page in the browser: the token is kept in an HttpOnly cookie."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from recollect.locations import program, shown
from recollect.model.access import ANY, Right, Token
from recollect.rest.caller import COOKIE, Anyone
from recollect.rest.idempotency import Route
from recollect.rest.types import Body, json_response

__all__ = ["BrowserSession", "Login", "router"]

router = APIRouter(prefix="/v1", tags=["session"], route_class=Route)


class Login(Body):
    """A token's secret."""

    token: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$", examples=["rcl_…"])]


class BrowserSession(BaseModel):
    """The caller and its rights."""

    name: str | None = Field(description="The token's name; null if none is required and none was sent.")
    workspace: str = Field(description="The workspace, or * for all.")
    agents: list[str] = Field(description="The agents, or * for all.")
    right: Right
    needs_token: bool = Field(description="Whether this server requires tokens.")
    default_workspace: str
    default_agent: str
    home: str | None = Field(description="Location of the memory, without a password; null if tokens are required.")
    program: list[str] | None = Field(
        description="The command that starts recollect on the server's machine; null likewise."
    )


@router.post("/session", response_model=BrowserSession)
async def log_in(login: Login, request: Request) -> Response:
    """Keep a token in a cookie. Only the server can read it, and only its own pages send it."""
    token = await run_in_threadpool(request.app.state.home.tokens.check, login.token)
    if token is None:
        detail = "this token is unknown, revoked or expired"
        raise HTTPException(401, detail, {"WWW-Authenticate": "Bearer"})
    response = _session(request, token)
    # A client can forge this header, but a Secure cookie then affects only its own login.
    secure = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto", "").strip())
    response.set_cookie(COOKIE, login.token, httponly=True, samesite="strict", secure=secure)
    return response


@router.delete("/session", status_code=204, response_model=None)
async def log_out() -> Response:
    """Forget the cookie."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@router.get("/session", response_model=BrowserSession)
async def who_am_i(request: Request, caller: Anyone) -> Response:
    """The caller and its rights."""
    return _session(request, caller.token)


def _session(request: Request, token: Token | None) -> Response:
    settings, needs_token = request.app.state.settings, request.app.state.needs_token
    # Where no token is required, callers are local. A relative home may not be the one that the app serves.
    local = not needs_token and (Path(settings.home).is_absolute() or "://" in settings.home)
    session = {
        "name": token.name if token else None,
        "workspace": token.workspace if token else ANY,
        "agents": token.agents if token else (ANY,),
        "right": token.right if token else Right.ADMIN,
        "needs_token": needs_token,
        "default_workspace": settings.workspace,
        "default_agent": settings.agent,
        "home": shown(settings.home) if local else None,
        "program": program() if local else None,
    }
    return json_response(session, headers={"Cache-Control": "no-store"})
