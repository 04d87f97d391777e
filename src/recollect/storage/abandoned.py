"""Threads that a closed home has given up, as with a model that does not answer: the databases refuse their writes."""

import threading
from weakref import WeakSet

from recollect.errors import Unavailable

__all__ = ["abandon", "refuse_abandoned"]

_threads: "WeakSet[threading.Thread]" = WeakSet()


def abandon(thread: threading.Thread) -> None:
    """Bar a thread from writing to any database, also from committing a transaction that it has open."""
    _threads.add(thread)


def refuse_abandoned() -> None:
    """Raise Unavailable if the current thread was given up."""
    if _threads and threading.current_thread() in _threads:
        raise Unavailable("the memory was closed before this work was done; none of it was stored")
