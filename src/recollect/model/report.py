"""Results of a check and of an erasure."""

from dataclasses import dataclass

__all__ = ["Erased", "Finding", "Receipt", "Report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One defect found by a check."""

    part: str
    """The part of the storage: `file`, `names`, `log`, `entries` or `index`."""
    where: str
    """The affected workspace and agent, or the file."""
    message: str
    repaired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of `home.check()`: counts and findings (empty if no defect was found)."""

    entries: int
    operations: int
    events: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no findings, or all were repaired."""
        return all(finding.repaired for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """One place from which an erasure removed data."""

    place: str
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The result of `forget(erase=True)`: what was removed, what was verified, and what is out of reach."""

    entry_id: str
    at: int
    removed: tuple[Erased, ...]
    verified: tuple[str, ...]
    """Places that were searched for the text afterwards and do not contain it."""
    remaining: tuple[str, ...] = ()
    """Places where the same text remains, and why: another entry, a server's write-ahead log, a backup."""
