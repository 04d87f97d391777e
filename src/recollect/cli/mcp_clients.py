"""The supported MCP clients: where each keeps its configuration, and how a server is written there. Pure functions on
text; nothing here reads or writes a file.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.cli.jsonc import drop_json, read_json, set_json
from recollect.cli.toml import drop_toml, read_toml, set_toml

__all__ = [
    "CLIENTS",
    "HOME",
    "McpClient",
    "connected",
    "disconnected",
    "entry_of",
]

NAME = "recollect"
HOME = "RECOLLECT_HOME"
"""Environment variable for a location with a password: command-line arguments are visible to all local users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpClient:
    """An MCP client: its configuration files per user and per project, and their format."""

    title: str
    user: str | None
    """Path of the user's configuration, relative to the home folder; None if there is none."""
    project: str | None
    """Path of the project's configuration, relative to the project folder; None if there is none."""
    key: str = "mcpServers"
    extra: Mapping[str, Any] | None = None
    """Fields of an entry besides command and args."""
    note: str = "Restart it, or reload its MCP servers."
    projects: bool = True
    """Whether it runs in the folder of a project."""
    hooks: str | None = None
    """Path of the file with its hooks, relative to the home folder or to the project; None if it has none."""
    ending: int = 60
    """Seconds that its hook at the end of a session may take."""
    flat_hooks: bool = False
    """Whether its hooks are as those of Cursor: other names of events, no groups."""

    @property
    def toml(self) -> bool:
        """Whether its configuration is TOML, not JSON."""
        return (self.user or self.project or "").endswith(".toml")

    def entry(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the configuration entry of a server."""
        entry = {**(self.extra or {}), "command": command[0], "args": [*command[1:]]}
        return entry | ({"env": {**env}} if env else {})


def _applications() -> str:
    """Return the platform's folder for application data, relative to the home folder."""
    return {"darwin": "Library/Application Support", "win32": "AppData/Roaming"}.get(sys.platform, ".config")


CLIENTS: Mapping[str, McpClient] = {
    "claude-code": McpClient(
        title="Claude Code",
        user=".claude.json",
        project=".mcp.json",
        extra={"type": "stdio"},
        note="Start a new session; /mcp shows the server.",
        hooks=".claude/settings.json",
    ),
    "claude-desktop": McpClient(
        title="Claude Desktop",
        user=f"{_applications()}/Claude/claude_desktop_config.json",
        project=None,
        projects=False,
    ),
    "codex": McpClient(
        title="Codex",
        user=".codex/config.toml",
        project=".codex/config.toml",
        key="mcp_servers",
        note="Start a new session; /mcp shows the server, and /hooks asks to trust its hooks.",
        hooks=".codex/hooks.json",
        ending=3,  # its maximum
    ),
    "cursor": McpClient(
        title="Cursor",
        user=".cursor/mcp.json",
        project=".cursor/mcp.json",
        hooks=".cursor/hooks.json",
        flat_hooks=True,
    ),
    "gemini": McpClient(title="Gemini CLI", user=".gemini/settings.json", project=".gemini/settings.json"),
    "vscode": McpClient(
        title="Visual Studio Code",
        user=f"{_applications()}/Code/User/mcp.json",
        project=".vscode/mcp.json",
        key="servers",
        extra={"type": "stdio"},
    ),
    "windsurf": McpClient(title="Windsurf", user=".codeium/windsurf/mcp_config.json", project=None),
    "zed": McpClient(
        title="Zed",
        user="AppData/Roaming/Zed/settings.json" if sys.platform == "win32" else ".config/zed/settings.json",
        project=".zed/settings.json",
        key="context_servers",
        extra={"source": "custom"},
        note="No restart is needed.",
    ),
}


def connected(client: McpClient, text: str, command: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """Return the configuration with the server added; other fields that a user added to its entry stay."""
    known, entry = entry_of(client, text), client.entry(command, env)
    if isinstance(known, Mapping) and "command" in known:  # an entry with a url is of another kind
        entry = {**known, **entry, **_environment(known, env or {})}
    if entry == known:
        return text
    return (set_toml if client.toml else set_json)(text, (client.key, NAME), entry)


def _environment(known: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """Merge the variables of an entry with ours; a location from an earlier `connect` is removed."""
    theirs = known.get("env")
    if not isinstance(theirs, Mapping) or not (env or HOME in theirs):
        return {}
    return {"env": {name: value for name, value in theirs.items() if name != HOME} | {**env}}


def disconnected(client: McpClient, text: str, before: str) -> str:
    """Return the configuration without the server, or with the entry that was there before."""
    earlier = entry_of(client, before)
    if earlier is not None:
        return (set_toml if client.toml else set_json)(text, (client.key, NAME), earlier)
    return (drop_toml if client.toml else drop_json)(text, (client.key, NAME))


def entry_of(client: McpClient, text: str) -> Any:
    """Return the entry under our name; None if there is none."""
    servers = (read_toml if client.toml else read_json)(text).get(client.key) if _says(text) else None
    return servers.get(NAME) if isinstance(servers, Mapping) else None


def _says(text: str) -> bool:
    """Return whether a text is more than whitespace and a BOM."""
    return bool(text.strip("\ufeff \t\r\n"))
