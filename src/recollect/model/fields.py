"""Limits of a field: what values it accepts, and how a value is validated and normalised. Pure; raises Invalid.

The fields of an entry (`Entry`), of an operation (`Add`, `Write`) and of a filter (`Filters`) carry these values as
metadata, and every layer reads them from there: validation, the columns of the database, REST bodies, MCP schemas.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Any, Protocol, get_args, get_type_hints

from recollect import names
from recollect.clock import milliseconds
from recollect.errors import Invalid
from recollect.model.checks import member

__all__ = [
    "CONTENT_BYTES",
    "LINE_LENGTH",
    "EventNumber",
    "Fraction",
    "Limits",
    "OneLine",
    "OneOf",
    "Text",
    "Time",
    "Words",
    "limits_of",
    "nullable",
]

CONTENT_BYTES = 1_000_000
LINE_LENGTH = names.NAME_LENGTH
EVENTS = 2**63 - 1
"""Greatest sequence number of an event."""


class Limits(Protocol):
    """What a field accepts."""

    def check(self, value: object, what: str) -> Any:
        """Return the value, normalised; raise Invalid if it is not accepted. `what` names the field in the message."""
        ...


@dataclass(frozen=True, slots=True)
class OneLine:
    """A single non-blank line of text."""

    length: int = LINE_LENGTH
    example: str | None = None

    def check(self, value: object, what: str) -> str:
        """Return the line without surrounding white space."""
        return names.name(value, what, self.length)


@dataclass(frozen=True, slots=True)
class Text:
    """Text of any number of lines. `blank` text is accepted only where it is optional."""

    size: int = CONTENT_BYTES
    """Maximum number of bytes."""
    blank: bool = False
    example: str | None = None

    def check(self, value: object, what: str) -> str:
        """Return the text unchanged."""
        text = names.plain(what, value, lines=True)
        if not self.blank and names.is_blank(text):
            raise Invalid(f"the {what} is empty; there is nothing to remember")
        if len(text) * 4 > self.size and (size := len(text.encode())) > self.size:
            raise Invalid(
                f"the {what} has {size:,} bytes; at most {self.size:,} are allowed. "
                "Split it into several entries, or remember a summary and where the whole text is"
            )
        return text


@dataclass(frozen=True, slots=True)
class Words:
    """A list of lines without duplicates."""

    count: int
    """Maximum number of lines."""
    length: int
    """Maximum number of characters of a line."""
    example: str | None = None

    def check(self, value: object, what: str) -> tuple[str, ...]:
        """Return the lines trimmed and deduplicated, in the given order."""
        if value == ():
            return ()
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise Invalid(f"{what} must be a list of words, not {value!r}")
        one = what.removesuffix("s")
        found = tuple(dict.fromkeys(names.name(word, one) for word in value))
        if len(found) > self.count:
            raise Invalid(f"there are {len(found)} {what}; at most {self.count} are allowed")
        long = next((word for word in found if len(word) > self.length), None)
        if long:
            raise Invalid(f"the {one} {long[:80]!r} has {len(long)} characters; at most {self.length} are allowed")
        return found


@dataclass(frozen=True, slots=True)
class OneOf:
    """A member of an enumeration."""

    kind: type[StrEnum]

    def check(self, value: object, what: str) -> StrEnum:
        """Return the member for its value."""
        return member(self.kind, value, what)


@dataclass(frozen=True, slots=True)
class Fraction:
    """A number from 0 to 1."""

    def check(self, value: object, what: str) -> float:
        """Return the number as a float."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise Invalid(f"{what} must be a number from 0 to 1, not {value!r}")
        return float(value)


@dataclass(frozen=True, slots=True)
class EventNumber:
    """The sequence number of an event."""

    def check(self, value: object, what: str) -> int:
        """Return the number unchanged."""
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= EVENTS:
            raise Invalid(f"the number of an event must be 1 or more, and less than 2 to the 63rd; not {value!r}")
        return value


@dataclass(frozen=True, slots=True)
class Time:
    """A moment."""

    def check(self, value: Any, what: str) -> int:
        """Return the moment in UTC milliseconds."""
        return milliseconds(value)


@cache
def limits_of(kind: type) -> Mapping[str, Limits]:
    """Return the limits of the fields of a dataclass, by name; fields without limits are omitted."""
    return {one.name: one.metadata["limits"] for one in fields(kind) if "limits" in one.metadata}


@cache
def nullable(kind: type) -> frozenset[str]:
    """Return the names of the fields of a dataclass that may be None."""
    return frozenset(name for name, hint in get_type_hints(kind).items() if NoneType in get_args(hint))
