"""`recollect connect`: adds the memory to the configuration of an MCP client, and can restore it."""

import difflib
import shutil
from dataclasses import replace
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from recollect.cli.config_files import FileEdit, applied, put_back, read_text, reverted, write_all
from recollect.cli.default_home import note_connection
from recollect.cli.hook_settings import hooked, unhooked
from recollect.cli.invocation import HERE, Invocation
from recollect.cli.mcp_clients import CLIENTS, HOME, McpClient, connected, disconnected
from recollect.cli.options import examples, with_options
from recollect.cli.output import columns, document, remark, safe
from recollect.config import FILE, Settings, user_file
from recollect.errors import ConfigError, Invalid, NotFound
from recollect.locations import is_single_file, program, shown

__all__ = ["app"]

KEEP_RUNNING = ("--keep-running", "10")
"""Option of the hooks: how many minutes a process that handles them waits for the next one."""

app = typer.Typer()


@app.command(epilog=examples("connect", "connect cursor --project --dry-run", "connect claude-code --print"))
@with_options("workspace", "agent", "json")
def connect(
    call: Invocation,
    client: Annotated[
        str | None,
        typer.Argument(
            metavar="CLIENT",
            help=f"One of {', '.join(CLIENTS)}. [default: list them]",
            show_default=False,
            autocompletion=lambda incomplete: [name for name in CLIENTS if name.startswith(incomplete)],
        ),
    ] = None,
    *,
    home: Annotated[
        str | None,
        typer.Option(
            "--home", metavar="LOCATION", help="Location of the memory. [default: $RECOLLECT_HOME or ~/.recollect]"
        ),
    ] = None,
    project: Annotated[bool, typer.Option("--project", help="Configure this folder only, not the user.")] = False,
    show: Annotated[bool, typer.Option("--print", help="Print the configuration, and change nothing.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the changes as a diff, and change nothing.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Restore the files to their state before `connect`.")] = False,
    no_hooks: Annotated[
        bool, typer.Option("--no-hooks", help="Do not install the hooks of Claude Code, Codex or Cursor.")
    ] = False,
) -> None:
    """Configure an MCP client to start recollect as a server, and Claude Code, Codex and Cursor also to call hooks.

    Other settings in its files are not changed. By default all projects of the user share ~/.recollect, each with its
    own workspace; --workspace selects one for all. With --project the memory is in .recollect of this folder.
    """
    call = call.but(home=home)
    if client is None:
        _list(call)
        return
    if client not in CLIENTS:
        near = get_close_matches(client, CLIENTS, 2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(CLIENTS)}"
        raise NotFound(f"unknown client {client!r}; {hint}")
    chosen = CLIENTS[client]
    call = _settled(call, chosen, project)
    edits = _edits(chosen, call, project, hooks=not no_hooks)
    if show:
        _print_configuration(call, edits)
        return
    if find_spec("mcp") is None and not undo:
        missing = f"{chosen.title} would start `recollect mcp`, which requires the package mcp"
        if not dry_run:
            raise ConfigError(f"{missing}; nothing was changed. First {ConfigError.install('server')}")
        remark(f"{missing}: {ConfigError.install('server')}")
    files = _undo(edits, dry_run=dry_run) if undo else _do(edits, dry_run=dry_run)
    if not dry_run:
        place, location = Path.cwd() if project else None, None if undo else shown(call.home, "")
        note_connection(client, place, location, call.named)
    _print_result(call, chosen, files, dry_run=dry_run, undo=undo)


def _do(edits: list[FileEdit], *, dry_run: bool) -> list[Path]:
    """Apply the edits, or print their diffs; return the files that differ."""
    texts = [(edit, read_text(edit.file)) for edit in edits]
    made = [(edit, before, applied(edit, before)) for edit, before in texts]
    changed = [(edit, before, after) for edit, before, after in made if (before or "") != after]
    if not dry_run:
        write_all(changed)
    for edit, before, after in changed if dry_run else ():
        _print_diff(edit.file, before, after)
    return [edit.file for edit, _, _ in changed]


def _undo(edits: list[FileEdit], *, dry_run: bool) -> list[Path]:
    """Restore the files, or print the diffs; return the files that differ."""
    texts = [(edit, read_text(edit.file)) for edit in edits]
    made = [(edit.file, before, reverted(edit, before)) for edit, before in texts]
    changed = [(file, before, after) for file, before, after in made if (before or None) != (after or None)]
    if dry_run:
        for file, before, after in changed:
            _print_diff(file, before, after)
    else:
        for file, _, after in reversed(changed):  # the first one has the folders that were made
            put_back(file, after)
    return [file for file, _, _ in changed]


