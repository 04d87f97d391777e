"""Erasing: an entry and every trace of its text, verified.

A removed entry can be restored, because the log keeps its text. Erasing clears the log of the entry, takes its terms
out of every part of the index and its words out of the questions on record, makes the freed space unreadable, and then
looks for the text in what is left.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from recollect.engine.remember import apply
from recollect.engine.store import Store
from recollect.errors import NotFound, RecollectError
from recollect.model.operation import Remove
from recollect.model.report import Erased, Receipt
from recollect.storage import entries
from recollect.storage.database import Transaction

__all__ = ["erase", "scrub"]

PROBES = 16
_PLAIN = re.compile(r'[^\x00-\x1f"\\]+')
"""Text that stands the same in a table and in the log, where quotes and line breaks are escaped."""


def erase(
    store: Store, target: str, *, actor: str, now: int, if_version: str | None = None, beside: Sequence[Store] = (),
    elsewhere: Callable[[str, Sequence[str]], Iterable[str]] = lambda entry_id, pieces: (),
) -> Receipt:  # fmt: skip
    """Remove an entry, living or in the trash, so that no trace of its content is left.

    With `if_version` a living one is erased only if it still has this version. `beside` are the agent's other stores:
    questions on record there may quote it. `elsewhere` takes it out of what is not in the database, and says where
    pieces of its text still are.
    """
    with store.read() as tx:
        entry_id = entries.find(tx, target) or entries.removed_id(tx, target)
        if entry_id is None:
            raise NotFound(f"nothing is remembered under {target!r}, and nothing is in the trash; nothing was erased")
    with store.write() as work:
        tx = work.tx
        removed: list[Erased] = []
        living = tx.one("entries.by_ids", ids=[entry_id])
        if living:
            names = tx.all("names.of", ids=[entry_id])
            apply(work, Remove(entry_id), actor=actor, now=now, if_version=if_version)
            removed += [Erased(place="entries", removed=1), Erased(place="names", removed=len(names))]
        log = entries.revisions(tx, entry_id, legible=True)
        both = [values for revision in log for values in (revision.before, revision.after)]
        talks = sorted({str(values["conversation_id"]) for values in both if values.get("conversation_id")})
        texts = {str(values["content"]) for values in both if "content" in values}
        if living:
            texts.add(living[entries.COLUMNS.index("content")])  # it may be damaged, and then it is nowhere else
        removed.append(Erased(place="operation log", removed=tx.run("operations.erase", entry_id=entry_id)))
        removed.append(Erased(place="index", removed=work.index.erase(tx, work.counters, entry_id)))
        noted = tx.run("upkeep.changes_forget", entry_id=entry_id)
        removed += [Erased(place="record of jobs", removed=noted)] if noted else []
        if tx.all("vectors.every_pack"):
            from recollect.search.vectors import sweep

            sweep(tx)
        probes = [probe for text in sorted(texts) for probe in _probes(text)]
        asked = _unask(tx, texts, probes)
    verified, remaining = scrub(store, f"the id {entry_id}")
    for other in beside:
        if other.exists():
            with other.write() as work:
                there = _unask(work.tx, texts, probes)
            if there:
                asked += there
                remaining += scrub(other, f"the id {entry_id}")[1]
    removed += [Erased(place="questions", removed=asked)] if asked else []
    with store.read() as tx:
        same = {
            other
            for probe in probes
            for query in ("entries.containing", "operations.containing")
            for (other,) in tx.all(query, probe=probe)
        }
    verified = ["entries", "operation log", *verified]
    remaining = [
        *(f"entry {other} holds some of the same words and was left alone" for other in sorted(same)),
        *(f"the conversation {talk} that it comes from, its journal and summaries, was left alone" for talk in talks),
        *elsewhere(entry_id, probes),
        *dict.fromkeys(remaining),
    ]
    return Receipt(
        entry_id=entry_id, at=now, removed=tuple(removed), verified=tuple(verified), remaining=tuple(remaining)
    )


def _unask(tx: Transaction, texts: Iterable[str], probes: Sequence[str]) -> int:
    """Blank the questions on record that quote the text, or are a part of it; that they were asked stays."""
    whole, pieces = [text.casefold() for text in texts], [probe.casefold() for probe in probes]
    blanked = 0
    for read, blank in (("signals.questions", "signals.unask"), ("access.questions", "access.unask")):
        quoting = []
        for (query,) in tx.all(read):
            said = query.casefold().strip()
            if any(piece in said for piece in pieces) or any(said in text for text in whole):
                quoting.append(query)
        if quoting:
            blanked += tx.run(blank, queries=quoting)
    return blanked


def scrub(store: Store, id_: str = "the id") -> tuple[list[str], list[str]]:
    """Make what was deleted unreadable: the places that were rewritten without it, and those where it may still be.

    The rows are gone already, so an error in this is not raised: it is told as such a place, with what to do.
    """
    try:
        return store.database.scrub(store.agent)
    except RecollectError as error:
        return [], [f"deleted rows were not overwritten and may still be readable; erase again by {id_} ({error})"]


def _probes(text: str) -> Iterator[str]:
    """Pieces of the text to look for: from its longest plain stretches, spread over the whole."""
    pieces = [
        stretch[start : start + 24]
        for stretch in sorted(_PLAIN.findall(text), key=len, reverse=True)[:PROBES]
        for start in [*range(0, max(len(stretch) - 24, 1), max(len(stretch) // PROBES, 24)), max(len(stretch) - 24, 0)]
    ]
    usable = [piece for piece in pieces if len(piece.strip()) >= 8] or [piece for piece in pieces if piece.strip()]
    step = max(len(usable) // PROBES, 1)
    yield from usable[::step][:PROBES]
