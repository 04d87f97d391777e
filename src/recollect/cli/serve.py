"""The server from the command line: where it listens, and what to do next once it does."""

import sys
from dataclasses import replace
from typing import Annotated, Any

import typer

import recollect
from recollect.cli.call import Call, for_agent
from recollect.cli.content import examples
from recollect.cli.output import document, pairs, safe
from recollect.config import Settings
from recollect.errors import ConfigError

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog=examples("serve", "serve --port 0 --log-format json", "--home team.db serve --workers 2"))
@for_agent
def serve(
    call: Call,
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="ADDRESS", help="Where it listens. [RECOLLECT_SERVER_HOST, else 127.0.0.1]"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="NUMBER", help="0 takes any that is free. [RECOLLECT_SERVER_PORT, else 8377]"),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="NUMBER", help="Processes that answer, all on one memory.")
    ] = None,
    log_format: Annotated[
        str | None, typer.Option("--log-format", metavar="text|json", help="How the log is written to stderr.")
    ] = None,
    no_upkeep: Annotated[bool, typer.Option("--no-upkeep", help="Leave background jobs to another process.")] = False,
    require_token: Annotated[
        bool, typer.Option("--require-token", help="Ask for a token also on this machine's own address.")
    ] = False,
    database: Annotated[
        str | None, typer.Option("--database", metavar="LOCATION", help="Another word for --home.")
    ] = None,
) -> None:
    """Serve the memory over HTTP: REST, MCP and a page in the browser. SIGTERM or Ctrl-C ends it in good order."""
    given: dict[str, Any] = {
        "host": host, "port": port, "workers": workers, "log_format": log_format,
        "require_token": require_token or None,
    }  # fmt: skip
    settings = Settings.read()
    settings = replace(
        settings, home=database or call.home, workspace=call.workspace, agent=call.agent,
        server=replace(settings.server, **{name: value for name, value in given.items() if value is not None}),
    )  # fmt: skip
    try:
        from recollect.rest import serving

        serving.serve(settings.home, settings, upkeep=not no_upkeep, ready=lambda url: _tell(call, settings, url))
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("recollect"):
            raise
        raise ConfigError(
            f"the server needs the extra 'server' ({error.name} is missing): install it with "
            "pip install 'recollect[server]'"
        ) from None


def _tell(call: Call, settings: Settings, url: str) -> None:
    if call.json:
        told: dict[str, Any] = {"url": url, "version": recollect.__version__, "workers": settings.server.workers}
        document(told)
    else:
        where = "PostgreSQL" if "://" in settings.home else settings.home  # an address may hold a password
        print(f"recollect {recollect.__version__} serves {safe(where)} on {url}")
        pairs(
            [
                ("the page", f"{url}/"),
                ("all routes", f"{url}/docs"),
                ("MCP", f"{url}/mcp"),
                ("an agent", "recollect connect claude-code"),
                ("a token", "recollect token create NAME"),
                ("stop", "Ctrl-C"),
            ]
        )
    sys.stdout.flush()  # whoever started it may be waiting for this
