"""Origin and evidence of what is made from events and other entries.

Whatever is made from several sources has the least trusted origin among them, and lists them as evidence:
`event:CONVERSATION:EVENT` for an event, `event:CONVERSATION:FIRST..LAST` for all events of a conversation from one to
another, `entry:ID` for an entry. Events are named by id, because an import gives them new sequence numbers.
"""

from collections.abc import Iterable, Sequence
from typing import TypedDict

from recollect import text
from recollect.model.entry import EVIDENCE, Entry, Origin
from recollect.model.history import Event

__all__ = ["LISTED", "MadeFrom", "made_from_entries", "made_from_events", "stated_in"]

LISTED = 100
"""Maximum number of events that are listed one by one; more are listed as one range."""


class MadeFrom(TypedDict):
    """The fields of an entry that say what it was made from."""

    origin: Origin
    evidence: tuple[str, ...]


def made_from_events(events: Sequence[Event]) -> MadeFrom:
    """Return the origin and the evidence of what is made from events of one conversation."""
    listed = [f"event:{event.conversation_id}:{event.id}" for event in events]
    if len(events) > LISTED:
        listed = [f"{listed[0]}..{events[-1].id}"]
    return MadeFrom(origin=Origin.least_trusted(event.origin for event in events), evidence=tuple(listed))


def made_from_entries(made: Iterable[Entry], known: Iterable[Entry] = ()) -> MadeFrom:
    """Return the origin and the evidence of what is made from entries.

    `known` are entries that it replaces and whose evidence it takes over. The newest evidence is kept if it exceeds
    the limit of the field.
    """
    made, known = list(made), list(known)
    listed = [one for entry in known for one in entry.evidence] + [f"entry:{entry.id}" for entry in made]
    evidence = tuple(dict.fromkeys(listed))[-EVIDENCE.count :]
    return MadeFrom(origin=Origin.least_trusted(entry.origin for entry in (*known, *made)), evidence=evidence)


def stated_in(lines: Iterable[str], talk: Sequence[Event]) -> dict[str, MadeFrom]:
    """Return the origin and the evidence of lines that were extracted from a conversation, by line.

    A line is the user's if it is a sentence or a line of a user's turn, even if the agent repeated it. Otherwise it has
    the least trusted origin of the turns that contain it, or of all turns if none contains it word for word.
    """
    wanted = {line: text.normalise(line).removesuffix(" …") for line in lines}
    said = [text.normalise(event.content) for event in talk] if wanted else []
    made: dict[str, MadeFrom] = {}
    for line, words in wanted.items():
        by_user = [event for event in talk if event.origin is Origin.USER and _states(event.content, line)]
        holders = [event for event, content in zip(talk, said, strict=True) if words in content]
        made[line] = made_from_events(by_user or [one for one in holders if one.origin is not Origin.USER] or talk)
    return made


def _states(content: str, line: str) -> bool:
    """Return whether a line is a whole line or sentence of a text: a part of a sentence may mean its opposite."""
    from recollect import statements

    said = (one for part in content.splitlines() for one in (part, *text.sentences(part)))
    return any(_bare(one) == _bare(line) for one in (*said, *map(statements.within, statements.sentences(content))))


def _bare(line: str) -> str:
    return text.normalise(line).strip(" .!;,-*")
