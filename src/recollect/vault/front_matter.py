"""Front matter of a note file: YAML between two `---` lines at its start. Pure. The only module that imports yaml.

The argument. Front matter belongs to the person who wrote it, so it is never rendered again: a library that loads and
dumps YAML would lose comments, quotes and order, or would at least wrap lines. It is only parsed, which gives the
position of every key; to change a key, its lines are replaced, and every other byte stays.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from recollect.errors import ConfigError

__all__ = ["FrontMatter", "FrontMatterError", "Value", "split"]

Value = str | tuple[str, ...] | None
"""The value of a key: a scalar as it is written, a list of scalars, or None for null and for anything else."""

FRONT_BYTES = 65_536
"""Longer front matter is not read."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FENCE = re.compile(r"---[ \t]*(?:\r\n|\r|\n|\Z)")
_KEY = re.compile(r"[\w-]+:(?:[ \t]|[\r\n]|\Z)")
_COMMENT = re.compile(r"[ \t]+#[^\r\n]*")
_PLAIN = re.compile(r"[^\W\d_](?:[\w./ -]*[\w./-])?")
_WORDS = frozenset(["true", "false", "yes", "no", "on", "off", "null", "y", "n"])
_UNPRINTABLE = re.compile("[\x7f-\x9f\ufeff\ufffe\uffff]")
_BYTE_ORDER_MARK = "\ufeff"
_NULL = "tag:yaml.org,2002:null"


class FrontMatterError(Exception):
    """The front matter cannot be parsed; the message has the line and the reason."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")


@dataclass(frozen=True, slots=True)
class _Property:
    """A key of the front matter: its value, and which part of the text it takes up, from line start to line end."""

    value: Value
    start: int
    end: int
    indent: str
    """The indentation of list items, if it is a list with one item per line."""
    comment: str
    """A comment at the end of its line, with the space before it."""


def split(text: str) -> tuple[str, str]:
    """Return the front matter of a file with both `---` lines, empty if there is none, and the body.

    A byte order mark counts as front matter. Raises FrontMatterError if the closing line is missing.
    """
    mark = len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0
    opening = _FENCE.match(text, mark)
    if opening is None:
        return text[:mark], text[mark:]
    place = opening.end()
    while place < len(text):
        closing = _FENCE.match(text, place)
        if closing is not None:
            return text[: closing.end()], text[closing.end() :]
        place = _LINE.match(text, place).end()  # type: ignore[union-attr]  # it matches always
    if _KEY.match(text, opening.end()):
        raise FrontMatterError(1, "no closing `---` line")
    return text[:mark], text[mark:]  # the line is a thematic break


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Parsed front matter: its verbatim text, and the properties in it."""

    text: str
    _properties: Mapping[str, _Property]
    _end: int
    """Where the closing `---` line starts, and a new key is inserted."""
    _indent: str = ""

    @classmethod
    def parse(cls, text: str) -> "FrontMatter":
        """Parse front matter as `split` returns it. Raises FrontMatterError, and ConfigError without PyYAML."""
        start = _start(text)
        if start == len(text):
            return cls(text, {}, len(text))
        if len(text.encode()) > FRONT_BYTES:
            raise FrontMatterError(1, f"the front matter is longer than {FRONT_BYTES:,} bytes")
        end = start
        while not _FENCE.match(text, end):
            end = _LINE.match(text, end).end()  # type: ignore[union-attr]  # `split` has found the line
        found: dict[str, _Property] = {}
        indent = ""
        for key, value in _pairs(text[start:end]):
            place = start + key.start_mark.index
            line = max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1
            indent = text[line:place]
            if indent.strip():
                raise _error(text, place, "write one `key: value` per line")
            if key.value in found:
                raise _error(text, place, f"the key {key.value!r} occurs twice")
            found[key.value] = _property(text, line, start, value)
        return cls(text, found, end, indent)

    def __contains__(self, key: str) -> bool:
        return key in self._properties

    def get(self, key: str) -> Value:
        """Return the value of a key; None if it is missing."""
        found = self._properties.get(key)
        return None if found is None else found.value

    def line_of(self, key: str) -> int:
        """Return the number of the line of a key in the file."""
        return _line_number(self.text, self._properties[key].start)

    def changed(self, values: Mapping[str, Value], *, newline: str = "\n") -> "FrontMatter":
        """Return the front matter with these values; None removes a key, an empty text leaves it without a value."""
        text, end = self.text, self._end
        known = [(key, value) for key, value in values.items() if key in self._properties]
        for key, value in sorted(known, key=lambda one: self._properties[one[0]].start, reverse=True):
            place = self._properties[key]
            lines = "" if value is None else _lines(key, value, newline, self._indent, place)
            text = text[: place.start] + lines + text[place.end :]
            end += len(lines) - (place.end - place.start)
        added = {key: value for key, value in values.items() if value is not None and key not in self._properties}
        new = [_lines(key, value, newline, self._indent) for key, value in added.items()]
        opening = closing = ""
        if added and _start(text) == len(text):
            opening, closing = f"---{newline}", f"---{newline}"
        text = "".join((text[:end], opening, *new, closing, text[end:]))
        if known or not all(isinstance(value, str) for value in added.values()) or len(text) * 4 > FRONT_BYTES:
            return FrontMatter.parse(text)
        # Only keys with one line each were added: the rest is parsed already.
        properties, start = dict(self._properties), end + len(opening)
        for (key, value), line in zip(added.items(), new, strict=True):
            properties[key] = _Property(value or None, start, start + len(line), "", "")
            start += len(line)
        return replace(self, text=text, _properties=properties, _end=start)


