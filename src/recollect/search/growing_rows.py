"""Append-only arrays with amortised growth, of which readers may hold earlier versions."""

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["GrowingRows"]

Scalar = TypeVar("Scalar", bound=np.generic)


class GrowingRows(Generic[Scalar]):
    """A prefix of an array with spare capacity. Only the longest prefix may be extended."""

    __slots__ = ("_room", "rows")

    def __init__(self, rows: NDArray[Scalar], room: NDArray[Scalar] | None = None) -> None:
        self.rows = rows
        self._room = rows if room is None else room

    def extended(self, more: NDArray[Any]) -> "GrowingRows[Scalar]":
        """Return these rows and more, in the same memory while its capacity lasts, otherwise in a copy."""
        held, total = len(self.rows), len(self.rows) + len(more)
        room = self._room
        if total > len(room):
            spare = held // 4 + 16 if held else 0
            room = np.empty((total + spare, *room.shape[1:]), room.dtype)
            room[:held] = self.rows
        room[held:total] = more
        return GrowingRows(room[:total], room)

    def since(self, start: int) -> "GrowingRows[Scalar]":
        """Return a copy of the rows from `start` on, so that the memory of earlier ones can be freed."""
        return GrowingRows(self.rows[start:].copy()) if start else self

    @property
    def size(self) -> int:
        """Allocated bytes, including spare capacity."""
        return int(self._room.nbytes)
