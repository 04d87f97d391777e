"""The programs that an agent runs in, where each one keeps its MCP servers, and what is written there. Nothing here
reads or writes a file.
"""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.cli.edits import drop_json, drop_toml, read_json, read_toml, set_json, set_toml

__all__ = [
    "CLIENTS",
    "HOME",
    "HOOKS",
    "SETTINGS",
    "Client",
    "connected",
    "disconnected",
    "entry_of",
    "hook_programs",
    "hooked",
    "unhooked",
]

NAME = "recollect"
HOME = "RECOLLECT_HOME"
"""The variable for a location that holds a password: arguments of programs are seen by everybody on the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program: its configuration for one user and for one project, and how a server is written there."""

    title: str
    user: str | None
    """Relative to the home folder of the user; None where there is none."""
    project: str | None
    """Relative to the folder of the project."""
    key: str = "mcpServers"
    extra: Mapping[str, Any] | None = None
    """What an entry has beside command and args."""
    note: str = "Restart it, or reload its MCP servers."
    projects: bool = True
    """Whether it is used in the folder of a project."""

    @property
    def toml(self) -> bool:
        """Whether its configuration is TOML; else it is JSON."""
        return (self.user or self.project or "").endswith(".toml")

    def entry(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """A server as this program writes it."""
        entry = {**(self.extra or {}), "command": command[0], "args": [*command[1:]]}
        return entry | ({"env": {**env}} if env else {})


def _applications() -> str:
    """Where programs with windows keep their files, relative to the home folder."""
    return {"darwin": "Library/Application Support", "win32": "AppData/Roaming"}.get(sys.platform, ".config")


CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(
        title="Claude Code", user=".claude.json", project=".mcp.json", extra={"type": "stdio"},
        note="Start a new session; /mcp shows the server.",
    ),
    "claude-desktop": Client(
        title="Claude Desktop", user=f"{_applications()}/Claude/claude_desktop_config.json", project=None,
        projects=False,
    ),
    "codex": Client(
        title="Codex", user=".codex/config.toml", project=".codex/config.toml", key="mcp_servers",
        note="Start a new session; /mcp shows the server.",
    ),
    "cursor": Client(title="Cursor", user=".cursor/mcp.json", project=".cursor/mcp.json"),
    "gemini": Client(title="Gemini CLI", user=".gemini/settings.json", project=".gemini/settings.json"),
    "vscode": Client(
        title="Visual Studio Code", user=f"{_applications()}/Code/User/mcp.json", project=".vscode/mcp.json",
        key="servers", extra={"type": "stdio"},
    ),
    "windsurf": Client(title="Windsurf", user=".codeium/windsurf/mcp_config.json", project=None),
    "zed": Client(
        title="Zed",
        user="AppData/Roaming/Zed/settings.json" if sys.platform == "win32" else ".config/zed/settings.json",
        project=".zed/settings.json", key="context_servers", extra={"source": "custom"}, note="It is there at once.",
    ),
}  # fmt: skip

HOOKS: Mapping[str, tuple[str, int]] = {
    "SessionStart": ("session-start", 30),
    "UserPromptSubmit": ("user-prompt", 15),
    "Stop": ("stop", 15),
    "PreCompact": ("pre-compact", 15),
    "SessionEnd": ("session-end", 60),
}
"""The hooks of Claude Code: which command answers each, and how many seconds it may take."""
SETTINGS = ".claude/settings.json"
"""Where the hooks are, relative to the home folder or to the project."""


def connected(client: Client, text: str, command: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """The configuration with the server in it; what else somebody wrote into its entry stays."""
    known, entry = entry_of(client, text), client.entry(command, env)
    if isinstance(known, Mapping) and "command" in known:  # one with a url is another kind of entry
        entry = {**known, **entry, **_environment(known, env or {})}
    if entry == known:
        return text
    return (set_toml if client.toml else set_json)(text, (client.key, NAME), entry)


def _environment(known: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """The variables of an entry: those that somebody wrote, and ours; a location that we wrote once leaves."""
    theirs = known.get("env")
    if not isinstance(theirs, Mapping) or not (env or HOME in theirs):
        return {}
    return {"env": {name: value for name, value in theirs.items() if name != HOME} | {**env}}


def disconnected(client: Client, text: str, before: str) -> str:
    """The configuration without the server, or with the one that was there before."""
    earlier = entry_of(client, before)
    if earlier is not None:
        return (set_toml if client.toml else set_json)(text, (client.key, NAME), earlier)
    return (drop_toml if client.toml else drop_json)(text, (client.key, NAME))


def entry_of(client: Client, text: str) -> Any:
    """What a configuration has under our name; None where there is nothing."""
    servers = (read_toml if client.toml else read_json)(text).get(client.key) if _says(text) else None
    return servers.get(NAME) if isinstance(servers, Mapping) else None


def hook_programs(text: str) -> set[str]:
    """The programs that our hooks start."""
    commands = [str(hook["command"]) for event in HOOKS for _, _, hook in _ours(text, event)]
    return {shlex.split(command)[0] for command in commands if command.count("'") % 2 == command.count('"') % 2 == 0}


def hooked(text: str, program: Sequence[str], options: Sequence[str]) -> str:
    """The settings of Claude Code with the hooks in them, beside those of others."""
    for event, (word, seconds) in HOOKS.items():
        hook = {"type": "command", "command": shlex.join([*program, "hook", word, *options]), "timeout": seconds}
        ours = next(_ours(text, event), None)
        if ours is None:
            text = set_json(text, ("hooks", event, len(_groups(text, event))), {"hooks": [hook]})
        else:
            place, number, known = ours
            text = set_json(text, ("hooks", event, place, "hooks", number), {**known, **hook})
    return text


def unhooked(text: str) -> str:
    """The settings of Claude Code without the hooks; what is empty without them leaves, too."""
    for event in HOOKS:
        for place, number, _ in reversed([*_ours(text, event)]):
            alone = len(_groups(text, event)[place]["hooks"]) == 1
            text = drop_json(text, ("hooks", event, place) if alone else ("hooks", event, place, "hooks", number))
            if not _groups(text, event):
                text = drop_json(text, ("hooks", event))
    return drop_json(text, ("hooks",)) if read_json(text).get("hooks") == {} else text


def _ours(text: str, event: str) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """Our hooks for an event: the place of the group, the place in it, and the hook."""
    word, _ = HOOKS[event]
    for place, group in enumerate(_groups(text, event)):
        hooks = group.get("hooks") if isinstance(group, Mapping) else None
        for number, hook in enumerate(hooks if isinstance(hooks, list) else ()):
            command = str(hook.get("command")) if isinstance(hook, Mapping) else ""
            if NAME in command and f" hook {word}" in command:
                yield place, number, hook


def _groups(text: str, event: str) -> list[Any]:
    """The groups of hooks for an event; none where something else stands in their place."""
    hooks = read_json(text).get("hooks") if _says(text) else None
    groups = hooks.get(event) if isinstance(hooks, Mapping) else None
    return groups if isinstance(groups, list) else []


def _says(text: str) -> bool:
    """Whether anything is in a file."""
    return bool(text.strip("\ufeff \t\r\n"))
