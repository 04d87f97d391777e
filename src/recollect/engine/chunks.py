"""Chunks: blocks of a conversation as entries with vectors, so that a search finds turns that share no word with it.

The argument. The ending of a conversation chunks what is left of it. Imported conversations never end, and of a long
active one only the archives would have vectors, so the job `chunk` chunks both step by step. A conversation records the
last event that its chunks cover; chunks and that number are written in one transaction, which changes nothing if the
number has changed meanwhile, so no turn is chunked twice. The last messages of an active conversation are left for
later: its window shows them anyway, and they may still be replaced.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect import names, text
from recollect.engine.origins import made_from_events
from recollect.model.entry import Kind, Lifetime
from recollect.model.history import ConversationInfo, Event, EventType, Status
from recollect.model.operation import Add
from recollect.storage import history
from recollect.storage.database import Transaction

__all__ = [
    "CHUNK",
    "CHUNKS_PER_STEP",
    "RECENT",
    "ChunkStep",
    "chunk_draft",
    "chunked_to",
    "chunks",
    "covered",
    "is_talk",
    "next_chunks",
    "split",
]

CHUNK = 2_000
"""Approximate size of a chunk, in characters."""
LARGEST = 100_000
"""Size at which a chunk is split even between a tool call and its result, in characters."""
RECENT = 4
"""Number of latest events of an active conversation that are not chunked yet."""
EVENTS = 1_000
"""Number of events that one step reads."""
CHUNKS_PER_STEP = 500
"""Chunks that one transaction writes, so that a long conversation does not block other writers."""

Chunk = tuple[str, Sequence[Event]]
"""The text of a chunk, and the events that it quotes."""


def chunks(talk: Sequence[Event]) -> list[Chunk]:
    """Split a conversation into chunks, each with its events: a user's turn and what follows it. A long turn is split
    between events, and an event that is too long between sentences."""
    blocks: list[list[Event]] = []
    for event in talk:
        if event.type is EventType.USER or not blocks:
            blocks.append([])
        blocks[-1].append(event)
    return [chunk for block in blocks for chunk in _block_chunks(block)]


def _block_chunks(block: Sequence[Event]) -> Iterator[Chunk]:
    lines: list[str] = []
    quoted: list[Event] = []
    size = 0
    for event in block:
        # The first part of a tool result stays in the chunk of its call.
        most = LARGEST if event.type is EventType.TOOL else CHUNK
        for part in split(_line(event), CHUNK):
            if lines and size + len(part) > most:
                yield "\n".join(lines), quoted
                lines, size, quoted = [], 0, []
            lines.append(part)
            size, most = size + len(part), CHUNK
            if not quoted or quoted[-1] is not event:
                quoted.append(event)
    if lines:
        yield "\n".join(lines), quoted


_SPOKEN_BY = {EventType.USER: "User", EventType.MODEL: "Agent", EventType.TOOL: "Tool"}


def _line(event: Event) -> str:
    who = event.speaker or _SPOKEN_BY.get(event.type, "System")
    parts = (text.ends(part, text.LONG_TURN) for part in (event.content, *event.called) if part)
    return f"{who}: {' '.join(parts)}"


def split(line: str, most: int) -> list[str]:
    """Split a text into non-blank parts of at most `most` characters, between sentences where possible."""
    if len(line) <= most:
        return [] if names.is_blank(line) else [line]
    parts: list[str] = []
    for sentence in text.sentences(line):
        for piece in (sentence[start : start + most] for start in range(0, len(sentence), most)):
            if parts and len(parts[-1]) + len(piece) + 1 <= most:
                parts[-1] = f"{parts[-1]} {piece}"
            else:
                parts.append(piece)
    return [part for part in parts if not names.is_blank(part)]


def chunk_draft(info: ConversationInfo, content: str, quoted: Sequence[Event]) -> Add:
    """Return a chunk of a conversation, made from these events."""
    return Add(
        content,
        kind=Kind.CHUNK,
        conversation=info.id,
        channel=info.channel_id,
        source="conversation",
        lifetime=Lifetime.MID_TERM,
        at=quoted[-1].created_at,
        first_event=quoted[0].seq,
        last_event=quoted[-1].seq,
        **made_from_events(quoted),
    )


# Step by step


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkStep:
    """The next chunks of a conversation that has not ended, or was imported."""

    info: ConversationInfo
    chunks: Sequence[Chunk]
    after: int
    """The last event that was chunked before."""
    upto: int
    """The last event that these chunks cover; `after` if there is nothing to chunk yet."""
    erased: Sequence[int]
    """The events that had been erased when it was read."""


def chunked_to(tx: Transaction, conversation: str) -> int:
    """Return the last event that the chunks of a conversation cover, without those that its ending makes; 0 if none."""
    ((seq,),) = tx.all("history.chunked", id=conversation)
    return int(seq)


def next_chunks(tx: Transaction, info: ConversationInfo) -> ChunkStep:
    """Return the next chunks of a conversation, from a bounded number of events."""
    after, view = chunked_to(tx, info.id), history.saved_view(tx, info.id)
    read = history.events(tx, "events", conversation=info.id, after=after, limit=EVENTS)
    made = every = chunks([event for event in read if view.holds(event) and is_talk(event)])
    more, active = len(read) == EVENTS, info.status is Status.ACTIVE
    if more and made:  # the last chunk may continue with the next event
        made = _before(made, made[-1][1][0].seq) or made
    made = _first(made, CHUNKS_PER_STEP)
    if active:
        last = history.events(tx, "events_back", conversation=info.id, before=history.LONGEST, limit=RECENT)
        made = _before(made, last[-1].seq) if last else made
    if len(made) == len(every) and read and (more or not active):
        upto = read[-1].seq
    else:
        upto = made[-1][1][-1].seq if made else after
    return ChunkStep(info=info, chunks=made, after=after, upto=upto, erased=history.erased(tx, info.id))


def covered(tx: Transaction, step: ChunkStep) -> bool:
    """Record that the chunks of a step are stored; False if the conversation has changed since it was read."""
    if history.erased(tx, step.info.id) != step.erased:
        return False
    return tx.run("history.chunked_set", id=step.info.id, after=step.after, upto=step.upto) > 0


def is_talk(event: Event) -> bool:
    """Return whether an event is a part of what was said, and was not erased."""
    return event.type is not EventType.MARKER and not event.internal and event.erased_at is None


def _first(made: list[Chunk], count: int) -> list[Chunk]:
    """Return the first chunks, and those after them that share an event with the last: a long event is in several."""
    while count < len(made) and made[count - 1][1][-1].seq == made[count][1][0].seq:
        count += 1
    return made[:count]


def _before(made: list[Chunk], recent: int) -> list[Chunk]:
    """Return the chunks of whole events before the event `recent`."""
    end = next((place for place, (_, quoted) in enumerate(made) if quoted[-1].seq >= recent), len(made))
    while 0 < end < len(made) and made[end - 1][1][-1].seq == made[end][1][0].seq:
        end -= 1
    return made[:end]
