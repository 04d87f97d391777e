"""What an agent remembers or ever did, so that importing a second time adds nothing, not even what was forgotten."""

import json
from hashlib import blake2b

from recollect.storage.database import Transaction

__all__ = ["Known"]

PAGE = 1_000


class Known:
    """The names and texts that the log says were ever added. A few bytes each, however long the texts are."""

    def __init__(self, tx: Transaction) -> None:
        self._marks: set[bytes] = set()
        self.seq = 0
        """The last operation that it knows of."""
        self.read_on(tx)

    def read_on(self, tx: Transaction) -> None:
        """Take note of what the log says since it was read last."""
        while rows := tx.all("transfer.additions", seq=self.seq, limit=PAGE):
            for _, after in rows:
                if after:  # else it was erased
                    told = json.loads(after)
                    self.add(told.get("name"), told.get("category"), told.get("content", ""))
            self.seq = rows[-1][0]

    def add(self, name: str | None, category: str | None, content: str) -> None:
        """Take note of an entry."""
        self._marks.add(_text(category, content))
        if name is not None:
            self._marks.add(_mark("name", name))

    def has_name(self, name: str) -> bool:
        """Whether an entry of that name was ever added."""
        return _mark("name", name) in self._marks

    def has_text(self, category: str | None, content: str) -> bool:
        """Whether an entry with that text was ever added to the category."""
        return _text(category, content) in self._marks


def _text(category: str | None, content: str) -> bytes:
    return _mark("text", category or "", content)


def _mark(*parts: str) -> bytes:
    return blake2b("\0".join(parts).encode(), digest_size=12).digest()
