"""Rewrites links by path, `[[folder/note]]` and `[text](note.md)`, after a file was moved or renamed. Pure.

A path is resolved as Obsidian does it: from the folder of the note with the link, from the top folder, or as the end of
a path. Only the digest of the old path of a file is stored, so each candidate path of a link is compared by its digest.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

from recollect.vault.links import outside_code

__all__ = ["Moves", "path_probes", "repointed"]

SUFFIX = ".md"
_WIKI = re.compile(r"(?<=\[\[)[^\[\]\r\n]+(?=\]\])")
_TARGET_END = re.compile(r"\\?\||#|\Z")
_INLINE = re.compile(r"(\[[^\[\]\r\n]*\]\([ \t]*)(<[^<>\r\n]+>|[^()<>\s]+)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPED = re.compile(r"[\s()<>%]")
_NOT_IN_WIKI = frozenset("[]|#^")


@dataclass(frozen=True, slots=True)
class Moves:
    """The files of an agent that were moved."""

    top: str
    """The agent's folder, the root of absolute links."""
    folders: Collection[str]
    """The folders of its files, starting with `top`."""
    new_path: Callable[[str], str | None]
    """Return where the file with this old path is now; None if it was not moved."""


def path_probes(stem: str) -> tuple[str, ...]:
    """Return substrings to search for: every link by path to a file of this name contains one of them."""
    return tuple(dict.fromkeys([f"/{stem}", f"{stem}{SUFFIX}", f"{quote(stem)}{SUFFIX}", f"{_escaped(stem)}{SUFFIX}"]))


def repointed(content: str, holder: str | None, moves: Moves) -> str:
    """Return a text with links by path updated to the new paths. `holder` is the path of the file with the text."""

    def wiki(found: re.Match[str]) -> str:
        end = _TARGET_END.search(found[0])
        written = found[0][: end.start() if end else None]
        bare = written.strip().removesuffix(SUFFIX)
        if "/" not in bare:
            return found[0]
        new = _target(bare, holder if bare.startswith(".") else None, moves)
        if new is None or _NOT_IN_WIKI & set(new):
            return found[0]
        return written.replace(bare, new.removesuffix(SUFFIX), 1) + found[0][len(written) :]

    def inline(found: re.Match[str]) -> str:
        angle = found[2].startswith("<")
        written, mark, part = (found[2][1:-1] if angle else found[2]).partition("#")
        path = written if angle else unquote(written)
        if _SCHEME.match(path) or not path.endswith(SUFFIX):
            return found[0]
        new = _target(path.removesuffix(SUFFIX), holder, moves)
        if new is None:
            return found[0]
        return found[1] + (f"<{new}{mark}{part}>" if angle else f"{_escaped(new)}{mark}{part}")

    return outside_code(content, lambda text: _INLINE.sub(inline, _WIKI.sub(wiki, text)))


def _target(written: str, holder: str | None, moves: Moves) -> str | None:
    """Return the new target of a link, in the same form; None if its file was not moved."""
    for path, form in _candidates(written, holder, moves):
        new = moves.new_path(path + SUFFIX)
        if new is not None:
            return form(new)
    return None


def _candidates(written: str, holder: str | None, moves: Moves) -> Iterator[tuple[str, Callable[[str], str]]]:
    """Yield the candidate paths of a link, best first, each with a function that formats a link to a new path."""
    if holder is not None:
        here = posixpath.dirname(holder)
        lead = "./" if written.startswith("./") else ""

        def relative(new: str) -> str:
            found = posixpath.relpath(new, here)
            return found if found.startswith("../") else lead + found

        yield posixpath.normpath(posixpath.join(here, written)), relative
    if written.startswith("."):
        return

    def from_the_top(new: str) -> str:
        return ("/" if written.startswith("/") else "") + posixpath.relpath(new, moves.top)

    folder, last = posixpath.split(written.lstrip("/"))
    yield posixpath.join(moves.top, folder, last), from_the_top
    for known in sorted(moves.folders):
        if not folder or known.endswith(f"/{folder}"):
            yield f"{known}/{last}", from_the_top if folder else posixpath.basename


def _escaped(path: str) -> str:
    return _ESCAPED.sub(lambda found: quote(found[0]), path)
