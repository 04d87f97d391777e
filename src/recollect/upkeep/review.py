"""The job `review`: propose pairs of notes that may contradict, update or repeat each other. It changes no entry.

The argument. A correction shares most of its words with what it corrects, so the nearest notes by words are compared
with the rules of `recollect.contradictions`, and no others: the cost of a note does not grow with the store. Each note
is compared once after every write, in the order of the operation log; the position in the log is stored with the pairs
of a batch, so that an interrupted run continues where it stopped. A language model, if there is one, is asked about
each pair that a rule proposes, up to a budget per run and never inside a transaction; if it fails, the rule decides.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from recollect import fencing, names, text
from recollect.contradictions import Difference, Weight, compare_notes, statement, topic
from recollect.engine.agent_store import Store
from recollect.errors import ConfigError, Unavailable
from recollect.light_words import says_little
from recollect.model.entry import Category, Scope
from recollect.model.review import Relation
from recollect.providers.base import LanguageModel, complete, json_object, prompt
from recollect.search.lookup import Statistics
from recollect.search.rarity import Rarity
from recollect.storage import entries, reviews
from recollect.storage.counters import Counters
from recollect.storage.database import Row, Transaction
from recollect.storage.reviews import OpenPair
from recollect.upkeep.job_run import JobRun, Step
from recollect.upkeep.replacements import replaced_in

__all__ = ["review"]

BATCH = 200
"""Operations per transaction."""
NEIGHBOURS = 8
"""Nearest notes that a note is compared with."""
DEEPEST = 512
"""Documents that are searched for them; others may be closed, or no notes."""
QUERY_LENGTH = 600
"""Characters of a note by which its neighbours are searched."""
QUERY_WORDS = 12
"""Its rarest words, by which they are searched."""
COMPARED_OPERATIONS = ("add", "write", "rename")
QUESTION_SECONDS = 20.0
NEITHER = "neither"
_SCHEMA = {
    "type": "object",
    "required": ["relation"],
    "additionalProperties": False,
    "properties": {"relation": {"type": "string", "enum": [*map(str, Relation), NEITHER]}},
}


def review(job_run: JobRun, store: Store) -> None:
    """Run the job for one agent."""
    for figure in ("compared", "found"):
        job_run.count(figure, 0)
    with job_run.read(store) as tx:
        waiting = reviews.written_after(tx, reviews.progress(tx), 1)
    if waiting:
        with job_run.step(store):  # opening it rebuilds an index of another version of the text analysis
            pass
    rarity = Rarity(store.index)
    while waiting:
        with job_run.read(store) as tx:
            waiting = reviews.written_after(tx, reviews.progress(tx), BATCH)
            found = _Comparison(tx, store, job_run.now, rarity).pairs(waiting) if waiting else []
        confirmed = [_confirmed(job_run, pair) for pair in found]
        if waiting:
            with job_run.step(store) as step:
                for pair in confirmed:
                    _keep(step, pair)
                reviews.set_progress(step.tx, waiting[-1][0], job_run.now)
            job_run.count("compared", len({entry_id for _, entry_id, _ in waiting}))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    """A note that holds, as far as it is compared."""

    id: str
    doc: int
    name: str | None
    content: str
    created_at: int
    place: tuple[str, str | None]
    """Notes of a conversation or channel are compared only with others of the same one."""
    is_decision: bool

    @property
    def statement(self) -> str:
        """Its content, after its name if the content does not contain it."""
        return statement(self.name, self.content)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Two notes, and their relation; None if there is none."""

    older: _Note
    newer: _Note
    relation: Relation | None
    reason: str
    known: str | None
    """The id of the unresolved pair that they are already."""


class _Comparison:
    """Compares notes of one store with their neighbours. A note is read once."""

    def __init__(self, tx: Transaction, store: Store, now: int, rarity: Rarity) -> None:
        self._tx, self._index, self._now, self._rarity = tx, store.index, now, rarity
        self._counters = Counters.get(tx)
        self._read: dict[int, _Note | None] = {}

    def pairs(self, operations: Sequence[Row]) -> list[_Compared]:
        """Return the pairs of the notes that these operations wrote, and known pairs that are none any more."""
        ids = dict.fromkeys(entry_id for _, entry_id, operation in operations if operation in COMPARED_OPERATIONS)
        known = {frozenset((one.older_id, one.newer_id)): one for one in reviews.open_of(self._tx, ids)}
        written = self._notes(ids)
        partners = {note.id: note for note in self._notes({other for pair in known for other in pair})}
        self._rarity.tidy()
        queries = {note.id: _search_words(note.statement[:QUERY_LENGTH]) for note in written}
        self._rarity.learn(self._tx, self._counters, chain.from_iterable(queries.values()))
        near: dict[frozenset[str], tuple[_Note, _Note]] = {}
        for note in written:
            listed = (partners.get(one.other(note.id)) for pair, one in known.items() if note.id in pair)
            for other in (*self._neighbours(note, queries[note.id]), *filter(None, listed)):
                near.setdefault(frozenset((note.id, other.id)), (note, other))
        # A sentence that is too long to compare behind the name of its note is compared without it.
        said = {one for both in near.values() for note in both for one in (note.statement, note.content)}
        self._rarity.weigh(self._tx, self._counters, {word for one in said for word in topic(one)})
        found = [_compared(note, other, known.get(pair), self._rarity.weight) for pair, (note, other) in near.items()]
        return [one for one in found if one.relation is not None or one.known is not None]

    def _notes(self, ids: Iterable[str]) -> list[_Note]:
        wanted = list(ids)
        docs = [
            doc
            for start in range(0, len(wanted), entries.CHUNK)
            for _, doc in self._tx.all("reviews.docs", ids=wanted[start : start + entries.CHUNK])
        ]
        return self._with_docs(docs)

    def _with_docs(self, docs: Sequence[int]) -> list[_Note]:
        """Return the documents that are notes and hold, in the same order."""
        new = [doc for doc in docs if doc not in self._read]
        for start in range(0, len(new), entries.CHUNK):
            some = new[start : start + entries.CHUNK]
            self._read |= dict.fromkeys(some)
            rows = self._tx.all("reviews.notes", docs=some, now=self._now)
            named = self._names([row[1] for row in rows])
            self._read |= {row[0]: _note(row, named.get(row[1])) for row in rows}
        return [note for doc in docs if (note := self._read[doc]) is not None]

    def _names(self, ids: Sequence[str]) -> dict[str, str]:
        rows = self._tx.all("names.of", ids=ids) if ids else ()
        return {entry_id: name for entry_id, name, canonical in rows if canonical}

    def _neighbours(self, note: _Note, words: Sequence[Sequence[str]]) -> list[_Note]:
        look = self._index.look(self._tx, self._counters, self._rarity.rarest(words, QUERY_WORDS))
        ranking, depth = look.ranking(Statistics([look])), 2 * NEIGHBOURS
        while True:
            ranked = [doc for doc, _ in ranking(depth) if doc != note.doc]
            near = [other for other in self._with_docs(ranked) if other.place == note.place]
            if len(near) >= NEIGHBOURS or len(ranked) < depth - 1 or depth >= DEEPEST:
                return near[:NEIGHBOURS]
            depth *= 4


