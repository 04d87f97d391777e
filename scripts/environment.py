"""Create or update .venv from lock/NAME.txt: `python3 scripts/environment.py run|dev`. Standard library only.

The syntax must stay valid on older Pythons, so that the check of the version can run there. The stamp in .venv is
removed before anything changes and written last: after an interrupted set-up it is missing, and the next run recreates
.venv.
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
"""SQLite with encryption, for tests: it has the same files as apsw, so it needs a folder of its own."""
VERSION = "{}.{}".format(*sys.version_info)


def say(text: str) -> None:
    """Print a message to standard error; standard output belongs to the command that follows."""
    print(text, file=sys.stderr, flush=True)


def restart_with_newer_python() -> None:
    """Run this file again with the newest installed Python, or exit with a message if none is new enough."""
    for name in ("python3.14", "python3.13", "python3.12", "python3.11"):
        found = shutil.which(name)
        # The launcher of a version manager can exist without a Python behind it.
        if found and subprocess.call([found, "-c", ""], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
            os.execv(found, [found, *sys.argv])
    sys.exit(
        f"recollect needs Python 3.11 or newer, and {sys.executable} is {VERSION}.\n"
        "Install a newer one; if it is not on your PATH, set PYTHON: PYTHON=/path/to/python3 scripts/run"
    )


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def lock_file(name: str) -> Path:
    """Return the path of a lock file."""
    return ROOT / "lock" / f"{name}.txt"


def ready() -> dict:
    """Return the stamp of .venv: its lock files and project settings. Empty if .venv must be recreated."""
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
    """Run one step, and show its output only if it fails. It inherits the lock: an orphaned pip still blocks others."""
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
    """Create an empty .venv, and remove an existing one."""
    shutil.rmtree(str(VENV), ignore_errors=True)
    if importlib.util.find_spec("ensurepip"):
        call(lock, sys.executable, "-m", "venv", "--clear", VENV)
    elif importlib.util.find_spec("pip"):
        call(lock, sys.executable, "-m", "venv", "--clear", "--without-pip", VENV)
    else:
        sys.exit(
            f"{sys.executable} cannot create virtual environments: ensurepip and pip are missing.\n"
            "On Debian and Ubuntu: sudo apt-get install python3-venv"
        )


def install(lock: int, *arguments: object) -> None:
    """Run pip install for .venv, with its own pip or, if it has none, with that of the system."""
    if list(VENV.glob("lib/*/site-packages/pip")):
        pip = [PYTHON, "-m", "pip"]
    else:
        pip = [sys.executable, "-m", "pip", "--python", PYTHON]
    call(lock, *pip, "install", "--quiet", "--no-compile", *arguments)


def set_up(name: str, lock: int) -> None:
    """Update .venv to the lock file and pyproject.toml; do nothing if it is up to date."""
    stamp = ready()
    locks = stamp.get("locks", {})
    project = digest(ROOT / "pyproject.toml")
    # dev.txt contains everything in run.txt, with the same pins.
    has_packages = (name in locks or "dev" in locks) and (name != "dev" or "encryption" in locks)
    if has_packages and stamp["project"] == project:
        return

    started = time.monotonic()
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
        say(f"pyproject.toml has changed: .venv updated in {time.monotonic() - started:.0f} s.")
    else:
        say(f"Ready after {time.monotonic() - started:.0f} s.")


def main(name: str) -> None:
    """Set up .venv under a lock, which the system releases when the process ends."""
    if sys.version_info < (3, 11):  # noqa: UP036 - the script may be started with an older one
        restart_with_newer_python()
    if Path(sys.prefix).resolve() == VENV:  # .venv is active: use its base Python, as .venv may be removed now
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
        sys.exit("\nInterrupted. The next run starts from the beginning.")
