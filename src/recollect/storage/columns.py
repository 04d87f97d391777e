"""The table `entries`, derived from the fields of `Entry`: its columns, their lists in SQL, rows to values and back.

Two columns are shorter in the table than in the entry: the concept tags, which are places in the content, and the hash
of the content, of which the first characters are stored: enough to detect damage.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, make_dataclass
from enum import StrEnum
from operator import attrgetter
from types import NoneType
from typing import Any, cast, get_args, get_origin, get_type_hints

from recollect.model import entry as model
from recollect.model.entry import Entry, Kind, Lifetime, Origin, Scope, SetBy, fields_set_by
from recollect.model.filters import Filters
from recollect.model.operation import WRITABLE
from recollect.storage import tag_places

__all__ = [
    "BOOKKEEPING",
    "COLUMNS",
    "PARTS",
    "WRITTEN",
    "category_of",
    "filter_values",
    "fits",
    "from_columns",
    "from_export",
    "from_json",
    "from_row",
    "scope_of",
    "to_columns",
    "to_export",
    "to_json",
    "to_row",
]

COLUMNS = (*model.COLUMNS, "doc")
"""Columns of a complete row, in the order in which every query returns them: the entry's, and its document number."""
BOOKKEEPING = fields_set_by(SetBy.UPKEEP)
"""Fields that change outside the five operations."""

WRITTEN = (*WRITABLE, "validity_inferred", "updated_at", "concept_tags", "content_hash", "doc")
"""Columns that a write sets."""


def _assigned(*columns: str) -> str:
    return ", ".join(f"{column} = :{column}" for column in columns)


PARTS: Mapping[str, str] = {
    "entry_columns": ", ".join(COLUMNS),
    "entry_values": ", ".join(f":{column}" for column in COLUMNS),
    "entry_written": _assigned(*WRITTEN),
    "entry_bookkeeping": _assigned(*BOOKKEEPING),
    # COALESCE keeps the planner off the index over categories, which is slower for these queries.
    "entry_filters": """(CAST(:any_category AS INTEGER) = 1 OR COALESCE(category, '') IN (:categories*))
    AND (CAST(:any_scope AS INTEGER) = 1 OR COALESCE(scope, '') IN (:scopes*))
    AND (CAST(:any_kind AS INTEGER) = 1 OR COALESCE(kind, '') IN (:kinds*))
    AND (CAST(:any_lifetime AS INTEGER) = 1 OR COALESCE(lifetime, '') IN (:lifetimes*))
    AND (CAST(:source AS TEXT) IS NULL OR source = :source)
    AND (CAST(:since AS BIGINT) IS NULL OR created_at >= :since)
    AND (CAST(:until AS BIGINT) IS NULL OR created_at < :until)
    AND (CAST(:any_origin AS INTEGER) = 1 OR origin IN (:origins*))
    AND (CAST(:transcripts AS INTEGER) = 1 OR (kind = 'note' AND replace(tags, '"auto-handoff"', '') = tags))
    AND (CAST(:current_at AS BIGINT) IS NULL
        OR (closed_at IS NULL AND (valid_until IS NULL OR valid_until > :current_at)))
    AND (CAST(:as_of AS BIGINT) IS NULL OR (
        created_at <= :as_of AND (valid_from IS NULL OR valid_from <= :as_of)
        AND (valid_until IS NULL OR valid_until > :as_of OR closed_at > :as_of)
    ))""",
    "entry_closing": _assigned("valid_until", "superseded_by", "closed_at"),
}
"""Fragments of SQL that any query can include as {NAME}."""

_hints = get_type_hints(Entry)
_values_of = attrgetter(*model.COLUMNS)


def _enum(hint: Any) -> type[StrEnum] | None:
    kinds = get_args(hint) or (hint,)
    return next((one for one in kinds if isinstance(one, type) and issubclass(one, StrEnum)), None)


class _Members(dict[Any, StrEnum | None]):
    """Stored values to the members of an enumeration; a lookup is faster than a call of the enumeration."""

    def __init__(self, kind: type[StrEnum], *, optional: bool) -> None:
        super().__init__({str(one): one for one in kind})
        self._kind = kind
        if optional:
            self[None] = self[""] = None

    def __missing__(self, value: Any) -> StrEnum:
        return self._kind(value)


def _words(text: str) -> tuple[str, ...]:
    if text == "[]":
        return ()
    if text[:2] == '["' and text[-2:] == '"]' and "\\" not in text:  # fast path, same result as below
        words = text[2:-2].split('","')
        if text.count('"') == 2 * len(words):
            return tuple(words)
    return tuple(json.loads(text))


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)


def to_json(value: Any) -> str:
    """Return a value as compact JSON."""
    return _encoder.encode(value)


