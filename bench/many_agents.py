"""Many agents in one PostgreSQL database: what each costs, and how the catalog, connecting, VACUUM and backup grow.

    python bench/many_agents.py URL [--agents N,N,...] [--conversations]
    python bench/many_agents.py URL --beside URL [--conversations]

URL is an empty database. With `--beside`, both are databases that were filled so, and new agents, recalls, notes,
erasures and connections are measured in them in turns: the figures of the first say how much a load slows both down.
 Each agent stores one note, with `--conversations` also a turn. The bytes and relations of an
agent are the growth since the first agent, divided by the number of agents.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
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
ROUNDS = 21
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


def alternate(urls: list[str], *, talks: bool) -> None:
    """The same work in several databases, in turns."""
    taken: dict[tuple[str, int], list[float]] = {}
    with ExitStack() as stack:
        homes = [stack.enter_context(recollect.open(url, settings=WORDS_ALONE)) for url in urls]
        for turn in range(ROUNDS):
            for place in range(len(urls)) if turn % 2 else reversed(range(len(urls))):
                mem, number = homes[place].agent(f"agent-{turn}"), 1_000_000 + time.time_ns() % 1_000_000_000
                mem.remember("a note that reads the tables")
                work: dict[str, Callable[[], object]] = {
                    "connect": partial(lambda url: psycopg.connect(url).close(), urls[place]),
                    "new agent": partial(write, homes[place], number, talks=talks),
                    "open and recall": partial(connect_and_recall, urls[place]),
                    "note": partial(mem.remember, "another note"),
                    "erase": partial(mem.forget, mem.remember("a secret").id, erase=True),
                }
                for name, call in work.items():
                    taken.setdefault((name, place), []).append(milliseconds(call))
    for (name, place), times in sorted(taken.items()):
        print(f"{name:16} database {place + 1}: median {statistics.median(times):7.1f} ms, least {min(times):7.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--agents", default="100,1000")
    parser.add_argument("--conversations", action="store_true")
    parser.add_argument("--beside", help="the URL of a database with another number of agents")
    given = parser.parse_args()
    if given.beside:
        alternate([given.url, given.beside], talks=given.conversations)
        return
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
