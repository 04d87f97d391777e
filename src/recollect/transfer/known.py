"""Set of all entries an agent ever had, so that a repeated import adds nothing, not even forgotten entries."""

from hashlib import blake2b

from recollect.storage import additions
from recollect.storage.database import Transaction

__all__ = ["LoggedEntries"]

PAGE = 1_000


class LoggedEntries:
    """Names and texts that were ever added according to the log, as 12-byte hashes."""

    def __init__(self, tx: Transaction | None = None) -> None:
        self._marks: set[bytes] = set()
        self.seq = 0
        """Sequence number of the last operation that was read."""
        if tx is not None:
            self.read_on(tx)

    def read_on(self, tx: Transaction) -> None:
        """Read the additions logged since the last read."""
        while rows := tx.all("operations.additions", seq=self.seq, limit=PAGE):
            for _, at, after in rows:
                if after:  # empty if erased
                    values = additions.of_log(after, at)
                    self.add(values.get("name"), values.get("category"), values.get("content", ""))
            self.seq = rows[-1][0]

    def add(self, name: str | None, category: str | None, content: str) -> None:
        """Add an entry."""
        self._marks.add(_text(category, content))
        if name is not None:
            self._marks.add(_mark("name", name))

    def has_name(self, name: str) -> bool:
        """True if an entry with that name was ever added."""
        return _mark("name", name) in self._marks

    def has_text(self, category: str | None, content: str) -> bool:
        """True if an entry with that text was ever added to the category."""
        return _text(category, content) in self._marks


def _text(category: str | None, content: str) -> bytes:
    return _mark("text", category or "", content)


def _mark(*parts: str) -> bytes:
    return blake2b("\0".join(parts).encode(), digest_size=12).digest()
