"""Conversations from the command line: reading, searching, appending, and their life cycle."""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli.erasure import confirm_erasure, print_receipt
from recollect.cli.invocation import Invocation
from recollect.cli.options import AtOption, LimitOption, SinceOption, UntilOption, examples, for_agent, group, text_of
from recollect.cli.output import columns, counted, document, heading, line, nothing_found, pairs, remark, safe
from recollect.clock import iso
from recollect.errors import Invalid, NotFound
from recollect.model.history import ConversationInfo, Event, EventType, Lane, Turn
from recollect.model.recall import UNANSWERED
from recollect.model.report import Receipt

if TYPE_CHECKING:
    from recollect.conversation import Conversation
    from recollect.memory import Memory

__all__ = ["ConversationId", "app", "conversation_of"]

app = group("Start, read, search and end conversations.")

ConversationId = Annotated[
    str, typer.Argument(metavar="ID", help="Id or ref code, or `last` for the newest conversation.", show_default=False)
]
LaneOption = Annotated[Lane, typer.Option("--lane", help="Lane of the conversation.")]
ROLES = ("user", "assistant")


@app.command(epilog=examples("conversation start", "conversation start --chat-id chat-7"))
@for_agent
def start(
    call: Invocation,
    channel: Annotated[
        str | None, typer.Option("--channel", metavar="NAME", help="Channel. [default: the default channel]")
    ] = None,
    chat_id: Annotated[
        str | None, typer.Option("--chat-id", metavar="ID", help="Id of the chat it belongs to.")
    ] = None,
    model_id: Annotated[str | None, typer.Option("--model-id", metavar="ID", help="Id of the language model.")] = None,
    participant: Annotated[
        list[str] | None,
        typer.Option("--participant", metavar="NAME", help="Agent that may use its scratchpad; repeatable."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the active conversation of --chat-id, if any.")
    ] = False,
) -> None:
    """Start a conversation."""
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
    call: Invocation,
    conversation: ConversationId,
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="Text of the message; - reads it from stdin.", show_default=False),
    ],
    *,
    role: Annotated[str, typer.Option("--role", metavar="ROLE", help="Role: user or assistant.")] = "user",
    speaker: Annotated[str | None, typer.Option("--speaker", metavar="NAME", help="Name of the speaker.")] = None,
    lane: LaneOption = Lane.EDGE,
    at: AtOption = None,
) -> None:
    """Append a message to a conversation."""
    if role not in ROLES:
        raise Invalid(f"invalid role {role!r}; must be {' or '.join(ROLES)}")
    with call.memory() as mem:
        conv = conversation_of(mem, conversation)
        append = conv.user if role == "user" else conv.assistant
        event = append(text_of(text), speaker=speaker, lane=lane, at=at)
    if call.json:
        document(event)
    else:
        typer.echo(f"appended {event.hash[:12]} to {conv.ref_code}")


@app.command(name="list", epilog=examples("conversation list --all"))
@for_agent
def list_(
    call: Invocation,
    everything: Annotated[bool, typer.Option("--all", help="Include archived conversations.")] = False,
    channel: Annotated[str | None, typer.Option("--channel", metavar="NAME", help="Only in this channel.")] = None,
    chat_id: Annotated[str | None, typer.Option("--chat-id", metavar="ID", help="Only of this chat.")] = None,
    limit: LimitOption = 100,
    before: Annotated[
        str | None, typer.Option("--before", metavar="ID", help="Only older than this conversation (next page).")
    ] = None,
) -> None:
    """List conversations, newest first."""
    with call.memory() as mem:
        last = None if before is None else mem.conversations.get(before).info
        found = mem.conversations.list(everything, channel=channel, chat_id=chat_id, limit=limit, before=last)
    if call.json:
        document(list(found))
    elif not found:
        remark("no conversations yet", limit=limit)
    else:
        header = ("ref code", "status", "channel", "started", "title", "summary")
        columns(header, [_row(info) for info in found])


@app.command(epilog=examples("conversation show last --limit 5"))
@for_agent
def show(call: Invocation, conversation: ConversationId, limit: LimitOption = 50) -> None:
    """Show a conversation and its latest events."""
    with call.memory() as mem:
        conv = conversation_of(mem, conversation)
        info, events = conv.info, [*conv.events(before=sys.maxsize, limit=limit)][::-1]
    if call.json:
        document({"conversation": info, "events": events})
        return
    heading(safe(info.label), "  ".join((info.ref_code, info.status, safe(info.channel_id), iso(info.started_at)[:16])))
    if info.closing_summary:
        pairs([("summary", line(info.closing_summary))])
    pairs((f"{event.seq} {_who(event)}", _content(event)) for event in events)


