"""`recollect connect`: adds the memory to the configuration of an MCP client, and can restore it."""

import contextlib
import difflib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from recollect.cli.invocation import HERE, Invocation, with_options
from recollect.cli.mcp_clients import CLIENTS, HOME, SETTINGS, McpClient, connected, disconnected, hooked, unhooked
from recollect.cli.options import examples
from recollect.cli.output import columns, document, remark, safe
from recollect.config import FILE, Settings, user_file
from recollect.errors import ConfigError, Invalid, NotFound, RecollectError, Unavailable
from recollect.wiring import is_single_file, program, shown

__all__ = ["FileEdit", "SavedFile", "app"]

app = typer.Typer()

STATE = ".local/state/recollect/connect"
"""Folder for the original contents of changed files, relative to the user's home folder."""


@dataclass(frozen=True, slots=True)
class SavedFile:
    """The contents of a file before the change (None if it did not exist) and after it."""

    file: str
    before: str | None
    after: str
    made: list[str]
    """Folders that were created for it."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file with the function that changes its text and the one that reverts the change."""

    file: Path
    do: Callable[[str], str]
    undo: Callable[[str, str], str]


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
    no_hooks: Annotated[bool, typer.Option("--no-hooks", help="Do not install the hooks of Claude Code.")] = False,
) -> None:
    """Configure an MCP client to start recollect as a server, and for Claude Code also its session hooks.

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
    edits = _edits(chosen, call, project, hooks=client == "claude-code" and not no_hooks)
    if show:
        texts = {str(edit.file): edit.do("") for edit in edits}
        if call.json:
            document(texts)
        for file, text in {} if call.json else texts.items():
            remark(f"{file}:")
            print(safe(text), end="")
        return
    if find_spec("mcp") is None and not undo:
        missing = f"{chosen.title} would start `recollect mcp`, which requires the package mcp"
        if not dry_run:
            raise ConfigError(f"{missing}; nothing was changed. First {ConfigError.install('server')}")
        remark(f"{missing}: {ConfigError.install('server')}")
    changes = [(edit, _text(edit.file)) for edit in edits]
    made = [(edit, before, _undone(edit, before) if undo else _done(edit, before)) for edit, before in changes]
    changed = [(edit, before, after) for edit, before, after in made if (before or None) != (after or None)]
    if not dry_run and not undo:
        _write_all([(edit, before, str(after)) for edit, before, after in changed])
    for edit, before, after in changed:
        if dry_run:
            _show(edit.file, before, after)
        elif undo:
            _put_back(edit.file, after)
    _told(call, chosen, [edit.file for edit, _, _ in changed], dry_run=dry_run, undo=undo)


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
    file, settings = (Path.cwd() / place, Path.cwd() / SETTINGS) if project else map(user_file, (place, SETTINGS))
    words, secret = _program(project), _has_password(call.home)
    options = ["--home", shown(call.home, "") if secret else call.home, *call.who()]
    server = [*words, "mcp", *(call.who() if secret else options)]
    env = {HOME: call.home} if secret else None

    def undo_server(text: str, before: str) -> str:
        return disconnected(client, text, before)

    edits = [FileEdit(file, lambda text: connected(client, text, server, env), undo_server)]
    if hooks:
        edits.append(FileEdit(settings, lambda text: hooked(text, words, options), lambda text, before: unhooked(text)))
    return edits


def _has_password(home: str) -> bool:
    return "://" in home and shown(home) != shown(home, "")


def _program(project: bool) -> list[str]:
    """Return the start command: its full path, as GUI programs may lack PATH; its name in files shared by a project."""
    return ["recollect"] if project and shutil.which("recollect") else program()


# Files


def _text(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Invalid(f"{file} is not UTF-8 text; nothing was changed") from None
    except OSError as error:
        raise Unavailable(f"{file} cannot be read: {error.strerror}; nothing was changed") from None


def _done(edit: FileEdit, before: str | None) -> str:
    try:
        return edit.do(before or "")
    except Invalid as error:
        raise Invalid(
            f"{edit.file}: {error}; nothing was changed. Fix the file, or add the output of --print by hand"
        ) from None


def _undone(edit: FileEdit, now: str | None) -> str | None:
    """Return the original text; if the file was changed since, its present text without our additions."""
    kept = _kept(edit.file)
    if kept is not None and kept.after == now:
        return kept.before
    try:
        return _without(edit, now, kept)
    except Invalid as error:
        raise Invalid(f"{edit.file}: {error}; nothing was changed") from None


def _without(edit: FileEdit, now: str | None, kept: SavedFile | None) -> str | None:
    """Return a file's text without our additions; an empty or missing file has none."""
    return edit.undo(now, (kept.before if kept else None) or "") if now and now.strip("\ufeff \t\r\n") else now


