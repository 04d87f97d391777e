"""The programs that an agent runs in, where each one keeps its MCP servers, and what is written there. Nothing here
reads or writes a file.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.cli.edits import drop_json, drop_toml, read_json, read_toml, set_json, set_toml

__all__ = ["CLIENTS", "HOOKS", "SETTINGS", "Client", "connected", "disconnected", "hooked", "unhooked"]

NAME = "recollect"


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

    def entry(self, command: Sequence[str]) -> dict[str, Any]:
        """A server as this program writes it."""
        return {**(self.extra or {}), "command": command[0], "args": [*command[1:]]}


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


def connected(client: Client, text: str, command: Sequence[str]) -> str:
    """The configuration with the server in it."""
    write = set_toml if client.toml else set_json
    return write(text, (client.key, NAME), client.entry(command))


def disconnected(client: Client, text: str, before: str) -> str:
    """The configuration without the server, or with the one that was there before."""
    read = read_toml if client.toml else read_json
    earlier = read(before).get(client.key, {}).get(NAME) if before.strip() else None
    if earlier is not None:
        return (set_toml if client.toml else set_json)(text, (client.key, NAME), earlier)
    return (drop_toml if client.toml else drop_json)(text, (client.key, NAME))


def hooked(text: str, program: Sequence[str], options: Sequence[str]) -> str:
    """The settings of Claude Code with the hooks in them, beside those of others."""
    for event, (word, seconds) in HOOKS.items():
        groups = (read_json(text).get("hooks") or {}).get(event) or [] if text.strip() else []
        place = next((place for place, group in enumerate(groups) if _is_ours(group, word)), len(groups))
        command = shlex.join([*program, "hook", word, *options])
        group = {"hooks": [{"type": "command", "command": command, "timeout": seconds}]}
        text = set_json(text, ("hooks", event, place), group)
    return text


def unhooked(text: str) -> str:
    """The settings of Claude Code without the hooks."""
    for event, (word, _) in HOOKS.items():
        groups = (read_json(text).get("hooks") or {}).get(event) or []
        for place in reversed([place for place, group in enumerate(groups) if _is_ours(group, word)]):
            text = drop_json(text, ("hooks", event, place))
        if groups and not read_json(text)["hooks"][event]:
            text = drop_json(text, ("hooks", event))
    return drop_json(text, ("hooks",)) if read_json(text).get("hooks") == {} else text


def _is_ours(group: Any, word: str) -> bool:
    hooks = group.get("hooks") if isinstance(group, Mapping) else None
    commands = [hook.get("command") for hook in hooks or () if isinstance(hook, Mapping)]
    return any(NAME in str(command) and f" hook {word}" in str(command) for command in commands)
