"""Where a statement comes from, as a tree of values."""

from dataclasses import dataclass

from recollect.model.entry import Origin

__all__ = ["Provenance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """One source of a statement, and what that source was made from in turn."""

    ref: str
    """`entry:ID`, `event:CONVERSATION:EVENT`, `file:PATH` or `import:FORMAT:NAME`; any other evidence as it was
    given."""
    origin: Origin | None = None
    """Who stated it; None if the source could not be read."""
    who: str | None = None
    """The speaker or role of a turn, or the source of an entry."""
    at: int | None = None
    conversation: str | None = None
    """The ref code of the conversation."""
    seq: int | None = None
    """The number of a turn in the journal."""
    name: str | None = None
    text: str = ""
    """The beginning of its text."""
    gone: bool = False
    """It no longer exists, or this agent may not read it; the two are not distinguished."""
    in_trash: bool = False
    """The entry was removed and can be restored."""
    made_from: "tuple[Provenance, ...]" = ()
    left_out: int = 0
    """Number of its sources that are not listed, because the tree is limited in size and depth."""
