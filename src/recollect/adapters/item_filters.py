"""Filters of the stores of frameworks: JSON values by their keys, `{"author": "Ana", "score": {"$gt": 3}}`."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["covers", "matches"]

_KEY = re.compile(r"[a-zA-Z0-9_.-]+\Z")
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda found, given: found == given,
    "$ne": lambda found, given: found != given,
    "$gt": lambda found, given: found > given,
    "$gte": lambda found, given: found >= given,
    "$lt": lambda found, given: found < given,
    "$lte": lambda found, given: found <= given,
}


def covers(side: str, wanted: Sequence[str], path: tuple[str, ...]) -> bool:
    """Return whether a namespace begins (`prefix`) or ends (`suffix`) with a path, in which `*` is any label."""
    if len(path) < len(wanted):
        return False
    part = path[: len(wanted)] if side == "prefix" else path[len(path) - len(wanted) :]
    return all(label in ("*", found) for label, found in zip(wanted, part, strict=True))


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Return whether a value has what a filter wants of its keys. Raises ValueError if the filter is malformed."""
    for key, given in (wanted or {}).items():
        if not _KEY.match(key):
            raise ValueError(f"Invalid filter key: {key!r}; use letters, digits, underscores, dots and hyphens")
        if not _equals(next(_at(value, key), None), given):
            return False
    return True


def _at(value: Any, key: str) -> Iterator[Any]:
    """Iterate over the value of a key, which may be a path with dots."""
    if isinstance(value, Mapping) and key in value:
        yield value[key]
    first, dot, rest = key.partition(".")
    if dot and isinstance(value, Mapping):
        yield from _at(value.get(first), rest)


def _equals(found: Any, given: Any) -> bool:
    if isinstance(given, Mapping) and any(key.startswith("$") for key in given):
        return all(_compares(found, operator, other) for operator, other in given.items())
    if isinstance(given, Mapping):
        return isinstance(found, Mapping) and all(_equals(found.get(key), one) for key, one in given.items())
    return bool(found == (list(given) if isinstance(given, tuple) else given))


def _compares(found: Any, operator: str, given: Any) -> bool:
    if operator not in _COMPARED:
        raise ValueError(f"Unsupported operator: {operator}; there are {', '.join(_COMPARED)}")
    try:
        return _COMPARED[operator](found, given)
    except TypeError:  # values of different types are in no order
        return False
