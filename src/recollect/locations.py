"""Locations of a home as text: display with redacted passwords, resolution, and the workspace of a folder.

Reads only names of folders, and imports no database, because every command needs it.
"""

import os
import sys
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

from recollect import names
from recollect.errors import ConfigError, Invalid

__all__ = ["expanded", "is_single_file", "program", "project", "shown", "without_password"]


def expanded(path: str | Path) -> Path:
    """Expand `~` in a path."""
    if not isinstance(path, str | Path):
        raise Invalid(f"a path must be text, not {type(path).__name__}")
    try:
        return Path(path).expanduser()
    except (RuntimeError, ValueError):
        raise ConfigError(
            f"{str(path)!r} begins with ~ and names no user of this machine; write the path out"
        ) from None


def shown(location: str, mark: str = "…") -> str:
    """Return a location safe to display: an absolute path, or a URL with the password redacted as `mark`.

    With an empty mark the password is omitted, and the URL stays usable where the password comes from elsewhere.
    """
    if "://" not in location:
        return str(expanded(location).absolute())
    parts = urlsplit(location)
    user, at, host = parts.netloc.rpartition("@")
    name, hidden, _ = user.partition(":")
    given = [(key, mark if "password" in key else quote(value)) for key, value in parse_qsl(parts.query)]
    query = "&".join(f"{quote(key)}={value}" for key, value in given if value)
    return f"{parts.scheme}://{name}{hidden and mark and hidden + mark}{at}{host}{parts.path}{query and '?'}{query}"


def without_password(location: str) -> str:
    """Return a location as given, with the password redacted."""
    return shown(location) if "://" in location else location


def program() -> list[str]:
    """Return the command line that starts this installation from anywhere, even if it is not on the PATH."""
    import shutil

    beside = shutil.which("recollect", path=str(Path(sys.executable).parent))
    return [sys.executable, "-m", "recollect"] if beside is None else [beside]


def is_single_file(location: str) -> bool:
    """Return whether the location is a single file, which has the workspace `default` only."""
    return "://" not in location and Path(location).suffix == ".db"


def project(folder: Path) -> str:
    """Return the workspace of a folder's project, named after the root of its git work tree, else after the folder.

    It is `default` for the root of the file system and for the user's home folder.
    """
    here, user = expanded(folder).resolve(), Path.home().resolve()
    above = (one for one in (here, *here.parents) if one != user and os.path.exists(one / ".git"))
    top = next(above, here)
    return "default" if top == user else names.as_segment(top.name, "default")
