"""recollect: one durable memory for AI agents.

To begin with:

    import recollect

    with recollect.open("memory.db") as home:
        mem = home.agent("ana")
        mem.remember("We deploy on Tuesdays", name="deploy day")
        mem.recall("when do we deploy?")[0].entry.content
"""

import importlib

TYPE_CHECKING = False  # instead of an import of `typing`, which takes longer than the rest of this module
if TYPE_CHECKING:
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
    from recollect.model.note_graph import NoteEdge, NoteGraph, NoteNode
    from recollect.model.operation import Add, Alias, Operation, Remove, Rename, Revision, Write
    from recollect.model.overview import MemoryHealth, NetChange, NetChanges, Outcome, Overview
    from recollect.model.provenance import Provenance
    from recollect.model.recall import Accesses, Hit
    from recollect.model.reminder import Reminder
    from recollect.model.report import Erased, Finding, Receipt, Report, Rewritten
    from recollect.model.review import Relation, Resolution, ReviewPair
    from recollect.model.stats import AgentCounts, AgentStats, Stats
    from recollect.model.timeline import Timeline, TimelineBucket, TimelineItem
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
    "AgentCounts",
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
    "MemoryHealth",
    "NetChange",
    "NetChanges",
    "NotFound",
    "NoteEdge",
    "NoteGraph",
    "NoteNode",
    "Operation",
    "OrientationDocument",
    "Origin",
    "Outcome",
    "Overview",
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
    "Timeline",
    "TimelineBucket",
    "TimelineItem",
    "Token",
    "Tokens",
    "Turn",
    "Unavailable",
    "Write",
    "open",
]

_MODULES = {
    "access": "Requests Tokens",
    "channels": "Channels",
    "clock": "Clock FixedClock SystemClock",
    "config": "Settings",
    "conversation": "Conversation",
    "conversations": "Conversations",
    "errors": "ConfigError Conflict Corrupt Denied Invalid NotFound RecollectError Stale Unavailable",
    "home": "Home",
    "memory": "Memory",
    "model.access": "Answer Right Token",
    "model.context": "Context Item OrientationDocument Profile Section",
    "model.entry": "Category Entry Kind Lifetime Origin Scope State",
    "model.history": "Channel Compacted ConversationInfo Ended Event EventType Lane Recovery Status Turn",
    "model.listing": "Cursor Removed Sort",
    "model.note_graph": "NoteEdge NoteGraph NoteNode",
    "model.operation": "Add Alias Operation Remove Rename Revision Write",
    "model.overview": "MemoryHealth NetChange NetChanges Outcome Overview",
    "model.provenance": "Provenance",
    "model.recall": "Accesses Hit",
    "model.reminder": "Reminder",
    "model.report": "Erased Finding Receipt Report Rewritten",
    "model.review": "Relation Resolution ReviewPair",
    "model.stats": "AgentCounts AgentStats Stats",
    "model.timeline": "Timeline TimelineBucket TimelineItem",
    "model.transfer": "Exported Format Imported Part",
    "model.upkeep": "Change JobStatus Run",
    "model.working": "Delta Fact SummaryDocument",
    "providers.base": "Embedder LanguageModel",
    "reminders": "Reminders",
    "review": "Review",
    "scratchpad": "Scratchpad",
    "upkeep.runner": "Jobs",
}
"""The public names by the module that defines them. A module is imported when one of its names is first used."""
_DEFINED_IN = {name: module for module, names in _MODULES.items() for name in names.split()}


if not TYPE_CHECKING:  # type checkers use the imports above

    def __getattr__(name):
        module, original = ("wiring", "open_home") if name == "open" else (_DEFINED_IN.get(name), name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{module}"), original)
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
