"""`recollect mcp`: the MCP server over stdio. Only the protocol goes to stdout."""

import logging
import os
import signal
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import recollect
from recollect.cli.invocation import HERE, Invocation
from recollect.cli.options import examples, with_options
from recollect.errors import ConfigError

__all__ = ["Compat", "app"]

app = typer.Typer()


class Compat(StrEnum):
    """Servers whose tools can be offered instead of ours."""

    SERVER_MEMORY = "server-memory"


@app.command(epilog=examples("mcp < /dev/null", "mcp --home team.db --agent ana < /dev/null"))
@with_options("home", "workspace", "agent")
def mcp(
    call: Invocation,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            metavar="ID",
            envvar="RECOLLECT_CONVERSATION",
            show_envvar=False,
            help="Conversation to continue; otherwise one is started when needed. [default: $RECOLLECT_CONVERSATION]",
        ),
    ] = None,
    compat: Annotated[
        Compat | None,
        typer.Option(
            "--compat",
            metavar="SERVER",
            help="Offer the tools of another server: server-memory, over the file of --memory-file.",
            show_default=False,
        ),
    ] = None,
    memory_file: Annotated[
        Path | None,
        typer.Option(
            "--memory-file",
            metavar="FILE",
            envvar="MEMORY_FILE_PATH",
            show_envvar=False,
            help="The knowledge graph of server-memory. [default: $MEMORY_FILE_PATH]",
        ),
    ] = None,
) -> None:
    """Serve MCP on stdin and stdout until stdin is closed. `recollect connect` configures clients to start it.

    With --workspace . the workspace is that of the project which the client names as its root, else of this folder. Due
    background jobs run as well.
    """
    from recollect.cli.hook_server import handling_hooks

    try:
        from recollect.compat.server_memory import serve_graph
        from recollect.mcp.server import PATIENCE, serve
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the MCP server requires the package {error.name}: {ConfigError.install('server')}"
        ) from None
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="recollect: %(levelname)s %(message)s")
    with recollect.open(call.home, settings=call.settings) as home:
        if conversation is not None:
            home.agent(call.agent, call.workspace).conversations.get(conversation)  # fail now, not in a tool call

        def stop(number: int, frame: object) -> None:
            # A thread blocks on stdin and cannot be woken, so exit here. Acknowledged writes are on disk.
            home.jobs.stop(PATIENCE)
            home.close()
            os._exit(0)

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        with handling_hooks(call.home, lambda: home):
            if compat is Compat.SERVER_MEMORY:
                serve_graph(_file(memory_file), home, call.workspace, call.agent)
                return
            roots = call.named == HERE and conversation is None
            serve(home, call.workspace, call.agent, conversation=conversation, roots=roots)


def _file(given: Path | None) -> Path:
    if given is None:
        raise ConfigError(
            "server-memory keeps its knowledge graph in a file: set MEMORY_FILE_PATH, or use --memory-file"
        )
    return given
