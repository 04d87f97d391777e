"""Everything one installation holds: one account and its workspaces. Hands out a Memory per workspace and agent."""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from recollect import names
from recollect.access import Requests, Tokens
from recollect.clock import Clock
from recollect.config import Settings
from recollect.engine.agent_store import Store
from recollect.engine.background import CLOSING, Background
from recollect.engine.checking import check
from recollect.engine.compaction import Limits
from recollect.engine.embedding import BACKFILL, Later, backfill, reembed
from recollect.engine.signals import Signals
from recollect.engine.tidying import five_steps
from recollect.errors import ConfigError, Conflict, Corrupt, NotFound, RecollectError
from recollect.memory import SHARED, Memory, Shared
from recollect.model.entry import Lifetime
from recollect.model.reminder import Reminder
from recollect.model.report import Finding, Report
from recollect.model.stats import AgentStats, Stats
from recollect.model.transfer import Exported, Format, Imported
from recollect.providers.base import Embedder, LanguageModel
from recollect.search.ranking import DecayConfig
from recollect.storage.database import Database, migrations
from recollect.storage.history import Journal
from recollect.storage.stats import of_agent
from recollect.transfer import archive, formats, restoring
from recollect.transfer.archive import Progress, quiet
from recollect.upkeep.runner import Jobs, Workplace
from recollect.vault.sync import Vault

__all__ = ["Home", "Place"]

COMPACTION = "compaction"
"""The row in the table of jobs that keeps what the last compaction gave; it is no job."""
_log = logging.getLogger("recollect.home")


class Place(Protocol):
    """Where a home's rows live: a directory, a single file, or a PostgreSQL database."""

    def account(self) -> Database:
        """The database of the account's entries."""
        ...

    def workspace(self, name: str) -> Database:
        """The database of a workspace; Invalid if the place cannot have one of that name."""
        ...

    def workspaces(self) -> list[str]:
        """The workspaces that exist."""
        ...

    def delete(self, workspace: str) -> None:
        """Remove a workspace with everything in it."""
        ...

    def vault(self, workspace: str) -> Path | None:
        """The folder for the workspace's files, where there is one by default."""
        ...

    def vaults(self) -> list[str]:
        """The workspaces whose default folder for files exists, also those that hold nothing else yet."""
        ...

    def backup(self, target: Path) -> None:
        """Copy everything to a new path."""
        ...

    def close(self) -> None:
        """Give back every connection and file."""
        ...


