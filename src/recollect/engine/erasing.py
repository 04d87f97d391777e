"""Erasing: remove an entry and every trace of its text, and verify the result.

A removed entry can be restored, because the log keeps its text. Erasing clears the entry's log, removes its terms from
the tail and every segment of the index, blanks recorded queries and errors of jobs that quote it, scrubs the freed
space, and then searches what is left for the text. The former values that upserts kept of a note are erased with it.

A query can leak a text without quoting it: "is hunter2qz the password?" contains the one word that matters. So a query
is also blanked if it shares a *rare* word with the text: one that no other living entry of the agent contains. The same
words are searched for at the end, in every row of the agent and in every byte of the file. Rows that contain one but
belong to something else, such as a conversation, are reported and left alone.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from recollect import text
from recollect.concepts import concept_tags
from recollect.engine import superseding
from recollect.engine.agent_store import Store, Work, document
from recollect.engine.former_values import former_values, is_former_value
from recollect.engine.remember import apply, put_back
from recollect.errors import Corrupt, NotFound, RecollectError
from recollect.model.entry import Entry
from recollect.model.operation import Remove
from recollect.model.report import Erased, Receipt, Rewritten
from recollect.storage import entries, reviews
from recollect.storage.columns import COLUMNS
from recollect.storage.database import Transaction

__all__ = [
    "Tidied",
    "Traces",
    "common_terms",
    "contents_of",
    "erase",
    "existing",
    "left",
    "long_words",
    "purge",
    "scrub",
    "sweep_vectors",
    "terms_of",
    "tidy",
]

PROBES = 16
SHORTEST = 6
"""Minimum length of a word to search for; shorter ones occur in numbers and ids by chance."""
QUESTIONS = (("signals.questions", "signals.unask"), ("access.questions", "access.unask"))
"""Statements that list the recorded queries, and those that blank them."""
ERRORS = (("upkeep.job_errors", "upkeep.job_errors_blank"), ("upkeep.run_errors", "upkeep.run_errors_blank"))
"""Statements that list the recorded errors of jobs, and those that blank them."""
PLACES = ("entries", "names", "operation log", "index", "record of jobs", "review", "reasons")
"""Places from which an entry is removed, in the order of a receipt."""
INDEXES = ("tail", "postings", "removals", "turn_postings")
"""Tables derived from others."""
SERIALISED = ("graph_checkpoints", "graph_writes")
"""Tables whose bytes contain text as it is."""
_WORD = re.compile(r"\w+")
_PLAIN = re.compile(r'[^\x00-\x1f"\\]+')
"""Text that is identical in a table and in the JSON of the log: no quotes, backslashes or control characters."""


def erase(
    store: Store,
    target: str,
    *,
    actor: str,
    now: int,
    if_version: str | None = None,
    beside: Sequence[Store] = (),
    job_stores: Sequence[Store] = (),
    elsewhere: Callable[[Sequence[str], Sequence[str]], Iterable[str]] = lambda ids, pieces: (),
) -> Receipt:
    """Erase an entry, living or in the trash, so that no trace of its content is left.

    With `if_version`, a living entry is erased only if it still has this version. `beside` are the agent's other
    stores, whose recorded queries may quote the text; `job_stores` hold the records of jobs, whose errors may.
    `elsewhere` removes it from places outside the database and returns where pieces of the text remain.
    """
    with store.read() as tx:
        entry_id = entries.find(tx, target) or entries.removed_id(tx, target)
        if entry_id is None:
            raise NotFound(f"nothing is remembered under {target!r}, and nothing is in the trash; nothing was erased")
        former = former_values(tx, entry_id, trash=True)
        known = _of_all(contents_of, tx, [entry_id, *former]) | _of_all(_labels, tx, [entry_id, *former])
    stores = existing(store, beside)
    common = common_terms(stores, terms_of(known), [entry_id, *former])
    with store.write() as work:
        tx = work.tx
        former = former_values(tx, entry_id, trash=True)  # an upsert may have kept one meanwhile
        ids = [entry_id, *former]
        contents = _of_all(contents_of, tx, ids)
        texts = contents | _of_all(_labels, tx, ids) | known
        talks = sorted(_of_all(_conversations, tx, ids))
        replaced = superseding.replaced_by(tx, entry_id)
        note = _note_of(tx, entry_id, contents)
        living = tx.one("entries.by_ids", ids=[entry_id]) is not None
        purged = purge(work, ids, actor=actor, now=now, if_version=if_version)
        if note is not None:
            purge(work, [note.id], actor=actor, now=now)
            put_back(work, note, actor, now)
        sweep_vectors(tx)
        traces = Traces.of(contents, common, labels=texts)
        asked = traces.blank(tx)
    tidied = tidy(stores, job_stores, traces, again=f"the id {entry_id}", asked=asked)
    with store.read() as tx:
        same = {
            other
            for probe in traces.probes
            for query in ("entries.containing", "operations.containing")
            for (other,) in tx.all(query, probe=probe)
        }
    rows = [line for one in stores for line in left(one, traces.words(), f"the id {entry_id}")]
    verified = ["entries", "operation log", *([] if rows else ["every table"]), *tidied.verified]
    remaining = [
        *(f"entry {other} contains some of the same words and was not changed" for other in sorted(same)),
        *(
            f"entry {other}, which it superseded, is an entry of its own and was not changed; erase it by its id"
            for other in replaced
        ),
        *(f"the conversation {talk} that it comes from, its journal and summaries, was not changed" for talk in talks),
        *rows,
        *elsewhere(ids, traces.probes),
        *tidied.remaining,
    ]
    return Receipt(
        entry_id=entry_id,
        at=now,
        removed=(*_removed(purged, living, former), *tidied.removed),
        rewritten=(Rewritten(place="earlier texts", rewritten=1),) if note is not None else (),
        verified=tuple(verified),
        remaining=tuple(remaining),
    )


def _of_all(texts: Callable[[Transaction, str], set[str]], tx: Transaction, ids: Iterable[str]) -> set[str]:
    """Return what a function finds for any of the entries."""
    return {found for entry_id in ids for found in texts(tx, entry_id)}


def _removed(purged: Mapping[str, int], living: bool, former: Sequence[str]) -> list[Erased]:
    """Return what was removed, for the receipt of an entry with its former values."""
    own = {"entries": 1} if living else {}
    kept = {"former values": len(former)} if former else {}
    rest = {place: count for place, count in purged.items() if place != "entries"}
    return [Erased(place=place, removed=count) for place, count in (own | kept | rest).items()]


def _note_of(tx: Transaction, entry_id: str, contents: Set[str]) -> Entry | None:
    """Return the note that an entry is a former value of, if only earlier texts of the note, in its log, contain it."""
    found = tx.one("entries.by_ids", ids=[entry_id])
    removal = None if found else entries.last_removal(tx, entry_id)
    before = dict(zip(COLUMNS, found, strict=True)) if found else removal.before if removal else {}
    note_id, closed_at = before.get("superseded_by"), before.get("closed_at")
    if note_id is None or closed_at is None or not is_former_value(tx, entry_id, closed_at):
        return None
    note = entries.get(tx, note_id)
    if note is None or note.content in contents or contents.isdisjoint(contents_of(tx, note_id)):
        return None
    return replace(note, concept_tags=concept_tags(note.content))  # they are those of its first content


def existing(store: Store, beside: Sequence[Store]) -> list[Store]:
    """Return the store and those beside it that hold anything."""
    return [store, *(other for other in beside if other.exists())]


def purge(work: Work, ids: Sequence[str], *, actor: str, now: int, if_version: str | None = None) -> dict[str, int]:
    """Remove entries, living or in the trash, with their text in the log, the index, the record of jobs and reviews.

    `if_version` is the version of the first one, if that is living. Return how much was removed, by place.
    """
    tx, removed = work.tx, Counter[str]()
    for entry_id in ids:
        if tx.one("entries.by_ids", ids=[entry_id]):
            removed["entries"] += 1
            removed["names"] += len(tx.all("names.of", ids=[entry_id]))
            version = if_version if entry_id == ids[0] else None
            apply(work, Remove(entry_id), actor=actor, now=now, if_version=version)
        removed["operation log"] += tx.run("operations.erase", entry_id=entry_id)
        removed["record of jobs"] += tx.run("upkeep.changes_forget", entry_id=entry_id)
        removed["review"] += reviews.forget(tx, entry_id)  # the reason of a pair quotes both entries
    removed["reasons"] = entries.forget_reasons(tx, set(ids))  # they say why something else holds now
    removed["index"] = work.index.erase(tx, work.counters, ids)
    always = {"operation log", "index", *(["names"] if removed["entries"] else [])}
    return {place: removed[place] for place in PLACES if removed[place] or place in always}


def sweep_vectors(tx: Transaction) -> None:
    """Remove the bytes of forgotten vectors from packs."""
    if tx.all("vectors.every_pack"):
        from recollect.search.vectors import sweep

        sweep(tx)


@dataclass(frozen=True, slots=True)
class Traces:
    """How an erased text is recognised elsewhere: by pieces of it, and by words that nothing else contains."""

    contents: frozenset[str]
    texts: frozenset[str]
    """The contents, and the names and tags that went with them."""
    probes: tuple[str, ...]
    rare: frozenset[str]
    """Terms that no other living text of the agent contains."""

    @classmethod
    def of(
        cls, contents: Set[str], common: Set[str], labels: Set[str] = frozenset(), most: int | None = None
    ) -> "Traces":
        """Derive the pieces, at most `most`, and the rare terms of texts, given the terms that are common."""
        texts = frozenset(contents | labels)
        probes = [probe for content in sorted(contents) for probe in _probes(content)]
        probes = probes[:: max(len(probes) // most, 1)][:most] if most else probes
        return cls(frozenset(contents), texts, tuple(probes), frozenset(terms_of(texts).keys() - common))

    def blank(self, tx: Transaction, statements: Sequence[tuple[str, str]] = QUESTIONS) -> int:
        """Blank recorded texts that quote the text, are part of it, or share a rare word with it; return how many."""
        whole = [content.casefold() for content in self.contents]
        pieces = [probe.casefold() for probe in self.probes]

        def is_trace(recorded: str) -> bool:
            said = recorded.casefold().strip()
            return (
                any(piece in said for piece in pieces)
                or any(said in content for content in whole)
                or self.shares_rare(recorded)
            )

        blanked = 0
        for read, blank in statements:
            traces = [recorded for (recorded,) in tx.all(read) if is_trace(recorded)]
            if traces:
                blanked += tx.run(blank, texts=traces)
        return blanked

    def shares_rare(self, written: str) -> bool:
        """Return whether a text contains a rare term of the erased one."""
        groups = text.query_terms(written)
        return not self.rare.isdisjoint({*text.analyse(written), *(term for group in groups for term in group)})

    def words(self) -> list[str]:
        """Return the longest rare words of the texts to search for, unstemmed and in lower case."""
        found = {word for written in self.texts for word in long_words(written)}
        rare = (word for word in found if self.rare & set(text.analyse(word)))
        return sorted(rare, key=lambda word: (-len(word), word))[:PROBES]


@dataclass(frozen=True, slots=True)
class Tidied:
    """What was blanked and rewritten after an erasure, and where deleted rows may still be readable."""

    removed: list[Erased]
    verified: list[str]
    remaining: list[str]


def tidy(stores: Sequence[Store], job_stores: Sequence[Store], traces: Traces, *, again: str, asked: int) -> Tidied:
    """Blank traces of erased text in the other stores and in errors of jobs, and overwrite deleted rows everywhere.

    `again` says how to repeat the erasure; `asked` is the number of queries that were blanked in the first store.
    """
    verified, remaining = scrub(stores[0], again)
    for other in stores[1:]:
        with other.write() as work:
            there = traces.blank(work.tx)
        if there:
            asked += there
            remaining += scrub(other, again)[1]
    removed = [Erased(place="questions", removed=asked)] if asked else []
    blanked = 0
    for jobs in filter(Store.exists, job_stores):
        with jobs.database.write(jobs.agent) as tx:
            there = traces.blank(tx, ERRORS)
        if there:
            blanked += there
            remaining += scrub(jobs, again)[1]
    removed += [Erased(place="errors of jobs", removed=blanked)] if blanked else []
    return Tidied(removed, verified, list(dict.fromkeys(remaining)))


def long_words(written: str) -> set[str]:
    """Return the words of a text that are long enough to search for, in lower case."""
    return {word.lower() for word in _WORD.findall(written) if len(word) >= SHORTEST}


def terms_of(texts: Iterable[str]) -> dict[str, None]:
    """Return the terms of texts, each once."""
    return dict.fromkeys(term for written in texts for term in text.analyse(written))


def _logged(tx: Transaction, entry_id: str, *fields: str) -> Iterator[str]:
    """Yield every value that these fields of an entry ever had, from its log."""
    for revision in entries.revisions(tx, entry_id, legible=True):
        for values in (revision.before, revision.after):
            for field in fields:
                value = values.get(field) or ()
                yield from map(str, [value] if isinstance(value, str) else value)


def contents_of(tx: Transaction, entry_id: str) -> set[str]:
    """Return every content that an entry ever had."""
    found = set(_logged(tx, entry_id, "content"))
    if living := tx.one("entries.by_ids", ids=[entry_id]):  # a corrupt row may differ from the log
        found.add(living[COLUMNS.index("content")])
    return found


def _labels(tx: Transaction, entry_id: str) -> set[str]:
    """Return every name, alias, tag and context that an entry ever had."""
    return set(_logged(tx, entry_id, "name", "alias", "tags", "context"))


def _conversations(tx: Transaction, entry_id: str) -> set[str]:
    """Return the conversations that an entry comes from."""
    return set(_logged(tx, entry_id, "conversation_id"))


def common_terms(stores: Sequence[Store], terms: Iterable[str], beside: Sequence[str]) -> set[str]:
    """Return those of the terms that a living entry contains which is not one of those given by id in `beside`."""
    terms = list(terms)
    holding = Counter[str]()
    try:
        for store in stores:
            with store.search() as (tx, counters):
                holding.update(store.index.holding(tx, counters, terms))
                for found in entries.stored(tx, beside).values() if beside else ():
                    holding.subtract(document(found.entry).keys())
    except Corrupt:  # better to blank too many queries than too few
        return set()
    return {term for term in terms if holding[term] > 0}


def left(store: Store, words: Sequence[str], again: str) -> Iterator[str]:
    """Report rows of the agent that contain one of the words, and words in the file outside of any row."""
    if not words:
        return
    try:
        yield from _found(store, words, again)
    except RecollectError as error:
        yield f"the tables may contain a word of it, and could not be searched: {error}"


def _found(store: Store, words: Sequence[str], again: str) -> Iterator[str]:
    tables, explained = _rows_with(store, store.agent, words)
    for table, rows in sorted(tables.items()):
        if table not in INDEXES:
            plural = "" if rows == 1 else "s"
            yield f"{rows} row{plural} of the table {table} with a word that only the erased text had: not changed"
    unexplained = store.database.admin.in_files(words) - explained
    for agent in store.database.admin.agents() if unexplained else ():
        if agent != store.agent:
            unexplained -= _rows_with(store, agent, sorted(unexplained))[1]
    if unexplained:
        yield f"the file still contains a word of it outside of any row; erase again by {again}"


def _rows_with(store: Store, agent: str, words: Sequence[str]) -> tuple[Counter[str], set[str]]:
    """Return how many rows of each table contain one of the words, and which words were found."""
    pattern = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    tables, seen = Counter[str](), set[str]()
    with store.database.admin.dump(agent) as dumped:
        for table, _, rows in dumped:
            for row in rows:
                texts = (_as_text(value) if table in SERIALISED else value for value in row)
                found = {word.lower() for value in texts if isinstance(value, str) for word in pattern.findall(value)}
                tables[table] += bool(found)
                seen |= found
    return +tables, seen


def _as_text(value: object) -> object:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def scrub(store: Store, id_: str = "the id") -> tuple[list[str], list[str]]:
    """Overwrite deleted rows. Return the places rewritten without them, and those where they may still be readable.

    The rows are deleted already, so an error is not raised but reported as a remaining place, with the remedy.
    """
    try:
        return store.database.admin.scrub(store.agent)
    except RecollectError as error:
        return [], [f"deleted rows were not overwritten and may still be readable; erase again by {id_} ({error})"]


def _probes(written: str) -> Iterator[str]:
    """Yield pieces of the text to search for, spread over its longest stretches without escapes."""
    pieces = [
        stretch[start : start + 24]
        for stretch in sorted(_PLAIN.findall(written), key=len, reverse=True)[:PROBES]
        for start in [*range(0, max(len(stretch) - 24, 1), max(len(stretch) // PROBES, 24)), max(len(stretch) - 24, 0)]
    ]
    usable = [piece for piece in pieces if len(piece.strip()) >= 8] or [piece for piece in pieces if piece.strip()]
    step = max(len(usable) // PROBES, 1)
    yield from usable[::step][:PROBES]
