"""Authentication and authorisation: the caller, its memory and its rights. Every route declares the right it needs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from ipaddress import ip_address
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import Scope

from recollect.config import Settings
from recollect.errors import Denied
from recollect.home import Home
from recollect.memory import SHARED, Memory, claiming, without_project
from recollect.model.access import ANY, Right, Token
from recollect.model.entry import Origin

__all__ = [
    "COOKIE",
    "SEGMENT",
    "Admin",
    "AgentName",
    "Anyone",
    "Caller",
    "Owner",
    "Reader",
    "Writer",
    "caller_of",
    "declared",
    "elsewhere",
    "identify",
    "is_loopback",
    "local_only",
    "named",
    "right_of",
    "secret_of",
]

COOKIE = "recollect_token"
HOPS = (b"forwarded", b"x-real-ip", b"x-forwarded-for")
"""Headers in which proxies name whom they forward for."""
_bearer = HTTPBearer(auto_error=False, description="A token made by `recollect token create`.")

_CHARACTER = r'[^\s\x00-\x1f\x7f-\x9f\u2028\u2029/\\:*?"<>|.]'
SEGMENT = rf"^{_CHARACTER}([ .]*{_CHARACTER})*$"
"""A name that is valid as a directory name on every platform."""
AgentName = Annotated[str, Field(min_length=1, max_length=64, pattern=SEGMENT, examples=["ana"])]
Segment = Query(min_length=1, max_length=64, pattern=SEGMENT, examples=["default"])


@dataclass(frozen=True)
class Caller:
    """The caller of a request: its token, or None where the server requires none."""

    home: Home
    settings: Settings
    token: Token | None
    workspace: str
    agent: str
    named: bool = True
    """Whether the request names its agent; otherwise a default was chosen."""

    @cached_property
    def memory(self) -> Memory:
        """The memory that the request addresses."""
        return self.memory_of(self.agent)

    def memory_of(self, agent: str) -> Memory:
        """Return the memory of an agent, without the right to change the project note unless the token is for all."""
        found = claiming(self.home.agent(agent, self.workspace), self.origin)
        return found if agent != SHARED or self.may_set_project else without_project(found)

    @property
    def origin(self) -> Origin:
        """The most trusted origin that the caller may claim."""
        return Origin.USER if self.token is None else self.token.origin

    @property
    def may_set_project(self) -> bool:
        """Whether the caller may change the project note, which all agents of the workspace see."""
        return self.may(Right.WRITE, agent=ANY)

    def may(self, right: Right, workspace: str | None = None, agent: str | None = None) -> bool:
        """Return whether the caller has a right on a memory, by default on the one that the request addresses."""
        where = (workspace or self.workspace, agent or self.agent)
        return self.token is None or self.token.allows(*where, right)

    def others(self, agent: str | None) -> None:
        """Raise Denied if another agent is named whose memory the caller may not read."""
        if agent is not None and agent != self.agent:
            self.must(Right.READ, agent=agent)

    def must(self, right: Right, workspace: str | None = None, agent: str | None = None) -> None:
        """Raise Denied unless the caller has the right."""
        if not self.may(right, workspace, agent):
            where = f"{workspace or self.workspace}/{agent or self.agent}"
            what = "`recollect token list` shows what it is for"
            if self.token and not self.named and agent is None and len(self.token.agents) > 1:
                what = f"name one of its agents with ?agent=: {', '.join(self.token.agents)}"
            raise Denied(f"this token does not give the right to {right} {where}; {what}")


async def _caller(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    workspace: Annotated[str | None, Segment] = None,
    agent: Annotated[str | None, Segment] = None,
) -> Caller:
    return caller_of(request, await identify(request), workspace, agent)


def caller_of(request: Request, token: Token | None, workspace: str | None, agent: str | None) -> Caller:
    """Return the caller of a request that names a workspace or an agent."""
    settings: Settings = request.app.state.settings
    chosen = _chosen(token, settings, workspace, agent)
    return Caller(request.app.state.home, settings, token, *chosen, named=agent is not None)


async def named(request: Request) -> Caller:
    """Return the caller of a request outside FastAPI's routes; the query names the memory, as everywhere."""
    token = await identify(request)
    given = dict(request.query_params)
    if unknown := given.keys() - {"workspace", "agent"}:
        raise HTTPException(422, f"there is no parameter {min(unknown)[:80]!r} here; there are agent, workspace")
    return caller_of(request, token, given.get("workspace"), given.get("agent"))


