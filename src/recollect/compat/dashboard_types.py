"""Bodies and responses of the dashboard's routes, in its vocabulary. Field names are part of its interface."""

from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Discriminator, Field
from pydantic import Tag as Choice

from recollect.model.entry import Category
from recollect.rest.caller import AgentName
from recollect.rest.types import FIRST_ERROR, Content, ShortText, Tags

__all__ = [
    "AgentQuery",
    "AppendNote",
    "CategoryQuery",
    "ChangedVaultEntry",
    "ChatCheckpoint",
    "ChatCheckpointBody",
    "ChatMessage",
    "CompactionFigures",
    "DashboardChat",
    "InitProject",
    "LastCompaction",
    "MigratedFiles",
    "NewVaultEntry",
    "OneAgent",
    "RecoveredCheckpoint",
    "SaveChat",
    "SaveChats",
    "SaveRequest",
    "SavedChat",
    "SavedChats",
    "VaultAgents",
    "VaultCounts",
    "VaultEntries",
    "VaultEntry",
    "VaultEntryResult",
    "VaultSearchResult",
    "VaultSearchResults",
]

OneAgent = Annotated[AgentName, Query(alias="agentId")]
AgentQuery = Annotated[
    AgentName | None, Query(alias="agentId", description="One agent; by default all that the caller may read.")
]
CategoryQuery = Annotated[Category | None, Query()]
WITHOUT_CHATS = ConfigDict(json_schema_extra={"not": {"required": ["conversations"]}})
"""Excludes `conversations` from the schemas of the other bodies: a body with that key always means `SaveChats`."""


class ChatMessage(BaseModel):
    """A message of a chat. Messages marked `internal` are not stored."""

    role: Literal["user", "agent"]
    text: Annotated[str, Field(max_length=16_000_000, pattern=r"^[^\x00]*$")]
    internal: Annotated[bool, Field(strict=True)] = False


class DashboardChat(BaseModel):
    """A chat as the dashboard has it. It may be sent repeatedly; the last version is the one that loads."""

    agentId: AgentName
    messages: Annotated[list[ChatMessage], FIRST_ERROR, Field(max_length=20_000)]
    chatId: ShortText | None = None
    modelId: ShortText | None = None


class SaveChat(DashboardChat):
    """Save a chat."""

    model_config = WITHOUT_CHATS

    action: Literal["save"] = "save"


class SaveChats(BaseModel):
    """Save several chats."""

    conversations: Annotated[list[DashboardChat], FIRST_ERROR, Field(max_length=1_000)]


class AppendNote(BaseModel):
    """Add a note to an agent's memory."""

    model_config = WITHOUT_CHATS

    action: Literal["append"]
    agentId: AgentName
    content: Content
    category: Category = Category.LESSONS
    tags: Tags | None = None


class InitProject(BaseModel):
    """Set the project description, unless there is one."""

    model_config = WITHOUT_CHATS

    action: Literal["init-project"]
    content: Content
    agentId: AgentName | None = None


def _action(value: object) -> str:
    given = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    return "save-all" if "conversations" in given else str(given.get("action", "save"))


SaveRequest = Annotated[
    Annotated[SaveChat, Choice("save")]
    | Annotated[SaveChats, Choice("save-all")]
    | Annotated[AppendNote, Choice("append")]
    | Annotated[InitProject, Choice("init-project")],
    Discriminator(
        _action,
        custom_error_type="action",
        custom_error_message="action must be save, append or init-project",
    ),
]


class SavedChat(BaseModel):
    """A saved chat."""

    agentId: str
    savedAt: str
    messages: list[ChatMessage]
    chatId: str | None
    modelId: str | None


class SavedChats(BaseModel):
    """The most recently saved chat of each agent."""

    conversations: list[SavedChat]


class ChatCheckpointBody(DashboardChat):
    """The state of a chat. With `close` the chat ends: a hand-off, decisions and lessons are stored."""

    close: Annotated[bool, Field(strict=True)] = False


class ChatCheckpoint(BaseModel):
    """The last messages of an agent's chat."""

    agentId: str
    savedAt: int
    messages: list[ChatMessage]
    chatId: str | None
    modelId: str | None


class RecoveredCheckpoint(BaseModel):
    """The checkpoint of an agent; null if it has none from the last seven days."""

    checkpoint: ChatCheckpoint | None


class NewVaultEntry(BaseModel):
    """A note for a category. Without `tags`, the hashtags of the content become its tags."""

    agentId: AgentName
    category: Category
    content: Content
    tags: Tags | None = None


class ChangedVaultEntry(NewVaultEntry):
    """New content for a note."""

    id: ShortText


class VaultEntry(BaseModel):
    """A note."""

    id: str
    date: str
    content: str
    tags: list[str]
    agentId: str
    category: Category


class VaultEntryResult(BaseModel):
    """The note after the change."""

    entry: VaultEntry


class VaultAgents(BaseModel):
    """The agents that have data."""

    agents: list[str]


class VaultCounts(BaseModel):
    """The number of an agent's notes per category."""

    agentId: str
    counts: dict[Category, int]


class VaultEntries(BaseModel):
    """Notes, newest first."""

    entries: list[VaultEntry]


class VaultSearchResult(BaseModel):
    """One search result."""

    entry: VaultEntry
    score: float
    snippet: str


class VaultSearchResults(BaseModel):
    """Search results, best first."""

    results: list[VaultSearchResult]


class CompactionFigures(BaseModel):
    """Result of a compaction."""

    timestamp: str
    checkpointsCleaned: int
    conversationsTrimmed: int
    vaultEntriesMerged: int
    indexRebuilt: bool
    legacyFilesCleaned: int


class LastCompaction(BaseModel):
    """Result of the last compaction; null before the first one."""

    lastCompaction: CompactionFigures | None


class MigratedFiles(BaseModel):
    """The flat files that became entries, and those that were skipped."""

    migrated: list[str]
    skipped: list[str]