class Home:
    """One installation. Made by `recollect.open()`; a context manager that closes itself."""

    def __init__(
        self, place: Place, clock: Clock, embedder: Embedder | None = None, decay: DecayConfig | None = None, *,
        model: LanguageModel | None = None, limits: Limits | None = None, vault: Path | None = None,
        settings: Settings | None = None,
    ) -> None:  # fmt: skip
        settings = settings or Settings()
        self._place, self._embedder, self._vault = place, embedder, vault
        shared = Store(place.account(), SHARED)
        self.requests = Requests(shared, clock)
        self._shared = Shared(
            clock, decay or DecayConfig(), Signals(), Later(), Background(), model, limits or Limits(),
            settings.conversation, settings.profiles, self.requests.forget_answers, settings.recall.duplicates,
            Lifetime(settings.remember.lifetime),
        )  # fmt: skip
        self.jobs = Jobs(
            self._workplaces, clock, settings, self._shared.decay, model, self._shared.signals.flush, self._read_files
        )
        self.tokens = Tokens(shared, clock, self._shared.background)
        self._lock = threading.Lock()
        self._memories: dict[tuple[str, str], Memory] = {}
        self._vaults: dict[str, Vault] = {}
        self._git = settings.git
        self._stores: dict[tuple[int, str], Store] = {}

    def agent(self, name: str, workspace: str = "default") -> Memory:
        """The memory of an agent in a workspace. Nothing is created before the first write."""
        key = names.segment(workspace, "a workspace"), names.segment(name, "an agent")
        with self._lock:
            if key not in self._memories:
                own = self._store(self._place.workspace(key[0]), key[1])
                account = self._store(self._place.account(), key[1], account=True)
                folder = self._folder(key[0])
                self._memories[key] = Memory(
                    key[1], own, account, self._shared, lambda other: self._other(key[0], other), place=key[0],
                    folder=None if folder is None else folder / key[1], vault=partial(self._live_vault, key[0]),
                )  # fmt: skip
            return self._memories[key]

    def vault(self, workspace: str = "default") -> Vault:
        """The markdown files of a workspace; they are made by the first write and kept in step with the entries."""
        name = names.segment(workspace, "a workspace")
        with self._lock:
            if name not in self._vaults:
                database = self._place.workspace(name)
                self._vaults[name] = Vault(
                    self._folder(name), lambda agent: self._store(database, agent),
                    lambda: [agent for agent in database.agents() if agent != SHARED], self._shared.clock,
                    self._shared.later.wake, repository=self._git.repository, author=self._git.author,
                    migrate=lambda folder: self.import_(folder, workspace=name, format=Format.MEMORY_FOLDER),
                )  # fmt: skip
            return self._vaults[name]

    def workspaces(self) -> list[str]:
        """The workspaces that hold anything."""
        return self._place.workspaces()

    def agents(self, workspace: str = "default") -> list[str]:
        """The agents that remember anything in a workspace."""
        name = names.segment(workspace, "a workspace")
        if name not in self._place.workspaces():
            return []
        return [agent for agent in self._place.workspace(name).agents() if agent != SHARED]

    def delete_workspace(self, name: str) -> None:
        """Remove a workspace with all its agents' memories and their files. There is no way back but a backup.

        In a single file that is everything, also the account; while there are tokens in it, it is a Conflict.
        """
        workspace = names.segment(name, "a workspace")
        if workspace not in self._place.workspaces():
            raise NotFound(f"there is no workspace {workspace!r}; the list of workspaces shows those that are there")
        if self._place.account() is self._place.workspace(workspace) and self._guarded():
            raise Conflict(
                "this file holds its only workspace, the account and tokens, and would be gone with all of them; "
                "revoke the tokens first, or remove the file by hand"
            )
        vault = self.vault(workspace)
        vault.remove()
        self._place.delete(workspace)
        self._shared.forget_answers()
        vault.remove()  # what a process that keeps the files in step has written again meanwhile
        self._memories.clear()
        self._stores.clear()
        self._vaults.pop(workspace, None)

    def _guarded(self) -> bool:
        try:
            return bool(self.tokens.list())
        except Corrupt:  # what cannot be read can still be removed
            return False

    def stats(self, workspace: str | None = None) -> Stats:
        """Figures about everything here, or about one workspace: sizes, counts of each agent, growth over 90 days."""
        self._shared.signals.flush()
        wanted = None if workspace is None else names.segment(workspace, "a workspace")
        now, size, agents = self._shared.clock.now(), 0, list[AgentStats]()
        for name, database in archive.databases_of(self._place):
            if wanted in (None, name):
                size += database.size()
                for agent in database.agents():
                    if agent != SHARED:
                        with database.read(agent) as tx:
                            agents.append(of_agent(tx, name, now))
        return Stats(schema=migrations()[-1].number, bytes=size, agents=tuple(agents))

    def check(self, *, repair: bool = False) -> Report:
        """Verify names, index, log, entries and files of everything here; with `repair=True` mend what is derived."""
        entry_count = operation_count = event_count = 0
        findings: list[Finding] = []

        def told(where: str, error: Corrupt) -> None:
            if not any(one.message == str(error) for one in findings):  # the same damage may stop every agent
                findings.append(Finding(part="file", where=where, message=str(error)))

        for label, database in self._databases():
            try:
                findings += database.check()
                agents = database.agents()
            except Corrupt as error:
                told(label, error)
                continue
            for agent in agents:
                try:
                    more = check(Store(database, agent), f"{label}/{agent}", repair=repair)
                    entry_count, operation_count = entry_count + more[0], operation_count + more[1]
                    findings += more[2]
                    with database.read(agent) as tx:
                        event_count += Journal.get(tx).events
                except Corrupt as error:
                    told(f"{label}/{agent}", error)
        return Report(entries=entry_count, operations=operation_count, events=event_count, findings=tuple(findings))

    def backup(self, path: str | Path) -> None:
        """Copy everything to a new path, consistent while others write. The copy is a home that can be opened."""
        self._place.backup(archive.expanded(path))

    def export(self, path: str | Path, *, include_vectors: bool = False, progress: Progress = quiet) -> Exported:
        """Write everything to a new file of JSON Lines, packed when its name ends in .gz; `import_` restores it."""
        self._shared.signals.flush()
        now = self._shared.clock.now()
        target = archive.expanded(path)
        return archive.export(self._place, target, now, include_vectors=include_vectors, progress=progress)

    def import_(
        self, path: str | Path, *, agent: str = "default", workspace: str = "default",
        format: Format | str | None = None, dry_run: bool = False, progress: Progress = quiet,
    ) -> Imported:  # fmt: skip
        """Take in an export, or another system's file or folder; the same one again adds nothing.

        An export says itself whose it is. What another system wrote goes to the agent, except where it names agents.
        """
        space = names.segment(workspace, "a workspace")
        return formats.import_(
            self._place, archive.expanded(path), stores=lambda name: self.agent(name, space)._entries.stores,
            agent=agent, workspace=space, clock=self._shared.clock.now, format=format, dry_run=dry_run,
            progress=progress, touched=self._touched,
        )  # fmt: skip

    def move_to(self, target: "Home", *, progress: Progress = quiet) -> Imported:
        """Copy everything to another home, which must be empty; nothing here is changed."""
        self._shared.signals.flush()
        return restoring.move(self._place, target._place, progress=progress)

    def backfill(self, limit: int = BACKFILL) -> int:
        """Embed up to so many entries that have no vector yet, over all agents; how many were embedded."""
        done = 0
        for _, store in self._embedded():
            done += backfill(store, limit - done)
        return done

    def reembed(self, progress: Callable[[str, int, int], None] = lambda where, done, total: None) -> int:
        """Make the vectors of every entry with this home's embedder, where they are not its own already; how many.

        It can be stopped and started again at any time, and recall works throughout: by words, and by vectors as far
        as they are there. `progress` is told where (workspace/agent), and how many of how many are done there.
        """
        if self._embedder is None:
            raise ConfigError("no embedder is configured; there is nothing to embed with")
        return sum(reembed(store, partial(progress, where)) for where, store in self._embedded())

    def on_reminder(self, deliver: Callable[[Reminder], object] | None) -> None:
        """Say what becomes of reminders that are due: a function that delivers one, called by the job `reminders`.

        One that raises is tried again later. Without a function they stay due, for whoever claims them.
        """
        self.jobs.deliver = deliver

    def compact(self) -> dict[str, Any]:
        """Tidy in five steps: checkpoints, extract, shelve, reindex, and files of older layouts; six figures tell."""
        folders = [self._folder(name) for name in self._place.workspaces()]
        now = self._shared.clock.now()
        result = five_steps(self.jobs.run, [folder for folder in folders if folder is not None], now)
        for name in self._place.workspaces():
            if (vault := self._live_vault(name)) is not None:
                vault.remove_leftovers()
        for place in self._workplaces()[:1]:
            with place.shared.database.write(SHARED) as tx:
                tx.run("upkeep.job_put", name=COMPACTION, next_due_at=0)
                tx.run("upkeep.told", name=COMPACTION, figures=json.dumps(result), last_run_at=now)
        return result

    def last_compaction(self) -> dict[str, Any] | None:
        """What the last `compact()` gave; None before the first one."""
        told: list[tuple[int, str]] = []
        for place in self._workplaces():  # the first one is another when a workspace or the account has come since
            with place.shared.read() as tx:
                told += [(at, figures) for at, figures in tx.all("upkeep.told_last", name=COMPACTION)]
        return dict(json.loads(max(told)[1])) if told else None

    def flush(self) -> None:
        """Write the recall signals that are waiting."""
        self._shared.signals.flush()

    def close(self, timeout: float = CLOSING) -> tuple[str, ...]:
        """Give back every connection and file; what was not finished. The home can be used again afterwards.

        A job, a compaction and a batch of vectors that are under way get `timeout` seconds each. What takes longer, as
        with a model that does not answer, is left out and done the next time that it is due; nothing of it is stored.
        """
        left = [] if self.jobs.stop(timeout) else ["a job"]
        unfinished = self._shared.background.close(timeout)
        left += [f"{len(unfinished)} compaction(s) or other work in the background"] if unfinished else []
        left += [] if self._shared.later.close(timeout) else ["vectors of new entries"]
        if left:
            _log.warning("not finished when the memory was closed: %s", "; ".join(left))
        self._shared.signals.flush()
        self._place.close()
        return tuple(left)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _store(self, database: Database, agent: str, *, account: bool = False) -> Store:
        key = id(database), agent
        # The account never has vectors; where it shares a file with the workspace, writing sees to that.
        found = self._stores.get(key)
        return found or self._stores.setdefault(key, Store(database, agent, None if account else self._embedder))

    def _touched(self, workspace: str | None, agent: str) -> None:
        if workspace is not None:  # the account never has vectors
            self._shared.later.wake(self._store(self._place.workspace(workspace), agent))
            self._show(workspace, agent)

    def _folder(self, workspace: str) -> Path | None:
        """Where the files of a workspace are: by the place, or in the folder that was named; others beside it."""
        if self._vault is None:
            return self._place.vault(workspace)
        return self._vault if workspace == "default" else self._vault.with_name(f"{self._vault.name}-{workspace}")

    def _live_vault(self, workspace: str, *, make: bool = False) -> Vault | None:
        """The vault, where this home has a folder for one; without `make` only if that folder exists."""
        folder = self._folder(workspace)
        return self.vault(workspace) if folder is not None and (make or folder.is_dir()) else None

    def _read_files(self) -> None:
        """Take in what was edited in the files of all agents, also of those that have nothing but files yet."""
        beside = () if self._vault is not None else self._place.vaults()
        for workspace in sorted({"default", *self._place.workspaces(), *beside}):
            try:
                vault = self._live_vault(workspace)
                for problem in vault.refresh_all().problems if vault is not None else ():
                    _log.warning("the vault of %s: %s", workspace, problem)
            except (RecollectError, OSError) as error:
                _log.warning("what was edited in the vault of %s is not taken in: %s", workspace, error)

    def _show(self, workspace: str, agent: str, subject: str | None = None, body: str = "") -> None:
        """Let the vault show an agent's entries, and commit them under a subject, where there is a vault."""
        vault = self._live_vault(workspace, make=True)
        if vault is not None:
            vault.show(agent, subject, body)

    def _other(self, workspace: str, agent: str) -> Store:
        return self._store(self._place.workspace(workspace), names.segment(agent, "an agent"))

    def _embedded(self) -> Iterator[tuple[str, Store]]:
        if self._embedder is not None:
            for name in self._place.workspaces():
                database = self._place.workspace(name)
                for agent in database.agents():
                    yield f"{name}/{agent}", self._store(database, agent)

    def _workplaces(self) -> list[Workplace]:
        """Where there is upkeep to do: every database that is there, and the agents in it."""
        found, failed = list[Workplace](), None
        for name, database in self._databases():
            try:
                used = bool(database.agents())
            except RecollectError as error:  # one that is damaged must not stop the upkeep of the others
                _log.warning("there is no upkeep of %s: %s", name, error)
                failed = error
                continue
            if used:
                account = name == "account" and name not in self._place.workspaces()
                folder = None if account else self._folder(name)

                def agents(database: Database = database, account: bool = account) -> list[Store]:
                    known = (agent for agent in database.agents() if agent != SHARED)
                    return [self._store(database, agent, account=account) for agent in known]

                show = None if account else partial(self._show, name)
                found.append(Workplace(name, self._store(database, SHARED, account=account), agents, folder, show))
        if failed is not None and not found:
            raise failed
        return found

    def _databases(self) -> Iterator[tuple[str, Database]]:
        account = self._place.account()
        databases = [(name, self._place.workspace(name)) for name in self._place.workspaces()]
        if all(database is not account for _, database in databases):
            yield "account", account
        yield from databases
