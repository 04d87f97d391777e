"""Small plots and bar charts in the terminal."""

from bisect import bisect_right
from collections.abc import Sequence

from recollect.cli.output import breadth, padded, shown

__all__ = ["bars", "drawn", "plot", "resampled", "room"]

COLUMNS = 60
ROWS = 6
BAR = 30
_BLOCKS = " ▁▂▃▄▅▆▇█"


def room() -> int:
    """Return the number of columns available for a plot besides its axis labels."""
    return min(COLUMNS, max(breadth() - 12, 10))


def plot(values: Sequence[float], caption: str) -> None:
    """Print a column chart with the highest value at the top and a caption below."""
    from rich.text import Text

    for row in drawn(values, caption):
        shown(Text(row))


def drawn(values: Sequence[float], caption: str) -> list[str]:
    """Return the lines of a plot."""
    top = max(values, default=0)
    heights = [round(8 * ROWS * value / top) if top > 0 else 0 for value in values]
    label = f"{top:.3g}"
    rows = []
    for row in reversed(range(ROWS)):
        cells = "".join(_BLOCKS[min(max(height - 8 * row, 0), 8)] for height in heights)
        edge = label if row == ROWS - 1 else "0" if row == 0 else ""
        rows.append(f"  {edge:>{len(label)}} │{cells}".rstrip())
    return [*rows, f"  {'':>{len(label)}} └{'─' * len(values)}", f"  {'':>{len(label)}}  {caption}"]


def bars(counts: Sequence[tuple[str, int]]) -> list[str]:
    """Return a bar chart, one line per name."""
    from rich.cells import cell_len

    most = max((count for _, count in counts), default=0)
    names = max((cell_len(name) for name, _ in counts), default=0)
    figures = max((len(f"{count:,}") for _, count in counts), default=0)
    length = min(BAR, max(breadth() - names - figures - 6, 0))
    return [
        f"  {padded(name, names)}  {count:>{figures},}  {'█' * round(length * count / most) if most else ''}".rstrip()
        for name, count in counts
    ]


def resampled(points: Sequence[tuple[int, float]], number: int) -> list[tuple[int, float]]:
    """Resample a curve to `number` evenly spaced points by linear interpolation."""
    moments = [at for at, _ in points]
    first, last = moments[0], moments[-1]
    found = []
    for step in range(number):
        at = first + (last - first) * step // max(number - 1, 1)
        place = bisect_right(moments, at)
        if place == len(points):
            found.append((at, points[-1][1]))
            continue
        (left, low), (right, high) = points[place - 1], points[place]
        found.append((at, low + (high - low) * (at - left) / (right - left) if right > left else high))
    return found
