"""Tokens from the command line: access to this home through the server, with a scope, a right and an expiry."""

from typing import Annotated

import typer

import recollect
from recollect.cli.invocation import Invocation
from recollect.cli.options import examples, for_home, group, one_of
from recollect.cli.output import columns, document, heading, pairs, remark, safe
from recollect.clock import iso
from recollect.model.access import ANY, Right, Token
from recollect.model.entry import Origin

__all__ = ["app"]

app = group("Create, list and revoke access tokens for the server.")


@app.command(
    epilog=examples("token create laptop", "token create reader --agent ana --right read --expires 2099-01-01")
)
@for_home
def create(
    call: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name that is not in use.", show_default=False)],
    *,
    workspace: Annotated[
        str | None,
        typer.Option("--workspace", metavar="NAME", help="Restrict it to this workspace. [default: *, all workspaces]"),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="NAME", help="Restrict it to this agent; repeatable. [default: all agents]"),
    ] = None,
    right: Annotated[
        Right,
        typer.Option(
            "--right", metavar="RIGHT", help=f"Access right: {one_of(Right)}; each includes the previous one."
        ),
    ] = Right.WRITE,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="TIME", help="Expiry: a date or RFC 3339. [default: never]")
    ] = None,
    origin: Annotated[
        Origin,
        typer.Option("--origin", metavar="ORIGIN", help=f"Most trusted origin that it may claim: {one_of(Origin)}."),
    ] = Origin.USER,
    only_workspace: Annotated[
        str | None, typer.Option("--only-workspace", hidden=True, metavar="NAME", help="Alias of --workspace.")
    ] = None,
    only_agent: Annotated[
        list[str] | None, typer.Option("--only-agent", hidden=True, metavar="NAME", help="Alias of --agent.")
    ] = None,
) -> None:
    """Create a token and print its secret, which cannot be shown again."""
    # Options before the command restrict the token, too; the defaults from the settings do not.
    wanted = [workspace, only_workspace, call.workspace if "workspace" in call.given else None, ANY]
    agents = [*(agent or ()), *(only_agent or ())] or [call.agent if "agent" in call.given else ANY]
    with recollect.open(call.home) as home:
        token, secret = home.tokens.create(
            name,
            workspace=next(one for one in wanted if one is not None),
            agents=agents,
            right=right,
            expires=expires,
            origin=origin,
        )
    if call.json:
        document({"token": token, "secret": secret})
        return
    heading(safe(token.name), token.id)
    ends = "" if token.expires_at is None else iso(token.expires_at)
    pairs([("access", _extent(token)), ("expires", ends), ("secret", secret)])
    remark("save the secret now: it cannot be shown again")


@app.command(name="list", epilog=examples("token list", "token list --all"))
@for_home
def list_(
    call: Invocation, every: Annotated[bool, typer.Option("--all", help="Include revoked tokens.")] = False
) -> None:
    """List the tokens, without their secrets."""
    with recollect.open(call.home) as home:
        found = home.tokens.list(include_revoked=every)
    if call.json:
        document(found)
    elif not found:
        remark("no tokens; create one with: recollect token create laptop")
    else:
        columns(
            ("name", "access", "created", "last used", "expires", "revoked", "id"), [_row(token) for token in found]
        )


@app.command(epilog=examples("token revoke laptop"))
@for_home
def revoke(
    call: Invocation,
    token: Annotated[str, typer.Argument(metavar="NAME|ID", help="The token's name or id.", show_default=False)],
) -> None:
    """Revoke a token. Running servers reject it within five seconds."""
    with recollect.open(call.home) as home:
        revoked = home.tokens.revoke(token)
    if call.json:
        document(revoked)
    else:
        heading(f"revoked {safe(revoked.name)}", revoked.id)


def _row(token: Token) -> tuple[str, ...]:
    times = (token.created_at, token.used_at, token.expires_at, token.revoked_at)
    return safe(token.name), _extent(token), *("" if time is None else iso(time)[:16] for time in times), token.id


def _extent(token: Token) -> str:
    who = "all agents" if ANY in token.agents else ", ".join(map(safe, token.agents))
    where = "every workspace" if token.workspace == ANY else safe(token.workspace)
    return f"{token.right} {who} in {where}"
