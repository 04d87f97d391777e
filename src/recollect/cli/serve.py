"""`recollect serve`: starts the HTTP server and prints its addresses."""

import socket
import sys
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

import recollect
from recollect.cli.invocation import Invocation
from recollect.cli.options import examples, for_agent
from recollect.cli.output import document, safe
from recollect.config import Settings
from recollect.errors import ConfigError
from recollect.locations import shown

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog=examples("serve", "serve --port 0 --log-format json", "--home team.db serve --workers 2"))
@for_agent
def serve(
    call: Invocation,
    *,
    host: Annotated[
        str | None,
        typer.Option(
            "--host", metavar="ADDRESS", help="Address to bind. [default: $RECOLLECT_SERVER_HOST or 127.0.0.1]"
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", metavar="NUMBER", help="Port; 0 selects a free one. [default: $RECOLLECT_SERVER_PORT or 8377]"
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="NUMBER", help="Number of server processes.")
    ] = None,
    log_format: Annotated[
        str | None, typer.Option("--log-format", metavar="text|json", help="Format of the log on stderr.")
    ] = None,
    no_upkeep: Annotated[bool, typer.Option("--no-upkeep", help="Do not run background jobs.")] = False,
    require_token: Annotated[
        bool, typer.Option("--require-token", help="Require a token for requests from this machine, too.")
    ] = False,
    database: Annotated[str | None, typer.Option("--database", metavar="LOCATION", help="Alias of --home.")] = None,
) -> None:
    """Serve the memory over HTTP: REST, MCP and a web page. SIGTERM or Ctrl-C stops it gracefully."""
    options = {"host": host, "port": port, "workers": workers, "log_format": log_format}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if require_token:
        given["require_token"] = True
    call = call.but(home=database)
    server = replace(call.settings.server, **given)
    location = shown(call.home)
    settings = replace(call.settings, home=location, workspace=call.workspace, agent=call.agent, server=server)
    try:
        from recollect.cli.hook_server import handling_hooks
        from recollect.rest import serving

        with ExitStack() as stack:
            opened = cache(lambda: stack.enter_context(recollect.open(call.home, settings=settings)))
            stack.enter_context(handling_hooks(call.home, opened))
            serving.serve(call.home, settings, upkeep=not no_upkeep, ready=lambda url: _announce(call, settings, url))
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("recollect"):
            raise
        raise ConfigError(f"the server requires the package {error.name}: {ConfigError.install('server')}") from None


def _elsewhere(host: str, url: str) -> str:
    """Describe how other machines reach the server; empty if they cannot."""
    from recollect.rest.caller import is_loopback

    if is_loopback(host):
        return ""
    if host in ("0.0.0.0", "::"):
        url = f"http://{_address() if host == '0.0.0.0' else socket.gethostname()}:{urlsplit(url).port}"
    return f"{url}/ from other machines, with a token"


def _address() -> str:
    """Return this machine's address in its network, otherwise its host name. No packet is sent."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            asked.connect(("192.0.2.1", 9))
            return str(asked.getsockname()[0])
    except OSError:  # no network
        return socket.gethostname()


def _announce(call: Invocation, settings: Settings, url: str) -> None:
    if call.json:
        document({"url": url, "version": recollect.__version__, "workers": settings.server.workers})
    else:
        print(f"recollect {recollect.__version__} serves {safe(settings.home)} on {url}")
        rows = {
            "the page": f"{url}/",
            "all routes": f"{url}/docs",
            "MCP": f"{url}/mcp",
            "others": _elsewhere(settings.server.host, url),
            "an agent": call.line("connect", "claude-code", *call.who()),
            "a token": call.line("token", "create", "NAME"),
            "stop": "Ctrl-C",
        }
        for name, value in rows.items():
            if value:  # unwrapped, so that it can be copied
                print(f"  {name:10}  {safe(value)}")
    sys.stdout.flush()  # the parent process may wait for this
