"""Git history of a vault: a repository of its own, with a commit per dream, ended conversation and request.

Only adds commits: never merges, never contacts a remote, and never commits while a merge, rebase or similar is in
progress. The only module that imports pygit2.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from recollect.clock import Clock
from recollect.errors import ConfigError, Conflict, Corrupt, Invalid, Unavailable
from recollect.vault.files import Edited, LeftAlone, opened, replace_file

__all__ = [
    "FILE_BYTES",
    "Checkpoint",
    "Commit",
    "GitHistory",
    "Repository",
    "checkpoint_subject",
    "close_message",
    "dream_subject",
]

FILE_BYTES = 1_048_576
"""Larger files are left out of commits."""
EMAIL = "agent@localhost"
MOST = 100
_IGNORED = "transcripts/\nmedia/\n*.tmp\n*.swp\n.DS_Store\n"
_IGNORED_IN_A_VAULT = "conversations/\n.vault/\n"
_ATTRIBUTES = "* -text\n*.md diff=markdown\n"
_log = logging.getLogger("recollect.git")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit."""

    oid: str
    subject: str
    body: str
    author: str
    timestamp_unix: int

    @property
    def short_oid(self) -> str:
        """The first seven characters of the commit id."""
        return self.oid[:7]


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHistory:
    """Commits, newest first; optionally the diff from the oldest of them to the newest."""

    commits: tuple[Commit, ...]
    diff: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Result of a commit on request; skipped, with the reason, if there was nothing to commit."""

    oid: str | None = None
    subject: str | None = None
    skipped: bool = False
    reason: str | None = None


def dream_subject(promotions: int) -> str:
    """Return the commit subject of a dream. A dream without promotions is committed too: its diary has a new entry."""
    return f"dream: {promotions} promotion(s)"


def close_message(conversation: str, agent: str) -> tuple[str, str]:
    """Return the commit subject and body for the end of a conversation."""
    return f"session-close: {conversation}", f"agent={agent}"


def checkpoint_subject(note: str | None = None) -> str:
    """Return the commit subject of a checkpoint."""
    words = " ".join((note or "").split())
    return f"checkpoint: {words or 'manual'}"


class Repository:
    """The git repository of one folder: an agent's, or the whole vault's."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        *,
        author: str,
        email: str = EMAIL,
        whole_vault: bool = False,
        only: Sequence[str] = (),
    ) -> None:
        """`only` restricts commits and history to these files and folders, which are direct children of `folder`."""
        self.folder, self._clock, self._author, self._email = folder, clock, author, email
        self._only = tuple(only)
        self._ignored = _IGNORED + (_IGNORED_IN_A_VAULT if whole_vault else "")

    def commit_all(self, subject: str, body: str = "") -> Commit | None:
        """Commit all files that are not ignored; None if nothing changed. Files over 1 MiB are left out and logged."""
        with _errors(self.folder):
            return self._commit(self._opened(), subject, body)

    def checkpoint(self, note: str | None = None) -> Checkpoint:
        """Commit the current state with `note` in the subject."""
        subject = checkpoint_subject(note)
        made = self.commit_all(subject)
        if made is None:
            return Checkpoint(skipped=True, reason="nothing changed since the last commit")
        return Checkpoint(oid=made.short_oid, subject=subject)

    def history(self, limit: int = 10, include_diff: bool = False) -> GitHistory:
        """Return the newest commits, at most 100; with `include_diff` also the diff from the oldest to the newest."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
            raise Invalid(f"the limit must be a number of commits, 1 to {MOST}; not {limit!r}")
        if not os.path.lexists(self.folder / ".git"):
            return GitHistory(commits=())
        with _errors(self.folder):
            repository = self._found()
            found: list[Any] = []
            if not repository.head_is_unborn:
                walk = repository.walk(repository.head.target)
                found = list(islice((commit for commit in walk if self._concerns(commit)), limit))
            diff = None
            if include_diff and len(found) > 1:
                patches = repository.diff(found[-1], found[0])
                diff = "".join(patch.text or "" for patch in patches if self._holds(patch.delta.new_file.path))
            return GitHistory(commits=tuple(map(_commit_value, found)), diff=diff)

    def _holds(self, path: str) -> bool:
        return not self._only or path.partition("/")[0] in self._only

    def _concerns(self, commit: Any) -> bool:
        """True if the commit changed a path of `only`; for a merge, if the result differs from every parent."""
        parts = self._parts(commit.tree)
        before = [self._parts(parent.tree) for parent in commit.parents] or [[None] * len(parts)]
        return not self._only or parts not in before

    def _parts(self, tree: Any) -> list[Any]:
        return [tree[name].id if name in tree else None for name in self._only]

    def commits_with(self, pieces: Sequence[bytes]) -> int:
        """Count the commits reachable from any reference that have a file containing one of the pieces."""
        with _errors(self.folder):
            repository = self._found()
            known: dict[Any, bool] = {}

            def holds(entry: Any) -> bool:
                if entry.id not in known:
                    if entry.type_str == "tree":
                        known[entry.id] = any(holds(child) for child in entry)
                    else:
                        is_file = entry.type_str == "blob"
                        known[entry.id] = is_file and any(piece in entry.data for piece in pieces)
                return known[entry.id]

            commits: dict[Any, Any] = {}
            for name in repository.references:
                tip = repository.references[name].peel()
                if tip.type_str == "commit":
                    commits |= {commit.id: commit for commit in repository.walk(tip.id)}
            return sum(holds(commit.tree) for commit in commits.values())

    def _found(self) -> Any:
        """Open the existing repository of this folder; raise Conflict if `.git` points or reaches elsewhere."""
        inside = self.folder / ".git"
        if inside.is_symlink() or not inside.is_dir():
            name = self.folder.name
            raise Conflict(f"{name}/.git points to a repository elsewhere and is not used; remove it, or turn git off")
        if _reaches_out(inside):
            raise Conflict(f"{self.folder.name}/.git uses files outside of it and is not used; remove those links")
        repository = _git().Repository(str(inside))
        if repository.workdir is None or not os.path.samefile(repository.workdir, self.folder):
            raise Conflict(
                f"{self.folder.name}/.git is configured for another folder and is not used; correct its config"
            )
        return repository

    def _opened(self) -> Any:
        git = _git()
        if os.path.lexists(self.folder / ".git"):
            repository = self._found()
            if repository.state() != 0:
                raise Conflict(
                    f"the git repository in {self.folder.name} has a merge, rebase or similar in progress; nothing was "
                    "committed. Finish or abort it with git, and try again"
                )
            if not repository.head_is_unborn:
                return repository
        else:
            self.folder.mkdir(parents=True, exist_ok=True)
            repository = git.init_repository(str(self.folder), initial_head="main")
        for name, content in ((".gitignore", self._ignored), (".gitattributes", _ATTRIBUTES)):
            if not os.path.lexists(self.folder / name):
                with suppress(Edited):  # created by another process meanwhile
                    replace_file(self.folder, name, content.encode(), None)
        self._commit(repository, "workspace init", "", only=(".gitattributes", ".gitignore"))
        return repository

    def _commit(self, repository: Any, subject: str, body: str, only: tuple[str, ...] = ()) -> Commit | None:
        git = _git()
        index = repository.index
        index.read()
        for name, flags in repository.status(untracked_files="all").items():
            if not (name in only if only else self._holds(name)):
                continue
            if flags & git.GIT_STATUS_WT_DELETED:
                index.remove(name)
            elif (
                not flags & git.GIT_STATUS_IGNORED and not name.endswith("/") and flags != git.GIT_STATUS_INDEX_DELETED
            ):
                self._add(repository, index, name)
        index.write()  # before the commit: if another process holds the index lock, this raises
        tree, unborn = index.write_tree(), repository.head_is_unborn
        if not unborn and tree == repository.head.peel(git.Commit).tree.id:
            return None
        who = git.Signature(self._author, self._email, self._clock.now() // 1000, 0)
        message = f"{' '.join(subject.split())}\n" + (f"\n{body.strip()}\n" if body.strip() else "")
        parents = [] if unborn else [repository.head.target]
        oid = repository.create_commit("HEAD", who, who, message, tree, parents)
        return _commit_value(repository[oid])

    def _add(self, repository: Any, index: Any, name: str) -> None:
        """Add a file to the index, reading it through `vault.files`; links and large files are left out and logged."""
        git = _git()
        try:
            with opened(self.folder, name) as file:
                mode, content = os.fstat(file.fileno()).st_mode, file.read(FILE_BYTES + 1)
        except FileNotFoundError:
            return
        except LeftAlone as problem:
            _log.warning("%s is left out of the commit in %s: %s", name, self.folder, problem)
            return
        if len(content) > FILE_BYTES:
            _log.warning("%s has over %d bytes and is left out of the commit in %s", name, FILE_BYTES, self.folder)
            return
        kind = git.GIT_FILEMODE_BLOB_EXECUTABLE if mode & 0o100 else git.GIT_FILEMODE_BLOB
        index.add(git.IndexEntry(name, repository.create_blob(content), kind))


def _reaches_out(folder: Path) -> bool:
    """True if a repository uses files outside of it: symbolic links, `commondir` or alternates."""
    if any(os.path.lexists(folder / name) for name in ("commondir", "objects/info/alternates")):
        return True
    return _holds_link(folder)


def _holds_link(folder: Path | str) -> bool:
    with os.scandir(folder) as found:
        return any(
            entry.is_symlink() or (entry.is_dir(follow_symlinks=False) and _holds_link(entry.path)) for entry in found
        )


def _commit_value(commit: Any) -> Commit:
    subject, _, body = commit.message.partition("\n")
    return Commit(
        oid=str(commit.id),
        subject=subject,
        body=body.strip(),
        author=commit.author.name,
        timestamp_unix=commit.commit_time,
    )


def _git() -> Any:
    try:
        import pygit2
    except ImportError:
        raise ConfigError(f"git needs the package pygit2: {ConfigError.install('git')}") from None
    return pygit2


@contextmanager
def _errors(folder: Path) -> Iterator[None]:
    """Translate git and disk errors to RecollectError subclasses."""
    git = _git()
    try:
        yield
    except git.GitError as error:
        kind = Unavailable if "lock" in str(error) else Corrupt
        raise kind(f"git cannot work in {folder}: {error}; look at it with `git status`") from error
    except (KeyError, ValueError) as error:
        raise Corrupt(f"the git repository in {folder} is damaged: {error}; look at it with `git fsck`") from error
    except OSError as error:
        raise Unavailable(f"git cannot work in {folder}: {error}") from error
