"""Shared types of bodies and parameters, and JSON serialisation of results. Limits match those of the library."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import Path, Query, Response
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    Strict,
    TypeAdapter,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import to_json

from recollect.clock import LAST, milliseconds
from recollect.errors import Invalid
from recollect.model.entry import EVIDENCE, TAGS, Entry
from recollect.model.fields import (
    CONTENT_BYTES,
    LINE_LENGTH,
    EventNumber,
    Fraction,
    Limits,
    OneLine,
    OneOf,
    Text,
    Words,
    limits_of,
    nullable,
)
from recollect.model.operation import ENTRY_FIELDS, Write

__all__ = [
    "DATE",
    "FIRST_ERROR",
    "KEYS",
    "LINE",
    "LINES",
    "MOMENT",
    "SLASH",
    "AsOf",
    "Body",
    "BodyMoment",
    "Content",
    "FewKeys",
    "HitLimit",
    "Importance",
    "InPath",
    "IncludePast",
    "Name",
    "Page",
    "PageCursor",
    "PageLimit",
    "QueryMoment",
    "QueryText",
    "References",
    "ShortText",
    "StrictBool",
    "StrictNumber",
    "Tag",
    "Tags",
    "UnpagedLimit",
    "body_of",
    "json_response",
    "page",
    "short_tag",
]

T = TypeVar("T")


class _FirstError(FailFast):
    """Hashable FailFast, as a union of types requires."""

    __hash__ = object.__hash__


FIRST_ERROR = _FirstError()
"""Stop at the first invalid item: collecting a million errors takes seconds, and only twenty are reported."""
SLASH = "\x1f"
"""Placeholder for an encoded slash (%2F) within a path segment, which would otherwise end the segment."""
LINE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\s\x00-\x1f\x7f-\x9f\u2028\u2029][^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"
"""A single non-blank line."""
LINES = r"^[^\x00]*[^\s\x00\x1c-\x1f\x85][^\x00]*$"
"""Non-blank text. Names the separators that Python treats as whitespace and some regex engines do not."""


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("Input should be a number")
    return value


def _few_keys(value: object) -> object:
    if isinstance(value, Mapping) and len(value) > KEYS:
        raise ValueError(f"the limit is {KEYS:,} keys per object, and this one has {len(value):,}")
    return value


def short_tag(name: str) -> BeforeValidator:
    """Return a validator that rejects a long discriminator before the union would copy it into its error message."""

    def check(value: object) -> object:
        tag = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(tag, list | dict) or (isinstance(tag, str) and len(tag) > TAG):
            raise ValueError(f"{name} must be a string of at most {TAG} characters")
        return value

    return BeforeValidator(check)


FewKeys = BeforeValidator(_few_keys)
"""Limits the keys of an object. Checked first, because each unknown key would be an error of its own."""
StrictNumber = BeforeValidator(_number)
"""Strict number in a body: no text and no boolean. In JSON 5.0 equals 5."""
StrictBool = Annotated[bool, Strict()]
"""Strict boolean in a body; not yes, 1 or off."""
Name = Annotated[str, Field(min_length=1, max_length=LINE_LENGTH, pattern=LINE, examples=["deploy day"])]
ShortText = Annotated[str, Field(min_length=1, max_length=LINE_LENGTH, pattern=LINE)]
Tag = Annotated[str, Field(min_length=1, max_length=TAGS.length, pattern=LINE, examples=["ops"])]
Tags = Annotated[tuple[Tag, ...], FIRST_ERROR, Field(max_length=TAGS.count, examples=[["ops"]])]
References = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=EVIDENCE.length, pattern=LINE)], ...],
    FIRST_ERROR,
    Field(max_length=EVIDENCE.count, examples=[["event:CONVERSATION:EVENT"]]),
]
Content = Annotated[
    str, Field(min_length=1, max_length=CONTENT_BYTES, pattern=LINES, examples=["We deploy on Tuesdays."])
]
Importance = Annotated[float, Field(ge=0, le=1, description="From 0 to 1."), StrictNumber]
_LEAP = r"(19(7[26]|8[048]|9[26])|[2-9][0-9](0[48]|[2468][048]|[13579][26])|([2468][048]|[3579][26])00)-02-29"
_DAY = r"((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
_HOUR = r"([01][0-9]|2[0-3]):[0-5][0-9]"
DATE = (
    rf"^((19[7-9][0-9]|[2-9][0-9]{{3}})-{_DAY}|{_LEAP})([T ]{_HOUR}(:[0-5][0-9](\.[0-9]{{1,6}})?)?(Z|[+-]{_HOUR})?)?$"
)
"""Valid dates since 1970, with or without a time and a zone."""
TAG = 100
"""Maximum length of the value that selects one of several bodies."""
KEYS = 1_000
"""Maximum number of keys of an object in a body."""
DIGITS = 11
"""Number of digits from which a query value is read as milliseconds; fewer may be a year or a day, as 20260316."""


def _moment(value: Any) -> int:
    """Convert what the library accepts as a moment, and nothing else. In JSON 5.0 equals 5."""
    try:
        return milliseconds(int(value) if isinstance(value, float) and value.is_integer() else value)
    except Invalid as error:
        raise ValueError(str(error)) from None


def _asked(value: Any) -> int:
    digits = isinstance(value, str) and len(value) >= DIGITS and value.isascii() and value.isdigit()
    return _moment(int(value[:40]) if digits else value)


MOMENT: list[Any] = [
    {"type": "integer", "minimum": 0, "maximum": LAST},
    {"type": "string", "maxLength": 40, "pattern": DATE, "examples": ["2026-03-16T14:32:00Z"]},
]
"""JSON schema of a moment."""
_ABOUT = {"description": "UTC milliseconds, or RFC 3339 text.", "examples": [1_767_225_600_000]}
BodyMoment = Annotated[int, BeforeValidator(_moment), WithJsonSchema({"anyOf": MOMENT, **_ABOUT})]
QueryMoment = Annotated[
    int,
    BeforeValidator(_asked),
    WithJsonSchema({"anyOf": [{**MOMENT[0], "minimum": 10 ** (DIGITS - 1)}, MOMENT[1]], **_ABOUT}),
]
"""A moment in a query, where every value is text."""
AsOf = Annotated[QueryMoment | None, Query(description="What held at this time, as far as it was known then.")]
IncludePast = Annotated[bool, Query(description="Include what was superseded, retracted or has expired.")]
PageLimit = Annotated[int, Query(ge=1, le=1_000, description="Maximum number of items.")]
UnpagedLimit = Annotated[int, Query(ge=0, le=10_000, description="Maximum number of items.")]
"""A limit for results without pagination."""
HitLimit = Annotated[int, Query(ge=0, le=1_000, description="Maximum number of items.")]
"""A limit for search results."""
PageCursor = Annotated[
    str | None, Query(max_length=500, description="`next` of the previous page.", pattern=r"^[\x21-\x7e]+$")
]
InPath = Annotated[
    str,
    Path(min_length=1, max_length=LINE_LENGTH, pattern=LINE, examples=["deploy day"]),
    BeforeValidator(lambda value: value.replace(SLASH, "/") if isinstance(value, str) else value),
]
"""A name in a path, with slashes encoded as %2F."""


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("it contains a NUL byte; remove it")
    return text


QueryText = Annotated[str, Field(max_length=100_000), AfterValidator(_without_nul)]
"""A query or a part of a prompt; may be empty."""


class Body(BaseModel):
    """A body. Unknown keys are rejected, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid")
    _few_keys = model_validator(mode="before")(_few_keys)


