"""Filters of recalls and lists: one value, validated once, that the library passes down to the database."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from recollect.clock import Moment, milliseconds
from recollect.errors import Invalid
from recollect.model.checks import member, members
from recollect.model.entry import TAGS, Category, Kind, Lifetime, Origin, Scope
from recollect.names import plain

__all__ = ["Filters"]

_SCOPES, _KINDS, _LIFETIMES, _ORIGINS = tuple(Scope), tuple(Kind), tuple(Lifetime), tuple(Origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Filters of a recall or a list. They apply before the limit, so they never hide results that exist.

    `conversation` and `channel` differ: a list returns only their entries; a recall returns entries of the scopes
    `conversation` and `channel` only from them.
    """

    scopes: tuple[Scope, ...] = _SCOPES
    conversation: str | None = None
    channel: str | None = None
    categories: tuple[Category, ...] = ()
    """Empty for entries of every category, and those without one."""
    kinds: tuple[Kind, ...] = _KINDS
    lifetimes: tuple[Lifetime, ...] = _LIFETIMES
    tags: tuple[str, ...] = ()
    """An entry must have all of them."""
    source: str | None = None
    since: int | None = None
    until: int | None = None
    running: bool = True
    """Include archives, chunks and hand-offs of conversations that have not ended."""
    origins: tuple[Origin, ...] = _ORIGINS
    current_at: int | None = None
    """Only entries that hold at this moment: not superseded, retracted or expired."""
    as_of: int | None = None
    """Only entries that held at this moment, as far as it was known then."""
    transcripts: bool = True
    """Include pieces of transcripts: archives, chunks and automatic hand-offs."""
    recalled: bool | None = None
    """Lists only: entries that recalls found (True) or never found (False)."""
    embedded: bool | None = None
    """Lists only: entries with a vector (True), or those that should have one and do not (False)."""
    private: bool = True
    """Include notes that have no name and were not extracted from a conversation."""

    @property
    def only_current(self) -> bool:
        """Whether a recall lets everything in its reach pass that holds at `current_at`."""
        every = (_SCOPES, _KINDS, _LIFETIMES, _ORIGINS)
        return (
            self.current_at is not None
            and (self.scopes, self.kinds, self.lifetimes, self.origins) == every
            and not (self.categories or self.tags)
            and (self.source, self.since, self.until, self.as_of) == (None, None, None, None)
            and self.transcripts
        )

    @classmethod
    def checked(
        cls,
        *,
        scopes: Iterable[Scope | str] | None = None,
        category: Category | str | Iterable[Category | str] | None = None,
        kinds: Iterable[Kind | str] | None = None,
        lifetimes: Iterable[Lifetime | str] | None = None,
        tags: Iterable[str] | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        source: str | None = None,
        conversation: str | None = None,
        channel: str | None = None,
        min_origin: Origin | str = Origin.EXTERNAL,
        as_of: Moment | None = None,
        current_at: int | None = None,
        transcripts: bool = True,
        recalled: bool | None = None,
        embedded: bool | None = None,
    ) -> Self:
        """Return the filters with every value validated; None does not filter. Raises Invalid."""
        return cls(
            scopes=_SCOPES if scopes is None else members(Scope, scopes, "scope"),
            categories=_categories(category),
            kinds=(() if kinds is None else members(Kind, kinds, "kind")) or _KINDS,
            lifetimes=(() if lifetimes is None else members(Lifetime, lifetimes, "lifetime")) or _LIFETIMES,
            tags=TAGS.check(tags or (), "tags"),
            since=None if since is None else milliseconds(since),
            until=None if until is None else milliseconds(until),
            source=_line(source, "source"),
            conversation=_line(conversation, "conversation"),
            channel=_line(channel, "channel"),
            origins=_ORIGINS if min_origin is Origin.EXTERNAL else _from(member(Origin, min_origin, "origin")),
            as_of=None if as_of is None else milliseconds(as_of),
            current_at=current_at if as_of is None else None,
            transcripts=_choice(transcripts, "transcripts"),
            recalled=None if recalled is None else _choice(recalled, "recalled"),
            embedded=None if embedded is None else _choice(embedded, "embedded"),
        )


def _from(least: Origin) -> tuple[Origin, ...]:
    """Return the origins that are trusted as much as this one, or more."""
    return tuple(one for one in _ORIGINS if one.at_least(least))


def _choice(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise Invalid(f"{what} must be True or False, not {value!r}")
    return value


def _line(value: object, what: str) -> str | None:
    return None if value is None else plain(what, value)


def _categories(value: Category | str | Iterable[Category | str] | None) -> tuple[Category, ...]:
    if value is None or isinstance(value, str):
        return () if value is None else (member(Category, value, "category"),)
    found = members(Category, value, "category")
    if not found:
        raise Invalid("the list of categories is empty, so nothing could be found; omit category for all entries")
    return found
