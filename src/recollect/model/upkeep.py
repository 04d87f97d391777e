"""Upkeep as values: the changes of a run, its result, and the status of jobs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Change", "JobStatus", "Run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that a run made to one entry, and why. `before` and `after` hold the changed fields."""

    what: str
    """`added`, `removed`, `changed`, or `proposed` for review."""
    entry_id: str
    label: str
    """The entry's name, or the beginning of its text."""
    reason: str
    """A sentence for display."""
    where: str = ""
    """Workspace and agent."""
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.what} {self.label!r}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a job. Times are UTC milliseconds."""

    id: str
    job: str
    started_at: int
    finished_at: int | None = None
    figures: Mapping[str, int] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    error: str | None = None
    """Why or where it failed; changes made before the failure are kept."""
    problems: tuple[str, ...] = ()
    """What was skipped without failing the run, for instance because it could not be read."""
    dry_run: bool = False
    skipped: bool = False
    """True if another process was running the job."""
    undone_at: int | None = None
    workspace: str = ""
    """The workspace it ran in; empty if several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """Status of a job in a workspace."""

    name: str
    workspace: str
    every: int
    """Milliseconds between two runs."""
    scheduled: bool
    """Whether the job runs automatically."""
    next_due_at: int | None
    last_run_at: int | None = None
    duration: int | None = None
    figures: Mapping[str, int] = field(default_factory=dict)
    failures: int = 0
    """Number of consecutive failures."""
    error: str | None = None
    running: bool = False
