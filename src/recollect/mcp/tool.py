"""A tool whose arguments are exactly those of its schema, and whose errors tell a model what to do next."""

import json
import logging
from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp.types import ToolAnnotations
from pydantic import BaseModel, ConfigDict, ValidationError

from recollect.errors import ConfigError, Conflict, Corrupt, Denied, Invalid, NotFound, RecollectError, Unavailable
from recollect.mcp.notifications import tell_failure
from recollect.mcp.request_context import seat

__all__ = ["ERRORS", "Actions", "advice", "checked", "listed", "tool"]

ADVICE: Mapping[type[RecollectError], str] = {
    NotFound: "Look at what is there first.",
    Conflict: "Nothing was changed. Look at what is there, then choose another name or another action.",
    Invalid: "Nothing was changed. Correct the arguments and call again.",
    Denied: "Do not try again; this is not allowed here.",
    Unavailable: "Nothing was lost. Try once more in a moment; if it fails again, tell the user.",
    Corrupt: "Tell the user to run `recollect check` where the memory is.",
    ConfigError: "You cannot change this; tell the user.",
}
_NOTES = (
    "Look for it first, with `memory` (action `recall`) or `memory_note` (action `list`; `trash` for what was removed)."
)
_TALKS = "`conversation` (action `list`) shows the conversations."
LOOK: Mapping[str, str] = {
    **dict.fromkeys(("memory", "memory_note", "memory_upsert"), _NOTES),
    **dict.fromkeys(("conversation", "memory_compact", "memory_query"), _TALKS),
    "scratchpad": f"Its action `list` shows the keys; {_TALKS}",
    "forge_reminder": "Its action `list` shows the reminders.",
}
"""Where the user of a tool looks for what was not found."""
OUT_OF_ORDER: Mapping[type[RecollectError], str] = {
    Unavailable: "The memory, or what it needs, cannot be used right now; the log of the server says why",
    Corrupt: "The memory is damaged, nothing was read or changed",
    ConfigError: "The server is not set up for this; its log says what is wrong",
}
"""What is said instead where files of the machine would be named."""
ERRORS = 20
"""The most errors that are told at once; with more unknown arguments than that, none is looked at."""
VALUES = 50_000
"""The most commas and brackets in a list that is sent as text: no more than a body may have otherwise."""
_log = logging.getLogger("recollect.mcp")

Actions = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
"""The actions of a tool: what each one needs, and what else it takes."""


def advice(error: RecollectError, tool: str = "") -> str:
    """What a model is told about an error, perhaps one of a tool: what is wrong, and what to do next."""
    kind = next((kind for kind in ADVICE if isinstance(error, kind)), RecollectError)
    said = str(error).rstrip(".")
    # What is damaged, and over HTTP also what the system said of which file, is the operator's to know.
    by_system = kind is Unavailable or (kind is ConfigError and error.__cause__ is not None)
    if kind is Corrupt or (by_system and seat().over_http):
        _log.error("%s", error)
        said = OUT_OF_ORDER[kind]
    following = LOOK.get(tool, ADVICE[NotFound]) if kind is NotFound else ADVICE.get(kind, "")
    return f"{said}. {following}".strip()


def checked(actions: Actions, action: str, given: Mapping[str, Any]) -> None:
    """Refuse what the action lacks and what does not belong to it; None counts as not given."""
    needed, also = actions[action]
    for name in needed:
        if given.get(name) is None:
            raise Invalid(f"the action {action!r} needs {listed(needed)}; {name!r} is missing")
    for name, value in given.items():
        if value is not None and name not in (*needed, *also):
            takes = listed((*needed, *also)) if needed or also else "no other arguments"
            raise Invalid(f"the action {action!r} has no argument {name!r}; it takes {takes}")


