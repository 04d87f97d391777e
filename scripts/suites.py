"""Run the test suites of the frameworks that recollect has adapters for: `scripts/test --suites [NAME…]`.

Each folder in suites/ is one framework. Its suite.toml names the source release with the vendor's tests and its hash,
or several of them, and the tests that are left out, each with a reason; without a section [vendor] the vendor publishes
none that apply.
The vendor's tests run unchanged in an environment of their own, made from lock/suites/NAME.txt; the plugin
`substitute.py` replaces the vendor's class by ours. Then our tests of the adapter run in the same environment, and
those of suites/test_every_adapter.py, which use the adapter through the suite's `drivers.py`. A suite that cannot be
installed is reported as skipped; it never counts as passed. Test files of a vendor that are written in TypeScript are
run by vitest, with `index.ts` of the suite in the place of the vendor's module.

Last, the package is installed as a user does it, in a new environment: `pip install '.[NAME]'`. There the program of
the adapter's page runs twice, and what it stored must be on the page in a browser and in an export, and be erasable.

With `--brief`, which continuous integration uses, the vendors' tests run on SQLite only, our tests on both databases,
and what has not started after BRIEF seconds is skipped: on a machine without any environment, creating them takes long.

Environments and sources are kept in $RECOLLECT_SUITES, by default in the user's cache folder, under the hash of what
they were made from. Nothing of them belongs to the clone.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITES = ROOT / "suites"
CACHE = Path(os.environ.get("RECOLLECT_SUITES") or Path.home() / ".cache" / "recollect-suites")
DATABASES = ("sqlite", "postgres")
BRIEF = 720.0
# The root must be above suites/: pytest names test modules by their path, and a folder can have the name of a package.
OURS = ["-c", SUITES / "pytest.ini", "--rootdir", ROOT]


class Unavailable(Exception):
    """A requirement of a suite is missing and cannot be installed, or the time limit is reached."""


@dataclass
class Clock:
    """The time after which no run starts."""

    end: float = float("inf")

    def check(self) -> None:
        """Raise Unavailable if the time limit is reached."""
        if time.monotonic() > self.end:
            raise Unavailable(f"it had not started after {BRIEF / 60:.0f} minutes; run scripts/test --suites NAME")


clock = Clock()


@dataclass
class Result:
    """The result of one run of a suite."""

    suite: str
    part: str
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    skipped: str = ""
    log: str = ""
    ok: bool = False

    def line(self) -> str:
        """Return the row of the table that is printed last."""
        if self.skipped:
            return f"SKIPPED  {self.suite} {self.part}: {self.skipped}"
        shown = ", ".join(f"{number} {what}" for what, number in self.counts.items() if number)
        outcome = "passed " if self.ok else "FAILED "
        return f"{outcome}  {self.suite} {self.part}: {shown or 'nothing ran'}, {self.seconds:.0f} s"


@dataclass(frozen=True)
class Release:
    """A source release of a vendor and the tests in it."""

    source: str
    sha256: str
    tests: list[str]
    arguments: list[str] = field(default_factory=list)
    databases: list[str] = field(default_factory=lambda: list(DATABASES))


@dataclass(frozen=True)
class Suite:
    """One folder of suites/ and its suite.toml."""

    name: str
    extra: str
    python: str
    releases: list[Release]
    vitest: list[str] = field(default_factory=list)
    """Test files of a vendor that are run by vitest."""

    @property
    def folder(self) -> Path:
        return SUITES / self.name

    @property
    def lock(self) -> Path:
        return ROOT / "lock" / "suites" / f"{self.name}.txt"

    @classmethod
    def read(cls, folder: Path) -> "Suite":
        """Read the suite.toml of a folder."""
        given = tomllib.loads((folder / "suite.toml").read_text(encoding="utf-8"))
        vendors = given.get("vendor", [])
        return cls(
            name=folder.name,
            extra=given.get("extra", folder.name).replace("_", "-"),
            python=given.get("python", "3.11"),
            releases=[Release(**one) for one in (vendors if isinstance(vendors, list) else [vendors])],
            vitest=given.get("vitest", []),
        )


def call(*command: object, **more: object) -> None:
    """Run a step of the set-up; raise Unavailable with the end of its output if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more
    )
    if done.returncode:
        raise Unavailable(f"{' '.join(words[:4])} … failed: {' '.join(done.stdout.split())[-400:]}")