def _search_words(statement: str) -> list[Sequence[str]]:
    """Return the words to search neighbours by, without those that say little: in a store of another language they are
    rare. If there are no others, return all.
    """
    words = text.query_terms(statement)
    return [word for word in words if not says_little(word)] or list(words)


def _note(row: Row, name: str | None) -> _Note:
    doc, entry_id, content, created_at, scope, conversation, channel, category = row
    place = {Scope.CONVERSATION: conversation, Scope.CHANNEL: channel}.get(scope)
    where = ("" if place is None else scope, place)
    return _Note(
        id=entry_id,
        doc=doc,
        name=name,
        content=content,
        created_at=created_at,
        place=where,
        is_decision=category == Category.DECISIONS,
    )


def _compared(note: _Note, other: _Note, known: OpenPair | None, weight: Weight) -> _Compared:
    older, newer = sorted((note, other), key=lambda one: (one.created_at, one.id))
    difference = compare_notes((older.name, older.content), (newer.name, newer.content), weight)
    if difference is None and older.is_decision and (thing := replaced_in(older.content, newer.content)):
        difference = Difference(Relation.UPDATES, f"the newer one replaces {thing}")
    identity = None if known is None else known.id
    if difference is None:
        return _Compared(older, newer, None, "", identity)
    return _Compared(older, newer, difference.relation, difference.reason, identity)


def _unchanged(tx: Transaction, pair: _Compared) -> bool:
    """Return whether both notes still have the contents that were compared. One that was erased meanwhile must not be
    quoted; one that was changed is compared again.
    """
    notes = (pair.older, pair.newer)
    found = entries.stored(tx, [note.id for note in notes])
    return all(note.id in found and found[note.id].entry.content == note.content for note in notes)


def _keep(step: Step, pair: _Compared) -> None:
    """Store a pair; update or remove it if it is known already."""
    if pair.relation is None:
        if pair.known is not None:
            reviews.drop(step.tx, pair.known)
        return
    if not _unchanged(step.tx, pair):
        return
    identity = pair.known or names.new_id(step.job_run.now)
    stored = OpenPair(identity, pair.older.id, pair.newer.id, pair.relation, pair.reason)
    if pair.known is not None:
        reviews.change(step.tx, stored)
    elif reviews.put(step.tx, stored, step.job_run.now):
        step.propose(stored)
        step.job_run.count("found")


# A language model


def _confirmed(job_run: JobRun, pair: _Compared) -> _Compared:
    """Return the pair with the relation that a model names; unchanged without a model, budget or answer."""
    model, asked = job_run.model, job_run.figures["asked"]
    if model is None or job_run.dry_run or pair.relation in (None, Relation.REPEATS):
        return pair
    if asked >= job_run.settings.upkeep.review_questions:
        return pair
    job_run.count("asked")
    job_run.alive()
    try:
        relation = _asked(model, pair)
    except (Unavailable, ConfigError) as error:
        job_run.skip("the model was not asked about a pair", error)
        return pair
    return pair if relation == pair.relation else replace(pair, relation=relation)


def _asked(model: LanguageModel, pair: _Compared) -> Relation | None:
    """Ask a model for the relation of two notes. Raises Unavailable if it gives none."""
    messages = [
        {"role": "system", "content": prompt("review")},
        {"role": "user", "content": "\n\n".join(_quoted(pair))},
    ]
    answer = json_object(complete(model, messages, schema=_SCHEMA, timeout=QUESTION_SECONDS)).get("relation")
    if answer == NEITHER:
        return None
    if not isinstance(answer, str) or answer not in set(Relation):
        raise Unavailable(f"the model {model.name!r} named no relation but {str(answer)[:100]!r}")
    return Relation(answer)


def _quoted(pair: _Compared) -> Iterator[str]:
    for title, note in (("Older", pair.older), ("Newer", pair.newer)):
        yield f"{title}:\n{fencing.quoted(note.statement)}"
