"""Two jobs: extract insights from conversations as notes, and shelve the older notes of long categories.

The argument. A conversation is read again when it has changed, which one comparison detects: the hash of its last event
covers all events before it. Of a long conversation only what is older than the last 20 messages is read; the rest
follows when it has aged out, or when the conversation ends. The same line is therefore seen many times, and stored
once: it is skipped if the conversation has yielded it before (even if the note was removed since), or if a note of its
category starts with the same 100 characters. A long conversation is trimmed: from then on only its last 20 messages are
loaded. The journal itself is never trimmed. Notes carry the time of the conversation, so that late extraction does not
make them look new. An imported conversation was not a session of this agent, so it yields no hand-off.

Shelving keeps a category short: the 20 newest notes stay, the others become lines of one summary, dated just before the
oldest that stays, so that it is never the latest note. The lines of an earlier summary move to the new one. Notes with
a name, with an open task or promoted by dreaming are neither counted nor touched. Shelved notes go to the trash.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace

from recollect import statements
from recollect.clock import iso
from recollect.compat.figures import CONVERSATIONS_TRIMMED, ENTRIES_MERGED
from recollect.engine import saved_view
from recollect.engine.agent_store import Store
from recollect.engine.ending import INSIGHTS
from recollect.engine.handoffs import excerpt
from recollect.engine.insights import (
    COMPACTED,
    IMPORTED,
    among,
    beginning,
    fingerprint,
    read_seen,
    said_at,
    stored_beginnings,
    stored_elsewhere,
)
from recollect.engine.origins import made_from_entries, made_from_events, stated_in
from recollect.errors import Corrupt
from recollect.model.entry import Category, Entry, Lifetime, Origin
from recollect.model.history import ConversationInfo, Event, EventType
from recollect.model.operation import Add
from recollect.storage import entries, history
from recollect.storage.database import Row, Transaction
from recollect.upkeep.job_run import JobRun, Step

__all__ = ["KEEP", "MOST", "RECENT", "extract", "shelve"]

RECENT = 20
"""Number of latest messages that are not read yet in a longer conversation."""
MOST, KEEP = 30, 20
"""A category with more than MOST notes is shelved down to KEEP."""
LINES = 500
"""Maximum lines of a summary; the oldest are dropped first."""
INSIGHT, HANDOFF = "auto-extract", "auto-handoff"
SHELVED = "shelve"
"""Value of `source` for a summary."""
BATCH = 50
SHELF = 100
HANDOFF_MESSAGES, HANDOFF_LENGTH = 3, 150
PREVIEW = 200
_SUMMARY = re.compile(r"Compacted (\d{1,9}) older entries:\n")


@dataclass(frozen=True, slots=True)
class _Insights:
    """The insights found in a conversation."""

    conversation: str
    hash: str
    seen: frozenset[str]
    _: KW_ONLY
    notes: tuple[Add, ...] = ()
    handoff: Add | None = None
    long: bool = False
    ref_code: str = ""
    erased: tuple[int, ...] = ()
    """The events that had been erased when it was read."""


# Insights


def extract(job_run: JobRun, store: Store) -> None:
    """Store the insights of conversations that have changed since the last run."""
    for figure in ("conversations", CONVERSATIONS_TRIMMED, "extracted"):
        job_run.count(figure, 0)
    after = ""
    while True:
        with job_run.read(store) as tx:
            rows = tx.all("extraction.changed", after=after, limit=BATCH)
        if not rows:
            return
        after = rows[-1][0]
        talks = []
        for row in rows:
            try:
                with job_run.read(store) as tx:
                    talk = _found(tx, row, job_run)
                known = stored_elsewhere(store, [note.content for note in talk.notes], job_run.now)
                talks.append(replace(talk, notes=tuple(note for note in talk.notes if note.content not in known)))
            except Corrupt as error:
                job_run.skip(f"the conversation {row[0]} was left out", error)
        if talks:
            with job_run.step(store) as step:
                made = _store(step, talks)
                trimmed = sum(talk.long and saved_view.trim(step.tx, talk.conversation, RECENT) > 0 for talk in talks)
            job_run.count("conversations", len(talks))
            job_run.count(CONVERSATIONS_TRIMMED, trimmed)
            job_run.count("extracted", made)


def _found(tx: Transaction, row: Row, job_run: JobRun) -> _Insights:
    """Read a conversation and find its insights; none if its ending has stored them already."""
    conversation, digest, ending, stored = row
    seen = read_seen(stored)
    info = history.conversation(tx, conversation)
    if info is None:
        return _Insights(conversation, digest, seen)
    messages = saved_view.saved_messages(tx, conversation, trimmed=False)
    imported = info.summary_by == IMPORTED
    long = len(messages) > RECENT and not imported
    if ending and INSIGHTS in json.loads(ending):
        return _Insights(conversation, digest, seen, long=long)
    old = messages[:-RECENT] if len(messages) > RECENT else messages
    said = [event for event in old if event.type is EventType.MODEL]
    insights = statements.insights(
        ((event.role, event.content) for event in old),
        known=among(seen),
        by=job_run.settings.conversation.extraction,
    )
    at = said_at(messages, job_run.now)
    found = [(Category.DECISIONS, line) for line in insights.decisions]
    found += [(Category.LESSONS, line) for line in insights.lessons]
    talk = [*old, *history.events(tx, "tool_results", conversation=conversation)] if found else []
    stated = stated_in([line for _, line in found], talk)
    notes = [replace(_note(info, line, category, INSIGHT, at), **stated[line]) for category, line in found]
    handoff = None
    if long and said:
        last = said[-HANDOFF_MESSAGES:]
        previews = [f"- {_speaker(event)}{excerpt(event.content, HANDOFF_LENGTH)}" for event in last]
        content = "\n".join([f"Session compacted ({len(old)} msgs removed):", *previews])
        handoff = replace(_note(info, content, Category.HANDOFFS, HANDOFF, at), **made_from_events(last))
    return _Insights(
        conversation,
        digest,
        seen,
        notes=tuple(notes),
        handoff=handoff,
        long=long,
        ref_code=info.ref_code,
        erased=tuple(history.erased(tx, conversation)),
    )


def _store(step: Step, talks: Iterable[_Insights]) -> int:
    """Store new insights of several conversations, and their progress; return the number of notes added."""
    known = {
        start for category in (Category.DECISIONS, Category.LESSONS) for start in stored_beginnings(step.tx, category)
    }
    made = 0
    for talk in talks:
        if (talk.notes or talk.handoff) and tuple(history.erased(step.tx, talk.conversation)) != talk.erased:
            continue  # a note may quote what was erased meanwhile; the next run reads the conversation again
        seen = set(talk.seen)
        for note in talk.notes:
            start = beginning(note.content)
            short = fingerprint(note.category or "", note.content)
            if short not in seen and start not in known:
                who = "user" if note.origin is Origin.USER else "agent"
                step.add(note, f"the {who} stated it in the conversation {talk.ref_code}")
                made += 1
            seen.add(short)
            known.add(start)
        if talk.handoff is not None:
            made += _hand_off(step, talk, talk.handoff)
        seen_now = json.dumps(sorted(seen))
        step.tx.run("extraction.done", conversation_id=talk.conversation, hash=talk.hash, seen=seen_now)
    return made


def _hand_off(step: Step, talk: _Insights, draft: Add) -> int:
    """Add the hand-off of a conversation, or rewrite the existing one; return the number added."""
    ids = [entry_id for (entry_id,) in step.tx.all("extraction.handoffs_of", conversation=talk.conversation)]
    for found in entries.stored(step.tx, ids).values():
        if {COMPACTED, HANDOFF} <= set(found.entry.tags):
            step.change(
                found.entry,
                f"the conversation {talk.ref_code} has gone on",
                content=draft.content,
                origin=draft.origin,
                evidence=draft.evidence,
            )
            return 0
    step.add(draft, f"the conversation {talk.ref_code} has more than {RECENT} messages")
    return 1


def _note(info: ConversationInfo, content: str, category: Category, tag: str, at: int) -> Add:
    return Add(
        content,
        category=category,
        tags=(COMPACTED, tag),
        conversation=info.id,
        channel=info.channel_id,
        source="conversation",
        lifetime=Lifetime.LONG_TERM,
        at=at,
    )


def _speaker(event: Event) -> str:
    """Return the name of the speaker before what was said."""
    return f"{event.speaker}: " if event.speaker else ""


def _shortened(content: str, most: int) -> str:
    return " ".join(content.split())[:most].rstrip()


# Shelves


def shelve(job_run: JobRun, store: Store) -> None:
    """Replace the older notes of every category with more than 30 by one summary, in batches.

    Unless the settings say otherwise, a scheduled run counts and replaces only notes that jobs made from conversations:
    what was remembered on purpose must not disappear from recall without a request.
    """
    everything = int(job_run.requested or job_run.settings.upkeep.shelved == "all")
    with job_run.read(store) as tx:
        crowded = tx.all("extraction.crowded", all=everything)
    job_run.count(ENTRIES_MERGED, 0)
    for category, total, notes in crowded:
        left = notes - KEEP if total > MOST else 0
        while left > 0:
            with job_run.step(store) as step:
                merged = _merge(step, Category(category), min(left, SHELF), everything)
            job_run.count(ENTRIES_MERGED, merged)
            left = left - merged if merged else 0


def _merge(step: Step, category: Category, count: int, everything: int) -> int:
    """Replace the oldest notes of a category by a summary; return the number replaced."""
    rows = step.tx.all("extraction.oldest", category=category.value, limit=count + 1, all=everything)
    if len(rows) <= count:  # changed by another writer; the next run retries
        return 0
    *old, (_, next_at) = rows
    found = entries.stored(step.tx, [entry_id for entry_id, _ in old])
    merged = [found[entry_id].entry for entry_id, _ in old]
    lines = [_preview(entry) for entry in reversed(merged)]
    number = count
    replaced: list[Entry] = []
    for summary in _summaries(step.tx, category):
        heading = _SUMMARY.match(summary.content)
        if heading is None:  # rewritten by hand
            continue
        number += int(heading[1])
        replaced.append(summary)
        lines += summary.content[heading.end() :].splitlines()
        step.remove(summary, "its lines are in the new summary")
    for entry in merged:
        step.remove(entry, f"{category} has more than {MOST} notes, and it is not among the {KEEP} newest")
    lines = list(dict.fromkeys(lines))[:LINES]  # a note restored and shelved again has its line already
    draft = Add(
        "\n".join([f"Compacted {number} older entries:", *lines]),
        category=category,
        tags=(COMPACTED,),
        source=SHELVED,
        lifetime=Lifetime.LONG_TERM,
        at=max(next_at - 1, 0),
        **made_from_entries(merged, replaced),
    )
    step.add(draft, f"it replaces {number} older notes of {category}")
    return count


def _summaries(tx: Transaction, category: Category) -> list[Entry]:
    """Return the summaries of a category, newest first; an undo or an import can leave more than one."""
    ids = [entry_id for (entry_id,) in tx.all("extraction.summaries", category=category.value)]
    found = [item.entry for item in entries.stored(tx, ids).values()]
    return sorted(found, key=lambda entry: (-entry.created_at, entry.id))


def _preview(entry: Entry) -> str:
    return f"- [{iso(entry.created_at)[:10]}] {_shortened(entry.content, PREVIEW)}"