_ENUMS = {name: (kind, NoneType in get_args(hint)) for name, hint in _hints.items() if (kind := _enum(hint))}
_HASH_LENGTH = 16
_CONTENT, _TAGS, _HASH = (COLUMNS.index(name) for name in ("content", "concept_tags", "content_hash"))
_LISTS = [name for name, hint in _hints.items() if get_origin(hint) is tuple]
_MEMBERS: dict[str, Callable[[Any], Any]] = {
    name: _Members(kind, optional=optional).__getitem__ for name, (kind, optional) in _ENUMS.items()
}
scope_of, category_of = _MEMBERS["scope"], _MEMBERS["category"]
"""Return the member for a stored value; raise ValueError for another one."""
_TEXTS = {None: None} | {one: str(one) for kind, _ in _ENUMS.values() for one in kind}
_JSON = [name for name in _LISTS if name in COLUMNS and name != "concept_tags"]
_FLAGS = [name for name, hint in _hints.items() if hint is bool]
_ENUM_PLACES, _JSON_PLACES, _FLAG_PLACES = (tuple(map(COLUMNS.index, names)) for names in (_ENUMS, _JSON, _FLAGS))
_DECODERS: list[tuple[str, Callable[[Any], Any]]] = [
    *_MEMBERS.items(),
    *((name, _words) for name in _JSON),
    *((name, bool) for name in _FLAGS),
]
_ROW_DECODERS = [(COLUMNS.index(name), decode) for name, decode in _DECODERS]
_RowValues = make_dataclass("_RowValues", (*model.COLUMNS, "name", "aliases"), slots=True)
"""Has the fields of an entry, but is not frozen: it takes a third of the time to make one and turn it into an entry."""
_ZEROS: dict[Any, Any] = {int: 0, float: 0.0}
_DEFAULTS = {one.name: one.default for one in fields(Entry) if one.default is not MISSING}


def filter_values(filters: Filters) -> dict[str, Any]:
    """Return the parameters of {entry_filters}."""
    values: dict[str, Any] = {
        "any_category": int(not filters.categories),
        "categories": list(map(str, filters.categories)),
        "source": filters.source,
        "since": filters.since,
        "until": filters.until,
        "transcripts": int(filters.transcripts),
        "current_at": filters.current_at,
        "as_of": filters.as_of,
    }
    for one, many, found, size in (
        ("any_scope", "scopes", filters.scopes, len(Scope)),
        ("any_kind", "kinds", filters.kinds, len(Kind)),
        ("any_lifetime", "lifetimes", filters.lifetimes, len(Lifetime)),
        ("any_origin", "origins", filters.origins, len(Origin)),
    ):
        every = len(found) == size  # usual; no list to compare with
        values[one], values[many] = int(every), [] if every else list(map(str, found))
    return values


def to_row(entry: Entry, doc: int) -> list[Any]:
    """Return the row of an entry, in the order of COLUMNS."""
    row = [*_values_of(entry), doc]
    for place in _ENUM_PLACES:
        row[place] = _TEXTS[row[place]]
    for place in _JSON_PLACES:
        row[place] = to_json(row[place]) if row[place] else "[]"
    for place in _FLAG_PLACES:
        row[place] = int(row[place])
    row[_TAGS] = tag_places.pack(row[_TAGS], row[_CONTENT])
    row[_HASH] = row[_HASH][:_HASH_LENGTH]
    return row


def to_columns(entry: Entry, doc: int) -> dict[str, Any]:
    """Return the row of an entry, by column."""
    return dict(zip(COLUMNS, to_row(entry, doc), strict=True))


def fits(content_hash: str, stored: str) -> bool:
    """Return whether a content with this hash is the one that was stored."""
    return content_hash[:_HASH_LENGTH] == stored


def from_row(row: Sequence[Any], content_hash: str, name: str | None, aliases: tuple[str, ...]) -> Entry:
    """Build an entry from a row of COLUMNS, the hash of its content, and its names. Raises ValueError and TypeError."""
    values = [*row[:-1], name, aliases]
    values[_TAGS] = tag_places.unpack(values[_TAGS], values[_CONTENT])
    values[_HASH] = content_hash
    for place, decode in _ROW_DECODERS:
        values[place] = decode(values[place])
    entry: Any = _RowValues(*values)
    entry.__class__ = Entry
    return cast(Entry, entry)


def from_columns(values: dict[str, Any]) -> Entry:
    """Build an entry from its exported row and the fields that have no column; the dict is changed. Raises ValueError
    and TypeError.

    A column that the row lacks has its default value.
    """
    values.pop("doc", None)
    for name, decode in (*_DECODERS, ("concept_tags", _words)):
        if name in values:
            values[name] = decode(values[name])
    return Entry(**values)


def to_export(columns: Sequence[str], row: Sequence[Any], content_hash: Callable[[str], str]) -> tuple[Any, ...]:
    """Return a row of some columns with its tags and its hash as an export has them."""
    values = dict(zip(columns, row, strict=True))
    with suppress(ValueError):  # damaged; stays as it is
        values["concept_tags"] = to_json(tag_places.unpack(values["concept_tags"], values["content"]))
    whole = content_hash(values["content"])
    if fits(whole, values["content_hash"]):
        values["content_hash"] = whole
    return tuple(values.values())


def from_export(columns: Sequence[str], row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row of some columns, as `to_export` returned it, as the table has it."""
    values = dict(zip(columns, row, strict=True))
    with suppress(ValueError):
        values["concept_tags"] = tag_places.pack(_words(values["concept_tags"]), values["content"])
    values["content_hash"] = values["content_hash"][:_HASH_LENGTH]
    return tuple(values.values())


def from_json(entry_id: str, values: Mapping[str, Any], **more: Any) -> Entry:
    """Build an entry from its fields in the operation log, which omits None, zero and empty lists."""
    found: dict[str, Any] = {
        name: _ZEROS[hint] for name, hint in _hints.items() if hint in _ZEROS and name not in values
    }
    found |= values
    for name, decode in _MEMBERS.items():
        found[name] = decode(found.get(name) or _DEFAULTS.get(name))
    for name in _LISTS:
        found[name] = tuple(found.get(name, ()))
    return Entry(id=entry_id, **(found | more))
