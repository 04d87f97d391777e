"""Settings. The only reader of the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a home needs to know. Fields that are not given come from the environment by `Settings.read()`."""

    home: str = ".recollect"
    """Where the memory is: a directory, a path ending in .db, or postgresql://… (RECOLLECT_HOME)."""
    workspace: str = "default"
    """The workspace that the command line uses (RECOLLECT_WORKSPACE)."""
    agent: str = "default"
    """The agent that the command line speaks for (RECOLLECT_AGENT)."""

    @classmethod
    def read(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Settings from the environment; an empty variable counts as not set."""
        given = {name: environ.get(f"RECOLLECT_{name.upper()}") for name in cls.__dataclass_fields__}
        return cls(**{name: value for name, value in given.items() if value})
