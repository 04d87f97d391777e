"""The interface to where the rows of a home are stored; `wiring.py` has its three implementations."""

from pathlib import Path
from typing import Protocol

from recollect.storage.database import Database

__all__ = ["Place"]


class Place(Protocol):
    """Where the rows of a home are stored: a directory, a single file, or a PostgreSQL database."""

    def account(self) -> Database:
        """Return the database of the account's entries."""
        ...

    def workspace(self, name: str) -> Database:
        """Return the database of a workspace; raise Invalid if it cannot have that name here."""
        ...

    def workspaces(self) -> list[str]:
        """Return the workspaces that exist."""
        ...

    def delete(self, workspace: str) -> None:
        """Delete a workspace with everything in it."""
        ...

    def vault(self, workspace: str) -> Path | None:
        """Return the default folder for the workspace's files, if there is one."""
        ...

    def vaults(self) -> list[str]:
        """Return the workspaces whose default folder for files exists, including those that hold nothing else."""
        ...

    def backup(self, target: Path) -> None:
        """Copy everything to a new path."""
        ...

    def close(self) -> None:
        """Close all connections and files."""
        ...
