"""Makes .venv from lock/NAME.txt, or finds it ready: `python3 scripts/environment.py run|dev`. Standard library only.

Must start on Pythons older than the one we need, so that it can say so. The stamp in .venv is removed before anything
changes and written last: after an interrupted set-up it is missing, and the next run begins afresh.
"""

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "stamp.json"
PYTHON = VENV / "bin" / "python"
ENCRYPTION = VENV / "encryption"
"""The SQLite that encrypts, for tests: it has the same files as apsw, so it needs a folder of its own."""
VERSION = "{}.{}".format(*sys.version_info)


def say(text: str) -> None:
    """Tells the person at the terminal; standard output belongs to the command that follows."""
    print(text, file=sys.stderr, flush=True)


def go_on_with_a_newer_python() -> None:
    """Starts this file again with the newest Python there is, or says what is missing."""
    for name in ("python3.14", "python3.13", "python3.12", "python3.11"):
        found = shutil.which(name)
        # A version manager's launcher can be there and still start nothing.
        if found and subprocess.call([found, "-c", ""], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
            os.execv(found, [found, *sys.argv])
    sys.exit(
        f"recollect needs Python 3.11 or newer, and {sys.executable} is {VERSION}.\n"
        "Install a newer one; if it is not on your PATH, name it: PYTHON=/path/to/python3 scripts/run"
    )


def digest(path: Path) -> str:
    """The fingerprint of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def lock_file(name: str) -> Path:
    """The lock file of that name."""
    return ROOT / "lock" / f"{name}.txt"


def ready() -> dict:
    """What .venv holds: its lock files and project settings. Empty if it must be recreated."""
    try:
        stamp = json.loads(STAMP.read_text())
        started = subprocess.run([str(PYTHON), "-V"], stdout=subprocess.PIPE, check=True)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return {}
    # A moved folder leaves the old paths inside .venv, and another Python looks for packages elsewhere.
    same_place = stamp["root"] == str(ROOT) and stamp["python"] == VERSION
    same_python = started.stdout.decode().startswith(f"Python {VERSION}.")
    same_locks = all(digest(lock_file(name)) == value for name, value in stamp["locks"].items())
    return stamp if same_place and same_python and same_locks else {}


def call(lock: int, *command: object) -> None:
    """Runs one step, silent unless it fails. The step inherits the lock: an orphaned pip still keeps others out."""
    words = [str(word) for word in command]
    environment = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PIP_USER="0")
    done = subprocess.run(
        words,
        cwd=str(ROOT),
        env=environment,
        pass_fds=(lock,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        say("\n".join(done.stdout.decode(errors="replace").splitlines()[-20:]))
        sys.exit(f"Setting up failed at: {' '.join(words)}")


def make(lock: int) -> None:
    """A new and empty .venv, whatever was there before."""
    shutil.rmtree(str(VENV), ignore_errors=True)
    if importlib.util.find_spec("ensurepip"):
        call(lock, sys.executable, "-m", "venv", "--clear", VENV)
    elif importlib.util.find_spec("pip"):
        call(lock, sys.executable, "-m", "venv", "--clear", "--without-pip", VENV)
    else:
        sys.exit(
            f"{sys.executable} cannot make virtual environments: it comes without ensurepip and pip.\n"
            "On Debian and Ubuntu: sudo apt-get install python3-venv"
        )


def install(lock: int, *arguments: object) -> None:
    """pip install into .venv, by its own pip or, where it could not get one, by the pip of the system."""
    if list(VENV.glob("lib/*/site-packages/pip")):
        pip = [PYTHON, "-m", "pip"]
    else:
        pip = [sys.executable, "-m", "pip", "--python", PYTHON]
    call(lock, *pip, "install", "--quiet", "--no-compile", *arguments)


def set_up(name: str, lock: int) -> None:
    """Brings .venv to what the lock file and pyproject.toml say; does nothing if it is there already."""
    stamp = ready()
    locks = stamp.get("locks", {})
    project = digest(ROOT / "pyproject.toml")
    # dev.txt holds everything that is in run.txt, with the same pins.
    has_packages = (name in locks or "dev" in locks) and (name != "dev" or "encryption" in locks)
    if has_packages and stamp["project"] == project:
        return

    begun = time.monotonic()
    if not has_packages:
        say("Setting up .venv (up to a minute; later runs start at once) …")
    if stamp:
        STAMP.unlink()
    else:
        make(lock)
    if not has_packages:
        install(lock, "--require-hashes", "--requirement", lock_file(name))
        locks[name] = digest(lock_file(name))
    if not has_packages and name == "dev":
        hashed = ("--require-hashes", "--requirement", lock_file("encryption"))
        install(lock, "--upgrade", "--target", ENCRYPTION, *hashed)
        locks["encryption"] = digest(lock_file("encryption"))
    install(lock, "--no-deps", "--no-build-isolation", "--no-index", "--editable", ROOT)
    stamp = {"root": str(ROOT), "python": VERSION, "locks": locks, "project": project}
    STAMP.write_text(json.dumps(stamp, indent=2))
    if has_packages:
        say(f"pyproject.toml has changed: .venv updated in {time.monotonic() - begun:.0f} s.")
    else:
        say(f"Ready after {time.monotonic() - begun:.0f} s.")


def main(name: str) -> None:
    """One set-up at a time; the lock ends with the process, however it ends."""
    if sys.version_info < (3, 11):  # noqa: UP036 - the person who runs this may have an older one
        go_on_with_a_newer_python()
    if Path(sys.prefix).resolve() == VENV:  # .venv is active: go on with the Python behind it, as it may go away now
        os.execv(sys._base_executable, [sys._base_executable, *sys.argv])
    with open(ROOT / ".venv.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Waiting for another set-up of .venv to finish …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        set_up(name, lock.fileno())


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. The next run begins afresh.")
