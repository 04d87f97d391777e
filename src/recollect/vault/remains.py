"""Search for remains of erased text in an agent's files and in the commits of its repositories. Read-only."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from recollect.clock import Clock
from recollect.errors import RecollectError
from recollect.vault.files import LeftAlone, read_bytes
from recollect.vault.git import Repository

__all__ = ["remains"]


def remains(folder: Path, agent: str, pieces: Sequence[str], clock: Clock) -> Iterator[str]:
    """Yield one sentence per place in a vault that contains one of the pieces."""
    own, wanted = folder / agent, [piece.encode() for piece in pieces]
    for path in sorted(own.rglob("*")) if not own.is_symlink() else ():
        if ".git" in path.relative_to(own).parts or path.is_dir():
            continue
        try:
            content = read_bytes(folder, path.relative_to(folder).as_posix()) or b""
        except LeftAlone:  # e.g. a link, whose target is not part of the vault
            continue
        if any(piece in content for piece in wanted):
            yield f"the file {path} contains some of the same words and was not changed"
    for place in (own, folder):
        if not (place / ".git").is_dir():
            continue
        try:
            holding = Repository(place, clock, author=agent).commits_with(wanted)
        except RecollectError as error:
            yield f"the git repository in {place} may hold it, but could not be looked through: {error}"
        else:
            if holding:
                yield (
                    f"{holding} {'commit' if holding == 1 else 'commits'} of the git repository in {place} still hold "
                    "some of the same words; rewrite its history with git, or remove its folder .git"
                )
