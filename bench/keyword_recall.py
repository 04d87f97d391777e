"""Keyword recall with whole questions, next to the searches a user has otherwise, in one run.

    python bench/keyword_recall.py [sizes …] [--postgres URL]

Prints the median time per question and the ratio to tantivy, and how often the top 10 equals that of full BM25
(`full_bm25.py`, which scores every document).
"""

import argparse
import re
import tempfile
import time
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


def run(size: int, folder: Path, postgres: str | None) -> None:
    """Build every index over the same entries and ask the same questions."""
    made = corpus(size, QUESTIONS)
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
    figures["recollect"] = timed(lambda question: mem.recall(question, limit=10, mode="keyword"), made.questions)
    grown = current_megabytes() - before
    disk = (folder / f"{size}.db").stat().st_size / size
    ours = [[hit.entry.seq - 1 for hit in mem.recall(q, limit=10, mode="keyword")] for q in made.questions]
    home.close()

    if postgres:
        with recollect.open(postgres, settings=WORDS_ALONE) as there:
            remote = there.agent("bench", workspace=f"keyword-{size}")
            remote.remember_many(recollect.Add(entry) for entry in made.texts)
            figures["recollect on PostgreSQL"] = timed(
                lambda question: remote.recall(question, limit=10, mode="keyword"), made.questions
            )
            there.delete_workspace(f"keyword-{size}")

    schema = tantivy.SchemaBuilder().add_text_field("body", stored=False, tokenizer_name="en_stem")
    index = tantivy.Index(schema.add_integer_field("number", stored=True).build())
    writer = index.writer(256_000_000)
    for number, entry in enumerate(made.texts):
        writer.add_document(tantivy.Document(body=entry, number=number))
    writer.commit()
    index.reload()
    searcher = index.searcher()
    figures["tantivy"] = timed(
        lambda question: searcher.search(index.parse_query(re.sub(r"\W+", " ", question), ["body"]), 10).hits,
        made.questions,
    )

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--postgres", help="measure this PostgreSQL database, too")
    arguments = parser.parse_args()
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            run(size, Path(folder), arguments.postgres)


if __name__ == "__main__":
    main()
