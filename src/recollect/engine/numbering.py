"""The numbers of notes in a vault's files and on a dashboard: the moment in milliseconds, or the next free one.

A number is stored with the note the first time that it is asked for, in a transaction, so that it is unique among the
notes of an agent and stays the same. The vault's files use the same numbers.
"""

from collections.abc import Container

from recollect.engine.agent_store import Store
from recollect.model.entry import Category
from recollect.storage import listing
from recollect.storage.database import Transaction

__all__ = ["numbers"]

RUN = 1_000
"""How many taken numbers are read at once."""


def numbers(store: Store, category: Category, taken: Container[int] = ()) -> dict[str, int]:
    """The ids of the notes of a category with their numbers; new numbers are none of those that are taken elsewhere."""
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
    """The first number from this one on that no note has."""
    while True:
        run = {one for (one,) in tx.all("vault.numbers_from", number=number, limit=RUN)}
        end = number + RUN
        while number in run or number in taken:
            number += 1
        if number < end:
            return number
