"""Entries whose names begin with a path, for adapters that store files and items of frameworks as entries."""

from collections.abc import Callable, Iterator, Sequence

from recollect.engine.agent_store import Store
from recollect.errors import Invalid
from recollect.model.entry import Entry
from recollect.storage import entries

__all__ = ["ItemNames", "end_of"]

PAGE = 500


class ItemNames:
    """The names of an agent's own entries, in the order of their characters, whether the entries still hold or not."""

    def __init__(self, stores: Sequence[Store], read_edits: Callable[[], None]) -> None:
        self._stores, self._read_edits = stores, read_edits

    def below(self, start: str, *, page: int = PAGE) -> Iterator[Entry]:
        """Iterate over the entries whose names begin with `start`, reading a page at a time."""
        self._read_edits()
        end, after = end_of(start), ""
        while True:
            found: list[Entry] = []
            for store in self._stores:
                with store.read() as tx:
                    found += entries.named_between(tx, start, end, after, page)
            found = sorted(found, key=lambda entry: entry.name or "")[:page]
            yield from found
            if len(found) < page:
                return
            after = found[-1].name or end

    def exist(self, start: str) -> bool:
        """Return whether the name of an entry begins with `start`."""
        self._read_edits()
        for store in self._stores:
            with store.read() as tx:
                if tx.one("names.between", start=start, end=end_of(start), after="", limit=1) is not None:
                    return True
        return False


def end_of(start: str) -> str:
    """Return the first string that does not begin with `start`."""
    if not start:
        raise Invalid("the start of a name is empty; pass at least one character")
    return start[:-1] + chr(ord(start[-1]) + 1)
