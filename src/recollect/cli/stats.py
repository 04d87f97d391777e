"""`recollect stats`: figures and small charts about a home."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import typer

import recollect
from recollect.cli.invocation import Invocation
from recollect.cli.options import examples, for_home
from recollect.cli.output import columns, counted, document, heading, remark, safe, shown
from recollect.cli.plot import bars, plot, room
from recollect.clock import iso
from recollect.model.stats import AgentStats, Stats

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog=examples("stats", "stats --json"))
@for_home
def stats(call: Invocation) -> None:
    """Show counts and charts: entries, growth and recalls."""
    with recollect.open(call.home) as home:
        figures = home.stats()
    if call.json:
        document(figures)
    elif not figures.agents:
        remark("no notes yet; add one with: recollect remember 'We deploy on Tuesdays'")
    else:
        _show(figures)


def _show(figures: Stats) -> None:
    total = sum(one.entries for one in figures.agents)
    heading(counted(total, "entry", "entries"), f"of all agents, {_size(figures.bytes)}, schema {figures.schema}")
    header = ("workspace", "agent", "entries", "conversations", "events", "vectors", "reminders", "trash")
    columns(header, [_row(one) for one in figures.agents])
    _bars("by kind", [one.kinds for one in figures.agents])
    _bars("by category", [one.categories for one in figures.agents])
    _bars("by source", [one.sources for one in figures.agents])
    _plot("new entries per day", [one.entries_by_day for one in figures.agents])
    _plot("events per day", [one.events_by_day for one in figures.agents])
    _plot("recall hits per day", [one.recalls_by_day for one in figures.agents])


def _row(one: AgentStats) -> tuple[str, ...]:
    figures = (one.entries, sum(one.conversations.values()), one.events, one.vectors, one.reminders, one.trash)
    return (safe(one.workspace or "account"), safe(one.agent), *(f"{figure:,}" for figure in figures))


def _bars(title: str, parts: Iterable[Mapping[str, int]]) -> None:
    from rich.text import Text

    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    if len(total) > 1:
        print()
        heading(title)
        for row in bars(total.most_common()):
            shown(Text(safe(row)))


def _plot(title: str, parts: Sequence[Sequence[tuple[int, int]]]) -> None:
    days: Counter[int] = Counter()
    for part in parts:
        days.update(dict(part))
    recent = sorted(days.items())[-room() :]
    if sum(count for _, count in recent):
        print()
        heading(title)
        plot([count for _, count in recent], f"{iso(recent[0][0])[:10]} to {iso(recent[-1][0])[:10]}")


def _size(number: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if number < 1_000:
            return f"{number:,.0f} {unit}"
        number //= 1_000
    return f"{number:,} GB"
