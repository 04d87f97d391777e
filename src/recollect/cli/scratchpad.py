"""Scratchpads of conversations from the command line: JSON values by key."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.conversation import ConversationId, conversation_of
from recollect.cli.invocation import Invocation
from recollect.cli.options import examples, for_agent, group
from recollect.cli.output import columns, document, line, remark, safe
from recollect.errors import NotFound

if TYPE_CHECKING:
    from recollect import Scratchpad
    from recollect.memory import Memory

__all__ = ["app"]

app = group("Read and write the temporary values of a conversation.")

OwnerOption = Annotated[
    str | None,
    typer.Option(
        "--owner", metavar="NAME", help="Agent that owns the conversation, of which this agent is a participant."
    ),
]
Key = Annotated[str, typer.Argument(metavar="KEY", help="Key of the value.", show_default=False)]


@app.command(name="list", epilog=examples("scratchpad list last"))
@for_agent
def list_(call: Invocation, conversation: ConversationId, owner: OwnerOption = None) -> None:
    """List all values."""
    with call.memory() as mem:
        values = dict(_pad(mem, conversation, owner))
    if call.json:
        document(values)
    elif not values:
        remark("the scratchpad is empty")
    else:
        columns(("key", "value"), [(safe(key), line(_text(value))) for key, value in values.items()])


@app.command(epilog=examples("scratchpad write last plan '{\"step\": 1}'", "scratchpad write last mood 'in a hurry'"))
@for_agent
def write(
    call: Invocation,
    conversation: ConversationId,
    key: Key,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="JSON; anything else is stored as text.", show_default=False)
    ],
    owner: OwnerOption = None,
) -> None:
    """Write a value."""
    with call.memory() as mem:
        _pad(mem, conversation, owner)[key] = _value(value)
    if call.json:
        document(_value(value))
    else:
        typer.echo(f"wrote {safe(key)}")


@app.command()
@for_agent
def read(call: Invocation, conversation: ConversationId, key: Key, owner: OwnerOption = None) -> None:
    """Show a value."""
    with call.memory() as mem:
        pad = _pad(mem, conversation, owner)
        if key not in pad:
            raise NotFound(f"no key {key!r} in the scratchpad; `recollect scratchpad list` lists the keys")
        value = pad[key]
    if call.json:
        document(value)
    else:
        typer.echo(safe(_text(value)))


@app.command(epilog=examples("scratchpad clear last"))
@for_agent
def clear(
    call: Invocation,
    conversation: ConversationId,
    key: Annotated[str | None, typer.Argument(metavar="[KEY]", help="Key to remove. [default: all]")] = None,
    owner: OwnerOption = None,
) -> None:
    """Remove one value, or all values."""
    with call.memory() as mem:
        pad = _pad(mem, conversation, owner)
        if key is None:
            removed = len(pad)
            pad.clear()
        else:
            removed = int(pad.pop(key, pad) is not pad)
    if call.json:
        document({"removed": removed})
    else:
        typer.echo(f"removed {removed}")


def _pad(mem: "Memory", conversation: str, owner: str | None) -> "Scratchpad":
    if owner is None:
        return conversation_of(mem, conversation).scratchpad
    return mem.conversations.scratchpad(conversation, owner)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