@contextlib.contextmanager
def made_once(target: Path) -> Iterator[Path | None]:
    """Yield a folder to fill, which becomes `target` if nothing fails; None if it exists. Processes take turns."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / f".{target.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            yield None
            return
        unfinished = target.parent / f".{target.name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        yield unfinished
        unfinished.rename(target)


def python_of(version: str) -> str:
    """Return a Python of at least this version, the exact one if it can be found."""
    candidates = [shutil.which(f"python{version}")]
    for root in filter(None, [os.environ.get("PYENV_ROOT"), str(Path.home() / ".pyenv")]):
        candidates += [str(path) for path in sorted(Path(root, "versions").glob(f"{version}.*/bin/python"))]
    if f"{sys.version_info.major}.{sys.version_info.minor}" == version:
        # Not the Python of .venv, which belongs to one clone: the environments serve all of them.
        candidates.insert(0, getattr(sys, "_base_executable", sys.executable))
    for found in filter(None, candidates):
        # The launcher of a version manager can exist without a Python behind it.
        asked = subprocess.run([found, "-c", "import sys; print(*sys.version_info[:2], sep='.')"], capture_output=True)
        if asked.stdout.decode().strip() == version:
            return found
    raise Unavailable(f"it needs Python {version}, which is not on this machine")


def environment(name: str, lock: Path, python: str) -> Path:
    """Return the Python of an environment with exactly the packages of a lock file; create it if it is missing."""
    digest = hashlib.sha256(lock.read_bytes() + python.encode()).hexdigest()[:16]
    target = CACHE / "environments" / f"{name}-{digest}"
    with made_once(target) as folder:
        if folder is not None and name == "tools":
            call(python, "-m", "venv", folder)
            call(folder / "bin/python", "-m", "pip", "install", "--quiet", "--require-hashes", "-r", lock)
        elif folder is not None:
            uv = [tools() / "uv", "--no-config"]
            call(*uv, "venv", "--quiet", "--python", python, folder)
            call(*uv, "pip", "sync", "--quiet", "--require-hashes", "--python", folder / "bin/python", lock)
    return target / "bin" / "python"


def tools() -> Path:
    """Return the folder of programs of the environment with the tools: uv, pip and build backends."""
    made = environment("tools", ROOT / "lock" / "suites" / "tools.txt", python_of("3.11"))
    return made.parent


def source(release: Release) -> Path:
    """Return the folder of the vendor's source release, downloaded by pip and checked by its hash."""
    with made_once(CACHE / "sources" / release.sha256) as folder:
        if folder is not None:
            folder.mkdir()
            wanted = folder / "wanted.txt"
            wanted.write_text(f"{release.source} --hash=sha256:{release.sha256}\n")
            # pip asks the build backend for the name and version of what it downloads; the backends are in the tools.
            options = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes"]
            pip = [tools() / "python", "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            call(*pip, *options, "--dest", folder, "-r", wanted)
            (archive,) = folder.glob("*.tar.gz")
            with tarfile.open(archive) as tar:
                tar.extractall(folder, filter="data")
            archive.unlink()
    (found,) = (path for path in (CACHE / "sources" / release.sha256).iterdir() if path.is_dir())
    return found


def run(
    suite: Suite, part: str, python: Path, where: Path, arguments: list[object], server: str, **variables: str
) -> Result:
    """Run pytest once in the environment of a suite."""
    clock.check()
    begun, result = time.monotonic(), Result(suite.name, part)
    with tempfile.TemporaryDirectory(prefix="recollect-suite-") as folder:
        counts, log = Path(folder, "counts.json"), Path(folder, "log")
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("RECOLLECT_", "PYTEST_", "PYTHONDONT"))
        }
        given = {
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT / "tests", SUITES, suite.folder))),
            "RECOLLECT_HOME": str(Path(folder, "home")),
            "RECOLLECT_EMBEDDER_KIND": "none",
            "SUITE_NAME": suite.name,
            "SUITE_PART": part,
            "SUITE_SOURCE": where.name,
            "SUITE_SERVER": server,
            "SUITE_COUNTS": str(counts),
            "TMPDIR": folder,
            **variables,
        }
        # A test that hangs ends the run with the stack of every thread.
        hangs = ["-o", "faulthandler_timeout=300", "-o", "faulthandler_exit_on_timeout=true"]
        command = [python, "-m", "pytest", "-q", "-p", "suite_plugin", "-p", "no:cacheprovider", *hangs, *arguments]
        with open(log, "w") as output:
            done = subprocess.run(
                [str(word) for word in command],
                cwd=where,
                env={**kept, **given},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        result.log = log.read_text(errors="replace")
        with contextlib.suppress(OSError, ValueError):
            result.counts = json.loads(counts.read_text())
    result.ok = done.returncode == 0 and result.counts.get("passed", 0) > 0
    result.seconds = time.monotonic() - begun
    return result


def installed(suite: Suite) -> Result:
    """Install the package with the extra of a suite in a new environment, and test there what its page describes."""
    with tempfile.TemporaryDirectory(prefix="recollect-installed-") as folder:
        python, uv = Path(folder, "environment", "bin", "python"), [tools() / "uv", "--no-config"]
        build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
        built = subprocess.run(build, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if built.returncode:
            return Result(suite.name, "installed", log=built.stdout)
        (wheel,) = Path(folder).glob("*.whl")
        call(*uv, "venv", "--quiet", "--python", python_of(suite.python), python.parents[1])
        wanted = f"recollect[{suite.extra}] @ {wheel.as_uri()}"
        call(*uv, "pip", "install", "--quiet", "--python", python, "--constraint", suite.lock, wanted)
        # The tests themselves need a server and a browser, which an adapter does not: they run in .venv.
        variables = {"SUITE_INSTALLED": str(python), "SUITE_PAGE": f"{suite.extra}.md"}
        return run(suite, "installed", Path(sys.executable), SUITES, [*OURS, "test_installed.py"], "", **variables)


def vitest(suite: Suite) -> Result:
    """Run test files of a vendor by vitest; index.ts of the suite stands for the module that they import."""
    tests = CACHE / "sources" / suite.name.replace("_", "-")
    lock = suite.folder / "package-lock.json"
    packages = CACHE / "environments" / f"{suite.name}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    begun, result = time.monotonic(), Result(suite.name, "vendor")
    try:
        clock.check()
        if not tests.is_dir():
            raise Unavailable(
                f"the vendor's tests are in its repository only; suite.toml says how to bring them to {tests}"
            )
        if shutil.which("npm") is None:
            raise Unavailable("it needs Node.js, which is not on this machine")
        with made_once(packages) as folder:
            if folder is not None:
                folder.mkdir()
                for name in ("package.json", "package-lock.json"):
                    shutil.copy(suite.folder / name, folder)
                call("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
    except Unavailable as error:
        return Result(suite.name, "vendor", skipped=str(error))
    with tempfile.TemporaryDirectory(prefix="recollect-suite-") as where:
        Path(where, "__tests__").mkdir()
        for name in suite.vitest:
            shutil.copy(tests / name, Path(where, "__tests__"))
        shutil.copy(suite.folder / "index.ts", where)
        shutil.copy(suite.folder / "package.json", where)
        Path(where, "node_modules").symlink_to(packages / "node_modules")
        kept = {key: value for key, value in os.environ.items() if not key.startswith("RECOLLECT_")}
        given = {"PYTHONPATH": str(ROOT / "src"), "RECOLLECT_HOME": str(Path(where, "home")), "TMPDIR": where}
        given |= {"RECOLLECT_EMBEDDER_KIND": "none", "SUITE_PYTHON": sys.executable}
        words = [
            "node_modules/.bin/vitest",
            "run",
            "--testTimeout=120000",
            "--reporter=json",
            "--outputFile=counts.json",
        ]
        done = subprocess.run(
            words, cwd=where, env={**kept, **given}, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        result.log = done.stdout + done.stderr
        with contextlib.suppress(OSError, ValueError):
            counts = json.loads(Path(where, "counts.json").read_text())
            result.counts = {"passed": counts["numPassedTests"], "failed": counts["numFailedTests"]}
            result.log += json.dumps(counts, indent=1)
    result.ok = done.returncode == 0 and result.counts.get("passed", 0) > 0
    result.seconds = time.monotonic() - begun
    return result


def runs(suite: Suite, databases: tuple[str, ...], server: str, more: list[str]) -> list[Result]:
    """Run the vendor's tests on the given databases, then our tests of the adapter."""
    if suite.vitest:
        return [vitest(suite)]
    try:
        clock.check()
        python = environment(suite.name, suite.lock, python_of(suite.python))
    except Unavailable as error:
        return [Result(suite.name, "all", skipped=str(error))]
    found = []
    for release in suite.releases:
        try:
            for database in (one for one in release.databases if one in databases):
                arguments = ["-p", "substitute", *release.arguments, *release.tests, *more]
                found.append(run(suite, f"vendor-{database}", python, source(release), arguments, server))
                found[-1].part += f" {release.source}"
        except Unavailable as error:
            found.append(Result(suite.name, f"vendor {release.source}", skipped=str(error)))
    try:
        ours = [*OURS, suite.name, "test_every_adapter.py", *more]
        found.append(run(suite, "ours", python, SUITES, ours, server))
        return found if more else [*found, installed(suite)]
    except Unavailable as error:
        missing = "installed" if found and found[-1].part == "ours" else "ours, installed"
        return [*found, Result(suite.name, missing, skipped=str(error))]


def report(results: list[Result]) -> int:
    """Print the output of what failed, then one line for each run; return the exit code."""
    for result in results:
        if not result.ok and not result.skipped:
            print(f"\n===== {result.suite} {result.part}\n{result.log}")
    print()
    for result in results:
        print(result.line())
    skipped = sum(1 for result in results if result.skipped)
    if skipped:
        print(f"\nWARNING: {skipped} suites were SKIPPED (above). They did not pass; nothing is known about them.")
    return int(any(not result.ok and not result.skipped for result in results))


def main(words: list[str]) -> int:
    """Run the named suites, or all; words that begin with a dash go to pytest, except --brief."""
    names = [word for word in words if not word.startswith("-")]
    folders = [path.parent for path in sorted(SUITES.glob("*/suite.toml"))]
    unknown = set(names) - {folder.name for folder in folders}
    if unknown:
        sys.exit(f"there is no suite {', '.join(sorted(unknown))}; there are {', '.join(one.name for one in folders)}")
    suites = [Suite.read(folder) for folder in folders if not names or folder.name in names]
    more = [word for word in words if word.startswith("-") and word != "--brief"]
    databases = DATABASES
    if "--brief" in words:
        databases, clock.end = DATABASES[:1], time.monotonic() + BRIEF
    sys.path.insert(0, str(ROOT / "tests"))
    from postgres import Server

    with (
        tempfile.TemporaryDirectory() as logs,
        # Tests of vendors leave stores open, and each store has connections of its own.
        Server(log=Path(logs, "server.log"), fsync=False, options={"max_connections": 400}) as server,
        ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as threads,
    ):
        found = list(threads.map(lambda suite: runs(suite, databases, server.url(), more), suites))
    return report([result for results in found for result in results])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
