"""Encoding of additions in the operation log, without fields that have a default or a derivable value.

Most fields of a new entry have their default, its times are those of the operation, and its concept tags follow from
the content. So the row is a JSON list: the content, the sequence number of the entry, and an object of the other fields
if there are any. Older versions wrote an object of all non-empty fields, which is read as well. The row of a new entry
has only the other fields, as long as the entry has the content: queries/operations.sql makes the list of both.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from operator import attrgetter
from typing import Any

from recollect import text
from recollect.concepts import concept_tags
from recollect.model.entry import Entry, Kind
from recollect.storage.columns import to_json

__all__ = ["of_log", "of_new", "renumbered", "to_log"]

_FIELDS = tuple(one.name for one in fields(Entry) if one.name not in ("id", "content_hash"))
_DEFAULTS = {one.name: one.default for one in fields(Entry) if one.default is not MISSING and one.default} | {
    "kind": Kind.NOTE
}
"""Values of fields that an addition leaves out, besides the empty ones."""
_OTHERS = [name for name in _FIELDS if name not in ("content", "seq", "created_at", "updated_at", "concept_tags")]
_others = attrgetter(*_OTHERS)
_EMPTY = {one.name: one.default for one in fields(Entry)}
_PLAIN = tuple(_DEFAULTS.get(name, _EMPTY[name]) for name in _OTHERS)
"""What most additions have besides their content, in the order of `_others`."""


def of_new(entry: Entry, at: int) -> str:
    """Encode what the row of a new entry does not say about its addition at the time `at`; usually nothing.

    Its concept tags are those of its content.
    """
    if entry.created_at == entry.updated_at == at and _others(entry) == _PLAIN:  # fast path, same result as below
        return ""
    values = {name: value for name in _FIELDS if (value := getattr(entry, name)) or value == ""}
    others = _encoded(values, at, entry.concept_tags)[2:]
    return to_json(others[0]) if others else ""


def to_log(values: Mapping[str, Any], at: int) -> str:
    """Encode the fields of a new entry, without empty ones, for an operation at the time `at`."""
    return to_json(_encoded(values, at, _tags(values["content"])))


def _encoded(values: Mapping[str, Any], at: int, tags: Sequence[str]) -> list[Any]:
    content = values["content"]
    implied = {
        **_DEFAULTS,
        "content": content,
        "seq": values["seq"],
        "created_at": at,
        "updated_at": at,
        "concept_tags": tags,
    }
    others = {name: value for name, value in values.items() if implied.get(name) != value}
    others |= {name: None for name, value in implied.items() if value and name not in values}
    return [content, values["seq"], others] if others else [content, values["seq"]]


def of_log(written: str | None, at: int) -> dict[str, Any]:
    """Decode the fields before or after an operation at the time `at`. Raises ValueError if they are malformed."""
    values = json.loads(written) if written else {}
    if isinstance(values, list):
        return _added(values, at)
    if not isinstance(values, dict):
        raise ValueError("not a JSON object")
    return values


def renumbered(written: str | None, by: int) -> str | None:
    """Return the encoded fields with the sequence number of the entry increased."""
    values = json.loads(written) if written else {}
    if isinstance(values, list) and len(values) > 1:
        values[1] += by
    elif "seq" in values:
        values["seq"] += by
    else:
        return written
    return to_json(values)


def _added(row: list[Any], at: int) -> dict[str, Any]:
    content, seq, others = row if len(row) == 3 else (*row, {})
    if not isinstance(content, str) or not isinstance(others, dict):
        raise ValueError("not an addition")
    known = {**_DEFAULTS, "content": content, "seq": seq, "created_at": at, "updated_at": at, **others}
    if "concept_tags" not in known:
        known["concept_tags"] = list(_tags(content))
    return {name: value for name in _FIELDS if (value := known.get(name)) or value == ""}


def _tags(content: str) -> tuple[str, ...]:
    return concept_tags(content, known=(tags for _, _, _, tags in text.chunks(content)))
