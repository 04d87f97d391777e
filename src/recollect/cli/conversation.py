"""Conversations from the command line: reading, searching, appending, and their life cycle."""

import json
import sys
from typing import Annotated

import typer

from recollect.cli.call import Call, for_agent
from recollect.cli.content import AtOption, SinceOption, UntilOption, examples, text_of
from recollect.cli.output import columns, document, heading, line, pairs, remark, safe
from recollect.clock import iso
from recollect.conversation import Conversation
from recollect.errors import Invalid, NotFound
from recollect.memory import Memory
from recollect.model.history import ConversationInfo, Event, Lane, Turn

__all__ = ["Which", "app", "talk_of"]

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
    channel: Annotated[
        str | None, typer.Option("--channel", metavar="NAME", help="Where it takes place; else in the default one.")
    ] = None,
    chat_id: Annotated[str | None, typer.Option("--chat-id", metavar="ID", help="The chat it belongs to.")] = None,
    model_id: Annotated[str | None, typer.Option("--model-id", metavar="ID", help="The model that talks.")] = None,
    participant: Annotated[
        list[str] | None,
        typer.Option("--participant", metavar="NAME", help="An agent that may use its scratchpad; may be repeated."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the one of that chat id, if there is one.")
    ] = False,
) -> None:
    """Begin a conversation."""
    with call.memory() as mem:
        info = mem.conversations.start(channel, chat_id, model_id, participant or (), resume=resume).info
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
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="What was said; - reads it from the standard input.", show_default=False),
    ],
    role: Annotated[str, typer.Option("--role", metavar="ROLE", help="user, or assistant.")] = "user",
    speaker: Annotated[str | None, typer.Option("--speaker", metavar="NAME", help="Who said it.")] = None,
    lane: LaneOption = Lane.EDGE,
    at: AtOption = None,
) -> None:
    """Append what was said."""
    if role not in ROLES:
        raise Invalid(f"{role!r} is not a role; it is one of {', '.join(ROLES)}")
    with call.memory() as mem:
        talk = talk_of(mem, conversation)
        append = talk.user if role == "user" else talk.assistant
        event = append(text_of(text), speaker=speaker, lane=lane, at=at)
    if call.json:
        document(event)
    else:
        typer.echo(f"appended {event.hash[:12]} to {talk.ref_code}")


@app.command(name="list", epilog=examples("conversation list --all"))
@for_agent
def list_(
    call: Call,
    everything: Annotated[bool, typer.Option("--all", help="Also those that were archived.")] = False,
    channel: Annotated[str | None, typer.Option("--channel", metavar="NAME", help="Only those of this one.")] = None,
    chat_id: Annotated[str | None, typer.Option("--chat-id", metavar="ID", help="Only those of this chat.")] = None,
    limit: LimitOption = 100,
    before: Annotated[
        str | None, typer.Option("--before", metavar="ID", help="Those older than this one: the next page.")
    ] = None,
) -> None:
    """Show conversations, newest first."""
    with call.memory() as mem:
        last = None if before is None else mem.conversations.get(before).info
        found = mem.conversations.list(everything, channel=channel, chat_id=chat_id, limit=limit, before=last)
    if call.json:
        document(list(found))
    elif not found:
        remark("there are no conversations yet", limit=limit)
    else:
        header = ("ref code", "status", "channel", "started", "summary")
        columns(header, [_row(info) for info in found])


@app.command(epilog=examples("conversation show last --limit 5"))
@for_agent
def show(call: Call, conversation: Which, limit: LimitOption = 50) -> None:
    """Show what happened in a conversation, the last events of it."""
    with call.memory() as mem:
        talk = talk_of(mem, conversation)
        info, told = talk.info, [*talk.events(before=sys.maxsize, limit=limit)][::-1]
    if call.json:
        document({"conversation": info, "events": told})
        return
    heading(info.ref_code, "  ".join((info.status, safe(info.channel_id), iso(info.started_at)[:16])))
    if info.closing_summary:
        pairs([("summary", line(info.closing_summary))])
    pairs((_who(event), line(event.content) or "…") for event in told)


@app.command(
    epilog=examples(
        "conversation search 'when do we deploy?'", "conversation search deploy --since 2026-01-01 --channel general"
    )
)
@for_agent
def search(
    call: Call,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)],
    limit: LimitOption = 10,
    unit: Annotated[str, typer.Option("--unit", metavar="UNIT", help="turn, or conversation.")] = "turn",
    target_agent: Annotated[
        str | None,
        typer.Option("--target-agent", metavar="NAME", help="Another agent's past; such reads are recorded."),
    ] = None,
    channel: Annotated[str | None, typer.Option("--channel", metavar="NAME", help="Only in this channel.")] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    no_meaning: Annotated[bool, typer.Option("--no-meaning", help="By words alone, not by meaning.")] = False,
) -> None:
    """Find what was said, best first. Times are dates or RFC 3339: 2026-03-16 or 2026-03-16T14:32:00Z."""
    with call.memory() as mem:
        found = mem.conversations.search(
            query, limit=limit, unit=unit, target_agent=target_agent, channel=channel, since=since, until=until,
            meaning=not no_meaning,
        )  # fmt: skip
    if call.json:
        document(list(found))
    elif not found:
        remark(f"nothing found for {query!r}", limit=limit)
    for turn in () if call.json else found:
        heading(turn.conversation.ref_code, f"{safe(turn.speaker)}  {_day(turn)}")
        pairs([("", line(turn.snippet))])


