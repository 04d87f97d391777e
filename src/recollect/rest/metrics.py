"""Prometheus metrics: contents of the memory and status of upkeep jobs by workspace, and resources of this process."""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from recollect.clock import Clock, stopwatch
from recollect.home import Home
from recollect.model.stats import AgentStats, Stats

__all__ = ["MemoryFigures", "ProcessFigures"]

CACHE_SECONDS = 60.0
"""Seconds for which the statistics are cached: counting reads the row of every entry."""

COUNTS = {
    "entries": "Entries that are not in the trash",
    "events": "Events of all conversations",
    "trash": "Entries in the trash that can be restored",
    "vectors": "Entries with a vector",
    "review": "Pairs of entries that wait for review",
    "reminders": "Reminders that are not delivered yet",
}
MISSING = {"vectors_missing": "Entries that have no vector yet"}


class MemoryFigures(Collector):
    """Statistics of a home and the status of its jobs. Labels name workspaces, never agents or content."""

    def __init__(self, home: Home, clock: Clock, *, embeds: bool) -> None:
        """`embeds` is whether an embedder is configured, so that missing vectors are counted."""
        self._home, self._clock = home, clock
        self._counts = {**COUNTS, **(MISSING if embeds else {})}
        self._lock = threading.Lock()
        self._stats: Stats | None = None
        self._since = 0.0

    def collect(self) -> Iterator[Metric]:
        """Yield all figures; the statistics may be a minute old."""
        stats = self.current()
        yield GaugeMetricFamily("recollect_bytes", "Size on disk, including indexes", value=stats.bytes)
        for name, text in self._counts.items():
            counts = Counter[str]()
            for one in stats.agents:
                counts[_place(one)] += getattr(one, name)
            yield _gauge(name, text, ["workspace"], (([place], count) for place, count in counts.items()))
        talks = Counter[tuple[str, str]]()
        for one in stats.agents:
            for status, count in one.conversations.items():
                talks[_place(one), status] += count
        labels = ["workspace", "status"]
        yield _gauge("conversations", "Conversations by status", labels, ((list(key), n) for key, n in talks.items()))
        yield from self._jobs()

    def current(self) -> Stats:
        """Return the statistics; they may be a minute old."""
        with self._lock:
            if self._stats is None or stopwatch() - self._since >= CACHE_SECONDS:
                self._stats, self._since = self._home.stats(), stopwatch()
            return self._stats

    def _jobs(self) -> Iterator[Metric]:
        jobs = [job for job in self._home.jobs.status() if job.scheduled]
        labels, now = ["workspace", "job"], self._clock.now()
        late = ((job, max(0, now - job.next_due_at) / 1000) for job in jobs if job.next_due_at is not None)
        text = "Seconds since a job is due and has not run"
        yield _gauge("job_overdue_seconds", text, labels, (([job.workspace, job.name], lag) for job, lag in late))
        text = "Failed runs of a job since it last succeeded"
        yield _gauge("job_failures", text, labels, (([job.workspace, job.name], job.failures) for job in jobs))


class ProcessFigures(Collector):
    """Metrics of the database connections and caches of this process."""

    def __init__(self, figures: MemoryFigures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """Yield the figures; they may be a minute old."""
        stats = self._figures.current()
        text = "Connections to databases by state, and requests that wait for one"
        yield _gauge("connections", text, ["state"], (([state], count) for state, count in stats.connections.items()))
        reads = CounterMetricFamily("recollect_cache_reads", "Reads from a cache", labels=["cache", "outcome"])
        for name, outcomes in stats.caches.items():
            for outcome, count in outcomes.items():
                reads.add_metric([name, outcome], count)
        yield reads


def _gauge(name: str, text: str, labels: list[str], values: Iterable[tuple[list[str], float]]) -> Metric:
    metric = GaugeMetricFamily(f"recollect_{name}", text, labels=labels)
    for places, value in values:
        metric.add_metric(places, value)
    return metric


def _place(one: AgentStats) -> str:
    return "account" if one.workspace is None else one.workspace
