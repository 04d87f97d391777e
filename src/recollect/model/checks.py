"""Checks of single values that callers pass: members of an enum, counts and optional names. No I/O."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

from recollect import names
from recollect.errors import Invalid

__all__ = ["count", "member", "members", "optional_name", "reason", "share"]

MAX_COUNT = 2**63 - 1
"""The largest integer of both databases."""
EnumMember = TypeVar("EnumMember", bound=StrEnum)


def member(kind: type[EnumMember], value: object, what: str) -> EnumMember:
    """Return the enum member for a value; raise Invalid with the allowed values."""
    if isinstance(value, kind):
        return value
    try:
        return kind(str(value))
    except ValueError:
        allowed = ", ".join(repr(str(item)) for item in kind)
        raise Invalid(f"{str(value)[:80]!r} is not a {what}; use one of {allowed}") from None


def members(kind: type[EnumMember], values: object, what: str) -> tuple[EnumMember, ...]:
    """Return the enum members for a list of values."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise Invalid(f"{what}s must be a list, not {values!r}")
    return tuple(member(kind, value, what) for value in values)


def count(value: object, what: str) -> int:
    """Return a limit, a number of `what`, at most what a database can store; raise Invalid unless it is 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Invalid(f"the limit must be a number of {what}, 0 or more; not {value!r}")
    return min(value, MAX_COUNT)


def optional_name(value: object, what: str) -> str | None:
    """Return a valid name, or None for None."""
    return None if value is None else names.name(value, what)


def reason(why: object) -> str | None:
    """Return the reason of a change, text of any number of lines; None for None."""
    return None if why is None else names.plain("why", why, lines=True)


def share(value: object, what: str) -> float:
    """Return a number from 0 to 1; raise Invalid otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Invalid(f"{what}, from 0 to 1; not {value!r}")
    return float(value)
