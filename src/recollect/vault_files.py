"""The vault of one agent, as its memory uses it: sync edits before a read, and write the entries of a conversation."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.engine.access_policy import SHARED
from recollect.errors import RecollectError
from recollect.model.history import Lane

if TYPE_CHECKING:
    from recollect.vault.sync import Vault

__all__ = ["VaultFiles"]

_log = logging.getLogger("recollect.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultFiles:
    """The files of one agent and of `_shared` in a workspace's vault. Nothing fails because of the vault."""

    agent: str
    folder: Path | None = None
    """The folder of the agent, None without a vault."""
    vault: "Callable[..., Vault | None]" = lambda *, make=False: None
    """Returns the vault; with `make=True` creates it."""

    def read_edits(self, agent: str | None = None) -> None:
        """Read edited files before a read: those of another agent, or of this one and `_shared`."""
        try:
            vault = self.vault()
            if vault is not None:
                for owner in (agent,) if agent else (self.agent, SHARED):
                    vault._log_problems(vault.refresh(owner))
        except (RecollectError, OSError) as error:
            _log.warning("edits in the vault were not read: %s", error)

    def identity(self, lane: Lane) -> dict[str, str]:
        """Return the identity files of the agent for a prompt."""
        if self.folder is None or not self.folder.is_dir():
            return {}
        from recollect.vault.identity import identity_files

        return identity_files(self.folder, lane)

    def conversation_ended(self, conversation: str) -> None:
        """Write the entries that a conversation created to the vault, and commit them."""
        try:
            vault = self.vault(make=True)
            if vault is not None:
                from recollect.vault.git import close_message

                vault.record(self.agent, *close_message(conversation, self.agent))
        except (RecollectError, OSError) as error:
            _log.warning("the vault does not show what a conversation left: %s", error)
