"""How methods of remote objects become requests: routes, pages of lists, and values in paths, bodies and headers."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, get_args, get_type_hints
from urllib.parse import quote

from recollect.client.transport import HttpTransport
from recollect.client.values import from_json, to_json
from recollect.errors import Invalid
from recollect.model.history import ConversationHandle, reference

__all__ = ["PAGE", "RemoteObject", "count", "if_match", "in_path", "pages", "route", "without_defaults"]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
PAGE = 500
_PLACE = re.compile(r"\{(\w+)\}")


class RemoteObject:
    """Base of remote objects: the connection, the query parameters that select a memory, and path parameters."""

    def __init__(self, link: HttpTransport, where: Mapping[str, str], **path: str) -> None:
        self._link, self._where, self._path = link, where, path

    def _ask(self, verb: str, path: str, *, query: Mapping[str, Any] | None = None, **more: Any) -> Any:
        return self._link.ask(verb, path, query={**self._where, **(query or {})}, **more)

    def _listed(self, path: str, query: Mapping[str, Any], limit: int, cursor: str = "cursor") -> list[Any]:
        """Fetch up to `limit` items of a list, page by page."""
        found: list[Any] = []
        wanted = dict(query)
        while len(found) < count(limit):
            answer = self._ask("GET", path, query={**wanted, "limit": min(PAGE, limit - len(found))})
            found += answer["items"]
            if answer["next"] is None:
                break
            wanted[cursor] = answer["next"]
        return found


def route(
    method: Callable[Concatenate[S, P], R], verb: str, path: str, *, slow: bool = False, **names: str
) -> Callable[Concatenate[Any, P], R]:
    """Return a method with the signature of `method` that calls a route.

    Parameters named in the path go there; the rest go into the body, or into the query for GET and DELETE; `if_version`
    becomes the If-Match header. `names` maps parameters to other names on the wire. `slow` allows a longer timeout.
    """
    signature = inspect.signature(method)
    named = _PLACE.findall(path)

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        given = _given(signature.bind(self, *args, **kwargs))
        headers = if_match(given.pop("if_version", None))
        values = {**self._path, **given}
        target = path
        for name in named:
            target = target.replace(f"{{{name}}}", in_path(values[name]))
        rest = {names.get(name, name): value for name, value in given.items() if name not in named}
        carried = {"query": rest} if verb in ("GET", "DELETE") else {"body": rest}
        answer = self._ask(verb, target, headers=headers, slow=slow, **carried)
        if isinstance(answer, dict) and answer.keys() == {"items", "next"}:
            answer = answer["items"]
        result: R = from_json(_returned(method), answer)
        return result

    return call


def pages(
    method: Callable[Concatenate[S, P], R], path: str, cursor: str = "cursor", **names: str
) -> Callable[Concatenate[Any, P], R]:
    """Like `route`, for a paginated list; `cursor` is the query parameter that takes the cursor of the next page."""
    signature = inspect.signature(method)

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        given = _given(signature.bind(self, *args, **kwargs))
        limit = given.pop("limit", signature.parameters["limit"].default)
        query = {names.get(name, name): value for name, value in given.items()}
        result: R = from_json(_returned(method), self._listed(path, query, limit, cursor))
        return result

    return call


def _given(bound: inspect.BoundArguments) -> dict[str, Any]:
    given = {}
    for name, value in bound.arguments.items():
        if name != "self":
            taken = get_args(bound.signature.parameters[name].annotation)
            known = reference(value) if ConversationHandle in taken else getattr(value, "cursor", value)
            given[name] = to_json(known)
    return given


def _returned(method: Callable[..., Any]) -> Any:
    return get_type_hints(method).get("return", Any)


def in_path(given: object) -> str:
    """Return a name or an id as a segment of a path."""
    if not isinstance(given, str) or not given.strip():
        raise Invalid(f"a name or id must be non-blank text, not {given!r}")
    return quote(given, safe="")


def count(limit: object) -> int:
    """Return a valid limit; raise Invalid for any other value."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise Invalid(f"the limit must be a number, 0 or more; not {limit!r}")
    return limit


def if_match(version: str | None) -> dict[str, str]:
    """Return the headers that make a write conditional on a version of the entry."""
    if version is None:
        return {}
    if not (isinstance(version, str) and version.isascii() and version.isprintable()):
        raise Invalid(f"a version is the `version` of an entry, not {version!r}")
    return {"If-Match": f'"{version}"'}


def without_defaults(value: Any, *kinds: type) -> dict[str, Any]:
    """Convert a dataclass of one of these types to JSON, omitting fields with default values."""
    if not isinstance(value, kinds):
        wanted = ", ".join(kind.__name__ for kind in kinds)
        raise Invalid(f"{type(value).__name__} cannot be added here; pass {wanted}, such as Add('content', name=…)")
    declared: Any = value
    return {
        item.name: to_json(getattr(value, item.name))
        for item in fields(declared)
        if item.default is MISSING or getattr(value, item.name) != item.default
    }
