"""Numbers of notes in a vault's files and on the dashboard: the creation time in milliseconds, or the next free number.

A number is assigned on first use, in a transaction, and stored with the note, so that it is stable and unique among the
notes of an agent. The vault's files use the same numbers.
"""

from collections.abc import Container

from recollect.engine.agent_store import Store
from recollect.model.entry import Category
from recollect.storage import listing
from recollect.storage.database import Transaction

__all__ = ["numbers"]

RUN = 1_000
"""How many used numbers are read at once."""


def numbers(store: Store, category: Category, taken: Container[int] = ()) -> dict[str, int]:
    """Return the numbers of the notes of a category by id; new numbers avoid those in `taken`."""
    with store.read() as tx:
        found = listing.numbers(tx, category)
    if all(number is not None for number, _ in found.values()):
        return {entry_id: number for entry_id, (number, _) in found.items() if number is not None}
    with store.write() as work:
        tx, made = work.tx, dict[str, int]()
        for entry_id, (number, created_at) in listing.numbers(tx, category).items():
            if number is None:
                number = _free(tx, max(created_at, 1), taken)
                tx.run("vault.number", id=entry_id, number=number)
            made[entry_id] = number
        return made


def _free(tx: Transaction, number: int, taken: Container[int]) -> int:
    """Return the first unused number from `number` on."""
    while True:
        run = {one for (one,) in tx.all("vault.numbers_from", number=number, limit=RUN)}
        end = number + RUN
        while number in run or number in taken:
            number += 1
        if number < end:
            return number
