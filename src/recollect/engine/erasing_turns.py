"""Erasing turns: blank events of the journal, and remove or rewrite everything that was made from them.

The argument. The journal is a hash chain, so an erased event stays as a tombstone: number, type, time and hashes
without content. `turn_erasure_plan` finds what was made from it. What an agent or a user wrote on purpose is never
changed: notes, other turns, reminders. The receipt lists those that contain the same words. A tool result is erased
with its call, because no prompt can contain it without the call.

Everything happens in one transaction that also locks the journal. The compaction, ending or extraction of another
process that has read the text before compares the tombstones when it writes, and writes nothing if there are new ones.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from recollect import text
from recollect.engine import conversation_search, erasing, lanes, remember
from recollect.engine.agent_store import Store, Work
from recollect.engine.turn_erasure_plan import ErasurePlan, planned
from recollect.engine.turn_erasure_target import LONG_ENOUGH, ErasureTarget, target_of
from recollect.model.history import ConversationInfo
from recollect.model.operation import checked
from recollect.model.report import Erased, Receipt, Rewritten
from recollect.storage import history
from recollect.storage.database import Transaction
from recollect.storage.history import Journal

__all__ = ["erase"]

FEW = 3
"""A word that at most this many other turns contain may be what had to be erased: the receipt names the turns."""
_DIGIT = re.compile(r"\d")
CHECKED = 16
"""Maximum number of pieces that are searched for in other turns and entries."""


def erase(
    store: Store,
    info: ConversationInfo,
    seqs: Sequence[int] | None,
    *,
    actor: str,
    now: int,
    dry_run: bool = False,
    beside: Sequence[Store] = (),
    job_stores: Sequence[Store] = (),
    elsewhere: Callable[[Sequence[str], Sequence[str]], Iterable[str]] = lambda ids, pieces: (),
) -> Receipt:
    """Erase events of a conversation, all of them if `seqs` is None, and what was made from them.

    The other parameters are those of `erasing.erase`. A dry run changes nothing and returns what would be changed.
    """
    stores = erasing.existing(store, beside)
    if dry_run:
        with store.read() as tx:
            target, before = target_of(stores, tx, info, seqs)
            plan = planned(tx, target)
            removed, rewritten = _figures(target, plan)
        return _receipt(target, now, removed, rewritten, before=before, dry_run=True)
    with store.write() as work:
        Journal.advance(work.tx, 0, text.ANALYSIS_VERSION)  # concurrent appenders and savers block until commit
        target, before = target_of(stores, work.tx, info, seqs)
        plan = planned(work.tx, target)
        removed, rewritten = _figures(target, plan)
        removed += _apply(work, store, target, plan, actor, now)
        if seqs is None:
            cleared = work.tx.run("history.scratch_clear", conversation=info.id)
            removed.append(Erased(place="scratchpad", removed=cleared))
        asked = target.traces.blank(work.tx)
    again = f"the conversation {info.ref_code}"
    tidied = erasing.tidy(stores, job_stores, target.traces, again=again, asked=asked)
    rows = [line for one in stores for line in erasing.left(one, target.traces.words(), again)]
    with store.read() as tx:
        same = list(_same(stores, tx, target))
    files = elsewhere([*plan.drops, *plan.rewrites], target.traces.probes)
    verified = ["journal", "entries", "operation log", *([] if rows else ["every table"]), *tidied.verified]
    return replace(
        _receipt(target, now, [*removed, *tidied.removed], rewritten, before=before),
        verified=tuple(verified),
        remaining=(*same, *rows, *files, *tidied.remaining),
    )


def _receipt(
    target: ErasureTarget,
    now: int,
    removed: Iterable[Erased],
    rewritten: Iterable[Rewritten],
    *,
    before: int,
    dry_run: bool = False,
) -> Receipt:
    return Receipt(
        conversation_id=target.info.id,
        at=now,
        events=tuple(event.seq for event in target.events),
        removed=tuple(one for one in removed if one.removed),
        rewritten=tuple(rewritten),
        verified=(),
        erased_before=before,
        dry_run=dry_run,
    )


# Applying


def _apply(work: Work, store: Store, target: ErasureTarget, plan: ErasurePlan, actor: str, now: int) -> list[Erased]:
    """Apply the plan; return what was removed with the entries."""
    if not target.events:
        return []
    tx = work.tx
    conversation = target.info.id
    for event in target.events:
        blank = replace(event, content="", speaker=None, tool_calls=(), internal=False, payload={})
        history.erase_event(tx, blank, now)
    for marker in plan.markers:
        history.erase_event(tx, marker, now)
    for lane, state in plan.lanes.items():
        lanes.set_document(tx, conversation, lane, state, now)
    if plan.checkpoint is not None:
        tx.run("history.checkpoint_documents", conversation=conversation, documents=plan.checkpoint)
    if plan.closing is not None:
        tx.run("history.closing_set", id=conversation, summary=plan.closing)
    if plan.steps is not None:
        tx.run("history.ending_set", id=conversation, ending=plan.steps)
    purged = erasing.purge(work, [*plan.drops, *plan.rewrites], actor=actor, now=now)
    removed = {place: count for place, count in purged.items() if place not in ("entries", "names")}
    for entry, _ in plan.rewrites.values():
        remember.put_back(work, replace(entry, updated_at=now), actor, now)
    for draft, _ in plan.adds:
        remember.apply(work, checked(draft), actor=actor, now=now)
    erasing.sweep_vectors(tx)
    removed["index of turns"] = conversation_search.erase(store, tx, min(target.seqs))
    return [Erased(place=place, removed=count) for place, count in removed.items()]


def _figures(target: ErasureTarget, plan: ErasurePlan) -> tuple[list[Erased], list[Rewritten]]:
    """Return the figures of a plan for a receipt."""
    dropped = Counter(plan.drops.values())
    rewritten = Counter(place for _, place in plan.rewrites.values())
    rewritten += Counter(place for _, place in plan.adds)
    rewritten |= Counter(
        {
            "compaction markers": len(plan.markers),
            "summary documents": len(plan.lanes),
            "checkpoints": int(plan.checkpoint is not None),
            "closing summary": int(plan.closing is not None and plan.closing != target.info.closing_summary),
        }
    )
    return (
        [Erased(place="turns", removed=len(target.events)), *(Erased(place=p, removed=n) for p, n in dropped.items())],
        [Rewritten(place=place, rewritten=count) for place, count in (+rewritten).items()],
    )


# Remaining text


def _same(stores: Sequence[Store], tx: Transaction, target: ErasureTarget) -> Iterator[str]:
    """Yield the entries and turns that contain the same words and were left alone."""
    pieces = [probe for probe in target.traces.probes if len(probe) >= LONG_ENOUGH]
    pieces = pieces[:: max(len(pieces) // CHECKED, 1)][:CHECKED]
    found = {
        other
        for probe in pieces
        for query in ("entries.containing", "operations.containing")
        for (other,) in tx.all(query, probe=probe)
    }
    yield from (f"entry {other} contains some of the same words and was not changed" for other in sorted(found))
    turns = {
        row for word in (*pieces, *_seldom(stores[0], tx, target)) for row in tx.all("history.containing", word=word)
    }
    for seq, ref_code in sorted(turns):
        yield f"turn {seq} of the conversation {ref_code} contains some of the same words and was not changed"


def _seldom(store: Store, tx: Transaction, target: ErasureTarget) -> list[str]:
    """Return words with a digit that a few other turns contain: a number or a password may have been repeated."""
    words = {word for content in target.traces.contents for word in erasing.long_words(content) if _DIGIT.search(word)}
    terms = {word: text.analyse(word) for word in words}
    holding = conversation_search.common(store, tx, [term for found in terms.values() for term in found])
    return sorted(word for word, found in terms.items() if any(0 < holding.get(term, 0) <= FEW for term in found))[
        :CHECKED
    ]
