"""Every error that recollect raises on purpose, in one tree. Surfaces map this tree in one table each.

    RecollectError
    ├── NotFound      the thing asked for is not there
    ├── Conflict      it clashes with what is there: a taken name, an illegal transition
    │   └── Stale     it changed since it was read
    ├── Invalid       the input is wrong; nothing was changed
    ├── Denied        it is there, but not for this caller
    ├── Unavailable   the store cannot be used right now: locked, full, unreachable
    ├── Corrupt       the store is damaged; never answered with an empty memory
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
    """The root of the tree: `except RecollectError` catches everything recollect raises on purpose."""


class NotFound(RecollectError):
    """The thing asked for is not there."""


class Conflict(RecollectError):
    """The request clashes with what is there, for instance a name that is taken."""


class Stale(Conflict):
    """The thing was changed since it was read. Nothing was changed now; read it again."""


class Invalid(RecollectError):
    """The input is wrong. Nothing was changed."""


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
        """How a missing extra is installed. No package index is named: what it has of this name may be another's."""
        return f"install the extra '{extra}' (from a clone: pip install '.[{extra}]')"
