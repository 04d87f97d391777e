"""Adds hooks to the settings of a coding agent and removes them. Pure functions on text, without file access.

Claude Code and Codex have groups of hooks for each event. Cursor has a list of hooks for each event (`flat`), and a
version of the file.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recollect.cli.hook_events import CURSOR_HOOKS, HOOKS
from recollect.cli.jsonc import drop_json, read_json, set_json

__all__ = ["hook_programs", "hooked", "unhooked"]

NAME = "recollect"
VERSION = 1
"""Schema version of Cursor's hooks file."""


def hook_programs(text: str, *, flat: bool = False) -> set[str]:
    """Return the programs that recollect's hooks start."""
    commands = [str(hook["command"]) for event in _words(flat) for _, hook in _ours(text, event, flat)]
    return {shlex.split(command)[0] for command in commands if command.count("'") % 2 == command.count('"') % 2 == 0}


def hooked(text: str, program: Sequence[str], options: Sequence[str], ending: int = 60, *, flat: bool = False) -> str:
    """Return the settings of a client with recollect's hooks added; other hooks stay."""
    if flat and "version" not in _read(text):
        text = set_json(text, ("version",), VERSION)
    for event, word in _words(flat).items():
        hook: dict[str, Any] = {"command": shlex.join([*program, "hook", word, *options])}
        if not flat:
            hook = {"type": "command", **hook, "timeout": ending if event == "SessionEnd" else HOOKS[event][1]}
        ours = next(_ours(text, event, flat), None)
        if ours is None:
            text = set_json(text, ("hooks", event, len(_listed(text, event))), hook if flat else {"hooks": [hook]})
        else:
            path, known = ours
            text = set_json(text, path, {**known, **hook})
    return text


def unhooked(text: str, before: str = "", *, flat: bool = False) -> str:
    """Return the settings of a client without recollect's hooks and without containers that become empty.

    `before` are the settings before the hooks were added.
    """
    for event in _words(flat):
        for path, _ in reversed([*_ours(text, event, flat)]):
            alone = not flat and len(_listed(text, event)[path[2]]["hooks"]) == 1
            text = drop_json(text, path[:3] if alone else path)
            if not _listed(text, event):
                text = drop_json(text, ("hooks", event))
    text = drop_json(text, ("hooks",)) if _read(text).get("hooks") == {} else text
    ours = flat and _read(text) == {"version": VERSION} and "version" not in _read(before)
    return drop_json(text, ("version",)) if ours else text


def _words(flat: bool) -> Mapping[str, str]:
    """Return the argument of `recollect hook` for each event."""
    return CURSOR_HOOKS if flat else {event: word for event, (word, _) in HOOKS.items()}


def _ours(text: str, event: str, flat: bool) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """Yield recollect's hooks for an event, each with its path in the file."""
    word = _words(flat)[event]
    for place, one in enumerate(_listed(text, event)):
        path = ("hooks", event, place)
        hooks = one.get("hooks") if isinstance(one, Mapping) and not flat else None
        known = {path: one} if flat else {(*path, "hooks", n): hook for n, hook in enumerate(_list(hooks))}
        for where, hook in known.items():
            command = str(hook.get("command")) if isinstance(hook, Mapping) else ""
            if NAME in command and f" hook {word}" in command:
                yield where, hook


def _listed(text: str, event: str) -> list[Any]:
    """Return the hooks or groups of hooks of an event; empty if the value there is not a list."""
    hooks = _read(text).get("hooks")
    return _list(hooks.get(event)) if isinstance(hooks, Mapping) else []


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _read(text: str) -> Mapping[str, Any]:
    return read_json(text) if text.strip("\ufeff \t\r\n") else {}
