"""The text that goes into a prompt, as values: what was chosen, where it comes from, and what could not be had.

Items hold text as it was stored. `Section.lines()` is the one way from there into a prompt.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from recollect import fencing
from recollect.clock import iso

__all__ = [
    "DECISIONS",
    "HANDOFF",
    "HEADINGS",
    "LESSONS",
    "NOTES",
    "ORIENTATION",
    "PROJECT",
    "RECOVERY",
    "TASKS",
    "TITLE",
    "Context",
    "Item",
    "OrientationDocument",
    "Profile",
    "Section",
]

TITLE = "MEMORY CONTEXT"
ORIENTATION = "Orientation"
PROJECT, HANDOFF, DECISIONS, LESSONS, TASKS, NOTES, RECOVERY = HEADINGS = (
    "Project",
    "Last Session",
    "Relevant Decisions",
    "Relevant Lessons",
    "Open Tasks",
    "Relevant Notes",
    "Recovering previous session",
)
_RESERVED = frozenset(map(fencing.skeleton, (TITLE, ORIENTATION, *HEADINGS)))
_DAY = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a context holds: which sections, how much of each, and how many tokens they may take."""

    budget: int = 2_000
    project: bool = True
    handoff: bool = True
    decisions: int = 3
    lessons: int = 2
    tasks: bool = True
    notes: int = 5
    """How many notes without a category; of the account, the channel and the conversation."""
    recovery: int = 3
    """How many of the last messages, when there is a session to go on with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that was chosen."""

    text: str
    at: int | None = None
    source: str = ""
    """Who or what wrote it. Never the entry's name, which its writer chooses freely."""
    entry_id: str | None = None
    name: str | None = None
    operator: bool = False
    """Whether the operator of the workspace wrote it, so that it is shown as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the block: its heading and what stands under it."""

    name: str
    items: tuple[Item, ...]

    def lines(self) -> list[str]:
        """The items as they stand in a prompt, fenced, each with its date and its source behind its text."""
        match self.name:
            case "Project":
                return [_about(item) for item in self.items]
            case "Last Session":
                return [f"{fencing.quoted(item.text)}{_origin(item)}" for item in self.items]
            case "Recovering previous session":
                return [_message(*item.text.partition("]: ")) for item in self.items]
            case "Open Tasks":
                return [f"- {fencing.one_line(_unlisted(item.text))}{_origin(item)}" for item in self.items]
            case _:
                return [f"- {fencing.one_line(_named(item))}{_origin(item)}" for item in self.items]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a new session starts with. `text` is empty when there is nothing to say."""

    text: str
    tokens: int
    """An estimate for the whole text."""
    sections: tuple[Section, ...] = ()
    dropped: int = 0
    """How many items left because the budget was too small."""
    failed: tuple[str, ...] = field(default=())
    """Parts that could not be had, and why; the rest is there."""

    @property
    def recovering(self) -> bool:
        """Whether there is a session to go on with."""
        return any(section.name == "Recovering previous session" for section in self.sections)

    def section(self, name: str) -> tuple[Item, ...]:
        """What stands under a heading; nothing when the section is not there."""
        return next((section.items for section in self.sections if section.name == name), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class OrientationDocument:
    """The same selection as markdown for a system prompt."""

    markdown: str
    context: Context
    refined: bool = False
    """Whether a model narrowed the selection."""


def _origin(item: Item) -> str:
    date = "" if item.at is None else _date(item.at // _DAY)
    parts = [part for part in (date, fencing.label(item.source)) if part]
    return f" ({', '.join(parts)})" if parts else ""


def _about(item: Item) -> str:
    return fencing.operator_text(item.text, _RESERVED) if item.operator else fencing.quoted(item.text)


def _named(item: Item) -> str:
    """The text behind the entry's name: `refunds: within 30 days` says little without it."""
    return f"{item.name}: {item.text}" if item.name else item.text


def _message(role: str, _: str, said: str) -> str:
    return f"[{fencing.label(role.removeprefix('['))}]: {fencing.one_line(said)}"


def _unlisted(task: str) -> str:
    return task.removeprefix("- ").removeprefix("* ")


@lru_cache(1_000)
def _date(day: int) -> str:
    return iso(day * _DAY)[:10]
