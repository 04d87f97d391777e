"""Every error that recollect raises on purpose, in one tree. Surfaces map this tree in one table each.

    RecollectError
    ├── NotFound      the requested object does not exist
    ├── Conflict      conflict with the current state: a taken name, an illegal transition
    │   └── Stale     the object changed since it was read
    ├── Invalid       the input is invalid; nothing was changed
    ├── Denied        the object exists, but not for this caller
    ├── Unavailable   the store cannot be used right now: locked, full, unreachable
    ├── Corrupt       the store is damaged; never reported as an empty memory
    └── ConfigError   a setting or a location is wrong

Each message says what was asked, what was found and what to do.
"""

__all__ = [
    "ConfigError",
    "Conflict",
    "Corrupt",
    "Denied",
    "Invalid",
    "NotFound",
    "RecollectError",
    "Stale",
    "Unavailable",
]


class RecollectError(Exception):
    """Base class: `except RecollectError` catches everything recollect raises on purpose."""


class NotFound(RecollectError):
    """The requested object does not exist."""


class Conflict(RecollectError):
    """The request conflicts with the current state, for instance a name that is taken."""


class Stale(Conflict):
    """The object was changed since it was read. Nothing was changed now; read it again."""


class Invalid(RecollectError):
    """The input is invalid. Nothing was changed."""


class Denied(RecollectError):
    """The caller may not do this."""


class Unavailable(RecollectError):
    """The store cannot be used right now: it is locked, its disk is full, or its server cannot be reached."""


class Corrupt(RecollectError):
    """The store is damaged. Restore a backup, or run `recollect check --repair` if only derived data is affected."""


class ConfigError(RecollectError):
    """A setting or a location is wrong."""

    @staticmethod
    def install(extra: str) -> str:
        """Return how to install a missing extra. It names no package index, where this name may be another project."""
        return f"install the extra '{extra}' (from a clone: pip install '.[{extra}]')"
