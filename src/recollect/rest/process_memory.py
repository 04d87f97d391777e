"""The memory of a server process: allocator settings, a limit above which caches are dropped, and metrics.

glibc gives every thread an arena of its own, and each keeps what its thread has freed: with 40 threads a server would
hold several times what it uses. Two arenas are enough, because the interpreter lock lets one thread allocate at a
time. Large arrays are mapped with mmap, so that they return to the system as soon as they are freed. What the arenas
keep after a peak, such as a background job, is returned every minute.
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

__all__ = [
    "HeapFigures",
    "ProcessMemory",
    "freed",
    "heap",
    "keep_small",
    "limit_arenas",
    "release_above",
    "resident",
    "return_freed",
]

ARENA_MAX, ARENA_LIMIT = -8, 2
MMAP_THRESHOLD, MMAP_BYTES = -3, 1_000_000
CHECK_INTERVAL = 5.0
"""Seconds between two checks of the limit."""
WORTH_DROPPING = 20
"""Caches that hold less than this part of the limit are kept."""
CHECKS_PER_RETURN = 12
FREED_BYTES = 16_000_000
"""Freed memory that is worth returning to the system; it takes some milliseconds."""
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


class HeapFigures(ctypes.Structure):
    """The figures of `mallinfo2`: `uordblks` are the bytes in use of the arenas, `fordblks` the free ones."""

    _fields_ = (
        ("arena", ctypes.c_size_t),
        ("ordblks", ctypes.c_size_t),
        ("smblks", ctypes.c_size_t),
        ("hblks", ctypes.c_size_t),
        ("hblkhd", ctypes.c_size_t),
        ("usmblks", ctypes.c_size_t),
        ("fsmblks", ctypes.c_size_t),
        ("uordblks", ctypes.c_size_t),
        ("fordblks", ctypes.c_size_t),
        ("keepcost", ctypes.c_size_t),
    )


def freed() -> int | None:
    """Return the bytes that malloc has freed but not returned to the system; None if the C library does not tell."""
    figures = heap()
    return None if figures is None else int(figures.fordblks)


def heap() -> HeapFigures | None:
    """Return the figures of malloc; None if the C library does not tell."""
    try:
        figures = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return None
    figures.restype = HeapFigures
    found: HeapFigures = figures()
    return found


def return_freed() -> None:
    """Return freed memory to the system, if it is much."""
    if (freed() or 0) > FREED_BYTES:
        _trim()


def _trim() -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


async def keep_small(home: Home, megabytes: int) -> None:
    """Return freed memory now and then, and drop the caches of a home whenever this process exceeds the limit, if
    there is one. Runs until it is cancelled.
    """
    while True:
        for _ in range(CHECKS_PER_RETURN):
            await asyncio.sleep(CHECK_INTERVAL)
            if megabytes:
                await run_in_threadpool(release_above, home, megabytes * 1_000_000)
        await run_in_threadpool(return_freed)


def release_above(home: Home, limit: int) -> bool:
    """Drop the caches of a home if this process uses more than `limit` bytes; return whether they were dropped.

    They are kept if they hold little: without them the process would still be above its limit, and slow.
    """
    before = resident()
    if before is None or before <= limit or sum(home.caches.sizes().values()) < limit // WORTH_DROPPING:
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
        self._home, self._start = home, resident()

    def collect(self) -> Iterator[Metric]:
        """Yield the resident memory, what of it the program took at the start, the caches, and what was freed."""
        text = (
            "Memory of this process: resident, and in it the program at the start, the caches of the index, of "
            "vectors and of database pages, and what was freed and not returned to the system yet"
        )
        metric: Any = GaugeMetricFamily("recollect_memory_bytes", text, labels=["part"])
        parts = {"resident": resident(), "program": self._start, **self._home.caches.sizes(), "freed": freed()}
        for part, size in parts.items():
            if size is not None:
                metric.add_metric([part], size)
        yield metric
