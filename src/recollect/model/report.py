"""Results of a check and of an erasure."""

from dataclasses import dataclass

__all__ = ["Erased", "Finding", "Receipt", "Report", "Rewritten"]


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
    erased: int = 0
    """Number of events whose text was erased. They keep their place in the hash chain, which proves the others."""
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
class Rewritten:
    """One place in which an erasure rewrote data, to keep the rest of it."""

    place: str
    rewritten: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The result of an erasure: what was removed, rewritten and verified, and what is out of reach.

    `forget(erase=True)` erases an entry, `conv.erase()` and `conversations.erase()` turns of a conversation.
    """

    entry_id: str | None = None
    at: int
    removed: tuple[Erased, ...]
    verified: tuple[str, ...]
    """Places that were searched for the text afterwards and do not contain it."""
    remaining: tuple[str, ...] = ()
    """Places where the same text remains, and why: another entry, a server's write-ahead log, a backup."""
    conversation_id: str | None = None
    events: tuple[int, ...] = ()
    """Sequence numbers of the erased turns. They stay in the journal as tombstones: number and hashes without text."""
    rewritten: tuple[Rewritten, ...] = ()
    """What also contained other text, and was rebuilt without the erased text."""
    erased_before: int = 0
    """Number of the turns that an earlier call had erased already."""
    dry_run: bool = False
    """Whether nothing was changed: the receipt says what would be removed and rewritten."""
