"""The memory of a server process: allocator settings, a limit above which caches are dropped, and metrics.

glibc gives every thread an arena of its own, and each keeps what its thread has freed: with 40 threads a server would
hold several times what it uses. Two arenas are enough, because the interpreter lock lets one thread allocate at a
time. Large arrays are mapped with mmap, so that they return to the system as soon as they are freed.
"""

import asyncio
import ctypes
import logging
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool

from recollect.home import Home

__all__ = ["ProcessMemory", "keep_below", "limit_arenas", "release_above", "resident"]

ARENA_MAX, ARENA_LIMIT = -8, 2
MMAP_THRESHOLD, MMAP_BYTES = -3, 1_000_000
CHECK_INTERVAL = 5.0
"""Seconds between two checks of the limit."""
_STATUS = Path("/proc/self/statm")
_log = logging.getLogger("recollect.memory")


def limit_arenas() -> None:
    """Configure malloc to return freed memory early. No effect where the C library has no `mallopt`."""
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(ARENA_MAX, ARENA_LIMIT)
        library.mallopt(MMAP_THRESHOLD, MMAP_BYTES)


def resident() -> int | None:
    """Return the resident memory of this process in bytes; None if the system does not report it."""
    try:
        return int(_STATUS.read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return None


def _trim() -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


async def keep_below(home: Home, megabytes: int) -> None:
    """Drop the caches of a home whenever this process exceeds the limit. Runs until it is cancelled."""
    while True:
        await asyncio.sleep(CHECK_INTERVAL)
        await run_in_threadpool(release_above, home, megabytes * 1_000_000)


def release_above(home: Home, limit: int) -> bool:
    """Drop the caches of a home if this process uses more than `limit` bytes; return whether they were dropped."""
    before = resident()
    if before is None or before <= limit:
        return False
    home.caches.release()
    _trim()
    after = resident() or 0
    _log.warning("memory: %d MB are above the limit of %d MB; caches dropped: %d MB", *_mb(before, limit, after))
    return True


def _mb(*sizes: int) -> list[int]:
    return [size // 1_000_000 for size in sizes]


class ProcessMemory(Collector):
    """Metrics of the memory of a server process."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def collect(self) -> Iterator[Metric]:
        """Yield the resident memory and the size of each kind of cache."""
        text = "Memory of this process: resident, and in it the caches of the index, of vectors and of database pages"
        metric: Any = GaugeMetricFamily("recollect_memory_bytes", text, labels=["part"])
        for part, size in {"resident": resident(), **self._home.caches.sizes()}.items():
            if size is not None:
                metric.add_metric([part], size)
        yield metric
