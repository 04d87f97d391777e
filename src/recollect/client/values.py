"""Conversion of the library's values to JSON and back, driven by their types. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from recollect.clock import milliseconds

__all__ = ["from_json", "to_json"]


def to_json(value: Any) -> Any:
    """Convert a value to JSON types: dataclasses to objects, datetimes to milliseconds, iterables to lists."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return milliseconds(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(one) for key, one in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [to_json(one) for one in value]
    return value


def from_json(kind: Any, value: Any) -> Any:
    """Convert JSON to a value of type `kind`. Unknown fields, as sent by a newer server, are ignored."""
    origin = get_origin(kind)
    if kind is Any or kind is None or kind is NoneType:
        return value
    if origin in (Union, UnionType):
        return _one_of(get_args(kind), value)
    if origin is tuple:
        parts = get_args(kind)
        inner = [parts[0]] * len(value) if parts[-1] is Ellipsis else parts
        return tuple(from_json(one, item) for one, item in zip(inner, value, strict=True))
    if origin in (list, Sequence, Iterable):
        return [from_json(get_args(kind)[0], item) for item in value]
    if origin in (dict, Mapping):
        return {key: from_json(get_args(kind)[1], item) for key, item in value.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        known = {item.name for item in fields(kind) if item.init}
        made = {name: from_json(hints[name], item) for name, item in value.items() if name in known}
        # Frozen dataclasses hold tuples, not lists.
        return kind(**{name: tuple(item) if isinstance(item, list) else item for name, item in made.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    return value


def _one_of(kinds: Sequence[Any], value: Any) -> Any:
    """Convert to the first type of a union that fits the value."""
    if value is None:
        return None
    for kind in kinds:
        if kind is NoneType:
            continue
        shaped = is_dataclass(kind) or get_origin(kind) in (dict, Mapping)
        if shaped == isinstance(value, Mapping):
            return from_json(kind, value)
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