@app.command(
    epilog=examples(
        "conversation search 'when do we deploy?'", "conversation search deploy --since 2026-01-01 --channel general"
    )
)
@for_agent
def search(
    call: Invocation,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Question or keywords.", show_default=False)],
    limit: LimitOption = 10,
    *,
    unit: Annotated[
        str, typer.Option("--unit", metavar="UNIT", help="Unit of a result: turn or conversation.")
    ] = "turn",
    target_agent: Annotated[
        str | None,
        typer.Option(
            "--target-agent", metavar="NAME", help="Search another agent's conversations; such reads are recorded."
        ),
    ] = None,
    channel: Annotated[str | None, typer.Option("--channel", metavar="NAME", help="Only in this channel.")] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    no_meaning: Annotated[bool, typer.Option("--no-meaning", help="Match words only, not meaning.")] = False,
    min_confidence: Annotated[
        float,
        typer.Option(
            "--min-confidence", metavar="NUMBER", help="Return nothing if an answer is less probable, from 0 to 1."
        ),
    ] = 0.0,
) -> None:
    """Search all conversations, best match first. Times are dates or RFC 3339: 2026-03-16 or 2026-03-16T14:32:00Z."""
    with call.memory() as mem:
        found = mem.conversations.search(
            query,
            limit=limit,
            unit=unit,
            target_agent=target_agent,
            channel=channel,
            since=since,
            until=until,
            meaning=not no_meaning,
            min_confidence=min_confidence,
        )
    if call.json:
        document(list(found))
    elif not found:
        nothing_found(query, limit=limit, min_confidence=min_confidence)
    elif found[0].confidence < UNANSWERED:
        remark("nothing that answers this; nearest:")
    for turn in () if call.json else found:
        heading(turn.conversation.ref_code, f"{safe(turn.speaker)}  {_day(turn)}")
        pairs([("", line(turn.snippet))])


@app.command(epilog=examples("conversation extend last - < messages.json"))
@for_agent
def extend(
    call: Invocation,
    conversation: ConversationId,
    messages: Annotated[
        str,
        typer.Argument(metavar="MESSAGES", help="JSON list of messages; - reads it from stdin.", show_default=False),
    ],
    lane: LaneOption = Lane.EDGE,
) -> None:
    """Append the new messages of a JSON list: [{"role": …, "content": …}, …]."""
    try:
        given = json.loads(text_of(messages))
    except ValueError as error:
        raise Invalid(f"the messages are not JSON: {error}") from None
    with call.memory() as mem:
        conv = conversation_of(mem, conversation)
        added = conv.extend(given, lane=lane)
    if call.json:
        document(added)
    else:
        typer.echo(f"appended {len(added)} to {conv.ref_code}")


@app.command(epilog=examples("conversation find last 'which port?'"))
@for_agent
def find(
    call: Invocation,
    conversation: ConversationId,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Question or keywords.", show_default=False)],
    limit: LimitOption = 10,
) -> None:
    """Search one conversation by words."""
    with call.memory() as mem:
        turns = conversation_of(mem, conversation).find(query, limit=limit)
    if call.json:
        document(turns)
    elif not turns:
        nothing_found(query, limit=limit)
    else:
        pairs((_who(turn.event), line(turn.snippet)) for turn in turns)


@app.command(epilog=examples("conversation messages last --json"))
@for_agent
def messages(
    call: Invocation,
    conversation: ConversationId,
    lane: LaneOption = Lane.EDGE,
    replay: Annotated[bool, typer.Option("--replay", help="Include archives, as after a restart.")] = False,
) -> None:
    """Show the messages of a lane that a model receives: identity, summary, window."""
    with call.memory() as mem:
        conv = conversation_of(mem, conversation)
        made = conv.replay(lane) if replay else conv.messages(lane)
    if call.json:
        document(made)
    else:
        pairs((safe(str(one["role"])), line(str(one["content"]))) for one in made)


@app.command(epilog=examples("conversation summary last"))
@for_agent
def summary(call: Invocation, conversation: ConversationId, lane: LaneOption = Lane.EDGE) -> None:
    """Show the summary of the messages that are no longer in the window."""
    with call.memory() as mem:
        found = conversation_of(mem, conversation).summary(lane)
    if call.json:
        document(found)
    elif not found.summary and not found.facts:
        remark("no summary yet: every message is still in the window")
    else:
        pairs([("summary", line(found.summary)), *((safe(fact.key), line(fact.value)) for fact in found.facts)])


@app.command(epilog=examples("conversation checkpoint last"))
@for_agent
def checkpoint(call: Invocation, conversation: ConversationId) -> None:
    """Save a checkpoint of a conversation for `conversation recover`."""
    with call.memory() as mem:
        conv = conversation_of(mem, conversation)
        conv.checkpoint()
    _print_status(call, conv, "saved a checkpoint of")


@app.command(epilog=examples("conversation idle last"))
@for_agent
def idle(call: Invocation, conversation: ConversationId) -> None:
    """Mark a conversation as idle."""
    with call.memory() as mem:
        conv = conversation_of(mem, conversation)
        conv.idle()
    _print_status(call, conv, "marked as idle:")