def _start(text: str) -> int:
    """Return where the YAML starts, behind the opening `---` line; the length of the text if there is none."""
    mark = len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0
    opening = _FENCE.match(text, mark)
    return len(text) if opening is None else opening.end()


def _pairs(source: str) -> list[tuple[Any, Any]]:
    """Return the keys and values of a YAML mapping as nodes."""
    yaml = _yaml()
    try:
        node = yaml.compose(source, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = error.problem or error.context or "it is not YAML"
        raise FrontMatterError((mark.line if mark else 0) + 2, reason) from None
    except yaml.YAMLError as error:  # a character that YAML does not allow
        place = getattr(error, "position", 0)
        raise FrontMatterError(_line_number(source, place) + 1, getattr(error, "reason", str(error))) from None
    except RecursionError:
        raise FrontMatterError(2, "it is nested too deeply") from None
    if node is None or (node.id == "scalar" and node.tag == _NULL):
        return []
    if node.id != "mapping" or node.flow_style or any(key.id != "scalar" for key, _ in node.value):
        raise FrontMatterError(node.start_mark.line + 2, "write one `key: value` per line")
    return list(node.value)


def _property(text: str, line: int, start: int, node: Any) -> _Property:
    """Describe a key that starts at `line`, from the node of its value; the YAML begins at `start`."""
    last = node
    while last.id == "sequence" and not last.flow_style and last.value:
        last = last.value[-1]
    inside = last.end_mark.index if last.id == "scalar" or last.flow_style else node.end_mark.index
    stop = max(len(text[: start + inside].rstrip()), start + node.start_mark.index)
    comment = _COMMENT.match(text, stop)
    end = _LINE.match(text, comment.end() if comment else stop).end()  # type: ignore[union-attr]  # it matches always
    indent = ""
    if node.id == "sequence" and not node.flow_style and node.value:
        item = start + node.value[0].start_mark.index
        before = max(text.rfind("\n", 0, item), text.rfind("\r", 0, item)) + 1
        indent = text[before:item]
    return _Property(_value(node), line, end, indent, comment[0] if comment and not indent else "")


def _value(node: Any) -> Value:
    if node.id == "scalar":
        return None if node.tag == _NULL else str(node.value)
    if node.id == "sequence" and all(one.id == "scalar" for one in node.value):
        return tuple(str(one.value) for one in node.value if one.tag != _NULL)
    return None


def _lines(key: str, value: Value, newline: str, indent: str, old: _Property | None = None) -> str:
    """Return the lines of a key; a list keeps its form, and a new one has one item per line."""
    comment = old.comment if old else ""
    if not value:
        return f"{indent}{key}:{comment}{newline}"
    if isinstance(value, str):
        return f"{indent}{key}: {_scalar(value)}{comment}{newline}"
    if old is not None and isinstance(old.value, tuple) and old.value and not old.indent:
        return f"{indent}{key}: [{', '.join(map(_scalar, value))}]{comment}{newline}"
    bullet = old.indent if old is not None and old.indent.strip() == "-" else f"{indent}  - "
    return f"{indent}{key}:{newline}" + "".join(f"{bullet}{_scalar(one)}{newline}" for one in value)


def _scalar(text: str) -> str:
    """Return a text as a YAML scalar: plain if that cannot be taken for anything else, quoted otherwise."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    if re.fullmatch(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z|[01]\.[0-9]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", text
    ):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _error(text: str, place: int, reason: str) -> FrontMatterError:
    return FrontMatterError(_line_number(text, place), reason)


def _line_number(text: str, place: int) -> int:
    return len(re.findall(r"\r\n|\r|\n", text[:place])) + 1


def _yaml() -> Any:
    try:
        import yaml
    except ImportError:
        raise ConfigError(f"the layout 'notes' needs the package PyYAML: {ConfigError.install('vault')}") from None
    return yaml