def tool(
    function: Callable[..., Any], *, title: str, reads: bool = False, destroys: bool = False, repeats: bool = False,
    outside: bool = False,
) -> Tool:  # fmt: skip
    """A tool made of a function: its docstring is the description, its annotations are the schemas."""
    made = Tool.from_function(
        function, title=title, description=_flat(function.__doc__ or ""), structured_output=True,
        annotations=ToolAnnotations(
            title=title, read_only_hint=reads, destructive_hint=destroys, idempotent_hint=repeats or reads,
            open_world_hint=outside,
        ),
    )  # fmt: skip
    known = made.fn_metadata

    class Strict(known.arg_model):  # type: ignore[name-defined, misc]
        model_config = ConfigDict(
            extra="forbid", hide_input_in_errors=True
        )  # to show it takes long, and nobody sees it

    metadata = _Metadata(
        arg_model=Strict, output_schema=known.output_schema, output_model=known.output_model,
        wrap_output=known.wrap_output,
    )  # fmt: skip
    if metadata.output_schema is not None:
        metadata.output_schema = _plain(metadata.output_schema)
    kept = {name: getattr(made, name) for name in Tool.model_fields}
    parameters = _plain(Strict.model_json_schema(by_alias=True))
    return _Strict(**{**kept, "fn": _translated(function), "fn_metadata": metadata, "parameters": parameters})


class _Metadata(FuncMetadata):
    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """Some clients send a list as text. Any other text stays as it is: content may well look like JSON."""
        lists = _lists(self.arg_model)
        return {name: _parsed(value) if name in lists else value for name, value in data.items()}


@cache
def _lists(arguments: type[BaseModel]) -> frozenset[str]:
    """The arguments that are lists."""
    return frozenset(name for name, field in arguments.model_fields.items() if "list[" in str(field.annotation))


def _parsed(value: Any) -> Any:
    short = isinstance(value, str) and value.count(",") <= VALUES and value.count("[") + value.count("{") <= VALUES
    try:
        parsed = json.loads(value) if short else value
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, list) else value


class _Strict(Tool):
    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        known = self.parameters.get("properties", {})
        if len(arguments) > len(known) + ERRORS:
            raise ToolError(
                f"The arguments of {self.name} are wrong: there are {len(arguments):,} of them; it takes "
                f"{listed(tuple(known))}. {ADVICE[Invalid]}"
            )
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(_wrong(self, cause)) from cause
            if type(cause) is ToolError:  # said on purpose: without the SDK's prefix
                raise cause from None
            if isinstance(error, UnexpectedToolError):
                await tell_failure(context.request_context.session, self.name)
            raise


def _plain(schema: Any) -> Any:
    """A schema in fewer words: what may be left out is of its one type, and titles that repeat a name are gone."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            made[key] = {name: _plain(inner) for name, inner in value.items()}
        elif not (key == "title" and isinstance(value, str)) and not (key == "default" and value is None):
            made[key] = _plain(value)
    options = made.get("anyOf", ())
    if len(options) == 2 and {"type": "null"} in options:
        (only,) = [one for one in options if one != {"type": "null"}]
        del made["anyOf"]
        made = {**only, **made}
    return made


def _translated(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(**given: Any) -> Any:
        try:
            return function(**given)
        except RecollectError as error:
            raise ToolError(advice(error, function.__name__)) from error

    return call


def _wrong(tool: Tool, error: ValidationError) -> str:
    """The arguments that are wrong, in the words of the schema; values are not repeated."""
    known = tool.parameters.get("properties", {})
    told = []
    for problem in error.errors(include_url=False, include_input=False)[:ERRORS]:
        name = ".".join(str(part)[:80] for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            told.append(f"there is no argument {name!r}; there are {listed(tuple(known))}")
            if "agent" in name:
                told.append("whose memory this is cannot be chosen")
        else:
            told.append(f"{name}: {problem['msg'][0].lower()}{problem['msg'][1:]}")
    return f"The arguments of {tool.name} are wrong: {'; '.join(dict.fromkeys(told))}. {ADVICE[Invalid]}"


def listed(names: tuple[str, ...]) -> str:
    """The names of arguments, as they are told."""
    return ", ".join(f"`{name}`" for name in names)


def _flat(text: str) -> str:
    """A docstring without its indentation; a single line break is a space, an empty line stays."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n")).strip()
