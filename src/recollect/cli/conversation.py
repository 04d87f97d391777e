"""Conversations from the command line: what was said, what it became, and the hand of the operator."""

from typing import Annotated

import typer

from recollect.cli.call import Call, for_agent
from recollect.cli.content import AtOption, ChannelOption, TextArgument, examples, text_of
from recollect.cli.output import columns, document, heading, line, pairs, remark, safe
from recollect.clock import iso
from recollect.conversation import Conversation
from recollect.errors import Invalid, NotFound
from recollect.memory import Memory
from recollect.model.history import ConversationInfo, Event, Lane, Turn

__all__ = ["app"]

app = typer.Typer(help="Conversations: what was said, and what remains of it.", rich_markup_mode=None)

Which = Annotated[
    str, typer.Argument(metavar="ID", help="Its id or ref code, or `last` for the newest one.", show_default=False)
]
LaneOption = Annotated[Lane, typer.Option("--lane", help="The view: edge, or core.")]
LimitOption = Annotated[int, typer.Option("--limit", metavar="NUMBER", help="The most to show.")]
ROLES = ("user", "assistant")


@app.callback(invoke_without_command=True)
def show_help(ctx: typer.Context) -> None:
    """Show the help when no command is given."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command(epilog=examples("conversation start", "conversation start --chat-id chat-7"))
@for_agent
def start(
    call: Call,
    channel: ChannelOption = None,
    chat_id: Annotated[str | None, typer.Option("--chat-id", metavar="ID", help="The chat it belongs to.")] = None,
    model_id: Annotated[str | None, typer.Option("--model-id", metavar="ID", help="The model that talks.")] = None,
) -> None:
    """Begin a conversation."""
    with call.memory() as mem:
        info = mem.conversations.start(channel, chat_id, model_id).info
    if call.json:
        document(info)
    else:
        typer.echo(f"started {info.ref_code}")


@app.command(
    epilog=examples(
        "conversation say last 'When do we deploy?'", "conversation say last - --role assistant < notes.txt"
    )
)
@for_agent
def say(
    call: Call,
    conversation: Which,
    text: TextArgument,
    role: Annotated[str, typer.Option("--role", help="user, or assistant.")] = "user",
    speaker: Annotated[str | None, typer.Option("--speaker", metavar="NAME", help="Who said it.")] = None,
    lane: LaneOption = Lane.EDGE,
    at: AtOption = None,
) -> None:
    """Append what was said."""
    if role not in ROLES:
        raise Invalid(f"{role!r} is not a role; it is one of {', '.join(ROLES)}")
    with call.memory() as mem:
        found = _found(mem, conversation)
        append = found.user if role == "user" else found.assistant
        event = append(text_of(text), speaker=speaker, lane=lane, at=at)
    if call.json:
        document(event)
    else:
        typer.echo(f"appended {event.hash[:12]} to {found.ref_code}")


@app.command(name="list", epilog=examples("conversation list --all"))
@for_agent
def list_(
    call: Call,
    everything: Annotated[bool, typer.Option("--all", help="Also those that were archived.")] = False,
    channel: ChannelOption = None,
    limit: LimitOption = 20,
) -> None:
    """Show conversations, newest first."""
    with call.memory() as mem:
        found = mem.conversations.list(everything, channel=channel, limit=limit)
    if call.json:
        document(list(found))
    elif not found:
        remark("there are no conversations yet")
    else:
        header = ("ref code", "status", "channel", "started", "summary")
        columns(header, [_row(info) for info in found])


@app.command(epilog=examples("conversation show last --limit 5"))
@for_agent
def show(call: Call, conversation: Which, limit: LimitOption = 50) -> None:
    """Show what happened in a conversation, the last events of it."""
    with call.memory() as mem:
        found = _found(mem, conversation)
        info, told = found.info, [*found.events()][-limit:] if limit else []
    if call.json:
        document({"conversation": info, "events": told})
        return
    heading(info.ref_code, "  ".join((info.status, safe(info.channel_id), iso(info.started_at)[:16])))
    if info.closing_summary:
        pairs([("summary", line(info.closing_summary))])
    pairs((_who(event), line(event.content) or "…") for event in told)


@app.command(epilog=examples("conversation search 'when do we deploy?'"))
@for_agent
def search(
    call: Call,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)],
    limit: LimitOption = 5,
    unit: Annotated[str, typer.Option("--unit", help="turn, or conversation.")] = "turn",
    target_agent: Annotated[
        str | None,
        typer.Option("--target-agent", metavar="NAME", help="Another agent's past; such reads are recorded."),
    ] = None,
) -> None:
    """Find what was said, best first."""
    with call.memory() as mem:
        found = mem.conversations.search(query, limit=limit, unit=unit, target_agent=target_agent)
    if call.json:
        document(list(found))
    elif not found:
        remark(f"nothing found for {query!r}")
    for turn in () if call.json else found:
        heading(turn.conversation.ref_code, f"{safe(turn.speaker)}  {_day(turn)}")
        pairs([("", line(turn.snippet))])


@app.command(epilog=examples("conversation compact last"))
@for_agent
def compact(call: Call, conversation: Which, lane: LaneOption = Lane.EDGE) -> None:
    """Let an archive stand for what was said before the newest user message."""
    with call.memory() as mem:
        done = _found(mem, conversation).compact(lane)
    if call.json:
        document(done)
    elif done is None:
        remark("there is nothing to compact")
    else:
        typer.echo(f"{done.archive_name} stands for {done.folded} events")


@app.command(epilog=examples("conversation end last"))
@for_agent
def end(call: Call, conversation: Which) -> None:
    """End a conversation: summary, hand-off, decisions, lessons, chunks."""
    with call.memory() as mem:
        ended = _found(mem, conversation).end()
    if call.json:
        document(ended)
        return
    typer.echo(f"ended {ended.conversation.ref_code}")
    pairs(
        [
            ("summary", line(ended.summary)),
            ("made", f"decisions {len(ended.decisions)}, lessons {len(ended.lessons)}, chunks {ended.chunks}"),
        ]
    )


@app.command(epilog=examples("conversation archive last"))
@for_agent
def archive(call: Call, conversation: Which) -> None:
    """Put a conversation away: it leaves the usual lists."""
    with call.memory() as mem:
        found = _found(mem, conversation)
        found.archive()
    if call.json:
        with call.memory() as mem:
            document(mem.conversations.get(found.id).info)
    else:
        typer.echo(f"archived {found.ref_code}")


@app.command(epilog=examples("conversation recover"))
@for_agent
def recover(call: Call) -> None:
    """Show where the agent was when it stopped, if that was less than seven days ago."""
    with call.memory() as mem:
        found = mem.recover()
    if call.json:
        document(found)
    elif found is None:
        remark("there is nothing to go on with")
    else:
        heading(found.conversation.ref_code, iso(found.saved_at)[:16])
        pairs((_who(event), line(event.content)) for event in found.events)


def _found(mem: Memory, conversation: str) -> Conversation:
    if conversation != "last":
        return mem.conversations.get(conversation)
    newest = mem.conversations.list(True, limit=1)
    if not newest:
        raise NotFound("there are no conversations yet; `conversation start` begins one")
    return mem.conversations.get(newest[0].id)


def _row(info: ConversationInfo) -> tuple[str, ...]:
    summary = line(info.closing_summary or "")
    return info.ref_code, info.status, safe(info.channel_id), iso(info.started_at)[:16], summary


def _who(event: Event) -> str:
    return safe(event.speaker or event.role)


def _day(turn: Turn) -> str:
    return iso(turn.event.created_at or 0)[:10]
