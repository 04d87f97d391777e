"""The library's values to JSON and back, by their types. Pure."""

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
    """A value as JSON has it: dataclasses as objects, moments as milliseconds, anything that can be gone through as
    a list."""
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
    """JSON as a value of a type. What a newer server sends besides is left out."""
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
        # A frozen value holds no list.
        return kind(**{name: tuple(item) if isinstance(item, list) else item for name, item in made.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    return value


def _one_of(kinds: Sequence[Any], value: Any) -> Any:
    """The first of several types that the value can have."""
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
