"""recollect: one durable memory for AI agents.

To begin with:

    import recollect

    with recollect.open("memory.db") as home:
        mem = home.agent("ana")
        mem.remember("We deploy on Tuesdays", name="deploy day")
        mem.recall("when do we deploy?")[0].entry.content
"""

from recollect.clock import Clock, FixedClock, SystemClock
from recollect.config import Settings
from recollect.conversation import Channels, Conversation, Conversations, Scratchpad
from recollect.errors import (
    ConfigError,
    Conflict,
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    RecollectError,
    Unavailable,
)
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.entry import Category, Entry, Kind, Lifetime, Scope
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
from recollect.model.operation import Add, Alias, Operation, Remove, Rename, Revision, Write
from recollect.model.recall import Hit
from recollect.model.report import Erased, Finding, Receipt, Report
from recollect.model.working import Delta, Fact, SummaryDocument
from recollect.providers.base import Embedder, LanguageModel
from recollect.wiring import open_home as open

__version__ = "0.1.0"

__all__ = [
    "Add",
    "Alias",
    "Category",
    "Channel",
    "Channels",
    "Clock",
    "Compacted",
    "ConfigError",
    "Conflict",
    "Conversation",
    "ConversationInfo",
    "Conversations",
    "Corrupt",
    "Delta",
    "Denied",
    "Embedder",
    "Ended",
    "Entry",
    "Erased",
    "Event",
    "EventType",
    "Fact",
    "Finding",
    "FixedClock",
    "Hit",
    "Home",
    "Invalid",
    "Kind",
    "Lane",
    "LanguageModel",
    "Lifetime",
    "Memory",
    "NotFound",
    "Operation",
    "Receipt",
    "RecollectError",
    "Recovery",
    "Remove",
    "Rename",
    "Report",
    "Revision",
    "Scope",
    "Scratchpad",
    "Settings",
    "Status",
    "SummaryDocument",
    "SystemClock",
    "Turn",
    "Unavailable",
    "Write",
    "open",
]
