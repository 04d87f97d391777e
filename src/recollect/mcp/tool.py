"""Tools with strict arguments, and with errors that say what a model should do next."""

import json
import logging
from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp.types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import to_json
from starlette.requests import Request

from recollect.errors import ConfigError, Conflict, Corrupt, Denied, Invalid, NotFound, RecollectError, Unavailable
from recollect.mcp.notifications import notify_failure
from recollect.mcp.request_context import request_context

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
_NOTES = "Look for it first, with `memory` (action `recall`) or `memory_read` (`notes`; `trash` for what was removed)."
_TALKS = "`memory_read` (`conversations`) shows the conversations."
LOOK: Mapping[str, str] = {
    **dict.fromkeys(("memory", "memory_note", "memory_upsert"), _NOTES),
    **dict.fromkeys(("conversation", "memory_compact", "memory_query"), _TALKS),
    "memory_read": "Without a target it shows what there is; `notes` and `conversations` list them.",
    "scratchpad": f"`memory_read` (`scratchpad`) shows the keys. {_TALKS}",
    "forge_reminder": "`memory_read` (`reminders`) shows the reminders.",
}
"""Advice per tool for NotFound: where to look."""
OUT_OF_ORDER: Mapping[type[RecollectError], str] = {
    Unavailable: "The memory, or a service it needs, is unavailable; see the server's log for the reason",
    Corrupt: "The memory is damaged, nothing was read or changed",
    ConfigError: "The server is not configured for this; see its log",
}
"""Replacements for messages that would reveal paths of this machine."""
ERRORS = 20
"""Maximum number of errors in one message; a call with more excess arguments is rejected without validation."""
VALUES = 50_000
"""Maximum number of commas and brackets in a list that is sent as text, the same as for a REST body."""
UNLISTED = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minimum", "$defs"})
"""Limits that are checked but not listed: a model does not count characters, and each costs tokens in every prompt."""
LARGE = 1_000
"""A larger maximum is not listed either."""
_log = logging.getLogger("recollect.mcp")

Actions = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
"""Actions of a tool, each with its required and its optional arguments."""


def advice(error: RecollectError, tool: str = "") -> str:
    """Return the message of an error for a model: what is wrong and what to do next, perhaps specific to a tool."""
    kind = next((kind for kind in ADVICE if isinstance(error, kind)), RecollectError)
    said = str(error).rstrip(".")
    # Details of damage, and over HTTP also of system errors, which name files, go to the log only.
    by_system = kind is Unavailable or (kind is ConfigError and error.__cause__ is not None)
    if kind is Corrupt or (by_system and request_context().over_http):
        _log.error("%s", error)
        said = OUT_OF_ORDER[kind]
    following = LOOK.get(tool, ADVICE[NotFound]) if kind is NotFound else ADVICE.get(kind, "")
    return f"{said}. {following}".strip()


def checked(actions: Actions, action: str, **given: Any) -> None:
    """Raise Invalid for arguments that the action lacks or does not take; None counts as not given."""
    needed, also = actions[action]
    for name in needed:
        if given.get(name) is None:
            raise Invalid(f"the action {action!r} needs {listed(needed)}; {name!r} is missing")
    for name, value in given.items():
        if value is not None and name not in (*needed, *also):
            takes = listed((*needed, *also)) if needed or also else "no other arguments"
            raise Invalid(f"the action {action!r} has no argument {name!r}; it takes {takes}")


def tool(
    function: Callable[..., Any],
    *,
    title: str,
    actions: Actions | None = None,
    text: Callable[[Any], str] | None = None,
    reads: bool = False,
    destroys: bool = False,
    repeats: bool = False,
    outside: bool = False,
) -> Tool:
    """Make a tool of a function: the docstring is its description, the annotations define its schemas.

    `actions` are those that are listed, with their arguments; the first argument of the function chooses one. The
    function may accept others. `text` renders a result for a model; without it the text is the JSON of the result.
    """
    made = Tool.from_function(
        function,
        title=title,
        description=_flat(function.__doc__ or "") + _signatures(actions or {}),
        structured_output=True,
        annotations=ToolAnnotations(
            title=title,
            read_only_hint=reads,
            destructive_hint=destroys,
            idempotent_hint=repeats or reads,
            open_world_hint=outside,
        ),
    )
    known = made.fn_metadata

    class Strict(known.arg_model):  # type: ignore[name-defined, misc]
        model_config = ConfigDict(
            extra="forbid", hide_input_in_errors=True
        )  # rendering the input is slow, and it is not shown

    metadata = _Metadata(
        arg_model=Strict,
        output_schema=known.output_schema,
        output_model=known.output_model,
        wrap_output=known.wrap_output,
    )
    metadata._text = text
    if metadata.output_schema is not None:
        metadata.output_schema = _plain(metadata.output_schema)
    kept = {name: getattr(made, name) for name in Tool.model_fields}
    whole = Strict.model_json_schema(by_alias=True)
    parameters = _listed(_plain(_short(whole, whole.get("$defs", {}))), actions)
    return _Strict(**{**kept, "fn": _translated(function), "fn_metadata": metadata, "parameters": parameters})


