"""The text of a hand-off: the last messages of a conversation, what was agreed in it and what is next.

A message that is too long keeps its beginning and its end, because people say what is next at the end. What was agreed
and what is next is listed below the messages unless they show it. Speakers are called by their names.
"""

from collections.abc import Sequence, Set

from recollect import statement_words, statements, text
from recollect.model.history import Event, EventType

__all__ = ["excerpt", "handoff_of", "speaker"]

MESSAGES = 6
LENGTH = 200
"""Maximum length of a message in characters."""
AGREED, NEXT = 5, 2
"""Number of sentences that are listed at most."""
BEGINNING = 0.35
"""Share of a shortened message for its beginning."""
GAP = " … "


def handoff_of(talk: Sequence[Event]) -> list[tuple[str, Sequence[Event]]]:
    """Return the hand-off of a conversation as one text, with the events it was made from; an empty list if nothing was
    said."""
    said = [event for event in talk if event.type in (EventType.USER, EventType.MODEL) and event.content.strip()]
    if not said:
        return []
    last = said[-MESSAGES:]
    lines = [f"[{speaker(event)}]: {excerpt(event.content, LENGTH)}" for event in last]
    shown = text.normalise("\n".join(lines))
    turns = [(event.role, event.content) for event in said]
    agreed = [one for one in statements.insights(turns).decisions if text.normalise(one) not in shown][-AGREED:]
    later = [one for one in statements.next_steps(turns[-2 * MESSAGES :], NEXT) if text.normalise(one) not in shown]
    later = [one for one in later if one not in agreed]
    listed = {*agreed, *later}
    quoted = [event for event in said if event in last or (listed and _states(event, listed))]
    lines += [f"Agreed: {one}" for one in agreed] + [f"Next: {_unlabelled(one)}" for one in later]
    return [("\n".join(lines), quoted)]


def _unlabelled(sentence: str) -> str:
    """Return a sentence without a label like `TODO:` at its beginning."""
    rest = statement_words.NEXT_LABEL.sub("", sentence)
    return f"{rest[:1].upper()}{rest[1:]}"


def speaker(event: Event) -> str:
    """Return the name of the one who said it, or the role."""
    name = " ".join((event.speaker or "").replace("[", "(").replace("]", ")").split())
    return name or ("User" if event.type is EventType.USER else "Agent")


def _states(event: Event, listed: Set[str]) -> bool:
    """Return whether one of the sentences was said in this message."""
    return not listed.isdisjoint(map(statements.within, statements.sentences(event.content)))


def excerpt(content: str, most: int) -> str:
    """Return a text on one line in at most `most` characters: its beginning and its end, cut between words."""
    whole = " ".join(content.split())
    if len(whole) <= most:
        return whole
    start = _words(whole, int(most * BEGINNING))
    end = _end(whole[len(start) :], most - len(start) - len(GAP))
    return f"{start}{GAP}{end}" if start and end else whole[:most]


def _words(content: str, most: int) -> str:
    """Return the first words of a text that fit."""
    place = content.rfind(" ", 0, most + 1)
    return content[:place].rstrip(" ,;:") if place > 0 else ""


def _end(content: str, most: int) -> str:
    """Return the last sentences of a text that fit, or its last words."""
    kept = ""
    for sentence in reversed(text.sentences(content)[1:]):
        longer = f"{sentence} {kept}".strip()
        if len(longer) > most:
            break
        kept = longer
    place = content.find(" ", len(content) - most - 1)
    return kept or (content[place:].strip() if place >= 0 else "")
