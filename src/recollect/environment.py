"""What the environment says about folders, for callers that cannot wait for the settings. Imports nothing but `os`."""

import os

__all__ = ["project_folder", "runtime_folder", "variables"]

APART = ("RECOLLECT_HOME", "RECOLLECT_CONVERSATION")
"""Variables that name the home and the conversation of one process, and say nothing about its settings."""


def runtime_folder() -> str:
    """Return the folder for the sockets of this user's processes; it may not exist yet."""
    base = os.environ.get("XDG_RUNTIME_DIR") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "recollect", "hooks")


def project_folder() -> str | None:
    """Return the project folder that Claude Code sets for its hooks, if any."""
    return os.environ.get("CLAUDE_PROJECT_DIR") or None


def variables() -> dict[str, str]:
    """Return the RECOLLECT_* variables that are settings."""
    own = {name: value for name, value in os.environ.items() if name.startswith("RECOLLECT_")}
    return {name: value for name, value in own.items() if name not in APART}