@app.command(name="end-stale", epilog=examples("conversation end-stale"))
@for_agent
def end_stale(call: Invocation) -> None:
    """End conversations without an event for a day, because their processes have probably died."""
    with call.memory() as mem:
        done = mem.conversations.end_stale()
    if call.json:
        document(list(done))
    else:
        typer.echo(f"ended {len(done)}")


@app.command(epilog=examples("conversation compact last"))
@for_agent
def compact(call: Invocation, conversation: ConversationId, lane: LaneOption = Lane.EDGE) -> None:
    """Replace the messages before the newest user message with an archive."""
    with call.memory() as mem:
        done = conversation_of(mem, conversation).compact(lane)
    if call.json:
        document(done)
    elif done is None:
        remark("nothing to compact")
    else:
        typer.echo(f"archived {counted(done.folded, 'event')} as {done.archive_name}")


@app.command(epilog=examples("conversation end last"))
@for_agent
def end(call: Invocation, conversation: ConversationId) -> None:
    """End a conversation: store its summary, hand-off, decisions, lessons and chunks."""
    with call.memory() as mem:
        ended = conversation_of(mem, conversation).end()
    if call.json:
        document(ended)
        return
    typer.echo(f"ended {ended.conversation.ref_code}")
    pairs(
        [
            ("summary", line(ended.summary)),
            ("stored", f"decisions {len(ended.decisions)}, lessons {len(ended.lessons)}, chunks {ended.chunks}"),
        ]
    )


@app.command(epilog=examples("conversation archive last"))
@for_agent
def archive(call: Invocation, conversation: ConversationId) -> None:
    """Archive a conversation, which hides it from lists."""
    with call.memory() as mem:
        conv = conversation_of(mem, conversation)
        conv.archive()
    _print_status(call, conv, "archived")


@app.command(epilog=examples("conversation erase last --dry-run", "conversation erase last --yes"))
@for_agent
def erase(
    call: Invocation,
    conversation: ConversationId,
    event: Annotated[
        int | None, typer.Option("--event", min=1, help="Number of the message to erase. [default: all]")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed, and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Erase without confirmation.")] = False,
) -> None:
    """Erase messages and everything that was made from them: chunks, summaries, hand-offs, decisions. Cannot be undone.

    `conversation show` shows the numbers of the messages.
    """
    with call.memory() as mem:
        conv = conversation_of(mem, conversation)

        def run(dry: bool) -> Receipt:
            if event is None:
                return mem.conversations.erase(conv.id, dry_run=dry)
            return conv.erase(event, dry_run=dry)

        what = f"event {event} of {conv.ref_code}" if event is not None else f"all events of {conv.ref_code}"
        if not (dry_run or yes):
            planned = run(True)
            if not call.json:
                print_receipt(planned, f"would erase {what}")
            confirm_erasure(what)
        receipt = run(dry_run)
    if call.json:
        document(receipt)
    elif receipt.erased_before and not receipt.events:
        print_receipt(receipt, f"erased before: {what}")
    else:
        print_receipt(receipt, f"{'would erase' if dry_run else 'erased'} {what}")


@app.command(epilog=examples("conversation recover"))
@for_agent
def recover(call: Invocation) -> None:
    """Show the agent's newest checkpoint, if it is less than seven days old."""
    with call.memory() as mem:
        found = mem.recover()
    if call.json:
        document(found)
    elif found is None:
        remark("no checkpoint from the last seven days")
    else:
        heading(found.conversation.ref_code, iso(found.saved_at)[:16])
        pairs((_who(event), line(event.content)) for event in found.events)


def _print_status(call: Invocation, conv: "Conversation", verb: str) -> None:
    if call.json:
        with call.memory() as mem:
            document(mem.conversations.get(conv.id).info)
    else:
        typer.echo(f"{verb} {conv.ref_code}")


def conversation_of(mem: "Memory", conversation: str) -> "Conversation":
    """Return the conversation with an id or ref code, or the newest one for `last`."""
    if conversation != "last":
        return mem.conversations.get(conversation)
    newest = mem.conversations.list(True, limit=1)
    if not newest:
        raise NotFound("there are no conversations yet; start one with: recollect conversation start")
    return mem.conversations.get(newest[0].id)


def _row(info: ConversationInfo) -> tuple[str, ...]:
    summary = "" if info.summary_by == "import" else line(info.closing_summary or "")
    return info.ref_code, info.status, safe(info.channel_id), iso(info.started_at)[:16], safe(info.label), summary


def _content(event: Event) -> str:
    erased = event.erased_at is not None and event.type is not EventType.MARKER
    return "(erased)" if erased else line(event.content) or "…"


def _who(event: Event) -> str:
    return safe(event.speaker or event.role)


def _day(turn: Turn) -> str:
    return iso(turn.event.created_at or 0)[:10]
