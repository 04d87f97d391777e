"""A memory on a Citus cluster of a coordinator and two workers. Run by `scripts/test --citus`."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from citus import Cluster

import recollect
from recollect.home import Home
from recollect.storage.postgres import administration
from recollect.storage.postgres.schemas import schema_of

ANA = schema_of("default", "ana")


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Cluster:
    if not request.config.getoption("citus"):
        pytest.skip("no Citus: run scripts/test --citus with the programs of one in $CITUS_PROGRAMS")
    found: Cluster = request.getfixturevalue("postgres_server")
    return found


@pytest.fixture
def url(cluster: Cluster) -> Iterator[str]:
    made = cluster.fresh_database()
    yield made
    cluster.drop_database(made)


@pytest.fixture
def home(url: str) -> Iterator[Home]:
    with recollect.open(url) as opened:
        yield opened


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(query.encode()).fetchall()


def test_schemas_of_agents_are_spread_over_the_workers(cluster: Cluster, home: Home, url: str) -> None:
    for agent in ("ana", "ben"):
        mem = home.agent(agent)
        mem.remember(f"The kettle of {agent} is in the kitchen.", name="kettle")
        conversation = mem.conversations.start()
        conversation.user(f"Where does {agent} keep tea?")
        assert [hit.entry.content for hit in mem.recall("kettle")] == [f"The kettle of {agent} is in the kitchen."]
        assert len(mem.conversations.search("tea")) == 1
    assert home.check().findings == ()
    ports = (
        "SELECT DISTINCT nodeport FROM citus_shards JOIN pg_class ON pg_class.oid = table_name WHERE relnamespace = "
    )
    used = [rows(url, f"{ports} '{schema_of('default', agent)}'::regnamespace") for agent in ("ana", "ben")]
    workers = {int(one.rpartition(":")[2].partition("/")[0]) for one in cluster.workers(url)}
    assert all(len(one) == 1 for one in used)
    assert {port for ((port,),) in used} <= workers


def test_the_size_is_that_of_the_rows_on_the_workers(home: Home, url: str) -> None:
    mem = home.agent("ana")
    mem.remember("kettle")
    before = home.stats().bytes
    mem.remember_many([recollect.Add(f"{number} " + "kettle " * 2_000) for number in range(100)])
    assert home.stats().bytes > before + 50_000


def test_a_distributed_schema_is_migrated_and_stays_distributed(home: Home, url: str) -> None:
    mem = home.agent("ana")
    mem.remember("kettle", name="kettle")
    rows_before = rows(url, "SELECT schema_name::text FROM citus_schemas ORDER BY 1")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'DELETE FROM "{ANA}".migrations WHERE number = 13'.encode())
        connection.execute(f'ALTER TABLE "{ANA}".events DROP COLUMN erased_at, DROP COLUMN erased_hash'.encode())
    with recollect.open(url) as other:
        assert other.agent("ana").get("kettle").content == "kettle"
        other.agent("ana").remember("teapot")
    assert rows(url, "SELECT schema_name::text FROM citus_schemas ORDER BY 1") == rows_before


def test_an_erasure_is_not_verified_while_a_worker_keeps_the_rows(
    cluster: Cluster, home: Home, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(administration, "PAUSES", (0.0,))
    mem = home.agent("ana")
    entry = mem.remember("the secret of the mat")
    other = mem.remember("the secret of the hat")
    connections = [psycopg.connect(worker) for worker in cluster.workers(url)]
    try:
        for connection in connections:  # a snapshot on each worker, of whatever
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            connection.execute("SELECT count(*) FROM pg_class")
        receipt = mem.forget(entry.id, erase=True)
        assert not any("schema" in place for place in receipt.verified)
        assert any("open transaction" in left for left in receipt.remaining)
    finally:
        for connection in connections:
            connection.close()
    monkeypatch.undo()
    assert any("schema" in place for place in mem.forget(other.id, erase=True).verified)
