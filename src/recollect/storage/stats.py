"""Statistics of an agent, and of all agents of some databases: rows in, values out."""

from collections import Counter
from collections.abc import Iterable, Mapping

from recollect.model.stats import AgentCounts, AgentStats, ByDay, ConnectionCounts, Stats
from recollect.storage.counters import Counters
from recollect.storage.database import Database, Transaction
from recollect.storage.history import Journal
from recollect.storage.schema import migrations

__all__ = ["DAYS", "counts_of_agent", "of_agent", "of_databases"]

DAY = 86_400_000
DAYS = 90
"""Number of days covered by the counts per day."""
ALL = 1 << 62
"""A limit that leaves nothing out."""
SOURCES = 50
"""Maximum number of sources to list; sources are free text, so their number is unbounded."""


def counts_of_agent(tx: Transaction, workspace: str) -> AgentCounts:
    """Return how much one agent has, from its counters."""
    ((conversations,),) = tx.all("stats.conversation_count")
    changes = [at for query in ("last_operation_at", "last_event_at") for (at,) in tx.all(f"stats.{query}")]
    return AgentCounts(
        workspace=workspace,
        agent=tx.agent,
        entries=Counters.get(tx).live,
        conversations=conversations,
        events=Journal.get(tx).events,
        last_change=max(changes, default=None),
    )


def of_databases(
    databases: Iterable[tuple[str | None, Database]], now: int, *, without: str, caches: Mapping[str, Mapping[str, int]]
) -> Stats:
    """Return the statistics of databases, each with the name of its workspace or None, for all agents but one."""
    size, agents = 0, list[AgentStats]()
    pools: dict[str, ConnectionCounts] = {}
    for name, database in databases:
        size += database.admin.size()
        counts = database.admin.connections()
        pools[counts.pool] = counts
        for agent in database.admin.agents():
            if agent != without:
                with database.read(agent) as tx:
                    agents.append(of_agent(tx, name, now))
    states = ("used", "idle", "waiting")
    return Stats(
        schema=migrations()[-1].number,
        bytes=size,
        agents=tuple(agents),
        connections={state: sum(getattr(one, state) for one in pools.values()) for state in states},
        caches=caches,
    )


def of_agent(tx: Transaction, workspace: str | None, now: int) -> AgentStats:
    """Return the statistics of one agent, from one snapshot of the database."""
    kinds, categories, lifetimes, scopes, sources = (Counter[str]() for _ in range(5))
    for kind, category, lifetime, scope, source, count in tx.all("stats.entries"):
        kinds[kind] += count
        categories[category or "none"] += count
        lifetimes[lifetime] += count
        scopes[scope] += count
        sources[source] += count
    return AgentStats(
        workspace=workspace,
        agent=tx.agent,
        entries=kinds.total(),
        kinds=dict(kinds),
        categories=dict(categories),
        lifetimes=dict(lifetimes),
        scopes=dict(scopes),
        sources=dict(sources.most_common(SOURCES)),
        conversations=dict(tx.all("stats.conversations")),
        events=Journal.get(tx).events,
        reminders=_one(tx, "stats.reminders"),
        trash=_one(tx, "stats.trash"),
        vectors=_one(tx, "stats.vectors"),
        vectors_missing=_one(tx, "overview.vectors_missing", limit=ALL),
        review=_one(tx, "overview.open_pairs", limit=ALL, now=now),
        operations=Counters.get(tx).operations,
        entries_by_day=_by_day(tx, "stats.entries_by_day", now),
        events_by_day=_by_day(tx, "stats.events_by_day", now),
        recalls_by_day=_by_day(tx, "stats.recalls_by_day", now),
    )


def _one(tx: Transaction, query: str, **values: int) -> int:
    row = tx.one(query, **values)
    return int(row[0]) if row else 0


def _by_day(tx: Transaction, query: str, now: int) -> ByDay:
    today = now // DAY
    first = today - DAYS + 1
    counts: dict[int, int] = dict(tx.all(query, since=first * DAY, until=(today + 1) * DAY))
    return tuple((day * DAY, counts.get(day, 0)) for day in range(first, today + 1))
