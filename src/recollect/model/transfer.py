"""Results of exports and imports, and the formats that an import reads. Frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Exported", "Format", "Imported", "Part"]


class Format(StrEnum):
    """Format of an imported file or folder."""

    RECOLLECT = "recollect"
    """An export of recollect."""
    MCP_MEMORY = "mcp-memory"
    """`memory.jsonl` of the MCP memory server, or the answer of its tool `read_graph`."""
    CHATGPT = "chatgpt"
    """ChatGPT's data export: `conversations.json`, or its numbered parts."""
    CLAUDE = "claude"
    """Claude's data export: `conversations.json`, `memories.json` and `projects.json`."""
    CLAUDE_CODE = "claude-code"
    """Transcripts of Claude Code, as in its folder `projects`."""
    CODEX = "codex"
    """Transcripts of Codex, as in its folder `sessions`."""
    GEMINI = "gemini"
    """The activity of Gemini in a Google Takeout, as JSON or HTML."""
    LETTA = "letta"
    """An agent file (`.af`) of Letta."""
    MEM0 = "mem0"
    """Memories of mem0 as JSON: a list, or an object with `results`."""
    OPENCLAW = "openclaw"
    """A workspace of OpenClaw: `MEMORY.md` and daily notes."""
    NOTION = "notion"
    """The markdown and CSV export of Notion."""
    LOGSEQ = "logseq"
    """A graph of Logseq: the folders `pages` and `journals`."""
    BASIC_MEMORY = "basic-memory"
    """A folder of basic-memory: markdown with observations and relations."""
    OBSIDIAN = "obsidian"
    """A folder of markdown notes, or one note."""
    MEMORY_FOLDER = "memory-folder"
    """A folder `.memory`: a file or a folder of categories per agent, `_project.md`, and conversations."""
    CONVERSATION = "conversation"
    """One conversation as `{agentId, savedAt, messages}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Result of an export."""

    path: str
    rows: int
    parts: tuple[str, ...] = ()
    """The exported agents, as workspace/agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Result of an import for one agent. Counts are keyed by what was counted: entries, conversations, messages, …"""

    where: str
    """workspace/agent."""
    added: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)
    known: Mapping[str, int] = field(default_factory=dict)
    """Already present and left unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Result of an import; with `dry_run`, what it would do."""

    format: Format
    path: str
    dry_run: bool = False
    parts: tuple[Part, ...] = ()
    remarks: tuple[str, ...] = ()
    """What could not be imported unchanged, and why."""
    migrated: tuple[str, ...] = ()
    """Files that were imported completely and then renamed."""
    skipped: tuple[str, ...] = ()
    """Files that were skipped, because they were imported before."""

    @property
    def changed(self) -> bool:
        """Whether anything was added or changed, or would be."""
        return any(number for part in self.parts for number in (*part.added.values(), *part.changed.values()))
