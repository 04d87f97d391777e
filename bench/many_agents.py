"""Many agents in one PostgreSQL database: what each costs, and how the catalog, connecting, VACUUM and backup grow.

    python bench/many_agents.py URL [--agents N,N,...] [--conversations]

URL is an empty database. Each agent stores one note, with `--conversations` also a turn. The bytes and relations of an
agent are the growth since the first agent, divided by the number of agents.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psycopg

import recollect
from recollect import Home, Settings
from recollect.config import EmbedderSettings

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))
CATALOG = (
    "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class "
    "WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r'"
)
SIZE = "SELECT pg_database_size(current_database())"
RELATIONS = "SELECT count(*) FROM pg_class"


def milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def write(home: Home, number: int, *, talks: bool) -> None:
    """The first writes of an agent, which create its tables."""
    mem = home.agent(f"agent-{number}")
    mem.remember("the kitchen is painted in green")
    if talks:
        mem.conversations.start().user("which colour has the kitchen?")


def connect_and_recall(url: str) -> None:
    with recollect.open(url, settings=WORDS_ALONE) as home:
        home.agent("agent-0").recall("kitchen")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--agents", default="100,1000")
    parser.add_argument("--conversations", action="store_true")
    given = parser.parse_args()
    print(
        " agents  create ms  relations   kB/agent of catalog catalog MB  connect ms  open+recall ms  VACUUM s  backup s"
    )
    with recollect.open(given.url, settings=WORDS_ALONE) as home, psycopg.connect(given.url, autocommit=True) as admin:

        def ask(query: str) -> int:
            row = admin.execute(query.encode()).fetchone()
            return int(row[0]) if row else 0

        write(home, 0, talks=given.conversations)
        first, made = [ask(query) for query in (RELATIONS, SIZE, CATALOG)], 1
        for wanted in map(int, given.agents.split(",")):
            taken = [
                milliseconds(partial(write, home, number, talks=given.conversations)) for number in range(made, wanted)
            ]
            made = wanted
            relations, size, catalog = (
                (ask(query) - before) / (made - 1)
                for query, before in zip((RELATIONS, SIZE, CATALOG), first, strict=True)
            )
            connects = [milliseconds(lambda: psycopg.connect(given.url).close()) for _ in range(9)]
            opens = [milliseconds(lambda: connect_and_recall(given.url)) for _ in range(5)]
            vacuum = milliseconds(lambda: admin.execute("VACUUM"))
            with tempfile.TemporaryDirectory() as folder:
                backup = milliseconds(partial(home.backup, Path(folder, "copy")))
            figures = statistics.median(taken[-100:]), relations, size / 1e3, catalog / 1e3, ask(CATALOG) / 1e6
            print(f"{made:7} " + " ".join(f"{figure:10.0f}" for figure in figures), end=" ")
            print(f"{statistics.median(connects):11.1f} {statistics.median(opens):15.0f}", end=" ")
            print(f"{vacuum / 1000:9.1f} {backup / 1000:9.1f}", flush=True)


if __name__ == "__main__":
    main()