def _print_configuration(call: Invocation, edits: list[FileEdit]) -> None:
    texts = {str(edit.file): edit.do("") for edit in edits}
    if call.json:
        document(texts)
        return
    for file, text in texts.items():
        remark(f"{file}:")
        print(safe(text), end="")


def _settled(call: Invocation, client: McpClient, project: bool) -> Invocation:
    """Return the call with defaults applied: one home for the user, with a workspace per project."""
    home, workspace = call.home, call.named
    if not project:
        if "://" not in home:
            usual = home == Settings().home and "home" not in call.given
            home = str(Path.home() / home) if usual else shown(home)
        if workspace == "default" and "workspace" not in call.given and client.projects and not is_single_file(home):
            workspace = HERE
    elif _has_password(home):
        raise Invalid(
            "the location contains a password, which must not be written to a file of the project; omit --project, "
            "or pass a location without a password"
        )
    return replace(call, home=home, named=workspace)


def _edits(client: McpClient, call: Invocation, project: bool, *, hooks: bool) -> list[FileEdit]:
    place = client.project if project else client.user
    if place is None:
        raise Invalid(f"{client.title} has no project configuration; omit --project")
    file = Path.cwd() / place if project else user_file(place)
    words, secret = _program(project), _has_password(call.home)
    options = ["--home", shown(call.home, "") if secret else call.home, *call.who()]
    server = [*words, "mcp", *(call.who() if secret else options)]
    env = {HOME: call.home} if secret else None

    def undo_server(text: str, before: str) -> str:
        return disconnected(client, text, before)

    edits = [FileEdit(file, lambda text: connected(client, text, server, env), undo_server)]
    if hooks and client.hooks is not None:
        settings = Path.cwd() / client.hooks if project else user_file(client.hooks)
        edits.append(
            FileEdit(
                settings,
                lambda text: hooked(text, words, [*options, *KEEP_RUNNING], client.ending, flat=client.flat_hooks),
                lambda text, before: unhooked(text, before, flat=client.flat_hooks),
            )
        )
    return edits


def _has_password(home: str) -> bool:
    return "://" in home and shown(home) != shown(home, "")


def _program(project: bool) -> list[str]:
    """Return the start command: its full path, as GUI programs may lack PATH; its name in files shared by a project."""
    return ["recollect"] if project and shutil.which("recollect") else program()


def _print_diff(file: Path, before: str | None, after: str | None) -> None:
    old, new = (before or "").splitlines(keepends=True), (after or "").splitlines(keepends=True)
    for text in difflib.unified_diff(
        old, new, str(file) if before else "/dev/null", str(file) if after else "/dev/null"
    ):
        print(safe(text), end="" if text.endswith("\n") else "\n")


def _print_result(call: Invocation, client: McpClient, files: list[Path], *, dry_run: bool, undo: bool) -> None:
    if call.json:
        result = {"client": client.title, "files": [str(file) for file in files], "dry_run": dry_run, "undo": undo}
        document({**result, "home": shown(call.home), "workspace": call.named})
    elif not files:
        already = f"already connected to the memory in {_where(call)}"
        remark(f"{client.title} is {'not connected' if undo else already}; nothing to change")
    elif not dry_run:
        for file in files:
            print(f"{'restored' if undo else 'wrote'} {safe(str(file))}")
        if not undo:
            remark(f"{client.title} now uses the memory in {_where(call)}. {client.note}")
            remark(f"List its contents: {call.line('workspace', 'list')}")
            if _has_password(call.home) and client.hooks and user_file(client.hooks) in files:
                remark(
                    "The hooks get the location without its password, because all users of this machine can see their "
                    "command lines: add it to ~/.pgpass as HOST:PORT:DATABASE:USER:PASSWORD"
                )
            if Path(FILE).is_file():
                remark(f"It does not read the {FILE} of a folder; see docs/settings.md")


def _where(call: Invocation) -> str:
    each = " (one workspace per project)" if call.named == HERE else ""
    return f"{shown(call.home)}{each}"


def _short(place: str | None) -> str:
    file = user_file(place or "")
    return "" if place is None else f"~/{place}" if file == Path.home() / place else str(file)


def _list(call: Invocation) -> None:
    rows = [(name, client.title, _short(client.user), client.project or "") for name, client in CLIENTS.items()]
    if call.json:
        document([dict(zip(("name", "title", "user", "project"), row, strict=True)) for row in rows])
    else:
        columns(("client", "program", "user file", "project file"), rows)
