"""Opens a Home from a location. The only module that names concrete databases."""

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from recollect.clock import Clock, SystemClock
from recollect.config import Settings
from recollect.engine.compaction import WindowLimits
from recollect.errors import ConfigError, Conflict, Invalid, NotFound, Unavailable
from recollect.home import Home
from recollect.locations import expanded, shown
from recollect.model.entry import Scope
from recollect.providers.base import Embedder, LanguageModel, Reranker
from recollect.providers.local import LocalEmbedder, installed
from recollect.search.ranking import DecayConfig
from recollect.storage.database import Database, DumpedTables
from recollect.storage.files import keep_out_of_git, new_folder, sync_folder
from recollect.storage.sqlite.conversion import convert, counted_forms
from recollect.storage.sqlite.database import SqliteDatabase
from recollect.storage.sqlite.encryption import EncryptionKey, Form
from recollect.transfer.archive import file_errors
from recollect.transfer.copying import copy_folder

__all__ = [
    "Directory",
    "Server",
    "SingleFile",
    "change_key",
    "encrypted_files",
    "key_of",
    "open_home",
    "open_key_file",
]

CONNECTION = re.compile(r"(?:^|[\s/])(?:host|hostaddr|dbname)\s*=\s*\S")
"""Detects a libpq connection string: host=… dbname=…"""
AGENTS_AT_ONCE = 100
"""Agents of a server that share a transaction of the backup: each commit waits for the disk."""


def open_home(
    location: str | Path | None = None,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    model: LanguageModel | None = None,
    clock: Clock | None = None,
    vault: str | Path | None = None,
) -> Home:
    """Open a home. Nothing is created before the first write.

    The location is a directory (`account.db`, and a folder per workspace), a path ending in `.db` (everything in that
    file), or `postgresql://…` (a schema per workspace and agent). It defaults to RECOLLECT_HOME, else `./.recollect`.
    `embedder` and `model` override those of the settings; `vault` is a folder for markdown files.

    Raises ConfigError if the location or a setting is wrong, or an extra is not installed.
    """
    settings = settings or Settings.read()
    if location is not None and not isinstance(location, str | os.PathLike):
        raise ConfigError(f"a location must be a path or postgresql://…, not {type(location).__name__}")
    where = os.fspath(location) if location is not None else settings.home
    folder = vault or settings.vault.folder
    return Home(
        _place(where, key_of(settings)),
        clock or SystemClock(),
        embedder or _embedder(settings),
        _decay(settings),
        model=model or _model(settings),
        reranker=_reranker(settings),
        limits=_limits(settings),
        vault=None if folder is None else expanded(folder).absolute(),
        settings=settings,
    )


def _model(settings: Settings) -> LanguageModel | None:
    """Return the language model that the settings name, if any."""
    chosen = settings.model
    if chosen.name is None:
        return None
    from recollect.providers.openai import OpenAIModel

    return OpenAIModel(base_url=chosen.base_url, model=chosen.name, api_key=chosen.api_key, timeout=chosen.timeout)


def _limits(settings: Settings) -> WindowLimits:
    """Return the limits of a window."""
    return WindowLimits(settings.window.events, settings.window.compact_at, settings.model.context_tokens)


def _decay(settings: Settings) -> DecayConfig:
    """Return the decay rates: those of the preset, overridden by the settings of a scope."""
    preset = DecayConfig.table() if settings.decay.preset == "table" else DecayConfig()
    rates = {scope: rate for scope in map(str, Scope) if (rate := getattr(settings.decay, scope)) is not None}
    return replace(preset, **rates, decay_conversation="conversation" in rates)


def _embedder(settings: Settings) -> Embedder | None:
    """Return the embedder that the settings name; by default the local one, if it is installed."""
    chosen = settings.embedder
    if chosen.kind == "openai":
        from recollect.providers.openai import OpenAIEmbedder

        return OpenAIEmbedder(
            base_url=chosen.base_url,
            model=chosen.model,
            dimension=chosen.dimension,
            api_key=chosen.api_key,
            timeout=chosen.timeout,
        )
    if chosen.kind == "onnx":
        from recollect.providers.onnx import OnnxEmbedder

        if chosen.folder is None:
            raise ConfigError("[embedder] kind is onnx, and its folder is not set; set it to that of the model")
        return OnnxEmbedder(expanded(chosen.folder))
    return LocalEmbedder() if chosen.kind == "local" or (chosen.kind == "auto" and installed()) else None


