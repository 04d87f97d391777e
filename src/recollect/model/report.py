"""What a check found, and what an erasure removed."""

from dataclasses import dataclass

__all__ = ["Erased", "Finding", "Receipt", "Report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be."""

    part: str
    """Where: `file`, `names`, `log`, `entries` or `index`."""
    where: str
    """The workspace and agent concerned, or the file."""
    message: str
    repaired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of `home.check()`: figures, and findings (none when all is well)."""

    entries: int
    operations: int
    events: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, or everything wrong was repaired."""
        return all(finding.repaired for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """One place that an erasure cleaned."""

    place: str
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What `forget(erase=True)` removed, what it verified, and what is out of its reach."""

    entry_id: str
    at: int
    removed: tuple[Erased, ...]
    verified: tuple[str, ...]
    """The places that were searched for the text afterwards and did not hold it."""
    remaining: tuple[str, ...] = ()
    """Where the same text still is, and why: another entry, a server's write-ahead log, a backup."""
