"""What the environment says about folders, for callers that cannot wait for the settings. Imports nothing but `os`."""

import os

TYPE_CHECKING = False  # without an import of `typing`, see `recollect/__init__.py`
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["folder_of", "runtime_folder", "styles_forced", "variables"]

APART = ("RECOLLECT_HOME", "RECOLLECT_CONVERSATION")
"""Variables that name the home and the conversation of one process, and say nothing about its settings."""


def runtime_folder() -> str:
    """Return the folder for the sockets of this user's processes; it may not exist yet."""
    base = os.environ.get("XDG_RUNTIME_DIR") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "recollect", "hooks")


def folder_of(hook: "Mapping[str, object]") -> str:
    """Return the project folder of a hook: from the variables of its host, else from its JSON; else empty.

    Cursor names the folders of its window; it runs a hook of the user in another one.
    """
    named = os.environ.get("CLAUDE_PROJECT_DIR") or os.environ.get("CURSOR_PROJECT_DIR")
    roots = hook.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    return str(named or first or hook.get("cwd") or "")


def styles_forced() -> bool:
    """Return whether a variable may demand colours and styles where the output is not a terminal."""
    return "FORCE_COLOR" in os.environ or "TTY_COMPATIBLE" in os.environ


def variables() -> dict[str, str]:
    """Return the RECOLLECT_* variables that are settings."""
    own = {name: value for name, value in os.environ.items() if name.startswith("RECOLLECT_")}
    return {name: value for name, value in own.items() if name not in APART}
