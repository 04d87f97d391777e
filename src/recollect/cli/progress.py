"""Progress bars on stderr, one for each part of a long job, if it is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from recollect.cli.output import safe

__all__ = ["progress"]


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a callback that takes the name of a part, how much of it is done, and its total."""
    # Imported here: it is slow to load, and most commands show no bar.
    from rich.console import Console
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
