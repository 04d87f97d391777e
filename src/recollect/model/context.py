"""The text that goes into a prompt, as values: what was chosen, where it comes from, and what could not be had."""

from dataclasses import dataclass, field

__all__ = ["Context", "Item", "OrientationDocument", "Profile", "Section"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a context holds: which sections, how much of each, and how many tokens they may take."""

    budget: int = 2_000
    project: bool = True
    handoff: bool = True
    decisions: int = 3
    lessons: int = 2
    tasks: bool = True
    recovery: int = 3
    """How many of the last messages, when there is a session to go on with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that was chosen."""

    text: str
    at: int | None = None
    source: str = ""
    entry_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the block: its heading and what stands under it."""

    name: str
    items: tuple[Item, ...]


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