def _value_type(limits: Limits) -> Any:
    """Return the type of a field in a body."""
    match limits:
        case OneLine():
            examples: Any = {"examples": [limits.example]} if limits.example else {}
            return Annotated[str, Field(min_length=1, max_length=limits.length, pattern=LINE, **examples)]
        case Text():
            return Content | Literal[""] if limits.blank else Content
        case Words():
            word = Annotated[str, Field(min_length=1, max_length=limits.length, pattern=LINE)]
            return Tags if limits == TAGS else Annotated[tuple[word, ...], FIRST_ERROR, Field(max_length=limits.count)]
        case OneOf():
            return limits.kind
        case Fraction():
            return Importance
        case EventNumber():
            return Annotated[int, Field(ge=1, le=sys.maxsize), StrictNumber]
    return BodyMoment


def body_of(operation: type, *left_out: str) -> type[Body]:
    """Return a base class of bodies with the fields of `Add` or `Write`, whose limits are those of the entry."""
    limits, optional, clearable = limits_of(Entry), nullable(operation), nullable(Entry)
    made: dict[str, Any] = {}
    for one in fields(operation):
        stored = ENTRY_FIELDS.get(one.name, one.name)
        if one.name in left_out or stored not in limits:
            continue
        kind = _value_type(limits[stored])
        if operation is Write and stored in clearable:
            kind = kind | Literal[""]
        default = ... if one.default is MISSING else one.default
        made[one.name] = (kind | None if one.name in optional else kind, default)
    return create_model(operation.__name__, __base__=Body, **made)


class Page(BaseModel, Generic[T]):
    """A page of a list; `next` is the cursor of the next page."""

    items: Sequence[T]
    next: str | None = None


def page(items: Sequence[T], limit: int, cursor: str | None) -> Page[T]:
    """Build a page, with a cursor if it is full."""
    return Page(items=items, next=cursor if len(items) == limit else None)


def json_response(
    value: Any, status: int = 200, headers: Mapping[str, str] | None = None, *, kind: Any = None
) -> Response:
    """Serialise a value of the library directly, without validating it again; three times as fast with its type."""
    body = to_json(value, inf_nan_mode="null") if kind is None else _of(kind).dump_json(value, warnings=False)
    return Response(body, status, headers, "application/json")


@cache
def _of(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
