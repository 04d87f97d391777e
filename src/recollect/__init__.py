"""recollect: one durable memory for AI agents.

To begin with:

    import recollect

    with recollect.open("memory.db") as home:
        mem = home.agent("ana")
        mem.remember("We deploy on Tuesdays", name="deploy day")
        mem.recall("when do we deploy?")[0].entry.content
"""

from recollect.access import Requests, Tokens
from recollect.channels import Channels
from recollect.clock import Clock, FixedClock, SystemClock
from recollect.config import Settings
from recollect.conversation import Conversation
from recollect.conversations import Conversations
from recollect.errors import (
    ConfigError,
    Conflict,
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    RecollectError,
    Stale,
    Unavailable,
)
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.access import Answer, Right, Token
from recollect.model.context import Context, Item, OrientationDocument, Profile, Section
from recollect.model.entry import Category, Entry, Kind, Lifetime, Origin, Scope, State
from recollect.model.history import (
    Channel,
    Compacted,
    ConversationInfo,
    Ended,
    Event,
    EventType,
    Lane,
    Recovery,
    Status,
    Turn,
)
from recollect.model.listing import Cursor, Removed, Sort
from recollect.model.operation import Add, Alias, Operation, Remove, Rename, Revision, Write
from recollect.model.provenance import Provenance
from recollect.model.recall import Accesses, Hit
from recollect.model.reminder import Reminder
from recollect.model.report import Erased, Finding, Receipt, Report, Rewritten
from recollect.model.review import Relation, Resolution, ReviewPair
from recollect.model.stats import AgentStats, Stats
from recollect.model.transfer import Exported, Format, Imported, Part
from recollect.model.upkeep import Change, JobStatus, Run
from recollect.model.working import Delta, Fact, SummaryDocument
from recollect.providers.base import Embedder, LanguageModel
from recollect.reminders import Reminders
from recollect.review import Review
from recollect.scratchpad import Scratchpad
from recollect.upkeep.runner import Jobs
from recollect.wiring import open_home as open

__version__ = "0.1.0"

__all__ = [
    "Accesses",
    "Add",
    "AgentStats",
    "Alias",
    "Answer",
    "Category",
    "Change",
    "Channel",
    "Channels",
    "Clock",
    "Compacted",
    "ConfigError",
    "Conflict",
    "Context",
    "Conversation",
    "ConversationInfo",
    "Conversations",
    "Corrupt",
    "Cursor",
    "Delta",
    "Denied",
    "Embedder",
    "Ended",
    "Entry",
    "Erased",
    "Event",
    "EventType",
    "Exported",
    "Fact",
    "Finding",
    "FixedClock",
    "Format",
    "Hit",
    "Home",
    "Imported",
    "Invalid",
    "Item",
    "JobStatus",
    "Jobs",
    "Kind",
    "Lane",
    "LanguageModel",
    "Lifetime",
    "Memory",
    "NotFound",
    "Operation",
    "OrientationDocument",
    "Origin",
    "Part",
    "Profile",
    "Provenance",
    "Receipt",
    "RecollectError",
    "Recovery",
    "Relation",
    "Reminder",
    "Reminders",
    "Remove",
    "Removed",
    "Rename",
    "Report",
    "Requests",
    "Resolution",
    "Review",
    "ReviewPair",
    "Revision",
    "Rewritten",
    "Right",
    "Run",
    "Scope",
    "Scratchpad",
    "Section",
    "Settings",
    "Sort",
    "Stale",
    "State",
    "Stats",
    "Status",
    "SummaryDocument",
    "SystemClock",
    "Token",
    "Tokens",
    "Turn",
    "Unavailable",
    "Write",
    "open",
]
