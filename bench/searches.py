"""The searches that the quality bench compares: what people use otherwise, and recollect for entries and for turns.

A search is filled with one task and then gives, for each question, the ids of the documents, best first.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from math import log

import apsw
import numpy as np
from question_sets import Query, Task
from rank_bm25 import BM25Okapi

import recollect
from recollect import text
from recollect.providers.base import embed
from recollect.providers.local import LocalEmbedder
from recollect.search import ranking, turn_text, turns

DEPTH = 200
"""How long the lists are that are put together."""
CANDIDATES = 500
"""How many turns BM25 chooses before the evidence around them counts."""

EMBEDDER = LocalEmbedder()
_VECTORS: dict[str, np.ndarray] = {}


def vectors(texts: Sequence[str]) -> np.ndarray:
    """Vectors of unit length; a text that came before is not embedded again."""
    new = [content for content in dict.fromkeys(texts) if content not in _VECTORS]
    _VECTORS.update(zip(new, embed(EMBEDDER, new), strict=True))
    return np.stack([_VECTORS[content] for content in texts])


def best(scores: np.ndarray, limit: int = DEPTH) -> list[tuple[int, float]]:
    """The best documents as (number, score); the newest first among equals."""
    order = np.lexsort((-np.arange(len(scores)), -scores))[:limit]
    return [(int(number), float(scores[number])) for number in order]


class Searches:
    """Everything that can be asked about one task."""

    def __init__(self, task: Task, home: recollect.Home, *, b: float | None = None) -> None:
        self.task = task
        self._home = home
        self._b = b

    # What people use otherwise

    def fts5(self, query: Query) -> list[tuple[int, float]]:
        """SQLite's FTS5 with the porter stemmer: any word of the question."""
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query.text))
        sql = f"SELECT rowid, -rank FROM docs WHERE docs MATCH ? ORDER BY rank LIMIT {DEPTH}"
        return self._fts5.execute(sql, (words,)).fetchall() if words else []

    @cached_property
    def _fts5(self) -> apsw.Connection:
        connection = apsw.Connection(":memory:")
        connection.execute("CREATE VIRTUAL TABLE docs USING fts5 (body, tokenize = 'porter unicode61')")
        rows = ((number, doc.content) for number, doc in enumerate(self.task.docs))
        connection.executemany("INSERT INTO docs (rowid, body) VALUES (?, ?)", rows)
        return connection

    def rank_bm25(self, query: Query) -> list[tuple[int, float]]:
        """rank-bm25 as its page shows it: words in lower case."""
        return best(self._okapi.get_scores(re.findall(r"\w+", query.text.lower())))

    @cached_property
    def _okapi(self) -> BM25Okapi:
        return BM25Okapi([re.findall(r"\w+", doc.content.lower()) for doc in self.task.docs])

    def vectors_alone(self, query: Query) -> list[tuple[int, float]]:
        """Exact cosine of the local embedder."""
        return best(self._vectors @ vectors([query.text])[0])

    @cached_property
    def _vectors(self) -> np.ndarray:
        return vectors([doc.content for doc in self.task.docs])

    def equal_rrf(self, query: Query) -> list[tuple[int, float]]:
        """Reciprocal rank fusion with equal weights of FTS5 and vectors."""
        return ranking.fuse([self.fts5(query), self.vectors_alone(query)])

    # recollect, entries

    def keyword(self, query: Query) -> list[tuple[int, float]]:
        """The library itself: entries, recalled by keyword."""
        hits = self._memory.recall(query.text, limit=DEPTH, mode="keyword")
        return [(hit.entry.seq - 1, hit.score) for hit in hits]

    @cached_property
    def _memory(self) -> recollect.Memory:
        memory = self._home.agent(re.sub(r"\W+", "-", f"{self.task.name}-{id(self.task)}").strip("-"))
        memory.remember_many(recollect.Add(doc.content) for doc in self.task.docs)
        return memory

    def hybrid(self, query: Query, fusion: str = "weighted") -> list[tuple[int, float]]:
        """The same, put together with the vectors."""
        return ranking.combine(
            self.keyword(query),
            self.vectors_alone(query),
            fusion=fusion,
            average=self._entry_words.average,
            personal=ranking.is_personal(query.text),
        )

    @cached_property
    def _entry_words(self) -> "WordScores":
        return WordScores([text.terms(doc.content) for doc in self.task.docs], self._b)

    # recollect, turns

    def best_turns(
        self, query: Query, *, weights: turns.Weights | None = None, by_vector: bool = True
    ) -> list[tuple[int, float]]:
        """Turns of conversations, from the candidates of BM25 and those beside them."""
        question, candidates, numbers, _ = self._candidates(query, by_vector)
        found = turns.scores(question, candidates, average=self._words.average, weights=weights)
        people = candidates.role == turns.Role.PERSON
        found += turn_text.length_score(self._words.lengths[numbers], people, self._words.average)
        wanted = turn_text.TurnTextQuery.read(query.text, set(candidates.speaker))
        for place, _ in best(found, turn_text.READ):
            found[place] += wanted.score(self.task.docs[numbers[place]].text)
        return [(int(numbers[place]), score) for place, score in best(found)]

    def best_conversations(self, query: Query, *, by_vector: bool = True) -> list[tuple[str, float]]:
        """Whole conversations by their best turn, as (session, score)."""
        question, candidates, _, _ = self._candidates(query, by_vector)
        found = turns.scores(question, candidates, average=self._words.average)
        return [(self._sessions[number], score) for number, score in turns.conversations(candidates, found)]

    def confidence(self, query: Query) -> float:
        """How sure recollect is that there is an answer."""
        question, candidates, _, idf = self._candidates(query, False)
        scores = turns.scores(question, candidates, average=self._words.average)
        return turns.confidence(question, candidates, idf, scores)

    def _candidates(self, query: Query, by_vector: bool) -> tuple[turns.TurnQuery, turns.Turns, np.ndarray, np.ndarray]:
        words = text.query_terms(query.text)
        scores, idf = self._words.of(words)
        chosen = [number for number, score in best(scores.sum(0), CANDIDATES) if score > 0]
        key = self._session * 100_000 + self._position
        beside = np.arange(-turns.REACH, turns.REACH + 1)
        numbers = np.flatnonzero(np.isin(key, (key[chosen][:, None] + beside).ravel()))
        cosine = None
        if by_vector:
            cosine = (self._turn_vectors[numbers] @ vectors([query.text])[0]).astype(float)
        candidates = turns.Turns(
            conversation=self._session[numbers],
            position=self._position[numbers],
            words=scores[:, numbers],
            speaker=[self._speakers[number] for number in numbers],
            role=self._role[numbers],
            day=self._day[numbers],
            asks=self._asks[numbers],
            tells_time=self._tells_time[numbers],
            cosine=cosine,
        )
        question = turns.TurnQuery.read(query.text, words, {name for name in candidates.speaker if name})
        return question, candidates, numbers, idf

    @cached_property
    def _words(self) -> "WordScores":
        return WordScores([text.terms(doc.text) for doc in self.task.docs], self._b)

    @cached_property
    def _turn_vectors(self) -> np.ndarray:
        return vectors([doc.text for doc in self.task.docs])

    @cached_property
    def _sessions(self) -> list[str]:
        return list(dict.fromkeys(doc.session for doc in self.task.docs))

    @cached_property
    def _session(self) -> np.ndarray:
        return np.array([self._sessions.index(doc.session) for doc in self.task.docs])

    @cached_property
    def _position(self) -> np.ndarray:
        return np.array([doc.pos for doc in self.task.docs])

    @cached_property
    def _speakers(self) -> list[str]:
        return ["" if doc.speaker in ("user", "assistant") else doc.speaker for doc in self.task.docs]

    @cached_property
    def _role(self) -> np.ndarray:
        roles = {"user": turns.Role.USER, "assistant": turns.Role.ASSISTANT}
        return np.array([roles.get(doc.speaker, turns.Role.PERSON) for doc in self.task.docs])

    @cached_property
    def _day(self) -> np.ndarray:
        return np.array([doc.day for doc in self.task.docs])

    @cached_property
    def _asks(self) -> np.ndarray:
        return np.array([turns.asks(doc.text) for doc in self.task.docs])

    @cached_property
    def _tells_time(self) -> np.ndarray:
        return np.array([turns.tells_time(doc.text) for doc in self.task.docs])