@app.command(epilog=examples("conversation extend last - < messages.json"))
@for_agent
def extend(
    call: Call,
    conversation: Which,
    messages: Annotated[
        str, typer.Argument(metavar="MESSAGES", help="A JSON list of messages; - reads stdin.", show_default=False)
    ],
    lane: LaneOption = Lane.EDGE,
) -> None:
    """Append what is new in a list of messages, as chats keep them: {"role": …, "content": …}."""
    try:
        given = json.loads(text_of(messages))
    except ValueError as error:
        raise Invalid(f"the messages are not JSON: {error}") from None
    with call.memory() as mem:
        talk = talk_of(mem, conversation)
        added = talk.extend(given, lane=lane)
    if call.json:
        document(added)
    else:
        typer.echo(f"appended {len(added)} to {talk.ref_code}")


@app.command(epilog=examples("conversation find last 'which port?'"))
@for_agent
def find(
    call: Call,
    conversation: Which,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)],
    limit: LimitOption = 10,
) -> None:
    """Find what was said in one conversation, by its words."""
    with call.memory() as mem:
        turns = talk_of(mem, conversation).find(query, limit=limit)
    if call.json:
        document(turns)
    elif not turns:
        remark(f"nothing found for {query!r}", limit=limit)
    else:
        pairs((_who(turn.event), line(turn.snippet)) for turn in turns)


@app.command(epilog=examples("conversation messages last --json"))
@for_agent
def messages(
    call: Call,
    conversation: Which,
    lane: LaneOption = Lane.EDGE,
    replay: Annotated[bool, typer.Option("--replay", help="Archives and all, as after a restart.")] = False,
) -> None:
    """Show the messages that a model gets for a lane: identity, summary, window."""
    with call.memory() as mem:
        talk = talk_of(mem, conversation)
        made = talk.replay(lane) if replay else talk.messages(lane)
    if call.json:
        document(made)
    else:
        pairs((safe(str(one["role"])), line(str(one["content"]))) for one in made)


@app.command(epilog=examples("conversation summary last"))
@for_agent
def summary(call: Call, conversation: Which, lane: LaneOption = Lane.EDGE) -> None:
    """Show what stands in the prompt for what has left the window."""
    with call.memory() as mem:
        told = talk_of(mem, conversation).summary(lane)
    if call.json:
        document(told)
    elif not told.summary and not told.facts:
        remark("nothing has left the window yet")
    else:
        pairs([("summary", line(told.summary)), *((safe(fact.key), line(fact.value)) for fact in told.facts)])


@app.command(epilog=examples("conversation checkpoint last"))
@for_agent
def checkpoint(call: Call, conversation: Which) -> None:
    """Note where the conversation is, so that `recover` finds it."""
    with call.memory() as mem:
        talk = talk_of(mem, conversation)
        talk.checkpoint()
    _stands(call, talk, "noted where it is:")


@app.command(epilog=examples("conversation idle last"))
@for_agent
def idle(call: Call, conversation: Which) -> None:
    """Say that nobody is talking for now."""
    with call.memory() as mem:
        talk = talk_of(mem, conversation)
        talk.idle()
    _stands(call, talk, "idle")


@app.command(name="end-stale", epilog=examples("conversation end-stale"))
@for_agent
def end_stale(call: Call) -> None:
    """End the conversations in which nothing has happened for a day, as their processes must have died."""
    with call.memory() as mem:
        done = mem.conversations.end_stale()
    if call.json:
        document(list(done))
    else:
        typer.echo(f"ended {len(done)}")


@app.command(epilog=examples("conversation compact last"))
@for_agent
def compact(call: Call, conversation: Which, lane: LaneOption = Lane.EDGE) -> None:
    """Let an archive stand for what was said before the newest user message."""
    with call.memory() as mem:
        done = talk_of(mem, conversation).compact(lane)
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
        ended = talk_of(mem, conversation).end()
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
        talk = talk_of(mem, conversation)
        talk.archive()
    _stands(call, talk, "archived")


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


def _stands(call: Call, talk: Conversation, verb: str) -> None:
    if call.json:
        with call.memory() as mem:
            document(mem.conversations.get(talk.id).info)
    else:
        typer.echo(f"{verb} {talk.ref_code}")


def talk_of(mem: Memory, conversation: str) -> Conversation:
    """Return the conversation with an id or ref code, or the newest one for `last`."""
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
