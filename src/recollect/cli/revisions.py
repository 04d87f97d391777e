"""The text of a revision: what changed in an entry, in one line or field by field as a word diff."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from recollect.cli.output import line
from recollect.model.operation import Revision

__all__ = ["field_changes", "one_line"]

LONGEST = 240
"""Maximum characters of a text."""
COMPARED = 2_000
"""Maximum total number of words of two texts that are compared word by word."""
AROUND = 4
"""Words of context shown on both sides of a change."""


def one_line(revision: Revision) -> str:
    """Describe what a revision changed in one line."""
    before, after = revision.before, revision.after
    match revision.operation:
        case _ if not before and not after:
            return "(erased)"
        case "rename":
            return line(f"{before.get('name') or 'no name'} -> {after['name']}")
        case "alias":
            return line(f"also {after['alias']}" if after else f"no longer {before['alias']}")
        case "add":
            return line(f"{_named(after)}{after['content']}")
        case "remove":
            return line(f"{_named(before)}{before['content']}")
        case _:
            return line("; ".join(f"{name}: {_plain(value)}" for name, value in after.items()))


def field_changes(revision: Revision) -> list[tuple[str, str]]:
    """Describe what a revision changed: field by field for a write, otherwise in one line."""
    before, after = revision.before, revision.after
    if revision.operation != "write" or not after:
        return [("", _cut(one_line(revision)))]
    return [(name, _compared(_plain(before.get(name)), _plain(value))) for name, value in after.items()]


def _compared(before: str, after: str) -> str:
    """Return a word diff of two texts: [-removed-], {+added+}, and a few words of context."""
    before, after = line(before), line(after)
    old, new = before.split(), after.split()
    if before == after:
        return _cut(after)
    if not old or not new or len(old) + len(new) > COMPARED:
        return f"{_cut(before) or 'nothing'} -> {_cut(after) or 'nothing'}"
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < 0.3:  # unrelated texts that share a few words by chance
        return f"{_cut(before)} -> {_cut(after)}"
    return " ".join(_marked(matcher, old, new))


def _marked(matcher: "SequenceMatcher[str]", old: list[str], new: list[str]) -> Iterator[str]:
    for tag, start, end, first, last in matcher.get_opcodes():
        if tag == "equal":
            head = old[start:end][:AROUND] if start else []
            tail = old[start:end][-AROUND:] if end < len(old) or last < len(new) else []
            if len(head) + len(tail) >= end - start:
                yield from old[start:end]
            else:
                yield from (*head, "…", *tail)
        if tag in ("delete", "replace"):
            yield f"[-{_cut(' '.join(old[start:end]))}-]"
        if tag in ("insert", "replace"):
            yield f"{{+{_cut(' '.join(new[first:last]))}+}}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()}…"


def _named(values: Mapping[str, Any]) -> str:
    return f"{values['name']}: " if values.get("name") else ""


def _plain(value: object) -> str:
    return "" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
