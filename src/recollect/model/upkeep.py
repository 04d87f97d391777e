"""Background work as values: what a job is, what a run of it did, and how jobs stand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Change", "JobStatus", "Run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a run did to one entry, and why. `before` and `after` are the fields that it changed."""

    what: str
    """`added`, `removed` or `changed`."""
    entry_id: str
    label: str
    """The entry's name, or the beginning of its text."""
    reason: str
    """A sentence for people."""
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
    """Why it failed, or where it did; what it had done before stays done."""
    problems: tuple[str, ...] = ()
    """What was left out because it could not be read, for instance; the run did not fail for that."""
    dry_run: bool = False
    skipped: bool = False
    """Another process was at it."""
    undone_at: int | None = None
    workspace: str = ""
    """Where it was; empty when in several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """How a job stands in a workspace."""

    name: str
    workspace: str
    every: int
    """Milliseconds between two runs."""
    scheduled: bool
    """Whether it runs by itself."""
    next_due_at: int | None
    last_run_at: int | None = None
    duration: int | None = None
    figures: Mapping[str, int] = field(default_factory=dict)
    failures: int = 0
    """Failures in a row."""
    error: str | None = None
    running: bool = False
