"""recollect: one durable memory for AI agents.

import recollect

with recollect.open("memory.db") as home:
    mem = home.agent("ana")
    mem.remember("We deploy on Tuesdays", name="deploy day")
    mem.recall("when do we deploy?")[0].entry.content
"""

from recollect.clock import Clock, FixedClock, SystemClock
from recollect.config import Settings
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
from recollect.model.operation import Add, Alias, Operation, Remove, Rename, Revision, Write
from recollect.model.recall import Hit
from recollect.model.report import Erased, Finding, Receipt, Report
from recollect.wiring import open_home as open

__version__ = "0.1.0"

__all__ = [
    "Add",
    "Alias",
    "Category",
    "Clock",
    "ConfigError",
    "Conflict",
    "Corrupt",
    "Denied",
    "Entry",
    "Erased",
    "Finding",
    "FixedClock",
    "Hit",
    "Home",
    "Invalid",
    "Kind",
    "Lifetime",
    "Memory",
    "NotFound",
    "Operation",
    "Receipt",
    "RecollectError",
    "Remove",
    "Rename",
    "Report",
    "Revision",
    "Scope",
    "Settings",
    "SystemClock",
    "Unavailable",
    "Write",
    "open",
]
