"""The home of a command that names none: that of the folder, else the one that `recollect connect` set up.

A folder, or one above it up to the root of its repository, that has its own `.recollect` or was connected by `connect
--project` uses that. Otherwise it is the home that programs of this user are connected to, with the workspace of the
folder's project.
"""

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.cli.config_files import replace_text
from recollect.config import Settings
from recollect.errors import Unavailable
from recollect.locations import is_single_file

__all__ = ["DefaultHome", "default_home", "first_use", "note_connection"]

STATE = ".local/state/recollect/homes.json"
"""File with the connected homes by place and program, and the folders in which the choice was announced."""
USER = "~"
"""The place of a connection that is not for a project."""


@dataclass(frozen=True, slots=True)
class DefaultHome:
    """The location to use in a folder; with a workspace if `connect` set it up."""

    location: str
    workspace: str | None = None


def default_home(folder: Path) -> DefaultHome | None:
    """Return what to use in a folder instead of its own `.recollect`, which is not there; None for that one."""
    here, user = folder.resolve(), Path.home().resolve()
    usual, connected = Settings().home, _connected()
    for above in _up_to_repository(here):
        if above != user and (above / usual).is_dir():
            return None if above == here else DefaultHome(str(above / usual))
        if str(above) in connected:
            return connected[str(above)]
    if USER in connected:
        return connected[USER]
    own = user / usual
    if (own / "account.db").exists() or (own / "workspaces").is_dir():
        return DefaultHome(str(own), ".")
    return None


def note_connection(client: str, folder: Path | None, location: str | None, workspace: str = "default") -> None:
    """Record the home that a program is connected to in a project, or for the user; None if it is not any more."""
    state, place = _state(), USER if folder is None else str(folder.resolve())
    known = state.get("connected")
    known = [one for one in known if one[:2] != [place, client]] if isinstance(known, list) else []
    if location is not None:
        known.append([place, client, location, "default" if is_single_file(location) else workspace])
    _keep({**state, "connected": known})


def first_use(folder: Path, chosen: DefaultHome) -> bool:
    """Return whether a folder uses this home for the first time, and record that it does."""
    state, here = _state(), str(folder.resolve())
    announced = state.get("announced")
    announced = announced if isinstance(announced, dict) else {}
    if announced.get(here) == chosen.location:
        return False
    _keep({**state, "announced": {**announced, here: chosen.location}})
    return True


def _connected() -> dict[str, DefaultHome]:
    """Return the connected homes by project, and that of the user; of several programs the last one counts."""
    known = _state().get("connected")
    rows = known if isinstance(known, list) else []
    return {place: DefaultHome(location, workspace) for place, _, location, workspace in rows}


def _up_to_repository(here: Path) -> list[Path]:
    """Return the folder and those above it up to the root of its git work tree; the folder alone without one."""
    found = []
    for above in (here, *here.parents):
        found.append(above)
        if os.path.exists(above / ".git"):
            return found
    return [here]


def _state() -> dict[str, Any]:
    try:
        state = json.loads((Path.home() / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _keep(state: dict[str, Any]) -> None:
    with suppress(Unavailable):  # a folder that cannot be written is no reason to fail
        replace_text(Path.home() / STATE, json.dumps(state, indent=2))
