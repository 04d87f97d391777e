"""How long a call takes."""

import statistics
import time
from collections.abc import Callable

__all__ = ["timed"]


def timed(search: Callable[[str], object], questions: list[str]) -> float:
    """The median in milliseconds, after a tenth of the questions to warm up."""
    for question in questions[: max(len(questions) // 10, 1)]:
        search(question)
    taken = []
    for question in questions:
        start = time.perf_counter()
        search(question)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000
