"""How long a call takes."""

import statistics
import time
from collections.abc import Callable

__all__ = ["timed"]


def timed(
    search: Callable[[str], object], questions: list[str], clock: Callable[[], float] = time.perf_counter
) -> float:
    """The median in milliseconds, after a tenth of the questions to warm up."""
    for question in questions[: max(len(questions) // 10, 1)]:
        search(question)
    taken = []
    for question in questions:
        start = clock()
        search(question)
        taken.append(clock() - start)
    return statistics.median(taken) * 1000
