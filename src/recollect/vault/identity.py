"""The identity files in an agent's folder, which the prompts of its conversations include."""

import logging
from pathlib import Path

from recollect.engine.prompt import IDENTITY
from recollect.model.history import Lane
from recollect.vault.files import LeftAlone, read_bytes

__all__ = ["identity_files"]

IDENTITY_BYTES = 1_000_000
"""Maximum size of an identity file; a larger one is skipped."""
_log = logging.getLogger("recollect.prompt")


def identity_files(folder: Path | None, lane: Lane) -> dict[str, str]:
    """Return the identity files that exist in an agent's folder, by name."""
    found: dict[str, str] = {}
    if folder is None:
        return found
    for name in IDENTITY[lane]:
        try:
            content = read_bytes(folder.parent, f"{folder.name}/{name}", IDENTITY_BYTES)
        except (LeftAlone, OSError) as error:
            _log.warning("%s is left out of the prompt: %s", folder / name, error)
            continue
        if content is not None:
            found[name] = content.decode("utf-8", "replace")
    return found