def _reranker(settings: Settings) -> Reranker | None:
    """Return the reranker that the settings name, if any."""
    if settings.recall.reranker is None:
        return None
    from recollect.providers.onnx import OnnxReranker

    return OnnxReranker(expanded(settings.recall.reranker))


def key_of(settings: Settings) -> EncryptionKey | None:
    """Return the key that the settings name, if any. It is read when it is first used."""
    chosen = settings.encryption
    if chosen.key_file is not None and chosen.key_command is not None:
        raise ConfigError("[encryption] has a key_file and a key_command; remove one of them")
    if chosen.key_command is not None:
        return EncryptionKey.from_command(chosen.key_command)
    return None if chosen.key_file is None else EncryptionKey.from_file(expanded(chosen.key_file))


def open_key_file(settings: Settings) -> Path | None:
    """Return the key file if other users of this machine may read it."""
    chosen = settings.encryption.key_file
    if chosen is None or os.name != "posix":
        return None
    path = expanded(chosen)
    try:
        return path if path.stat().st_mode & 0o077 else None
    except OSError:
        return None


def encrypted_files(location: str) -> tuple[int, int]:
    """Return how many files of a home are encrypted, and how many are not; on PostgreSQL there are none."""
    place = None if "://" in location else _place(location)
    forms = counted_forms([] if place is None or isinstance(place, Server) else place.files())
    return forms[Form.ENCRYPTED], forms[Form.PLAIN]


def change_key(location: str, old: EncryptionKey | None, new: EncryptionKey | None) -> tuple[int, int]:
    """Give every file of a home the key `new`, or none; return how many were changed, and how many there are.

    Files that have the new key already are left alone, so that it can be interrupted and repeated. Raises ConfigError
    if a file has neither key or the location is PostgreSQL, NotFound if nothing is stored there, and Unavailable if
    another process uses the home.
    """
    place = None if "://" in location else _place(location)
    if place is None or isinstance(place, Server):
        raise ConfigError("only homes in SQLite files are encrypted here; for PostgreSQL, encrypt the server's disk")
    files = place.files()
    if not files:
        raise NotFound(f"nothing is stored in {shown(location)} yet; with a key in the settings it starts encrypted")
    if isinstance(place, Directory):
        place.remove_deleted()
    return sum([convert(path, old, new) for path in files]), len(files)


def _place(where: str, key: EncryptionKey | None = None) -> "Directory | SingleFile | Server":
    if not where.strip() or not _is_plain(where):
        raise ConfigError(
            "the location is empty, contains a NUL byte or is not valid Unicode; pass a directory or a path ending in "
            ".db"
        )
    if where.startswith(("postgresql://", "postgres://")):
        return Server(where, key)
    if "://" in where:
        raise ConfigError(
            f"{where.split('://')[0]}:// is not a supported location; pass a directory, a path ending in .db, "
            "or postgresql://…"
        )
    path = expanded(where)
    try:
        mode = path.stat().st_mode  # one call: another process may be creating it
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    except OSError as error:
        raise ConfigError(f"cannot use {path}: {error.strerror}; choose another location") from error
    if path.suffix == ".db":
        if stat.S_ISDIR(mode):
            raise ConfigError(f"{path} is a directory; a location that ends in .db must be a file")
        return SingleFile(path.absolute(), key)  # where it is now, also after a change of the working directory
    if not mode:
        _refuse_misread(path)
    if mode and not stat.S_ISDIR(mode):
        raise ConfigError(f"{path} is a file; a location is a directory, or a file whose name ends in .db")
    if mode:
        keep_out_of_git(path.absolute())
    return Directory(path.absolute(), key)


