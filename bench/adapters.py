"""What the adapters cost: an item put, compared with the same `remember`; 1,000 items read, compared with the vendor.

Run it in the environment of the suite openai_agents, with PYTHONPATH=src. Each figure is the median of several rounds.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from agents import SQLiteSession

import recollect
from recollect.adapters.openai_agents import AsyncSession

ITEMS = 1_000
ROUNDS = 9


async def median(work: Callable[[], Awaitable[object]], rounds: int = ROUNDS) -> float:
    """Milliseconds of one call, the median over rounds."""
    taken = []
    for _ in range(rounds):
        begun = time.perf_counter()
        await work()
        taken.append(1_000 * (time.perf_counter() - begun))
    return statistics.median(taken)


def item(number: int) -> dict[str, str]:
    return {"role": "user", "content": f"Service {number} of staging listens on port {8_000 + number}."}


async def main() -> None:
    folder = Path(tempfile.mkdtemp())
    ours, theirs = AsyncSession("s", folder / "ours.db"), SQLiteSession("s", folder / "theirs.db")
    numbers = iter(range(10**6))
    with recollect.open(folder / "remember.db") as home:
        mem = home.agent("default")

        async def remember() -> None:
            await asyncio.to_thread(mem.remember, item(next(numbers))["content"])

        put = await median(lambda: ours.add_items([item(next(numbers))]), 200)
        noted = await median(remember, 200)
    print(f"one item put: {put:.2f} ms; the same remember: {noted:.2f} ms; ratio {put / noted:.2f} (at most 1.5)")
    await ours.clear_session()
    items = [item(number) for number in range(ITEMS)]
    await ours.add_items(items)
    await theirs.add_items(items)
    assert await ours.get_items() == await theirs.get_items()
    read, vendor = await median(ours.get_items), await median(theirs.get_items)
    print(f"{ITEMS} items read: {read:.1f} ms; SQLiteSession: {vendor:.1f} ms; ratio {read / vendor:.2f} (at most 1)")


asyncio.run(main())
