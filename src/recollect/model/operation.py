"""The five operations, as values, and the row that each one appends to the operation log."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from itertools import compress
from operator import attrgetter, is_not
from typing import Any, NamedTuple

from recollect import names
from recollect.clock import Moment, iso
from recollect.errors import Invalid
from recollect.model.entry import Category, Entry, Kind, Lifetime, Origin, Scope
from recollect.model.fields import limits_of, nullable

__all__ = [
    "ENTRY_FIELDS",
    "WRITABLE",
    "Add",
    "Alias",
    "Operation",
    "Remove",
    "Rename",
    "Revision",
    "Write",
    "checked",
    "must_be_in_order",
]


@dataclass(frozen=True, slots=True)
class Add:
    """Create an entry, optionally addressable by a name; a name in use raises Conflict."""

    content: str
    name: str | None = None
    _: KW_ONLY
    kind: Kind | str = Kind.NOTE
    tags: Iterable[str] = ()
    context: str | None = None
    category: Category | str | None = None
    scope: Scope | str = Scope.WORKSPACE
    channel: str | None = None
    conversation: str | None = None
    importance: float = 0.5
    source: str = "agent"
    lifetime: Lifetime | str | None = None
    at: Moment | None = None
    first_event: int | None = None
    last_event: int | None = None
    """The range of events that an archive or a chunk represents, by sequence number."""
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    """When the statement holds, if that differs from the time at which it was learnt."""
    origin: Origin | str | None = None
    """Who stated it. None derives it from the source."""
    evidence: Iterable[str] = ()
    """Ids of the events, entries, files or imports that it was made from."""


@dataclass(frozen=True, slots=True)
class Rename:
    """Give an entry a new canonical name. The old one stays as an alias."""

    target: str
    name: str


@dataclass(frozen=True, slots=True)
class Alias:
    """Bind another name to an entry. An alias of another entry is moved; a canonical name never is."""

    target: str
    name: str


@dataclass(frozen=True, slots=True)
class Write:
    """Update the given fields of an entry. An empty text clears a category, a context or a date."""

    target: str
    content: str | None = None
    _: KW_ONLY
    tags: Iterable[str] | None = None
    context: str | None = None
    category: Category | str | None = None
    importance: float | None = None
    source: str | None = None
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    origin: Origin | str | None = None
    """Who states the new content; the entry gets this origin with it. None derives it from the source, as in `Add`. A
    content of a more trusted origin is not replaced."""


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove an entry and all its names. `restore()` brings it back until it expires from the trash."""

    target: str


Operation = Add | Rename | Alias | Write | Remove


ENTRY_FIELDS = {"channel": "channel_id", "conversation": "conversation_id", "at": "created_at"}
"""Fields of `Add` whose field in `Entry` has another name."""


class _Rule(NamedTuple):
    """The validation of one field of an operation."""

    name: str
    check: Callable[[Any, str], Any]
    clears: bool
    """Whether an empty text clears the field."""
    default: object
    """A value that needs no check."""


def _rules(names: Iterable[str], operation: type, *, clears: bool) -> tuple[_Rule, ...]:
    """Return the rules for fields of an operation, which have the limits of the entry's fields."""
    limits, clearable = limits_of(Entry), nullable(Entry)
    stored = {name: ENTRY_FIELDS.get(name, name) for name in names}
    defaults = {one.name: one.default for one in fields(operation)}
    return tuple(
        _Rule(name, limits[field].check, clears and field in clearable, defaults[name])
        for name, field in stored.items()
    )


WRITABLE = tuple(one.name for one in fields(Write) if one.name != "target")
"""The fields that a write can change."""
_ADD = _rules([one.name for one in fields(Add)], Add, clears=False)
_WRITE = _rules(WRITABLE, Write, clears=True)
_ADD_DEFAULTS = tuple(rule.default for rule in _ADD)
_ADD_NAMES = tuple(rule.name for rule in _ADD)
_add_fields = attrgetter(*_ADD_NAMES)


def checked(operation: Operation) -> Operation:
    """Return the operation with every field validated and normalised. Raises Invalid."""
    match operation:
        case Add():
            return _checked_add(operation)
        case Write():
            return _checked_write(operation)
        case Rename() | Alias():
            return replace(operation, target=_target(operation.target), name=names.name(operation.name))
        case Remove():
            return replace(operation, target=_target(operation.target))
    raise Invalid(f"{type(operation).__name__} is not an operation; use Add, Rename, Alias, Write or Remove")


def _checked_add(add: Add) -> Add:
    given = _add_fields(add)
    # Most fields have their default value, which needs no check.
    stated = compress(zip(_ADD, given, strict=True), map(is_not, given, _ADD_DEFAULTS))
    found = {rule.name: (value, rule.check(value, rule.name)) for rule, value in stated}
    normalised = {name: after for name, (before, after) in found.items() if after is not before}
    if normalised:
        add = Add(**dict(zip(_ADD_NAMES, given, strict=True)) | normalised)
    if add.scope is Scope.CONVERSATION and add.conversation is None:
        raise Invalid("an entry of scope 'conversation' needs the conversation it belongs to")
    if add.scope is Scope.CHANNEL and add.channel is None:
        raise Invalid("an entry of scope 'channel' needs the channel it belongs to")
    if add.scope is Scope.CONVERSATION and add.lifetime not in (None, Lifetime.CONVERSATION):
        raise Invalid("an entry of scope 'conversation' lives as long as its conversation; omit lifetime")
    must_be_in_order(add.valid_from, add.valid_until)
    return add


def must_be_in_order(valid_from: object, valid_until: object) -> None:
    """Raise Invalid if a validity ends before it begins."""
    if isinstance(valid_from, int) and isinstance(valid_until, int) and valid_until <= valid_from:
        raise Invalid(f"valid_until ({iso(valid_until)}) must be after valid_from ({iso(valid_from)})")


def _checked_write(write: Write) -> Write:
    given = {rule: value for rule in _WRITE if (value := getattr(write, rule.name)) is not None}
    if not given:
        raise Invalid(f"a write needs something to write: {', '.join(WRITABLE[:-2])} or {WRITABLE[-2]}")
    found = {
        rule.name: value if rule.clears and value == "" else rule.check(value, rule.name)
        for rule, value in given.items()
    }
    if write.origin is not None and write.content is None:
        raise Invalid("an origin says who states a content; pass the content as well")
    return replace(write, target=_target(write.target), **found)


def _target(value: object) -> str:
    return names.name(value, "name or id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One row of the operation log: the operation on an entry, its time and its actor.

    `before` and `after` hold the fields that the operation changed; `before` is empty for an add, `after` for a remove.
    """

    seq: int
    at: int
    actor: str
    operation: str
    entry_id: str
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