def _signatures(actions: Actions) -> str:
    """Return the actions that need arguments, with these, for a description."""
    needing = [f"{name}({', '.join(needs)})" for name, (needs, _) in actions.items() if needs]
    return f"\n\nRequired: {', '.join(needing)}." if needing else ""


def _listed(parameters: dict[str, Any], actions: Actions | None) -> dict[str, Any]:
    """Return the schema of the arguments with only the actions that are listed and what they take."""
    if actions is None:
        return parameters
    known = parameters["properties"]
    chooses = next(iter(known))
    used = {chooses}.union(*((*needs, *takes) for needs, takes in actions.values()))
    known[chooses]["enum"] = [*actions]
    return {**parameters, "properties": {name: schema for name, schema in known.items() if name in used}}


def _short(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return the schema without references, and without limits that no sensible call reaches."""
    if isinstance(schema, list):
        return [_short(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _short({**definitions[schema["$ref"].rpartition("/")[2]], "description": ""}, definitions)
    large = isinstance(schema.get("maximum"), int) and schema["maximum"] > LARGE
    skipped = {*UNLISTED, "maximum"} if large else UNLISTED
    return {key: _short(value, definitions) for key, value in schema.items() if key not in skipped and value != ""}


class _Metadata(FuncMetadata):
    _text: Callable[[Any], str] | None = None

    def convert_result(self, result: Any) -> CallToolResult | InputRequiredResult:
        """Give the text of a result as the tool renders it, otherwise as JSON without indentation."""
        made = super().convert_result(result)
        assert isinstance(made, CallToolResult)
        text = to_json(made.structured_content).decode() if self._text is None else self._text(made.structured_content)
        return made.model_copy(update={"content": [TextContent(text=text)]})

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """Parse lists that some clients send as text. Other text stays unchanged: content may look like JSON."""
        lists = _lists(self.arg_model)
        return {name: _parsed(value) if name in lists else value for name, value in data.items()}


@cache
def _lists(arguments: type[BaseModel]) -> frozenset[str]:
    """Return the names of the arguments that are lists."""
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
            made = await super().run(arguments, context, convert_result)
            if isinstance(request := context.request_context.request, Request):
                request.state.tool = " ".join(filter(None, (self.name, arguments.get("action"))))  # for metrics
            return made
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(_wrong(self, cause)) from cause
            if type(cause) is ToolError:  # raised deliberately: omit the SDK's prefix
                raise cause from None
            if isinstance(error, UnexpectedToolError):
                await notify_failure(context.request_context.session, self.name)
            raise


def _plain(schema: Any) -> Any:
    """Simplify a schema: optional fields get their plain type, and titles that repeat a name are removed."""
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
    """Describe the invalid arguments in terms of the schema, without their values."""
    known = tool.parameters.get("properties", {})
    problems = []
    for problem in error.errors(include_url=False, include_input=False)[:ERRORS]:
        name = ".".join(str(part)[:80] for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            problems.append(f"there is no argument {name!r}; there are {listed(tuple(known))}")
            if "agent" in name:
                problems.append("the agent cannot be chosen")
        else:
            problems.append(f"{name}: {problem['msg'][0].lower()}{problem['msg'][1:]}")
    return f"The arguments of {tool.name} are wrong: {'; '.join(dict.fromkeys(problems))}. {ADVICE[Invalid]}"


def listed(names: tuple[str, ...]) -> str:
    """Format names of arguments for a message."""
    return ", ".join(f"`{name}`" for name in names)


def _flat(text: str) -> str:
    """Remove the indentation of a docstring; a single line break becomes a space, an empty line stays."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n")).strip()
