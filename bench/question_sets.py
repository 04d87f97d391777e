"""The question sets of the quality bench: reading them, and scoring a ranking. Read where they are, never copied."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import log2
from pathlib import Path

NAMES = ("scifact", "longmemeval_s", "beam_100k", "locomo")
UNANSWERABLE = ("adversarial", "abstention")
METRICS = ("recall@5", "recall@10", "NDCG@10", "MRR")


@dataclass(frozen=True)
class Doc:
    id: str
    text: str
    """What was said or written, with the caption of a shared picture."""
    speaker: str
    date: str
    session: str
    pos: int

    @property
    def content(self) -> str:
        """The document as a user would store it: what a named person says goes with the name and the date."""
        return self.text if self.speaker in ("", "user", "assistant") else f"{self.speaker} ({self.date}): {self.text}"

    @property
    def day(self) -> int:
        """The date in days since 1970-01-01; 0 when there is none."""
        year = re.search(r"\b(?:19|20)\d\d\b", self.date)
        if year is None:
            return 0
        rest = re.sub(r"\d+:\d+", " ", self.date.replace(year.group(), " ", 1))
        numbers = [int(number) for number in re.findall(r"\d+", rest)]
        months = "jan feb mar apr may jun jul aug sep oct nov dec".split()
        named = [
            months.index(word[:3].lower()) + 1
            for word in re.findall("[A-Za-z]{3,}", rest)
            if word[:3].lower() in months
        ]
        month, day = (named[0], numbers[0]) if named else (numbers[0], numbers[1])
        return (date(int(year.group()), month, day) - date(1970, 1, 1)).days


@dataclass(frozen=True)
class Query:
    text: str
    gold: frozenset[str]
    answerable: bool
    id: str = ""
    kind: str = ""
    """The kind of the question, in the words of the set."""
    answer: str = ""


@dataclass(frozen=True)
class Task:
    """A store to fill and questions to ask it."""

    name: str
    docs: Sequence[Doc]
    queries: Sequence[Query]

    @property
    def scored(self) -> list[Query]:
        """The questions whose answer is in the store."""
        return [query for query in self.queries if query.answerable]

    def sessions(self) -> "Task":
        """The same with whole sessions as the documents."""
        whole: dict[str, list[Doc]] = {}
        for doc in self.docs:
            whole.setdefault(doc.session, []).append(doc)
        docs = [
            Doc(name, "\n".join(d.content for d in docs), "", docs[0].date, name, 0) for name, docs in whole.items()
        ]
        home = {doc.id: doc.session for doc in self.docs}
        queries = [
            replace(query, gold=frozenset(home[gold] for gold in query.gold if gold in home)) for query in self.queries
        ]
        return Task(self.name, docs, [query for query in queries if query.gold])


def read(folder: Path, name: str) -> list[Task]:
    """All tasks of a set. A question without a right answer that is of no kind reported apart is left out."""
    tasks = []
    with (folder / name / "tasks.jsonl").open(encoding="utf-8") as file:
        for line in file:
            task = json.loads(line)
            docs = [
                Doc(
                    doc["id"],
                    f"{doc['text']} {doc['caption']}".strip(),
                    doc["speaker"],
                    doc["date"],
                    str(doc["session"]),
                    doc["pos"],
                )
                for doc in task["docs"]
            ]
            queries = [
                Query(
                    query["text"],
                    frozenset(query["gold"]),
                    query["cat"] not in UNANSWERABLE,
                    query["id"],
                    query["cat"],
                    str(query["answer"]),
                )
                for query in task["queries"]
                if query["gold"] or query["cat"] in UNANSWERABLE
            ]
            tasks.append(Task(task["task"], docs, queries))
    return tasks


def measure(ranking: Sequence[str], gold: Collection[str]) -> tuple[float, float, float, float]:
    """recall@5, recall@10, NDCG@10 and the reciprocal rank of the first right one."""
    places = [place for place, doc in enumerate(ranking) if doc in gold]
    ideal = sum(1 / log2(place + 2) for place in range(min(len(gold), 10)))
    return (
        sum(place < 5 for place in places) / len(gold),
        sum(place < 10 for place in places) / len(gold),
        sum(1 / log2(place + 2) for place in places if place < 10) / ideal,
        1 / (places[0] + 1) if places else 0.0,
    )
