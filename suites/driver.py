"""How the tests in test_every_adapter.py use an adapter: each suite lists its drivers in `drivers.py`."""

from abc import ABC, abstractmethod
from typing import ClassVar

import recollect


class Driver(ABC):
    """One class of an adapter at a location, for an agent. All methods are called inside of a running loop."""

    stored_as: ClassVar[str] = "entries"
    """`entries`, `conversations` or `checkpoints`."""
    refusals: ClassVar[tuple[type[Exception], ...]] = (recollect.Invalid,)
    """What a key that cannot be stored raises."""
    reopens: ClassVar[bool] = False
    """Whether a call after `close()` opens the memory again, as the framework expects."""
    keyed: ClassVar[bool] = True
    """Whether texts are stored under keys; if not, `read` returns all of them."""
    generates: ClassVar[bool] = False
    """Whether the framework generates a key if a blank one is given."""

    @abstractmethod
    def __init__(self, location: str | None, agent: str | None = None) -> None: ...

    @abstractmethod
    async def put(self, key: str, text: str) -> None:
        """Store a text under a key; a session appends it, everything else replaces what was there."""

    @abstractmethod
    async def put_unstorable(self, key: str) -> None:
        """Put something that is not JSON, or of another type, under a key, if possible after something valid."""

    @abstractmethod
    async def read(self, key: str) -> list[str]:
        """Return the texts under a key."""

    @abstractmethod
    async def close(self) -> None:
        """Close the adapter."""
