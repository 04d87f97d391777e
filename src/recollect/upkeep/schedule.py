"""The job table: each job and the function that implements it. Intervals are in the settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recollect.engine import reminders
from recollect.engine.agent_store import Store
from recollect.upkeep import chunking, consolidation, dreaming, extraction, tidying
from recollect.upkeep import review as reviewing
from recollect.upkeep.job_run import JobRun

__all__ = ["JOBS", "Job", "job"]

MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class Job:
    """One kind of background work."""

    name: str
    per_agent: Callable[[JobRun, Store], None] | None = None
    """Called once per agent, or"""
    per_workspace: Callable[[JobRun, Sequence[Store]], None] | None = None
    """called once per workspace with all its agents."""
    first_after: int = 0
    """Delay before the first run, in milliseconds."""
    only_if: Callable[[JobRun], bool] = lambda job_run: True
    """Whether the job is scheduled; a run requested by name ignores this."""
    quiet: bool = False
    """True if a run that did nothing leaves no record, for jobs that run constantly."""


def _reminders(job_run: JobRun, store: Store) -> None:
    """Deliver due reminders; count them if this is a dry run or there is no receiver."""
    if job_run.dry_run or job_run.deliver is None:
        job_run.count("due", len(reminders.due(store, job_run.now)))
    else:
        job_run.count("delivered", reminders.deliver_due(store, job_run.clock, job_run.deliver))


JOBS: tuple[Job, ...] = (
    Job("checkpoints", tidying.checkpoints),
    Job("extract", extraction.extract),
    Job("shelve", extraction.shelve),
    Job("chunk", chunking.chunk, first_after=MINUTE),
    Job("embed", tidying.embed, first_after=MINUTE),
    Job("review", reviewing.review, first_after=MINUTE),
    Job("consolidate", consolidation.consolidate),
    Job("dream", dreaming.dream, only_if=lambda job_run: job_run.settings.dream.enabled),
    Job("age", tidying.age),
    Job("retain", tidying.retain),
    Job("reminders", _reminders, only_if=lambda job_run: job_run.deliver is not None, quiet=True),
    Job("reindex", tidying.reindex),
    Job("vacuum", per_workspace=tidying.vacuum),
)


def job(name: str) -> Job | None:
    """Return the job with this name, or None."""
    return next((one for one in JOBS if one.name == name), None)
