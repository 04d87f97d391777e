"""What child processes do in the tests of upkeep: run small jobs and deliver reminders, and tell what they did.

A message is ("told", message of a reminder), ("ran", job), ("at", moment), or ("failed", class, message).
"""

import itertools
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from crash import program  # noqa: F401 - it loads everything that takes long

import recollect
from recollect.clock import Clock
from recollect.engine.agent_store import Store, every
from recollect.engine.reminders import deliver_due
from recollect.model.reminder import Reminder
from recollect.upkeep import runner, schedule
from recollect.upkeep.job_run import JobRun
from recollect.upkeep.schedule import Job

__all__ = ["be_reminded", "install", "run_due_and_note", "tidy", "tidy_until_killed"]


def install(*jobs: Job) -> None:
    """Make these the jobs of this process."""
    runner.JOBS = schedule.JOBS = jobs


def be_reminded(pipe: Connection, location: str, dies_at: str | None = None) -> None:
    """Deliver what is due until nothing is; or die at one of them, between claim and delivery."""
    home = recollect.open(location)

    def callback(reminder: Reminder) -> None:
        pipe.send(("told", reminder.message))
        if reminder.message == dies_at:
            pipe.recv()  # killed here

    store = home._other("default", "ana")
    while deliver_due(store, home._shared.clock, callback):
        pass


def run_due_and_note(pipe: Connection, location: str, log: str, rounds: int) -> None:
    """Look for what is due some times; whatever runs adds a line to a file."""

    def note(shift: JobRun, stores: object) -> None:
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{shift.job} {os.getpid()}\n")

    install(Job("age", per_workspace=note), Job("retain", per_workspace=note), Job("vacuum", per_workspace=note))
    home = recollect.open(location)
    for _ in range(rounds):
        for run in home.jobs.run_due():
            pipe.send(("ran", run.job))


def tidy(said: Callable[[], None] = lambda: None) -> Job:
    """A job of small steps: of each `left n` and `right n` it makes one `joined n`, and it drops old notes.

    It says when it comes to an entry, and again before a step ends.
    """

    def work(shift: JobRun, store: Store) -> None:
        with shift.read(store) as tx:
            found = sorted((one.entry for one in every(tx)), key=lambda entry: (entry.content, entry.id))
        rights = [entry for entry in found if entry.content.startswith("right ")]
        for entry in found:
            said()
            kind, _, number = entry.content.partition(" ")
            if kind == "left":
                other = next((entry for entry in rights if entry.content == f"right {number}"), None)
                if other is None:
                    continue
                rights.remove(other)
                with shift.step(store) as step:
                    step.add(recollect.Add(f"joined {number}", tags=["made"]), f"left and right {number} are a pair")
                    step.remove(entry, "it is a part of a pair")
                    step.remove(other, "it is a part of a pair")
                    shift.count("merged")
                    said()
            elif kind == "old":
                with shift.step(store) as step:
                    step.change(entry, "it is marked", context="seen", importance=0.1)
                    step.remove(entry, "it is old")
                    shift.count("dropped")
                    said()
            elif kind == "keep" and entry.lifetime != "mid_term":
                with shift.step(store) as step:
                    step.change(entry, "it is worth it", lifetime=recollect.Lifetime.MID_TERM, tags=("kept",))
                    shift.count("kept")
                    said()

    return Job("consolidate", work)


def tidy_until_killed(pipe: Connection, location: str, clock: Clock, moment: int) -> None:
    """Run the job above up to a moment, and wait there for the end."""
    moments = itertools.count(1)

    def said() -> None:
        if next(moments) == moment:
            pipe.send(("at", moment))
            pipe.recv()

    install(tidy(said))
    recollect.open(location, clock=clock).jobs.run("consolidate")
