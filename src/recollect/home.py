"""A home: one account and its workspaces. Returns a `Memory` per workspace and agent."""

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Set
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from recollect import names
from recollect.clock import Clock
from recollect.config import Settings
from recollect.engine import conversation_search
from recollect.engine.agent_store import Store
from recollect.engine.background import CLOSING, Background
from recollect.engine.caches import Caches
from recollect.engine.compaction import WindowLimits
from recollect.engine.embedding import BACKFILL, EmbeddingQueue, backfill, reembed
from recollect.engine.signals import Signals
from recollect.errors import ConfigError, Conflict, Corrupt, NotFound, RecollectError
from recollect.home_services import HomeServices
from recollect.locations import expanded
from recollect.memory import SHARED, Memory
from recollect.model.entry import Category, Lifetime
from recollect.model.reminder import Reminder
from recollect.model.report import Report
from recollect.model.stats import AgentCounts, Stats
from recollect.model.transfer import Exported, Format, Imported
from recollect.model.upkeep import Run
from recollect.place import Place
from recollect.providers.base import Embedder, LanguageModel, Reranker
from recollect.search.ranking import DecayConfig
from recollect.storage.database import Database
from recollect.storage.stats import counts_of_agent, of_databases
from recollect.transfer import archive
from recollect.transfer.archive import Progress, quiet
from recollect.vault_files import VaultFiles

if TYPE_CHECKING:
    from recollect.access import Requests, Tokens
    from recollect.upkeep.runner import Jobs, Workplace
    from recollect.vault.sync import Vault

__all__ = ["Home"]

COMPACTION = "compaction"
"""The row in the table of jobs that keeps what the last compaction gave; it is no job."""
_log = logging.getLogger("recollect.home")


