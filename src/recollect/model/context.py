"""The context block of a prompt as values: the selected items, their origin, and the parts that failed.

Items hold text as stored. `Section.lines()` is the only way from there into a prompt: it fences the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from recollect import fencing
from recollect.clock import iso
from recollect.model.entry import Origin

__all__ = [
    "DECISIONS",
    "EARLIER",
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
PROJECT, HANDOFF, DECISIONS, LESSONS, TASKS, NOTES, EARLIER, RECOVERY = HEADINGS = (
    "Project",
    "Last Session",
    "Relevant Decisions",
    "Relevant Lessons",
    "Open Tasks",
    "Relevant Notes",
    "Earlier Conversations",
    "Recovering previous session",
)
UNANSWERED_LINE = "Nothing stored seems to answer this command."
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
    notes: int = 50
    """Maximum number of notes: standing rules and preferences, and what answers the command."""
    turns: int = 200
    """Maximum number of turns of earlier conversations that answer the command."""
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
    event_id: str | None = None
    """The event of the journal, if it is a turn of a conversation."""
    conversation_id: str | None = None
    title: str = ""
    """The title that the conversation of a turn was imported with."""
    speaker: str = ""
    """Who said a turn: a name, or `user` or `agent`."""
    follows: bool = False
    """Whether a turn was said right after that of the item before it."""
    outdated: bool = False
    """Whether a turn states what was superseded or retracted since."""
    operator: bool = False
    """True if the operator of the workspace wrote it; such text is trusted and not quoted."""

    def line(self, *, dated: bool = True) -> str:
        """Render a turn that begins a block, or an entry, as one line; a turn has its date only if it is `dated`."""
        return _turn_line(self, "- ", dated=dated) if self.event_id else _entry_line(self)


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
            case "Earlier Conversations":
                return _turns(self.items)
            case "Open Tasks":
                return [f"- {fencing.one_line(_unlisted(item.text))}{_origin(item)}" for item in self.items]
            case _:
                return [_entry_line(item) for item in self.items]


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
    """False if nothing stored answers the command; the text says so in one line, unless it is empty."""

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
    return item.origin if foreign or _claims_origin(item.source) else fencing.label(item.source)


@lru_cache(256)  # the items of a prompt share a few sources
def _claims_origin(source: str) -> bool:
    return fencing.skeleton(source) in _ORIGINS


def _entry_line(item: Item) -> str:
    return f"- {fencing.one_line(_named(item))}{_origin(item)}"


def _about(item: Item) -> str:
    return fencing.operator_text(item.text, _RESERVED) if item.operator else fencing.quoted(item.text)


def _named(item: Item) -> str:
    """Return the text prefixed with the entry's name: `refunds: within 30 days` is unclear without it."""
    return f"{item.name}: {item.text}" if item.name else item.text


def _message(role: str, _: str, said: str) -> str:
    return f"[{fencing.label(role.removeprefix('['))}]: {fencing.one_line(said)}"


def _turns(items: Sequence[Item]) -> list[str]:
    """Render turns: those of one conversation and day form a block that starts with `- ` and ends with its date.

    Each turn is a line of its own, behind a prefix that no text can imitate: `- `, two spaces, or two spaces and `… `
    where turns are left out.
    """
    lines = []
    for place, item in enumerate(items):
        begins = place == 0 or not _same_block(items[place - 1], item)
        ends = place == len(items) - 1 or not _same_block(item, items[place + 1])
        lines.append(_turn_line(item, "- " if begins else "  " if item.follows else "  … ", dated=ends))
    return lines


def _turn_line(item: Item, prefix: str, *, dated: bool) -> str:
    return f"{prefix}{fencing.label(item.speaker)}: {fencing.one_line(item.text)}{_turn_marks(item, dated=dated)}"


def _same_block(item: Item, other: Item) -> bool:
    return item.conversation_id == other.conversation_id and (item.at or 0) // _DAY == (other.at or 0) // _DAY


def _turn_marks(item: Item, *, dated: bool) -> str:
    foreign = "" if item.origin.at_least(Origin.AGENT) else str(item.origin)
    date = _date(item.at // _DAY) if dated and item.at is not None else ""
    title = fencing.label(item.title) if dated and item.title else ""
    parts = [part for part in (date, title, foreign, "outdated" if item.outdated else "") if part]
    return f" ({', '.join(parts)})" if parts else ""


def _unlisted(task: str) -> str:
    return task.removeprefix("- ").removeprefix("* ")


@lru_cache(1_000)
def _date(day: int) -> str:
    return iso(day * _DAY)[:10]
