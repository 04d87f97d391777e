"""Keyword recall with whole questions, next to the searches a user has otherwise, in one run.

    python bench/keyword_recall.py [sizes …] [--words N] [--brief] [--postgres URL]

Prints the median time per question and the ratio to tantivy, and how often the top 10 equals that of full BM25
(`full_bm25.py`, which scores every document). Questions have 3 to 6 content words, or N. `--brief` measures
recollect and tantivy only, in turns, with the processor time of each; with `--words`, both kinds of questions.
"""

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import bm25s
import numpy as np
import rank_bm25
import tantivy
from corpus import corpus
from full_bm25 import FullBm25
from memory_use import current_megabytes
from timing import timed

import recollect
from recollect import Settings, text
from recollect.config import EmbedderSettings
from recollect.search.ranking import b_for

QUESTIONS = 200
WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))


def run(size: int, folder: Path, postgres: str | None, words: int | None) -> None:
    """Build every index over the same entries and ask the same questions."""
    made = corpus(size, QUESTIONS, asked_words=words)
    figures: dict[str, float] = {}

    start = time.perf_counter()
    home = recollect.open(folder / f"{size}.db", settings=WORDS_ALONE)
    mem = home.agent("bench")
    mem.remember_many(recollect.Add(entry) for entry in made.texts)
    build = time.perf_counter() - start
    home.close()
    home = recollect.open(folder / f"{size}.db", settings=WORDS_ALONE)
    mem = home.agent("bench")
    before = current_megabytes()
    # First, because the signals of recalls raise the entries that were found.
    ours = [
        [hit.entry.seq - 1 for hit in mem.recall(q, limit=10, mode="keyword", record=False)] for q in made.questions
    ]
    figures["recollect"] = timed(lambda question: mem.recall(question, limit=10, mode="keyword"), made.questions)
    grown = current_megabytes() - before
    disk = (folder / f"{size}.db").stat().st_size / size
    home.close()

    if postgres:
        with recollect.open(postgres, settings=WORDS_ALONE) as there:
            remote = there.agent("bench", workspace=f"keyword-{size}")
            remote.remember_many(recollect.Add(entry) for entry in made.texts)
            figures["recollect on PostgreSQL"] = timed(
                lambda question: remote.recall(question, limit=10, mode="keyword"), made.questions
            )
            there.delete_workspace(f"keyword-{size}")

    figures["tantivy"] = timed(tantivy_search(made.texts), made.questions)

    terms = [text.analyse(entry) for entry in made.texts]
    b = b_for(sum(map(len, terms)) / len(terms))
    full = FullBm25(terms, b)
    equal = 0
    for question, found in zip(made.questions, ours, strict=True):
        # Equal scores may stand in any order, so it is the scores of what was found that must be the best ones.
        every = full.scores(text.query_terms(question))
        best = np.sort(every)[::-1][: len(found)]
        equal += bool(np.allclose(every[found], best, rtol=1e-9))

    fast = bm25s.BM25(method="lucene", k1=1.2, b=b)
    ids = [[full.vocabulary[term] for term in entry] for entry in terms]
    fast.index((ids, full.vocabulary), show_progress=False)
    figures["bm25s"] = timed(
        lambda question: fast.retrieve([text.analyse(question)], k=10, show_progress=False, n_threads=0),
        made.questions,
    )

    if size <= 100_000:
        slow = rank_bm25.BM25Okapi(terms)
        figures["rank-bm25"] = timed(
            lambda question: slow.get_top_n(text.analyse(question), terms, 10), made.questions[:20]
        )

    connection = apsw.Connection(str(folder / f"{size}.fts"))
    connection.execute("CREATE VIRTUAL TABLE entries USING fts5 (body, tokenize = 'porter unicode61')")
    with connection:
        connection.executemany("INSERT INTO entries (body) VALUES (?)", ((entry,) for entry in made.texts))
    query = "SELECT rowid FROM entries WHERE entries MATCH ? ORDER BY rank LIMIT 10"

    def fts5(question: str) -> object:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        return connection.execute(query, (words,)).fetchall()

    figures["FTS5"] = timed(fts5, made.questions if size <= 10_000 else made.questions[:40])

    print(f"\n{size:,} entries (built in {build:.0f} s, {size / build:,.0f}/s; {disk:,.0f} bytes on disk per entry;")
    print(f"searching took {grown:.0f} MB more memory); top 10 equal to full BM25: {equal / len(made.questions):.1%}")
    for name, figure in figures.items():
        print(f"  {name:24} {figure:10.2f} ms   {figure / figures['tantivy']:8.2f} × tantivy")


def tantivy_search(texts: list[str]) -> Callable[[str], object]:
    """A search for ten documents in a tantivy index of the texts."""
    schema = tantivy.SchemaBuilder().add_text_field("body", stored=False, tokenizer_name="en_stem")
    index = tantivy.Index(schema.add_integer_field("number", stored=True).build())
    writer = index.writer(256_000_000)
    for number, entry in enumerate(texts):
        writer.add_document(tantivy.Document(body=entry, number=number))
    writer.commit()
    index.reload()
    searcher = index.searcher()
    return lambda question: searcher.search(index.parse_query(re.sub(r"\W+", " ", question), ["body"]), 10).hits


def brief(size: int, folder: Path, words: int | None) -> None:
    """Compare recollect and tantivy, question by question, by processor time; the least and the median of five."""
    made = corpus(size, QUESTIONS)
    with recollect.open(folder / f"{size}.db", settings=WORDS_ALONE) as home:
        home.agent("bench").remember_many(recollect.Add(entry) for entry in made.texts)
    theirs = tantivy_search(made.texts)
    with recollect.open(folder / f"{size}.db", settings=WORDS_ALONE) as home:
        mem = home.agent("bench")
        searches = {"recollect": lambda one: mem.recall(one, limit=10, mode="keyword"), "tantivy": theirs}
        _compare(f"{size:,} entries, {QUESTIONS} questions of 3 to 6 content words", searches, made.questions)
        if words:
            made = corpus(size, QUESTIONS, asked_words=words)  # the same entries
            _compare(f"{size:,} entries, {QUESTIONS} questions of {words} content words", searches, made.questions)


def _compare(title: str, searches: dict[str, Callable[[str], object]], questions: list[str]) -> None:
    taken: dict[str, list[list[float]]] = {name: [[] for _ in questions] for name in searches}
    for _ in range(5):
        for place, question in enumerate(questions):
            for name, search in searches.items():
                began = time.thread_time()
                search(question)
                taken[name][place].append((time.thread_time() - began) * 1000)
    print(f"\n{title}, ms per question:", flush=True)
    for name, of_questions in taken.items():
        least, middle = (statistics.median(map(pick, of_questions)) for pick in (min, statistics.median))
        other = [statistics.median(map(pick, taken["tantivy"])) for pick in (min, statistics.median)]
        print(
            f"  {name:10} least {least:7.3f} ({least / other[0]:.2f} × tantivy), "
            f"median {middle:7.3f} ({middle / other[1]:.2f} ×)",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--postgres", help="measure this PostgreSQL database, too")
    parser.add_argument("--words", type=int, help="number of content words of a question")
    parser.add_argument("--brief", action="store_true", help="compare with tantivy only")
    arguments = parser.parse_args()
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            if arguments.brief:
                brief(size, Path(folder), arguments.words)
            else:
                run(size, Path(folder), arguments.postgres, arguments.words)


if __name__ == "__main__":
    main()
