"""The Typer app `recollect`: its global options and its commands."""

import copy
import importlib
from collections.abc import Iterable
from typing import Annotated

import typer

import recollect
from recollect.cli.commands import COMMANDS
from recollect.cli.invocation import Invocation
from recollect.cli.options import AgentOption, HomeOption, JsonOption, WorkspaceOption

__all__ = ["app_with", "overview"]

app = typer.Typer(
    name="recollect",
    help="One durable memory for AI agents, in a single SQLite file or on PostgreSQL.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: faster to start, easier to copy
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\n"
    "Examples:\n"
    "  recollect remember 'We deploy on Tuesdays' --name 'deploy day'\n"
    "  recollect recall 'when do we deploy?'\n"
    "  recollect --home team.db --agent ana note list\n"
    "\n"
    "--home, --workspace, --agent and --json may be given before or after the command.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"recollect {recollect.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    ctx: typer.Context,
    home: HomeOption = None,
    workspace: WorkspaceOption = None,
    agent: AgentOption = None,
    json: JsonOption = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Read the options that stand before the command."""
    ctx.obj = Invocation.read(ctx.invoked_subcommand, json=json, home=home, workspace=workspace, agent=agent)
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def app_with(command: str | None) -> typer.Typer:
    """Return the app reduced to the module that has this command, or the whole app if none has.

    Typer inspects every command that it builds; this is a quarter of the time of a short command, and loading all
    modules takes as long again.
    """
    if command is None or command not in COMMANDS or command == "demo":  # the demo runs other commands
        return _with_modules(dict.fromkeys(module for module, _ in COMMANDS.values()))
    return _with_modules([COMMANDS[command][0]])


def overview() -> typer.Typer:
    """Return the app for its help: the commands with their short help, without loading them."""
    made = copy.copy(app)
    made.registered_commands = []
    for name, (_, text) in COMMANDS.items():
        made.command(name=name, help=text)(_nothing)
    return made


def _with_modules(modules: Iterable[str]) -> typer.Typer:
    made = copy.copy(app)
    made.registered_groups = []
    for module in modules:
        commands = importlib.import_module(f"recollect.cli.{module}").app
        is_group = isinstance(commands.info.help, str)  # a group has a help of its own
        made.add_typer(commands, name=module if is_group else None)
    return made


def _nothing() -> None:
    """Stand for a command in the overview."""