def _write_all(changes: list[tuple[FileEdit, str | None, str]]) -> None:
    """Write all files, or restore those already written and raise."""
    begun: list[tuple[Path, str | None, SavedFile | None]] = []
    try:
        for edit, before, after in changes:
            begun.append((edit.file, before, _kept(edit.file)))
            _write(edit, before, after)
    except RecollectError:
        for file, before, kept in reversed(begun):
            with contextlib.suppress(RecollectError):
                _put_back(file, before)
            if kept is not None:
                _keep(kept)
        raise


def _write(edit: FileEdit, before: str | None, after: str) -> None:
    kept, file = _kept(edit.file), edit.file
    if kept is None:
        made = [str(folder) for folder in (file.parent, *file.parent.parents) if not folder.exists()]
        kept = SavedFile(str(file), before, after, made)
    elif kept.after != before:  # changed since: its new original excludes our additions
        kept = replace(kept, before=_without(edit, before, kept))
    # Save the state for undo before the change.
    _keep(replace(kept, after=after))
    _replace(file, after)


def _put_back(file: Path, after: str | None) -> None:
    kept = _kept(file)
    try:
        if after is None:
            file.unlink(missing_ok=True)
        elif after != _text(file):
            _replace(file, after)
    except OSError as error:
        raise Unavailable(f"{file} cannot be restored: {error.strerror}; it is unchanged") from None
    for folder in kept.made if kept and after is None else ():
        with contextlib.suppress(OSError):  # it is no longer empty
            Path(folder).rmdir()
    _state(file).unlink(missing_ok=True)


def _replace(file: Path, text: str) -> None:
    """Write a file atomically, keeping its permissions; a symlink stays one."""
    name = None
    try:
        target = file.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(number, "wb") as new:
            new.write(text.encode())
            new.flush()
            os.fsync(new.fileno())
        if target.exists():
            shutil.copymode(target, name)
        os.replace(name, target)
    except OSError as error:
        if name is not None:
            Path(name).unlink(missing_ok=True)
        raise Unavailable(f"{file} cannot be written: {error.strerror}; it is unchanged") from None


def _state(file: Path) -> Path:
    return Path.home() / STATE / f"{sha256(str(file.absolute()).encode()).hexdigest()[:16]}.json"


def _keep(kept: SavedFile) -> None:
    state = _state(Path(kept.file))
    with contextlib.suppress(OSError):  # then `_replace` fails, too, and raises
        state.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _replace(state, json.dumps(asdict(kept)))


def _kept(file: Path) -> SavedFile | None:
    try:
        return SavedFile(**json.loads(_state(file).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


# What is told


def _show(file: Path, before: str | None, after: str | None) -> None:
    old, new = (before or "").splitlines(keepends=True), (after or "").splitlines(keepends=True)
    for text in difflib.unified_diff(
        old, new, str(file) if before else "/dev/null", str(file) if after else "/dev/null"
    ):
        print(safe(text), end="" if text.endswith("\n") else "\n")


def _told(call: Invocation, client: McpClient, files: list[Path], *, dry_run: bool, undo: bool) -> None:
    if call.json:
        told = {"client": client.title, "files": [str(file) for file in files], "dry_run": dry_run, "undo": undo}
        document({**told, "home": shown(call.home), "workspace": call.named})
    elif not files:
        already = f"already connected to the memory in {_where(call)}"
        remark(f"{client.title} is {'not connected' if undo else already}; nothing to change")
    elif not dry_run:
        for file in files:
            print(f"{'restored' if undo else 'wrote'} {safe(str(file))}")
        if not undo:
            remark(f"{client.title} now uses the memory in {_where(call)}. {client.note}")
            remark(f"List its contents: {call.line('workspace', 'list')}")
            if _has_password(call.home) and user_file(SETTINGS) in files:
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