class Home:
    """One installation: an account and its workspaces. Returned by `recollect.open()`; a context manager that closes
    itself.
    """

    def __init__(
        self,
        place: Place,
        clock: Clock,
        embedder: Embedder | None = None,
        decay: DecayConfig | None = None,
        *,
        model: LanguageModel | None = None,
        reranker: Reranker | None = None,
        limits: WindowLimits | None = None,
        vault: Path | None = None,
        settings: Settings | None = None,
    ) -> None:
        settings = settings or Settings()
        self._place, self._embedder, self._vault, self._settings = place, embedder, vault, settings
        self._shared = HomeServices(
            clock=clock,
            decay=decay or DecayConfig(),
            signals=Signals(),
            later=EmbeddingQueue(),
            background=Background(),
            model=model,
            reranker=reranker,
            limits=limits or WindowLimits(),
            conversation=settings.conversation,
            profiles=settings.profiles,
            forget_answers=lambda: self.requests.forget_answers(),
            duplicates=settings.recall.duplicates,
            lifetime=Lifetime(settings.remember.lifetime),
        )
        self._lock = threading.Lock()
        self._memories: dict[tuple[str, str], Memory] = {}
        self._vaults: dict[str, Vault] = {}
        self._stores: dict[tuple[int, str], Store] = {}

    @cached_property
    def jobs(self) -> "Jobs":
        """The upkeep jobs."""
        from recollect.upkeep.runner import Jobs

        shared = self._shared
        return Jobs(
            self._workplaces,
            shared.clock,
            self._settings,
            shared.decay,
            shared.model,
            before=shared.signals.flush,
            read_files=self._read_files,
        )

    @cached_property
    def caches(self) -> Caches:
        """What this process caches: how much memory it takes, and dropping it."""
        return Caches(lambda: list(self._stores.values()))

    @cached_property
    def requests(self) -> "Requests":
        """The idempotent requests."""
        from recollect.access import Requests

        return Requests(Store(self._place.account(), SHARED), self._shared.clock)

    @cached_property
    def tokens(self) -> "Tokens":
        """The access tokens."""
        from recollect.access import Tokens

        return Tokens(Store(self._place.account(), SHARED), self._shared.clock, self._shared.background)

    def agent(self, name: str, workspace: str = "default") -> Memory:
        """Return the memory of an agent in a workspace. Nothing is created before the first write.

        Raises Invalid if a name is malformed, or if the home is a single file and the workspace is not `default`.
        """
        if (known := self._memories.get((workspace, name))) is not None:
            return known
        key = names.segment(workspace, "a workspace"), names.segment(name, "an agent")
        with self._lock:
            if key not in self._memories:
                own, account = self._store(key[0], key[1]), self._store(None, key[1])
                folder = self._folder(key[0])
                files = VaultFiles(
                    agent=key[1],
                    folder=None if folder is None else folder / key[1],
                    vault=partial(self._live_vault, key[0]),
                )
                other = partial(self._other, key[0])
                self._memories[key] = Memory(own, account, self._shared, other, files, place=key[0])
            return self._memories[key]

    def vault(self, workspace: str = "default") -> "Vault":
        """Return the markdown files of a workspace. The first write creates them; later writes keep them in sync."""
        from recollect.vault.sync import Vault

        name = names.segment(workspace, "a workspace")
        with self._lock:
            if name not in self._vaults:
                database = self._place.workspace(name)
                self._vaults[name] = Vault(
                    self._folder(name),
                    lambda agent: self._store(name, agent),
                    lambda: [agent for agent in database.admin.agents() if agent != SHARED],
                    self._shared.clock,
                    self._shared.later.wake,
                    repository=self._settings.git.repository,
                    author=self._settings.git.author,
                    layout=self._settings.vault.layout,
                    migrate=lambda folder: self.import_(folder, workspace=name, format=Format.MEMORY_FOLDER),
                )
            return self._vaults[name]

    def workspaces(self) -> list[str]:
        """Return the workspaces that are not empty."""
        return self._place.workspaces()

    def agents(self, workspace: str = "default") -> list[str]:
        """Return the agents that have rows in a workspace."""
        name = names.segment(workspace, "a workspace")
        if name not in self._place.workspaces():
            return []
        return [agent for agent in self._place.workspace(name).admin.agents() if agent != SHARED]

    def counts(self) -> tuple[AgentCounts, ...]:
        """Return how much each agent has in each workspace, and when it changed last; by workspace, then agent."""
        found = list[AgentCounts]()
        for name in self._place.workspaces():
            database = self._place.workspace(name)
            for agent in self.agents(name):
                with database.read(agent) as tx:
                    found.append(counts_of_agent(tx, name))
        return tuple(found)

    def delete_workspace(self, name: str) -> None:
        """Delete a workspace with the memories and files of all its agents. Only a backup can bring it back.

        In a single file this deletes everything, the account included.

        Raises NotFound if there is no such workspace, and Conflict if it is in a single file that holds tokens.
        """
        workspace = names.segment(name, "a workspace")
        if workspace not in self._place.workspaces():
            raise NotFound(f"there is no workspace {workspace!r}; list the workspaces to see them")
        if self._place.account() is self._place.workspace(workspace) and self._guarded():
            raise Conflict(
                "this file holds the only workspace, the account and the tokens, and all of them would be deleted; "
                "revoke the tokens first, or delete the file yourself"
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
        """Return statistics of the home, or of one workspace: sizes, counts per agent, growth over 90 days."""
        self._shared.signals.flush()
        wanted = None if workspace is None else names.segment(workspace, "a workspace")
        databases = [(name, one) for name, one in archive.databases_of(self._place) if wanted in (None, name)]
        return of_databases(databases, self._shared.clock.now(), without=SHARED, caches=self._caches())

    def _caches(self) -> dict[str, dict[str, int]]:
        stores = list(self._stores.values())
        reads = {
            "index": sum((store.index.reads for store in stores), Counter[str]()),
            "context": sum((store.context_reads for store in stores), Counter[str]()),
        }
        outcomes = ("hit", "updated", "missed")
        return {name: {outcome: counts[outcome] for outcome in outcomes} for name, counts in reads.items()}

    def check(self, *, repair: bool = False) -> Report:
        """Verify names, indexes, logs, entries and files of the whole home; with `repair=True`, rebuild what is
        derived.
        """
        from recollect.engine.checking import check_all

        return check_all(self._databases(), repair=repair)

    def backup(self, path: str | Path) -> None:
        """Copy everything to a new path, consistent even while others write. The copy can be opened as a home.

        Raises Conflict if the path exists, and ConfigError if it is not of the kind that the home is.
        """
        self.flush()
        self._place.backup(expanded(path))

    def export(self, path: str | Path, *, include_vectors: bool = False, progress: Progress = quiet) -> Exported:
        """Write everything to a new JSON Lines file, compressed if its name ends in `.gz`. `import_` reads it.

        Raises Conflict if the path exists.
        """
        self._shared.signals.flush()
        now = self._shared.clock.now()
        target = expanded(path)
        return archive.export(self._place, target, now, include_vectors=include_vectors, progress=progress)

    def import_(
        self,
        path: str | Path,
        *,
        agent: str = "default",
        workspace: str = "default",
        format: Format | str | None = None,
        dry_run: bool = False,
        progress: Progress = quiet,
    ) -> Imported:
        """Import an export of recollect, or a file, folder or zip of another system. Importing it again adds nothing.

        An export contains the names of its agents and workspaces. Data of another system goes to `agent`, unless it
        names agents itself. The format is detected if it is not given; `dry_run` only reports.

        Raises ConfigError if there is no such path, and Invalid if the file is malformed or of an unknown format.
        """
        from recollect.transfer import formats

        space = names.segment(workspace, "a workspace")
        return formats.import_(
            self._place,
            expanded(path),
            stores=lambda name: self.agent(name, space)._entries.stores,
            agent=agent,
            workspace=space,
            clock=self._shared.clock.now,
            format=format,
            dry_run=dry_run,
            progress=progress,
            touched=self._touched,
        )

    def move_to(self, target: "Home", *, progress: Progress = quiet) -> Imported:
        """Copy everything to another, empty home. This home is not changed.

        Raises Conflict if the target is not empty.
        """
        from recollect.transfer import restoring

        self._shared.signals.flush()
        return restoring.move(self._place, target._place, progress=progress)

    def backfill(self, limit: int = BACKFILL) -> int:
        """Embed up to `limit` entries without a vector, over all agents; return how many were embedded."""
        done = 0
        for _, store in self._embedded():
            done += backfill(store, limit - done)
        return done

    def reembed(self, progress: Callable[[str, int, int], None] = lambda where, done, total: None) -> int:
        """Recompute the vectors that another embedder made, with the embedder of this home; return how many.

        It can be interrupted and resumed at any time. Recall works throughout: by words, and by the vectors that are
        present. `progress` is called with workspace/agent, the number done and the total.

        Raises ConfigError if no embedder is configured.
        """
        if self._embedder is None:
            raise ConfigError("no embedder is configured; set one in the settings to compute vectors")
        return sum(reembed(store, partial(progress, where)) for where, store in self._embedded())

    def on_reminder(self, deliver: Callable[[Reminder], object] | None) -> None:
        """Set the function that delivers a due reminder; the job `reminders` calls it. None removes it.

        If the function raises, the delivery is retried later. Without a function, reminders stay due until they are
        claimed.
        """
        self.jobs.deliver = deliver

    def compact(self) -> dict[str, Any]:
        """Run the five steps of a compaction of the home, and return their figures.

        The steps: checkpoints, extract, shelve, reindex, and files of older layouts.
        """
        from recollect.upkeep.tidying import five_steps

        folders = [self._folder(name) for name in self._place.workspaces()]
        now = self._shared.clock.now()

        def run(job: str) -> Run:
            done = self.jobs.run(job)
            self.flush()  # the last step looks at the files
            return done

        result = five_steps(run, [folder for folder in folders if folder is not None], now)
        for name in self._place.workspaces():
            if (vault := self._live_vault(name)) is not None:
                vault.remove_leftovers()
        for place in self._workplaces()[:1]:
            with place.shared.database.write(SHARED) as tx:
                tx.run("upkeep.job_put", name=COMPACTION, next_due_at=0)
                tx.run("upkeep.set_figures", name=COMPACTION, figures=json.dumps(result), last_run_at=now)
        return result

    def last_compaction(self) -> dict[str, Any] | None:
        """Return the result of the last `compact()`; None if there was none."""
        recorded: list[tuple[int, str]] = []
        for place in self._workplaces():  # the first one is another when a workspace or the account has come since
            with place.shared.read() as tx:
                recorded += [(at, figures) for at, figures in tx.all("upkeep.last_figures", name=COMPACTION)]
        return dict(json.loads(max(recorded)[1])) if recorded else None

    def flush(self) -> None:
        """Write buffered recall signals to the database, and pending changes to the vault's files."""
        self._shared.signals.flush()
        for vault in list(self._vaults.values()):
            vault.flush()

    def close(self, timeout: float = CLOSING) -> tuple[str, ...]:
        """Close all connections and files; return what was not finished. The home can be used again afterwards.

        A running job, compaction or batch of vectors gets `timeout` seconds each. What takes longer is abandoned:
        nothing of it is stored, and it is done again when it is next due.
        """
        left = []
        if "jobs" in vars(self):  # cached, so it may have been used
            left += [] if self.jobs.stop(timeout) else ["a job"]
            self.jobs._abandon()
        unfinished = self._shared.background.close(timeout)
        left += [f"{len(unfinished)} compaction(s) or other work in the background"] if unfinished else []
        left += [] if self._shared.later.close(timeout) else ["vectors of new entries"]
        if left:
            _log.warning("not finished when the memory was closed: %s", "; ".join(left))
        self.flush()
        self._place.close()
        return tuple(left)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _store(self, workspace: str | None, agent: str) -> Store:
        """Return the store of an agent in a workspace, or with None in the account, which never has vectors."""
        database = self._place.account() if workspace is None else self._place.workspace(workspace)
        key = id(database), agent
        found = self._stores.get(key)
        if found is None:
            # Where the account shares a file with the workspace, writing sees to it that its entries have no vectors.
            found = self._stores.setdefault(key, Store(database, agent, None if workspace is None else self._embedder))
            rebuild = partial(conversation_search.rebuild_stale, found)
            found.rebuild_later = partial(self._shared.background.run, ("rebuild", *key), rebuild)
            if workspace is not None:
                found.on_commit = partial(self._entries_changed, workspace)
                found.embed_later = partial(self._shared.later.wake, found)
        return found

    def _touched(self, workspace: str | None, agent: str) -> None:
        if workspace is not None:  # the account never has vectors
            self._shared.later.wake(self._store(workspace, agent))
            self._entries_changed(workspace, agent, set(Category))

    def _folder(self, workspace: str) -> Path | None:
        """Return the folder of a workspace's files: the default of the place, or the configured one; further ones
        beside it.
        """
        if self._vault is None:
            return self._place.vault(workspace)
        return self._vault if workspace == "default" else self._vault.with_name(f"{self._vault.name}-{workspace}")

    def _live_vault(self, workspace: str, *, make: bool = False) -> "Vault | None":
        """Return the vault if this home has a folder for one; without `make`, only if that folder exists."""
        folder = self._folder(workspace)
        return self.vault(workspace) if folder is not None and (make or folder.is_dir()) else None

    def _read_files(self) -> None:
        """Read edited vault files of all agents, including agents that so far exist only as files."""
        beside = () if self._vault is not None else self._place.vaults()
        for workspace in sorted({"default", *self._place.workspaces(), *beside}):
            try:
                vault = self._live_vault(workspace)
                if vault is not None:
                    vault._log_problems(vault.refresh_all())
            except (RecollectError, OSError) as error:
                _log.warning("edits in the vault of %s were not read: %s", workspace, error)

    def _entries_changed(self, workspace: str, agent: str, categories: Set[Category]) -> None:
        """Tell the vault, if this home has one, about a commit that changed an agent's entries."""
        vault = self._live_vault(workspace, make=True)
        if vault is not None:
            vault.entries_changed(agent, categories)

    def _record(self, workspace: str, agent: str, subject: str, body: str = "") -> None:
        """Write pending changes to an agent's files, and commit them if git is on."""
        vault = self._live_vault(workspace, make=True)
        if vault is not None:
            vault.record(agent, subject, body)

    def _other(self, workspace: str, agent: str) -> Store:
        return self._store(workspace, names.segment(agent, "an agent"))

    def _embedded(self) -> Iterator[tuple[str, Store]]:
        if self._embedder is not None:
            for name in self._place.workspaces():
                for agent in self._place.workspace(name).admin.agents():
                    yield f"{name}/{agent}", self._store(name, agent)

    def _workplaces(self) -> "list[Workplace]":
        """Return the databases that need upkeep, each with its agents."""
        from recollect.upkeep.runner import Workplace

        found, failed = list[Workplace](), None
        for name, database in self._databases():
            try:
                used = bool(database.admin.agents())
            except RecollectError as error:  # one that is damaged must not stop the upkeep of the others
                _log.warning("upkeep of %s does not run: %s", name, error)
                failed = error
                continue
            if used:
                space = None if name == "account" and name not in self._place.workspaces() else name

                def agents(database: Database = database, space: str | None = space) -> list[Store]:
                    return [self._store(space, agent) for agent in database.admin.agents() if agent != SHARED]

                found.append(
                    Workplace(
                        name,
                        self._store(space, SHARED),
                        agents,
                        folder=None if space is None else self._folder(space),
                        record=None if space is None else partial(self._record, space),
                    )
                )
        if failed is not None and not found:
            raise failed
        return found

    def _databases(self) -> Iterator[tuple[str, Database]]:
        account = self._place.account()
        databases = [(name, self._place.workspace(name)) for name in self._place.workspaces()]
        if all(database is not account for _, database in databases):
            yield "account", account
        yield from databases
