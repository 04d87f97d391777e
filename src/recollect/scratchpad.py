"""The facade of scratchpads: a mapping that delegates to the engine."""

from collections.abc import Iterator, MutableMapping
from typing import Any

from recollect.clock import Clock
from recollect.engine import scratchpad
from recollect.engine.agent_store import Store

__all__ = ["Scratchpad"]


class Scratchpad(MutableMapping[str, Any]):
    """Temporary values of a conversation: a mutable mapping of JSON values by key. They stay when it is archived."""

    def __init__(self, store: Store, clock: Clock, conversation: str) -> None:
        self._store, self._clock, self._conversation = store, clock, conversation

    def __getitem__(self, key: str) -> Any:
        return scratchpad.get(self._store, self._conversation, key)

    def __setitem__(self, key: str, value: Any) -> None:
        scratchpad.put(self._store, self._conversation, key, value, self._clock.now())

    def __delitem__(self, key: str) -> None:
        scratchpad.remove(self._store, self._conversation, key)

    def __iter__(self) -> Iterator[str]:
        return iter(scratchpad.keys(self._store, self._conversation))

    def __len__(self) -> int:
        return len(scratchpad.keys(self._store, self._conversation))

    def __repr__(self) -> str:
        return f"Scratchpad({dict(self)!r})"

    def clear(self) -> None:
        """Remove all values."""
        scratchpad.clear(self._store, self._conversation)
