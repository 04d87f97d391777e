"""Fills a context after its fixed sections with notes and turns of conversations, chosen by one ranking.

The argument. The scores of a recall and of a search in conversations have different scales, but each search also has a
calibrated confidence: the probability that its first hits hold an answer. A candidate's value is its score, relative
to the best of its list, times the confidence of the list; so a store whose notes answer is represented by its
notes, and one whose conversations answer by its turns. A note is worth a little more than a turn of the same value,
because it was written to be kept. The best candidates are taken while the budget lasts; one that is too long is cut at
sentences, around what was found, or skipped for a shorter one.

Each text is included once, and what was written to be kept comes before a transcript: a note is left out only if
another entry states it, a turn also if the hand-off quotes it, and the hand-off loses the sentences that entries
state. A turn that states what an entry stated that was superseded or retracted since is marked, and comes later.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from heapq import heappop, heappush
from itertools import chain
from typing import NamedTuple

from recollect import text
from recollect.engine.agent_store import Store
from recollect.engine.context_block import LineSizes
from recollect.model.context import EARLIER, NOTES, Item
from recollect.model.history import Event, EventType
from recollect.search.duplicates import wording

__all__ = [
    "ContextCandidate",
    "Filling",
    "UnreadTurn",
    "fill",
    "passage",
    "ranking",
    "split_label",
    "turn_item",
    "with_few_kept",
    "without_shown",
]

CURATED = 1.15
"""Weight of a note, relative to a turn."""
OUTDATED = 0.5
"""Weight of a turn that states what was superseded or retracted."""
LEAST = 0.2
"""Minimum value of a candidate, relative to the best one."""
FEW = 3
"""Number of notes that are included regardless of their value if they share a word with the command."""
WHOLE = 600
"""Maximum length in characters of a note or turn that is included whole."""
PASSAGE = 400
"""Maximum length in characters of the passage of a longer one."""
COMPARED = 200_000
"""Number of characters in which the best sentence is searched; of a longer text those around the first match."""
MISSES = 8
"""Number of candidates that may be skipped because they are too long for the rest of the budget."""
SENTENCE = 20
"""Minimum length in characters of a sentence to deduplicate; shorter ones are greetings and thanks."""
REPLY = 3
"""Minimum number of words of a reply that is understood without the message before it."""
REPEATED = 0.6
"""A turn is left out if at least this share of its words is already in the context."""
BATCH = 32
"""Number of turns to read per query."""
_LABEL = re.compile(r"\A\[?[^\]:]{1,40}\]?: ")


@dataclass(frozen=True, slots=True)
class ContextCandidate:
    """An item with its value; a second item is included together with it or not at all."""

    value: float
    items: tuple[Item, ...]
    seq: int = 0
    """Sequence number of a turn and, in `before`, of the previous turn."""
    before: int = 0
    kept: bool = False
    """Whether it is included, last, even if its value is far below the best one."""


class UnreadTurn(NamedTuple):
    """A search hit: its value, the sequence numbers of the turn and the previous one, and the store to read from."""

    value: float
    seq: int
    before: int
    store: Store
    event: Event | None = None
    """The turn itself, if the search has read it."""


@dataclass(frozen=True, slots=True)
class Filling:
    """The filled sections, and the number of candidates that did not fit."""

    notes: tuple[Item, ...]
    turns: tuple[Item, ...]
    dropped: int
    stated: str
    """The wording of all entries in the context."""


def ranking(
    notes: Sequence[ContextCandidate],
    turns: Sequence[UnreadTurn],
    read: Callable[[Sequence[UnreadTurn]], Iterable[ContextCandidate]],
) -> Iterator[ContextCandidate]:
    """Yield notes and turns in one order, best first. Turns are read lazily, in batches.

    `read` may leave turns out and lower their values.
    """
    unread = sorted(turns, key=lambda turn: -turn.value)
    due = [(-one.value, place, one) for place, one in enumerate(sorted(notes, key=lambda note: -note.value))]
    places, least, start = len(due), -1.0, 0
    while due or start < len(unread):
        if start < len(unread) and (not due or unread[start].value > -due[0][0]):
            if unread[start].value <= least:
                start = len(unread)
                continue
            for one in read(unread[start : start + BATCH]):
                heappush(due, (-one.value, places, one))
                places += 1
            start += BATCH
            continue
        _, _, one = heappop(due)
        least = LEAST * one.value if least < 0 else least
        if one.value > least or one.kept:
            yield one


def with_few_kept(notes: Sequence[ContextCandidate], turns: Sequence[UnreadTurn], query: str) -> list[ContextCandidate]:
    """Return the notes, best first; of the first FEW, those far below the best are kept if they share a word with
    the query.
    """
    best = max((*(note.value for note in notes), *(turn.value for turn in turns)), default=0.0)
    words = {term for group in text.query_terms(query) for term in group}

    def kept(one: ContextCandidate) -> bool:
        if one.value > LEAST * best:  # it is included anyway
            return False
        return any(not words.isdisjoint(text.analyse(_statement(item))) for item in one.items)

    return [*(replace(one, kept=kept(one)) for one in notes[:FEW]), *notes[FEW:]]


def fill(
    candidates: Iterable[ContextCandidate],
    rules: Sequence[Item],
    room: float,
    *,
    stated: Iterable[Item],
    quoted: Iterable[str],
    sizes: LineSizes,
) -> Filling:
    """Choose the items that fit into `room` tokens. `rules` come first among the notes.

    `stated` are the entries that are shown above, `quoted` the texts of messages there.
    """
    seen = _ShownTexts(stated, quoted)
    notes: list[Item] = []
    turns: list[ContextCandidate] = []
    blocks: set[tuple[str | None, int]] = set()
    filled: set[str] = set()
    shown: set[str | None] = set()
    dropped = misses = 0
    standing = (ContextCandidate(0.0, pair) for pair in _pairs(rules))
    for one in chain(standing, candidates):
        items = one.items if len(one.items) > 1 else tuple(seen.rest(one.items[0]))
        if not items or not shown.isdisjoint(item.entry_id for item in items if item.entry_id):
            continue
        needed = _new_cost(items, filled, blocks, sizes)
        if needed > room:
            dropped, misses = dropped + 1, misses + 1
            if misses > MISSES:
                break
            continue
        room -= needed
        filled.add(_section(items[0]))
        seen.add(items)
        if one.seq:
            turns.append(one if items[0] is one.items[0] else replace(one, items=items))
            blocks.add(_block(items[0]))
        else:
            notes += items
            shown |= {item.entry_id for item in items}
    return Filling(tuple(notes), tuple(_joined(turns)), dropped, seen.stated)


def turn_item(event: Event, query: str, outdated: Sequence[str], title: str = "") -> Item:
    """Return a turn as an item; `outdated` are wordings of entries that no longer hold, `title` its conversation's."""
    said = wording(event.content) if outdated else ""
    return Item(
        text=passage(event.content, query),
        at=event.created_at,
        origin=event.origin,
        event_id=event.id,
        conversation_id=event.conversation_id,
        title=title,
        speaker=event.speaker or ("user" if event.type is EventType.USER else "agent"),
        outdated=any(one in said for one in outdated),
    )