class WordScores:
    """What each word of a query adds to the BM25 score of every document (k1 1.2, b by the average length)."""

    def __init__(self, documents: Sequence[dict[str, int]], b: float | None = None) -> None:
        self.lengths = np.array([sum(terms.values()) for terms in documents], float)
        self.average = float(self.lengths.mean())
        b = ranking.b_for(self.average) if b is None else b
        self._norms = 1.2 * (1 - b + b * self.lengths / self.average)
        holding = Counter(term for terms in documents for term in terms)
        self._postings = {term: (np.empty(n, np.int64), np.empty(n)) for term, n in holding.items()}
        filled: Counter[str] = Counter()
        for number, terms in enumerate(documents):
            for term, count in terms.items():
                docs, counts = self._postings[term]
                docs[filled[term]], counts[filled[term]] = number, count
                filled[term] += 1

    def of(self, query: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
        """Words × documents, and the idf of each word."""
        size = len(self.lengths)
        scores, idf = np.zeros((len(query), size)), np.zeros(len(query))
        for place, spellings in enumerate(query):
            lists = [self._postings[term] for term in spellings if term in self._postings]
            holding = min(sum(len(docs) for docs, _ in lists), size)
            idf[place] = log(1 + (size - holding + 0.5) / (holding + 0.5))
            for docs, counts in lists:
                scores[place, docs] += idf[place] * counts * 2.2 / (counts + self._norms[docs])
        return scores, idf