async def identify(request: Request) -> Token | None:
    """Return the token of a request, checked once; None if none is sent and none is required. Otherwise raise 401."""
    known: dict[str, Any] = request.scope.setdefault("state", {})  # `request.state`, without its cost
    if "token" not in known:
        secret, state = secret_of(request), request.app.state
        token = None if secret is None else await run_in_threadpool(state.home.tokens.check, secret)
        if secret is not None and token is None:
            raise _unknown("this token is unknown, revoked or expired")
        if token is None and state.needs_token:
            raise _unknown("this server requires a token; create one with `recollect token create`")
        known["token"], known["caller"] = token, token.name if token else "-"
    found: Token | None = known["token"]
    return found


def secret_of(request: Request) -> str | None:
    """Return the secret of a request, from the Authorization header, otherwise from the cookie."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return secret.strip()
    return request.cookies.get(COOKIE) if "cookie" in request.headers else None


def _unknown(detail: str) -> HTTPException:
    return HTTPException(401, detail, {"WWW-Authenticate": "Bearer"})


def _chosen(token: Token | None, settings: Settings, workspace: str | None, agent: str | None) -> tuple[str, str]:
    """Return the workspace and agent that are named, otherwise the token's only ones, otherwise the settings'."""
    if workspace is None:
        workspace = token.workspace if token and token.workspace != "*" else settings.workspace
    if agent is None:
        agent = token.agents[0] if token and len(token.agents) == 1 and token.agents != ("*",) else settings.agent
    return workspace, agent


def _needs(right: Right) -> Callable[[Caller], Awaitable[Caller]]:
    async def check(caller: Annotated[Caller, Depends(_caller)]) -> Caller:
        caller.must(right)
        return caller

    _DECLARED[check] = right
    return check


_DECLARED: dict[object, str] = {_caller: "anyone"}
"""The right that each dependency requires."""


Anyone = Annotated[Caller, Depends(_caller)]
"""Any authenticated caller, or any caller where no token is required."""
Reader = Annotated[Caller, Depends(_needs(Right.READ))]
Writer = Annotated[Caller, Depends(_needs(Right.WRITE))]
Admin = Annotated[Caller, Depends(_needs(Right.ADMIN))]


async def _owner(caller: Annotated[Caller, Depends(_caller)]) -> Caller:
    caller.must(Right.ADMIN, "*", "*")
    return caller


_DECLARED[_owner] = "owner"
Owner = Annotated[Caller, Depends(_owner)]
"""A caller with the admin right on the whole home."""


def declared(dependant: Dependant) -> str | None:
    """Return what a route requires: anyone, read, write, admin or owner; None if it does not check the caller."""
    found = _DECLARED.get(dependant.call)
    return found or next(filter(None, map(declared, dependant.dependencies)), None)


def right_of(dependency: Dependant) -> Right | None:
    """Return the right that a dependency requires of the caller; None if it is another dependency."""
    found = _DECLARED.get(dependency.call)
    return found if isinstance(found, Right) else None


@lru_cache(1_024)
def is_loopback(address: str) -> bool:
    """Return whether an address, with or without a port, is a loopback address."""
    host = address.strip().removeprefix("[").partition("]")[0] if "]" in address else address.strip()
    if host.count(":") == 1:  # an IPv4 address with a port
        host = host.partition(":")[0]
    try:
        found = ip_address(host)
    except ValueError:
        return host == "localhost"
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


async def local_only(request: Request) -> None:
    """Raise Denied unless the peer and all forwarding hops of the request are loopback addresses."""
    if elsewhere(request.scope):
        raise Denied("this is allowed from the server's own machine only")


def elsewhere(scope: Scope) -> list[str]:
    """Return the hops of a request that are not loopback addresses: those named by proxies, then the peer.

    Only the peer is certain. Of the others, those nearer to the end are harder to forge, because a proxy appends to
    `X-Forwarded-For`.
    """
    peer_host = scope["client"][0] if scope["client"] else ""
    if not any(name in HOPS for name, _ in scope["headers"]):
        return [] if is_loopback(peer_host) else [peer_host]
    sent: dict[bytes, list[str]] = {name: [] for name in HOPS}
    for name, value in scope["headers"]:
        if name in sent:
            sent[name] += value.decode("latin-1").split(",")
    found = list[str]()
    for hop in sent.pop(b"forwarded"):
        pairs = [pair.partition("=") for pair in hop.split(";")]
        # A hop without `for=` counts as remote.
        found += [peer.strip('" ') for name, _, peer in pairs if name.strip().lower() == "for"] or [""]
    found += [hop.strip() for hops in sent.values() for hop in hops]
    found.append(peer_host)
    return [hop for hop in found if not is_loopback(hop)]
