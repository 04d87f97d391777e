"""Branches of a chat whose messages form a tree: an edited message or another answer starts a new one. Pure."""

from collections import deque
from collections.abc import Mapping, Sequence

from recollect.model.history import opening_line
from recollect.transfer.importers.values import ImportedMessage

__all__ = ["another_branch", "branches", "forks"]


def branches(parents: Mapping[str, str | None], current: str | None) -> list[list[str]]:
    """Return the path from the root to `current`, then each other branch from its fork on. No node is in two of them.

    A branch follows the newest child; its other children are branches of their own. Cycles end where they close.
    """
    path_up: dict[str, None] = {}
    while current is not None and current in parents and current not in path_up:
        path_up[current] = None
        current = parents[current]
    main = [*path_up][::-1]
    children = _children(parents)
    seen, found = set(main), [main]
    waiting = deque(child for parent in (None, *main) for child in children.get(parent, ()) if child not in seen)
    while waiting:
        path: list[str] = []
        node: str | None = waiting.popleft()
        while node is not None and node not in seen:
            seen.add(node)
            path.append(node)
            *others, node = children.get(node, ()) or (None,)
            waiting.extend(other for other in others if other is not None)
        if path:
            found.append(path)
    return found


def forks(parents: Mapping[str, str | None]) -> list[str]:
    """Return the nodes at which a branch may begin: those with siblings."""
    return [node for siblings in _children(parents).values() if len(siblings) > 1 for node in siblings]


def another_branch(title: str | None, messages: Sequence[ImportedMessage]) -> str | None:
    """Return the title of a further branch of a chat. If the chat has none, what its user said first stands for it."""
    opening = next((message.text for message in messages if message.by_user), "")
    called = title or opening_line(opening)
    return f"{called} (another branch)" if called else None


def _children(parents: Mapping[str, str | None]) -> dict[str | None, list[str]]:
    children: dict[str | None, list[str]] = {}
    for node, parent in parents.items():
        children.setdefault(parent if parent in parents else None, []).append(node)
    return children