def passage(content: str, query: str) -> str:
    """Return a text whole if it is short, else the sentences around what was found, with `…` where it was cut."""
    if len(content) > COMPARED:
        part = text.snippet(content.strip(), query, COMPARED, COMPARED // 2)
        shown = passage(part, query)
        shown = shown if shown.startswith("… ") or content.lstrip().startswith(part) else f"… {shown}"
        return shown if shown.endswith(" …") or content.rstrip().endswith(part) else f"{shown} …"
    content = " ".join(content.split()) if len(content) <= 4 * WHOLE else content.strip()
    if len(content) <= WHOLE:
        return content
    parts = text.sentences(content)
    words = [set(group) for group in text.query_terms(query)]
    shares = [sum(not group.isdisjoint(text.analyse(part)) for group in words) for part in parts]
    best = max(range(len(parts)), key=lambda place: (shares[place], -place))
    if len(parts[best]) > WHOLE:
        shown = text.snippet(parts[best], query, PASSAGE)
        return f"{'' if content.startswith(shown) else '… '}{shown}{'' if content.endswith(shown) else ' …'}"
    first, last = _around(list(map(len, parts)), best)
    shown = " ".join(parts[first : last + 1])
    return f"{'… ' if first else ''}{shown}{' …' if last + 1 < len(parts) else ''}"


def _around(sizes: Sequence[int], best: int) -> tuple[int, int]:
    """Return the first and last of the sentences around the best one that fit into a passage."""
    first = last = best
    size, grown = sizes[best], True
    while grown:
        grown = False
        for place in (first - 1, last + 1):
            if 0 <= place < len(sizes) and size + sizes[place] + 1 <= PASSAGE:
                first, last, size, grown = min(first, place), max(last, place), size + sizes[place] + 1, True
    return first, last


def without_shown(content: str, stated: str) -> str:
    """Return messages without the sentences that entries state; `…` stands for them. Empty if nothing else is left.

    A short reply ("Understood.") to a message that is left out goes with it. `stated` is the wording of the entries.
    """
    lines: list[str] = []
    for line in content.splitlines():
        label, said = split_label(line)
        shown = {part for part in _long_sentences(said) if f" {part} " in stated}
        if shown:
            said = _without(text.sentences(said), shown)
            line = f"{label}{said}" if said != "…" else said
        if lines[-1:] == ["…"] and len(wording(said).split()) < REPLY:
            continue
        if line != "…" or lines[-1:] != ["…"]:
            lines.append(line)
    return "" if lines == ["…"] else "\n".join(lines)


def split_label(line: str) -> tuple[str, str]:
    """Return the label of a message (`[User]: `, empty if it has none) and the rest."""
    found = _LABEL.match(line)
    return (line[: found.end()], line[found.end() :]) if found else ("", line)


class _ShownTexts:
    """What was shown: by entries, and by messages and turns."""

    def __init__(self, stated: Iterable[Item], quoted: Iterable[str]) -> None:
        self._sentences: set[str] = set()
        self._wording = cache(wording)  # a candidate is compared, then added, and often has one sentence
        self.stated, self._quoted = "", ""
        self.add(stated)
        for one in quoted:
            self._quoted += f"\n {self._wording(one)} "
            self._sentences.update(_long_sentences(one, self._wording))

    def add(self, items: Iterable[Item]) -> None:
        """Add items that are shown. Each sentence of an entry counts; a turn counts only as a whole."""
        for item in items:
            if item.event_id:
                self._quoted += f"\n {self._wording(item.text)} "
            else:
                self.stated += f"\n {self._wording(_statement(item))} "
                self._sentences.update(_long_sentences(item.text, self._wording))

    def rest(self, item: Item) -> Iterator[Item]:
        """Yield the item if it says anything new; a turn without the sentences that were shown, if they are few."""
        whole = f" {self._wording(_statement(item))} "
        if not whole.strip() or whole in self.stated or (item.event_id and whole in self._quoted):
            return
        if not item.event_id:
            yield item
            return
        parts = text.sentences(item.text)
        new = [part for part in parts if self._wording(part) not in self._sentences]
        if 1 - sum(map(len, new)) / sum(map(len, parts)) < REPEATED:
            yield replace(item, text=_without(parts, self._sentences)) if len(new) < len(parts) else item


def _statement(item: Item) -> str:
    """Return the text of an entry with its name: `deploy day: Wednesdays` says more than `Wednesdays`."""
    return f"{item.name}: {item.text}" if item.name else item.text


def _long_sentences(content: str, wording: Callable[[str], str] = wording) -> Iterator[str]:
    return (part for part in map(wording, text.sentences(content)) if len(part) >= SENTENCE)


def _pairs(rules: Iterable[Item]) -> list[tuple[Item, ...]]:
    """Return the items, each with the one that is shown beside it."""
    found: list[tuple[Item, ...]] = []
    for item in rules:
        if item.beside is not None and found:
            found[-1] = (*found[-1], item)
        else:
            found.append((item,))
    return found


def _without(parts: Sequence[str], stated: set[str]) -> str:
    """Return sentences joined, with one `…` for each run that is stated elsewhere."""
    rest: list[str] = []
    for part in parts:
        if wording(part) not in stated:
            rest.append(part)
        elif rest[-1:] != ["…"]:
            rest.append("…")
    return " ".join(rest)


def _joined(turns: Sequence[ContextCandidate]) -> Iterator[Item]:
    """Yield the turns block by block, that with the best turn first, and in the order of time within a block."""
    blocks: dict[tuple[str | None, int], list[ContextCandidate]] = {}
    for one in turns:
        blocks.setdefault(_block(one.items[0]), []).append(one)
    for block in blocks.values():
        last = 0
        for one in sorted(block, key=lambda one: one.seq):
            yield replace(one.items[0], follows=True) if last and one.before == last else one.items[0]
            last = one.seq


def _block(item: Item) -> tuple[str | None, int]:
    return item.conversation_id, (item.at or 0) // 86_400_000


def _new_cost(items: Sequence[Item], filled: Collection[str], blocks: Collection[object], sizes: LineSizes) -> float:
    """Return the tokens that items add, with the heading of their section."""
    heading, dated = _section(items[0]), not items[0].event_id or _block(items[0]) not in blocks
    gap = 0 if dated else 1
    lines = sum(sizes[item.line(dated=dated)] + gap for item in items)
    return lines if heading in filled else lines + sizes[f"{heading}:"]


def _section(item: Item) -> str:
    return EARLIER if item.event_id else NOTES
