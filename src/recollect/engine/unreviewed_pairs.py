"""Corrections among the hits of a recall that the job `review` has not compared yet.

The argument. The job runs every ten minutes, and never where no server runs, but a correction must come before what it
corrects from the first recall on. So notes written since the last review are compared with the hits that rank before
them, by the rules of the job. Nothing is stored: the job lists the pair when it runs. A recall takes less than a
millisecond, so two cheaper tests come first: the beginnings of words that both have, and the rules with all words
equally rare. How rare they are is looked up for the few pairs that are left.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain

from recollect.contradictions import compare_notes, statement, topic
from recollect.engine.agent_store import Store
from recollect.light_words import FUNCTION, LIGHT
from recollect.model.entry import Category, Entry, Kind, Scope, State
from recollect.model.review import Relation
from recollect.search.rarity import Rarity

__all__ = ["corrections"]

FIRST = 10
"""Number of hits that are compared with each other."""
LONGEST = 200
"""Maximum length of a note that is compared: a correction is short. The job compares longer ones, too."""
SHARE = 0.3
"""Minimum share of the words of a sentence that a correction has, too, but for two: what changed and how."""
BEGINNING = 4
"""Letters by which forms of a word are recognised."""
_SENTENCE_END = re.compile(r"[.!?;\n]+(?:\s|$)")
_WORD = re.compile(r"[^\W\d_][^\W_]*")
_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NO_TOPIC = FUNCTION | LIGHT


def corrections(
    store: Store, ranked: Sequence[int], stored: Mapping[int, Entry], reviewed_at: int, now: int
) -> list[tuple[int, int]]:
    """Return the pairs (older, newer) of a store's candidates of which the newer one ranks behind the older one.

    Notes that were last written until `reviewed_at` have been compared by the job.
    """
    notes = [(n, stored[n]) for n in ranked[:FIRST] if _is_compared(stored[n], now)]
    in_time = [
        (older, newer)
        for place, (newer, note) in enumerate(notes)
        if note.updated_at > reviewed_at
        for older, other in notes[:place]
        if other.created_at < note.created_at
        and other.updated_at < note.updated_at  # else the older one was changed since, and is the correction
        and _place(other) == _place(note)
    ]
    words = {n: _words(_statement(stored[n])) for n in dict.fromkeys(chain.from_iterable(in_time))}
    likely = [
        (older, newer)
        for older, newer in in_time
        if _is_similar(words[older], words[newer]) and _corrects(stored[newer], stored[older])
    ]
    if not likely:
        return []
    topics = {word for n in {n for pair in likely for n in pair} for word in topic(_statement(stored[n]))}
    rarity = Rarity(store.index)
    with store.search() as (tx, counters):
        rarity.weigh(tx, counters, topics)
    return [(older, newer) for older, newer in likely if _corrects(stored[newer], stored[older], rarity)]


def _is_compared(entry: Entry, now: int) -> bool:
    """Return whether the job compares an entry: whether it is a note that holds, and no hand-off."""
    return (
        len(entry.content) <= LONGEST
        and entry.kind is Kind.NOTE
        and entry.category is not Category.HANDOFFS
        and entry.state_at(now) is State.CURRENT
    )


def _place(entry: Entry) -> str | None:
    """Return the conversation or channel of a note that is compared only with others of the same one."""
    if entry.scope is Scope.CONVERSATION:
        return entry.conversation_id
    return entry.channel_id if entry.scope is Scope.CHANNEL else None


def _statement(entry: Entry) -> str:
    return statement(entry.name, entry.content)


@lru_cache(maxsize=512)  # the notes of an agent that recalls without a server, which would review them
def _words(statement: str) -> tuple[frozenset[str], ...] | None:
    """Return the beginnings of the words of each sentence; None for a script without spaces."""
    if not statement.isascii() and _WITHOUT_SPACES.search(statement):
        return None
    sentences = _SENTENCE_END.split(statement.casefold())
    return tuple(
        frozenset([word[:BEGINNING] for word in _WORD.findall(sentence) if word not in _NO_TOPIC])
        for sentence in sentences
    )


def _is_similar(one: Sequence[frozenset[str]] | None, other: Sequence[frozenset[str]] | None) -> bool:
    """Return whether two sentences have enough words in common for any rule."""
    if one is None or other is None:
        return True
    for first in one:
        for second in other:
            common = len(first & second)
            if common and common >= SHARE * (max(len(first), len(second)) - 2):
                return True
    return False


def _corrects(note: Entry, other: Entry, rarity: Rarity | None = None) -> bool:
    both = (other.name, other.content), (note.name, note.content)
    difference = compare_notes(*both) if rarity is None else compare_notes(*both, rarity.weight)
    return difference is not None and difference.relation is not Relation.REPEATS
