"""The job table: each job and the function that implements it. Intervals are in the settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recollect.engine import reminders
from recollect.engine.agent_store import Store
from recollect.upkeep import consolidation, dreaming, extraction, tidying
from recollect.upkeep.job_run import Shift

__all__ = ["JOBS", "Job", "job"]

MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class Job:
    """One kind of background work."""

    name: str
    per_agent: Callable[[Shift, Store], None] | None = None
    """Called once per agent, or"""
    per_workspace: Callable[[Shift, Sequence[Store]], None] | None = None
    """called once per workspace with all its agents."""
    first_after: int = 0
    """Delay before the first run, in milliseconds."""
    only_if: Callable[[Shift], bool] = lambda shift: True
    """Whether the job is scheduled; a run requested by name ignores this."""
    quiet: bool = False
    """True if a run that did nothing leaves no record, for jobs that run constantly."""


def _reminders(shift: Shift, store: Store) -> None:
    """Deliver due reminders; count them if this is a dry run or there is no receiver."""
    if shift.dry_run or shift.deliver is None:
        shift.count("due", len(reminders.due(store, shift.now)))
    else:
        shift.count("delivered", reminders.deliver_due(store, shift.clock, shift.deliver))


JOBS: tuple[Job, ...] = (
    Job("checkpoints", tidying.checkpoints),
    Job("extract", extraction.extract),
    Job("shelve", extraction.shelve),
    Job("embed", tidying.embed, first_after=MINUTE),
    Job("consolidate", consolidation.consolidate),
    Job("dream", dreaming.dream, only_if=lambda shift: shift.settings.dream.enabled),
    Job("age", tidying.age),
    Job("retain", tidying.retain),
    Job("reminders", _reminders, only_if=lambda shift: shift.deliver is not None, quiet=True),
    Job("reindex", tidying.reindex),
    Job("vacuum", per_workspace=tidying.vacuum),
)


def job(name: str) -> Job | None:
    """Return the job with this name, or None."""
    return next((one for one in JOBS if one.name == name), None)