def _refuse_misread(path: Path) -> None:
    """Reject locations that mean something else to other programs and would become a directory here."""
    if path.name == ":memory:":
        raise ConfigError(
            ":memory: is not a location: recollect stores everything on disk; pass a path, for a trial one in a "
            "temporary folder"
        )
    if CONNECTION.search(str(path)):  # it may contain a password, so it is not shown
        raise ConfigError(
            "the location looks like the parameters of a PostgreSQL connection; write them as "
            "postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    if path.suffix.lower() in (".sqlite", ".sqlite3"):
        raise ConfigError(
            f"{path} does not exist, and the name of a single file must end in .db; write {path.with_suffix('.db')}, "
            "or pass a directory"
        )


def _is_plain(path: str) -> bool:
    """Return whether a path is valid for the operating system and a database."""
    try:
        return "\0" not in path and bool(path.encode())
    except UnicodeEncodeError:
        return False


class SingleFile:
    """A home in one file: the workspace `default` and the account."""

    def __init__(self, path: Path, key: EncryptionKey | None = None) -> None:
        self._database = SqliteDatabase(path, key)

    def account(self) -> Database:
        """Return the file."""
        return self._database

    def workspace(self, name: str) -> Database:
        """Return the file; `default` is its only workspace."""
        if name != "default":
            raise Invalid(
                f"a single file holds the workspace 'default' only, not {name!r}; open a directory for several"
            )
        return self._database

    def workspaces(self) -> list[str]:
        """List the one workspace, once the file exists."""
        return ["default"] if self._database.path.exists() else []

    def delete(self, workspace: str) -> None:
        """Remove the file and its write-ahead log."""
        self._database.admin.remove()

    def vault(self, workspace: str) -> None:
        """Return None: a single file has no vault folder."""

    def vaults(self) -> list[str]:
        """Return no vaults: a single file has none."""
        return []

    def backup(self, target: Path) -> None:
        """Copy the file."""
        if not _is_plain(str(target)):
            raise ConfigError(f"{str(target)!r} is not a valid path for a backup: it contains NUL or is not Unicode")
        if target.suffix != ".db":
            raise ConfigError(f"the backup of a single file is a file: give {target} a name that ends in .db")
        if not self._database.path.exists():
            raise NotFound(f"{self._database.path} does not exist yet; there is nothing to back up")
        self._database.admin.backup(target)

    def files(self) -> list[Path]:
        """Return the file, once it exists."""
        return [self._database.path] if self._database.path.exists() else []

    def close(self) -> None:
        """Close the file."""
        self._database.admin.close()


class Directory:
    """A home in a directory: account.db, and workspaces/<name>/memory.db."""

    def __init__(self, path: Path, key: EncryptionKey | None = None) -> None:
        self._path, self._key = path, key
        self._account = SqliteDatabase(path / "account.db", key)
        self._workspaces: dict[str, SqliteDatabase] = {}

    def account(self) -> SqliteDatabase:
        """Return the account's file."""
        return self._account

    def workspace(self, name: str) -> SqliteDatabase:
        """Return the workspace's file."""
        found = self._workspaces.get(name)
        return found or self._workspaces.setdefault(
            name, SqliteDatabase(self._path / "workspaces" / name / "memory.db", self._key)
        )

    def workspaces(self) -> list[str]:
        """List the folders that contain a memory."""
        # A write-ahead log without its file counts, too: a damaged workspace must not look as if it never existed.
        return sorted({path.parent.name for path in self._path.glob("workspaces/*/memory.db*")})

    def delete(self, workspace: str) -> None:
        """Remove the workspace's folder."""
        self.workspace(workspace).admin.close()
        self._workspaces.pop(workspace, None)
        try:  # atomic, so that no other process sees part of it
            os.rename(self._path / "workspaces" / workspace, self._path / f".{os.urandom(16).hex()}.deleted")
        except FileNotFoundError:
            pass  # another process was first
        except OSError as error:
            raise Unavailable(f"the workspace {workspace} cannot be removed: {error.strerror}; try again") from error
        self.remove_deleted()

    def remove_deleted(self) -> None:
        """Remove the content of deleted workspaces, also what a killed process left."""
        import shutil

        for folder in self._path.glob(".*.deleted"):
            shutil.rmtree(folder, ignore_errors=True)

    def vault(self, workspace: str) -> Path:
        """Return the folder `vault` beside the workspace's file."""
        return self._path / "workspaces" / workspace / "vault"

    def vaults(self) -> list[str]:
        """List the workspaces that have a folder `vault`."""
        return sorted(path.parent.name for path in self._path.glob("workspaces/*/vault") if path.is_dir())

    def _vaults(self) -> list[Path]:
        """Return the vault folders inside this directory; a symlink leads to one outside."""
        return [one for one in self._path.glob("workspaces/*/vault") if one.is_dir() and not one.is_symlink()]

    def backup(self, target: Path) -> None:
        """Copy every file into a new directory of the same layout, including the vaults inside this one."""
        if _is_plain(str(target)) and any(target.resolve().is_relative_to(one.resolve()) for one in self._vaults()):
            raise ConfigError(f"{target} lies in a vault, which is copied itself; choose a path outside of it")
        with _new_directory(target) as aside:
            for database in (self._account, *(self.workspace(name) for name in self.workspaces())):
                if database.path.exists():
                    database.admin.backup(aside / database.path.relative_to(self._path))
            # After the databases: a file newer than its database is an edit, which the next sync merges. In the other
            # order a note written in between would have no file, and sync would treat it as a removal.
            for vault in self._vaults():
                copy_folder(vault, aside / vault.relative_to(self._path))

    def files(self) -> list[Path]:
        """Return the files of the account and of the workspaces, as far as they exist."""
        found = [self._account.path, *(self.workspace(name).path for name in self.workspaces())]
        return [path for path in found if path.exists()]

    def close(self) -> None:
        """Close every file."""
        for database in (self._account, *self._workspaces.values()):
            database.admin.close()


class Server:
    """A home in a PostgreSQL database: a schema per workspace and agent, and one for the account."""

    def __init__(self, url: str, key: EncryptionKey | None = None) -> None:
        self._key = key
        try:
            from recollect.storage.postgres.database import PostgresDatabase
            from recollect.storage.postgres.schemas import Schemas
            from recollect.storage.postgres.server import PostgresServer
        except ImportError:
            raise ConfigError(f"the packages for PostgreSQL are missing: {ConfigError.install('postgres')}") from None
        self._server = PostgresServer(url)
        self._server.connect()
        self._schemas = Schemas(self._server)
        nothing = SqliteDatabase(Path("/nonexistent/recollect/nothing.db"))
        self._make: Callable[[str | None], PostgresDatabase] = lambda name: PostgresDatabase(
            self._schemas, name, nothing
        )
        self._account = self._make(None)
        self._workspaces: dict[str, PostgresDatabase] = {}

    def account(self) -> Database:
        """Return the account's schema."""
        return self._account

    def workspace(self, name: str) -> Database:
        """Return the workspace's schemas."""
        if name not in self._workspaces:
            self._workspaces[name] = self._make(name)
        return self._workspaces[name]

    def workspaces(self) -> list[str]:
        """List the workspaces that have an agent."""
        return sorted({workspace for workspace, _ in self._schemas.owners()})

    def delete(self, workspace: str) -> None:
        """Remove the workspace's schemas."""
        self._schemas.drop_workspace(workspace)

    def vault(self, workspace: str) -> None:
        """Return None: a server has no vault folder."""

    def vaults(self) -> list[str]:
        """Return no vaults: a server has none."""
        return []

    def backup(self, target: Path) -> None:
        """Copy everything into a new directory of SQLite files, a home that opens without a server."""
        with _new_directory(target) as aside:
            copy = Directory(aside, self._key)
            databases: list[tuple[Database, SqliteDatabase]] = [(self._account, copy.account())]
            databases += [(self.workspace(name), copy.workspace(name)) for name in self.workspaces()]
            try:
                for source, file in databases:
                    agents = iter(source.admin.agents())
                    while some := [*islice(agents, AGENTS_AT_ONCE)]:
                        file.admin.load(_dumped(source, some))
            finally:
                copy.close()

    def close(self) -> None:
        """Close every connection."""
        self._server.close()


def _dumped(source: Database, agents: Sequence[str]) -> DumpedTables:
    for agent in agents:
        with source.admin.dump(agent) as tables:
            yield from tables


@contextmanager
def _new_directory(target: Path) -> Iterator[Path]:
    """Yield a temporary path for the directory; rename it to the target on success, remove it on an error."""
    if not _is_plain(str(target)):
        raise ConfigError(f"{str(target)!r} is not a valid path for a backup: it contains NUL or is not Unicode")
    if target.suffix == ".db":
        raise ConfigError(f"this backup is a directory with several files; give {target} a name without .db")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Conflict(f"{target} already exists and is not an empty directory; choose a new path for the backup")
    with file_errors(target), new_folder(target) as folder:
        aside = folder / target.name
        yield aside
        if not aside.exists():
            raise NotFound("nothing is stored here yet; there is nothing to back up")
        try:
            os.replace(aside, target)
        except OSError as error:
            if target.exists():
                raise Conflict(f"{target} was created by another process in the meantime; choose a new path") from error
            raise
        sync_folder(target.parent)
