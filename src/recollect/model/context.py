"""The context block of a prompt as values: the selected items, their origin, and the parts that failed.

Items hold text as stored. `Section.lines()` is the only way from there into a prompt: it fences the text.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from recollect import fencing
from recollect.clock import iso
from recollect.model.entry import Origin

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
    "UNANSWERED_LINE",
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
UNANSWERED_LINE = "No stored decision, lesson or note answers this command."
_RESERVED = frozenset(map(fencing.skeleton, (TITLE, ORIENTATION, UNANSWERED_LINE, *HEADINGS)))
_ORIGINS = frozenset(map(fencing.skeleton, Origin))
_DAY = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Configuration of a context: which sections, how many items of each, and the token budget."""

    budget: int = 2_000
    project: bool = True
    handoff: bool = True
    decisions: int = 3
    lessons: int = 2
    tasks: bool = True
    notes: int = 5
    """Number of notes without a category, from the account, the channel and the conversation."""
    recovery: int = 3
    """Number of last messages to include if there is a session to resume."""
    min_origin: Origin = Origin.EXTERNAL
    """The least trusted origin of what is included: `agent` leaves out what tools and pages stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One selected text."""

    text: str
    at: int | None = None
    source: str = ""
    """Its author. Never the entry's name, which the author chooses freely."""
    origin: Origin = Origin.AGENT
    entry_id: str | None = None
    name: str | None = None
    beside: str | None = None
    """The entry of the item before this one, if both wait for review as a pair; neither is shown alone."""
    operator: bool = False
    """True if the operator of the workspace wrote it; such text is trusted and not quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of the block: heading and items."""

    name: str
    items: tuple[Item, ...]

    def lines(self) -> list[str]:
        """Render the items for a prompt, fenced, each text followed by its date and source."""
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
    """The context block for a new session. `text` is empty if nothing was selected."""

    text: str
    tokens: int
    """Estimated token count of the whole text."""
    sections: tuple[Section, ...] = ()
    dropped: int = 0
    """Number of items dropped to stay within the budget."""
    failed: tuple[str, ...] = field(default=())
    """Parts that could not be read, with the reason; the other parts are present."""
    answered: bool = True
    """False if no decision, lesson or note answers the command; the text says so in one line, unless it is empty."""

    @property
    def recovering(self) -> bool:
        """Whether there is a session to resume."""
        return any(section.name == "Recovering previous session" for section in self.sections)

    def section(self, name: str) -> tuple[Item, ...]:
        """Return the items under a heading; empty if the section is absent."""
        return next((section.items for section in self.sections if section.name == name), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class OrientationDocument:
    """The context rendered as markdown for a system prompt."""

    markdown: str
    context: Context
    refined: bool = False
    """Whether a model narrowed the selection."""


def _origin(item: Item) -> str:
    date = "" if item.at is None else _date(item.at // _DAY)
    parts = [part for part in (date, _author(item)) if part]
    return f" ({', '.join(parts)})" if parts else ""


def _author(item: Item) -> str:
    """Return the source of what is the user's or the agent's own; for anything else, and for a source that claims to be
    an origin, the origin. A source is free text and never stands in for it."""
    foreign = not item.origin.at_least(Origin.AGENT)
    return item.origin if foreign or fencing.skeleton(item.source) in _ORIGINS else fencing.label(item.source)


def _about(item: Item) -> str:
    return fencing.operator_text(item.text, _RESERVED) if item.operator else fencing.quoted(item.text)


def _named(item: Item) -> str:
    """Return the text prefixed with the entry's name: `refunds: within 30 days` is unclear without it."""
    return f"{item.name}: {item.text}" if item.name else item.text


def _message(role: str, _: str, said: str) -> str:
    return f"[{fencing.label(role.removeprefix('['))}]: {fencing.one_line(said)}"


def _unlisted(task: str) -> str:
    return task.removeprefix("- ").removeprefix("* ")


@lru_cache(1_000)
def _date(day: int) -> str:
    return iso(day * _DAY)[:10]
