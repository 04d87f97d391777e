"""Format-preserving edits of JSON with comments: one value is set, everything else stays unchanged.

Pure functions: nothing here reads or writes a file. Each edit is verified by parsing its result: it must equal the old
value with the one change; otherwise Invalid is raised.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.errors import Invalid

__all__ = ["drop_json", "read_json", "set_json"]

Path = Sequence[str | int]

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"-?\d[\d.eE+-]*|true|false|null")


@dataclass(slots=True)
class _Node:
    """A value with its position in the text; for an object or a list also its members, by key or index."""

    start: int
    end: int
    value: Any
    members: "dict[str | int, tuple[int, _Node]] | None" = None
    """Members with their start; in an object that is the start of the key."""


def read_json(text: str) -> Any:
    """Parse JSON with comments and trailing commas."""
    return _document(text).value


def set_json(text: str, path: Path, value: Any) -> str:
    """Set the value at a path and create missing parents. An index equal to a list's length appends."""
    whole = text if text.strip("\ufeff \t\r\n") else "{}\n"
    expected = _with(read_json(whole), path, value)
    node = _document(whole)
    depth = 0
    while depth < len(path) and node.members is not None and path[depth] in node.members:
        node = node.members[path[depth]][1]
        depth += 1
    if depth < len(path):
        if node.members is None or isinstance(node.value, list) != isinstance(path[depth], int):
            raise Invalid(f"{_spelled(path[:depth])} has an unexpected type")
        for key in reversed(path[depth + 1 :]):
            value = {key: value} if isinstance(key, str) else [value]
        made = _inserted(whole, node, path[depth], value)
    else:
        made = whole[: node.start] + _written(whole, node.start, value) + whole[node.end :]
    if read_json(made) != expected:
        raise Invalid("its formatting cannot be edited safely")
    return made


def drop_json(text: str, path: Path) -> str:
    """Remove the value at a path; return the text unchanged if there is none."""
    expected = table = read_json(text)
    made = _cut(text, path)
    if made != text:
        for key in path[:-1]:
            table = table[key]
        del table[path[-1]]
    if read_json(made) != expected:
        raise Invalid("its formatting cannot be edited safely")
    return made


def _cut(text: str, path: Path) -> str:
    parent = _document(text)
    for key in path[:-1]:
        if parent.members is None or key not in parent.members:
            return text
        parent = parent.members[key][1]
    members = parent.members or {}
    if path[-1] not in members:
        return text
    order = list(members)
    place = order.index(path[-1])
    begin, node = members[path[-1]]
    end = node.end
    if place + 1 < len(order):  # cut up to the next member
        end = members[order[place + 1]][0]
    elif place:
        before = members[order[place - 1]][1].end
        comma = _past_space(text, before)
        kept = text[before:comma] + text[comma + 1 : begin].rstrip()
        return text[:before] + kept.rstrip() + text[end:]
    else:
        comma = _past_space(text, end)
        end = comma + 1 if text[comma] == "," else end
        begin, end = parent.start + 1, len(text[:end]) + len(text[end:]) - len(text[end:].lstrip())
    return text[:begin] + text[end:]


def _document(text: str) -> _Node:
    try:
        node = _node(text, _past_space(text, 0))
    except RecursionError:
        raise Invalid("nested too deeply") from None
    end = _past_space(text, node.end)
    if end != len(text):
        raise _broken(text, end)
    if not isinstance(node.value, dict):
        raise Invalid("not a JSON object")
    return node


def _node(text: str, at: int) -> _Node:
    if text[at : at + 1] in ("{", "["):
        return _container(text, at)
    found = _STRING.match(text, at) or _PLAIN.match(text, at)
    try:
        return _Node(at, found.end(), json.loads(found[0])) if found else _fail(text, at)
    except ValueError:
        raise _broken(text, at) from None


def _container(text: str, start: int) -> _Node:
    is_object = text[start] == "{"
    close, at = "}" if is_object else "]", _past_space(text, start + 1)
    members: dict[str | int, tuple[int, _Node]] = {}
    while text[at : at + 1] != close:
        begin = at
        key: str | int = len(members)
        if is_object:
            name = _node(text, at)
            if not isinstance(name.value, str) or name.value in members:
                raise _broken(text, at)
            colon = _past_space(text, name.end)
            if text[colon : colon + 1] != ":":
                raise _broken(text, colon)
            key, at = name.value, _past_space(text, colon + 1)
        inner = _node(text, at)
        members[key] = begin, inner
        at = _past_space(text, inner.end)
        if text[at : at + 1] == ",":
            at = _past_space(text, at + 1)
        elif text[at : at + 1] != close:
            raise _broken(text, at)
    values = {key: inner.value for key, (_, inner) in members.items()}
    return _Node(start, at + 1, values if is_object else list(values.values()), members)


def _inserted(text: str, node: _Node, key: str | int, value: Any) -> str:
    """Append a member to an object or a list, formatted like its neighbours."""
    members = list((node.members or {}).values())
    label = f"{json.dumps(key)}: " if isinstance(key, str) else ""
    if not members:
        line, step, base = _style(text, node.start)
        inside = f"{line}{base}{step}{label}{_dumped(value, line, base + step, step)}{line}{base}"
        return text[: node.start + 1] + inside + text[node.end - 1 :]
    begin, last = members[-1]
    at, between = last.end, ","
    comma = _past_space(text, at)
    if text[comma] == ",":
        at, between = comma + 1, ""
    line, step, base = _style(text, begin)
    if "\n" in text[node.start : begin]:
        lead, made = f"{line}{base}", _dumped(value, line, base, step)
    else:
        lead, made = " ", json.dumps(value, ensure_ascii=False)
    return f"{text[:at]}{between}{lead}{label}{made}{text[at:]}"


def _written(text: str, at: int, value: Any) -> str:
    line, step, base = _style(text, at)
    return _dumped(value, line, base, step)


def _dumped(value: Any, line: str, base: str, step: str) -> str:
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", line + base)


def _style(text: str, at: int) -> tuple[str, str, str]:
    """Return the line ending, the indentation step, and the indentation of the line at a position."""
    start = text.rfind("\n", 0, at) + 1
    base = text[start : len(text) - len(text[start:].lstrip(" \t"))]
    indented = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    step = "\t" if indented and indented[1].startswith("\t") else indented[1] if indented else "  "
    return "\r\n" if "\r\n" in text else "\n", step, base


def _with(known: Any, path: Path, value: Any) -> Any:
    """Return a copy of a value with another one set at a path."""
    if not path:
        return value
    key, below = path[0], path[1:]
    if isinstance(key, int):
        items = known if isinstance(known, list) else []
        return [*items[:key], _with(items[key] if key < len(items) else None, below, value), *items[key + 1 :]]
    table = known if isinstance(known, Mapping) else {}
    return {**table, key: _with(table.get(key), below, value)}


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _fail(text: str, at: int) -> _Node:
    raise _broken(text, at)


def _broken(text: str, at: int) -> Invalid:
    line = text.count("\n", 0, at) + 1
    return Invalid(f"not valid JSON: line {line}, column {at - text.rfind(chr(10), 0, at)}")


def _spelled(path: Path) -> str:
    return ".".join(map(str, path)) or "the file"
