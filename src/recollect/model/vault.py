"""Results of a vault sync, as values."""

from dataclasses import dataclass

__all__ = ["FILES_LOG", "Conversion", "Problem", "SyncReport", "UnreadText", "VaultStatus"]

FILES_LOG = "recollect.vault.files"
"""Logger of the problems with files of a vault."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, or a block in it, that a sync skipped, and why."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class UnreadText(Problem):
    """Text that is no note, in a file whose notes are synced."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """Result of a sync: files read, written and deleted, entries added, changed and removed, and what it skipped."""

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    added: int = 0
    changed: int = 0
    removed: int = 0
    problems: tuple[Problem, ...] = ()

    def __add__(self, other: "SyncReport") -> "SyncReport":
        return SyncReport(
            **{name: getattr(self, name) + getattr(other, name) for name in SyncReport.__dataclass_fields__}
        )

    def __bool__(self) -> bool:
        return bool(self.written or self.deleted or self.added or self.changed or self.removed or self.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """Result of converting a vault to another layout, or what it would do: files written and deleted, and problems."""

    layout: str
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    without_file: int = 0
    """Notes that have no file in this layout; they stay in the memory."""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultStatus:
    """Comparison of files and notes: counts, changes since the last sync, and the files that are not read."""

    files: int = 0
    notes: int = 0
    """Notes that the layout shows."""
    edited: int = 0
    """Files that the next sync reads."""
    changed: int = 0
    """Notes that the next sync writes; counted with one file per note only."""
    problems: tuple[Problem, ...] = ()
    """Files that are not read, and why."""

    def __add__(self, other: "VaultStatus") -> "VaultStatus":
        return VaultStatus(
            **{name: getattr(self, name) + getattr(other, name) for name in VaultStatus.__dataclass_fields__}
        )
