"""Results of a vault sync, as values."""

from dataclasses import dataclass

__all__ = ["Problem", "SyncReport"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, or a block in it, that a sync skipped, and why."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """Result of a sync: files read and written, entries added, changed and removed, and what it skipped."""

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    added: int = 0
    changed: int = 0
    removed: int = 0
    problems: tuple[Problem, ...] = ()

    def __add__(self, other: "SyncReport") -> "SyncReport":
        return SyncReport(
            **{name: getattr(self, name) + getattr(other, name) for name in SyncReport.__dataclass_fields__}
        )

    def __bool__(self) -> bool:
        return bool(self.written or self.added or self.changed or self.removed or self.problems)
