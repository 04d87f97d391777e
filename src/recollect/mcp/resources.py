"""Resources, prompts and completion: what a user can add to a conversation without a tool call."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar
from urllib.parse import quote

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from recollect import fencing
from recollect.clock import iso
from recollect.errors import NotFound, RecollectError
from recollect.mcp.request_context import request_context
from recollect.mcp.tool import advice
from recollect.model.entry import Category
from recollect.model.listing import Cursor, Sort

__all__ = ["add_completion", "add_prompts", "add_resources"]

P = ParamSpec("P")
R = TypeVar("R")
RECENT = 50
OFFERED = 100
"""Maximum number of completions in one response."""
CONVERSATIONS = 1_000
"""Number of newest conversations whose ref codes are offered for completion."""
_log = logging.getLogger("recollect.mcp")
ENTRY, CONVERSATION = "recollect://entry/{name}", "recollect://conversation/{ref}"
MARKDOWN = "text/markdown"

END = """This session is about to end. Before it does:

1. Write what was decided with `memory` (action `remember`, category `decisions`), one note each, with the reason.
2. Write what went wrong or turned out otherwise than expected in the same way, category `lessons`.
3. Write open tasks with category `tasks`, each as a line `- [ ] …`; `write` or `remove` those that are done, with
   `memory_note`.
4. Write one note of category `handoffs`: what was done, where things stand, what comes next.
5. If you appended messages with `conversation`, call it with the action `end`.

Do not write what is there already; recall first. Then tell the user in one sentence what you kept."""


def add_resources(server: MCPServer[Any]) -> None:
    """Register entries, the context and conversations as resources."""
    # A name is no path, whatever it contains: it is only compared with the names of entries.
    anything = ResourceSecurity(exempt_params={"name", "ref"})

    @server.resource(
        "recollect://entries",
        name="entries",
        title="Recent memories",
        mime_type=MARKDOWN,
        description=f"The {RECENT} newest entries, each with the address to read it at.",
    )
    @_resource
    def entries() -> str:
        lines = []
        for one in request_context().memory.list(limit=RECENT):
            name = one.name or one.id
            address = f"recollect://entry/{quote(name, safe='')}"
            beginning = fencing.one_line(one.content)[:120]
            lines.append(f"- [{fencing.label(name)}]({address}) {iso(one.created_at)[:10]}: {beginning}")
        return "\n".join(["# Recent memories", "", *(lines or ["Nothing is remembered yet."])]) + "\n"

    @server.resource(
        "recollect://context",
        name="context",
        title="Context of the project",
        mime_type=MARKDOWN,
        description="What a new session should know: project, last hand-off, decisions, lessons, open tasks, rules.",
    )
    @_resource
    def context() -> str:
        return request_context().memory.context("", conversation=request_context().current()).text

    @server.resource(
        ENTRY,
        name="entry",
        title="One memory",
        mime_type=MARKDOWN,
        security=anything,
        description="The content of the entry with this name, alias or id.",
    )
    @_resource
    def entry(name: str) -> str:
        return fencing.clean(request_context().memory.get(name).content)

    @server.resource(
        CONVERSATION,
        name="conversation",
        title="One conversation",
        mime_type=MARKDOWN,
        security=anything,
        description="What was said in the conversation with this ref code or id.",
    )
    @_resource
    def conversation(ref: str) -> str:
        found = request_context().memory.conversations.get(ref)
        info = found.info
        parts = [
            f"# {fencing.label(info.label)}",
            f"Conversation {info.ref_code}, {info.status}, begun {iso(info.started_at)}",
        ]
        parts += [f"Summary:\n\n{fencing.quoted(info.closing_summary)}"] if info.closing_summary else []
        parts += [
            f"**{fencing.label(event.speaker or event.role)}** ({event.role}) {iso(event.created_at or 0)}\n\n"
            f"{fencing.quoted(event.content)}"
            for event in found.events()
        ]
        return "\n\n".join(parts) + "\n"


def add_prompts(server: MCPServer[Any]) -> None:
    """Register the two prompts for the start and the end of a session."""

    @server.prompt(title="Begin with what is remembered", description="What is known about a task, and the task.")
    @_reported
    def orient(command: Annotated[str, Field(description="What you want to do, in your own words.")]) -> str:
        known = request_context().memory.orient(command, conversation=request_context().current()).markdown.strip()
        return f"{known or 'Nothing is remembered yet that bears on this.'}\n\nThe task: {command}"

    @server.prompt(title="End the session", description="Keep what matters, and hand over to the next session.")
    @_reported
    def end_session() -> str:
        return END


def add_completion(server: MCPServer[Any]) -> None:
    """Register completion: names of entries, ref codes of conversations, and open tasks as commands."""

    @_reported
    def offered(ref: PromptReference | ResourceTemplateReference, argument: CompletionArgument) -> list[str]:
        begun, where = argument.value, ref.uri if isinstance(ref, ResourceTemplateReference) else ref.name
        if (where, argument.name) == (CONVERSATION, "ref"):
            listed = request_context().memory.conversations.list(include_archived=True, limit=CONVERSATIONS)
            return [one.ref_code for one in listed if one.ref_code.startswith(begun)]
        if (where, argument.name) not in ((ENTRY, "name"), ("orient", "command")):
            return []
        named = request_context().memory.list(
            sort=Sort.NAME,
            after=Cursor(begun, "").text(Sort.NAME) if begun else None,
            limit=OFFERED + 1,
            category=Category.TASKS if where == "orient" else None,
        )
        return [one.name for one in named if one.name and one.name.startswith(begun)]

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        found = await run_in_threadpool(offered, ref, argument)
        return Completion(values=found[:OFFERED], has_more=len(found) > OFFERED)


def _resource(function: Callable[P, str]) -> Callable[P, str]:
    @wraps(function)
    def read(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return function(*args, **kwargs)
        except NotFound as error:
            raise ResourceNotFoundError(advice(error)) from error
        except RecollectError as error:
            raise ResourceError(advice(error)) from error

    return read


def _reported(function: Callable[P, R]) -> Callable[P, R]:
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except RecollectError as error:
            raise MCPError(code=INVALID_PARAMS, message=advice(error)) from error
        except Exception as error:  # the SDK would send its message to the client
            _log.exception("%s failed", function.__name__)
            failed = f"{function.__name__} failed unexpectedly; see the log of the server"
            raise MCPError(code=INTERNAL_ERROR, message=failed) from error

    return call
