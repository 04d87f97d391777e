"""The home of a command that names none: that of the folder, else the one that `recollect connect` set up.

A folder, or one above it up to the root of its repository, that has its own `.recollect` uses that. Otherwise it is the
home that programs of this user are connected to, with the workspace of the folder's project.
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
from recollect.wiring import is_single_file

__all__ = ["DefaultHome", "default_home", "first_use", "note_connection"]

STATE = ".local/state/recollect/homes.json"
"""File with the connected homes by program, and the folders in which the choice was announced."""


@dataclass(frozen=True, slots=True)
class DefaultHome:
    """The location to use in a folder; with a workspace if `connect` set it up."""

    location: str
    workspace: str | None = None


def default_home(folder: Path) -> DefaultHome | None:
    """Return what to use in a folder instead of its own `.recollect`, which is not there; None for that one."""
    here, user = folder.resolve(), Path.home().resolve()
    usual = Settings().home
    for above in _up_to_repository(here):
        if above != user and (above / usual).is_dir():
            return None if above == here else DefaultHome(str(above / usual))
    connected = _state().get("connected")
    if isinstance(connected, dict) and connected:
        location, workspace = list(connected.values())[-1]
        return DefaultHome(location, workspace)
    own = user / usual
    if (own / "account.db").exists() or (own / "workspaces").is_dir():
        return DefaultHome(str(own), ".")
    return None


def note_connection(client: str, location: str | None, workspace: str = "default") -> None:
    """Record the home that a program of the user is connected to; None if it is not any more."""
    state = _state()
    connected = {name: value for name, value in (state.get("connected") or {}).items() if name != client}
    if location is not None:
        connected[client] = [location, "default" if is_single_file(location) else workspace]
    _keep({**state, "connected": connected})


def first_use(folder: Path, chosen: DefaultHome) -> bool:
    """Return whether a folder uses this home for the first time, and record that it does."""
    state, here = _state(), str(folder.resolve())
    announced = state.get("announced")
    announced = announced if isinstance(announced, dict) else {}
    if announced.get(here) == chosen.location:
        return False
    _keep({**state, "announced": {**announced, here: chosen.location}})
    return True


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
