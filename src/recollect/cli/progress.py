"""A bar on stderr for each part of a long job, where somebody can see it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from recollect.cli.output import safe

__all__ = ["progress"]


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """While the block runs: what to call with the part, how much of it is done, and how much there is."""
    # Bars take a while to load, and most commands show none.
    from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    parts = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*parts, console=console, disable=not console.is_terminal, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(where: str, done: int, total: int) -> None:
            if where not in tasks:
                tasks[where] = bars.add_task(safe(where))
            bars.update(tasks[where], completed=done, total=total)

        yield tell
