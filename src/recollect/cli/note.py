"""Commands on named notes: the five operations, lists, history, links and the trash."""

from dataclasses import replace
from typing import Annotated, Any

import typer

from recollect.cli.entries import apply, identified, identified_in_trash, print_entry, remember_note
from recollect.cli.invocation import Invocation
from recollect.cli.options import (
    CategoryOption,
    ContextOption,
    EvidenceOption,
    LimitOption,
    NameArgument,
    OriginOption,
    TagOption,
    Target,
    TextArgument,
    WhyOption,
    derived_fields,
    examples,
    filters,
    for_agent,
    group,
    note_fields,
    one_of,
    text_of,
)
from recollect.cli.output import (
    columns,
    counted,
    document,
    heading,
    holding,
    label,
    line,
    on_terminal,
    pairs,
    remark,
    safe,
    short,
    shown,
    table,
)
from recollect.cli.plot import plot, resampled, room
from recollect.cli.revisions import field_changes, one_line
from recollect.clock import SystemClock, iso
from recollect.errors import Invalid
from recollect.model.entry import Entry, Kind, Lifetime, Origin, Scope, State
from recollect.model.listing import Sort
from recollect.model.operation import Alias, Remove, Rename, Write
from recollect.model.provenance import Provenance

__all__ = ["app"]

LONGEST = 240
"""Maximum characters of a text shown in a history."""
TAGS = 2
"""Maximum number of tags shown in a list."""

app = group("Add, change, list and restore notes.")


@app.command(epilog=examples("note add 'api port' 'The API listens on 8080' --tag ops"))
@for_agent
@note_fields
def add(call: Invocation, name: NameArgument, text: TextArgument, **fields: Any) -> None:
    """Store a note under a new name, like `remember --name`."""
    remember_note(call, "added", text, name, fields)


@app.command(epilog=examples("note rename 'deploy day' 'release day'"))
@for_agent
def rename(call: Invocation, target: Target, name: NameArgument) -> None:
    """Rename a note. The old name stays as an alias."""
    apply(call, "renamed", Rename(target, name))


@app.command(epilog=examples("note alias 'deploy day' 'shipping day'"))
@for_agent
def alias(
    call: Invocation,
    target: Target,
    name: Annotated[str, typer.Argument(metavar="ALIAS", help="Additional name.", show_default=False)],
) -> None:
    """Add an alias to a note. An alias of another note is moved to this one; a name is not."""
    apply(call, "aliased", Alias(target, name))


@app.command(
    epilog=examples("note write 'deploy day' 'We deploy on Wednesdays now'", "note write 'deploy day' --tag ops")
)
@for_agent
@derived_fields
def write(
    call: Invocation,
    target: Target,
    *,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="New text; - reads it from stdin.", show_default=False),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="WORD", help="Tag that replaces the current ones; repeatable.")
    ] = None,
    category: CategoryOption = None,
    context: ContextOption = None,
    importance: Annotated[
        float | None, typer.Option("--importance", metavar="NUMBER", help="Importance from 0 to 1.")
    ] = None,
    no_category: Annotated[bool, typer.Option("--no-category", help="Remove its category.")] = False,
    no_context: Annotated[bool, typer.Option("--no-context", help="Remove its context.")] = False,
    origin: OriginOption = None,
    **fields: Any,
) -> None:
    """Replace a note's text, or only the given fields. Earlier values stay in its history."""
    content = None if text is None else text_of(text)
    wanted, why = "" if no_category else category, "" if no_context else context
    changes = Write(target, content, tags=tag, category=wanted, context=why, importance=importance, origin=origin)
    apply(call, "wrote", replace(changes, **fields))


@app.command(epilog=examples("note supersede 'deploy day' 'We deploy on Wednesdays' --why 'the team asked'"))
@for_agent
def supersede(
    call: Invocation,
    target: Target,
    text: TextArgument,
    *,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Time from which the new text holds. [default: now]")
    ] = None,
    why: WhyOption = None,
    origin: OriginOption = None,
    evidence: EvidenceOption = None,
) -> None:
    """Store what holds instead of a note, and keep the old text as past. `note restore` undoes it."""
    with call.memory() as mem:
        old = identified(mem, target)
        entry = mem.supersede(old, text_of(text), since=since, why=why, origin=origin, evidence=evidence or ())
    print_entry(call, "superseded", entry)


@app.command(epilog=examples("note retract 'deploy day' --why 'it was a rumour'"))
@for_agent
def retract(call: Invocation, target: Target, why: WhyOption = None) -> None:
    """Withdraw a note without a replacement, and keep its text as past. `note restore` undoes it."""
    with call.memory() as mem:
        entry = mem.retract(identified(mem, target), why=why)
    print_entry(call, "retracted", entry)


@app.command(epilog=examples("note remove 'deploy day'"))
@for_agent
def remove(call: Invocation, target: Target) -> None:
    """Move a note to the trash. `note restore` restores it with its names."""
    apply(call, "removed", Remove(target))


@app.command(epilog=examples("note show 'deploy day'", "note show 'deploy day' --json"))
@for_agent
def show(call: Invocation, target: Target) -> None:
    """Show a note with all its fields."""
    with call.memory() as mem:
        entry = mem.get(identified(mem, target))
    if call.json:
        document(entry)
    else:
        _show(entry)


@app.command(
    "list",
    epilog=examples(
        "note list", "note list --category decisions --since 2026-01-01 --limit 20", "note list --sort name"
    ),
)
@for_agent
@filters
def list_(
    call: Invocation,
    kind: Annotated[Kind, typer.Option("--kind", metavar="KIND", help=f"Kind of entries: {one_of(Kind)}.")] = Kind.NOTE,
    *,
    category: CategoryOption = None,
    scope: Annotated[Scope | None, typer.Option("--scope", metavar="SCOPE", help=f"Only {one_of(Scope)}.")] = None,
    tag: Annotated[str | None, typer.Option("--tag", metavar="WORD", help="Only with this tag.")] = None,
    lifetime: Annotated[
        Lifetime | None, typer.Option("--lifetime", metavar="LIFETIME", help=f"Only {one_of(Lifetime)}.")
    ] = None,
    channel: Annotated[str | None, typer.Option("--channel", metavar="NAME", help="Only of this channel.")] = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", metavar="ID", help="Only of this conversation.")
    ] = None,
    sort: Annotated[Sort, typer.Option("--sort", metavar="FIELD", help=f"Sort by {one_of(Sort)}.")] = Sort.CREATED,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="Reverse the order: oldest or lowest first, names from Z to A.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="NUMBER", help="Maximum number of notes.")] = 100,
    before: Annotated[
        str | None, typer.Option("--before", metavar="NAME|ID", help="Only older than this note (next page).")
    ] = None,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="NAME|ID", help="Only after this note in the current order (next page)."),
    ] = None,
    **narrowing: Any,
) -> None:
    """List notes, newest first. Times are dates or RFC 3339: 2026-03-16 or 2026-03-16T14:32:00Z."""
    with call.memory() as mem:
        found = mem.list(
            kind=kind,
            category=category,
            scope=scope,
            tag=tag,
            lifetime=lifetime,
            channel=channel,
            conversation=conversation,
            sort=sort,
            descending=(sort is Sort.NAME) if reverse else None,
            limit=limit,
            before=None if before is None else mem.get(identified(mem, before)),
            after=None if after is None else mem.get(identified(mem, after)),
            **narrowing,
        )
    past = narrowing.pop("include_past") or narrowing["as_of"] is not None
    least_trusted = narrowing.pop("min_origin") is Origin.EXTERNAL
    narrowed = any((category, scope, tag, lifetime, channel, conversation, before, after, *narrowing.values()))
    if call.json:
        document(found)
    elif found:
        header = ("id", "date", "since", "until", "state", "category", "name", "text")
        table(header, [_row(entry, past=past) for entry in found])
        if len(found) == limit:
            way = "after" if reverse or sort is not Sort.CREATED else "before"
            remark(f"there may be more; next page: --{way} {found[-1].id}")
    elif kind is Kind.NOTE and least_trusted and not narrowed and limit:
        remark("no notes yet; add one with: recollect remember 'We deploy on Tuesdays'")
    else:
        remark("no entries match", limit=limit)


@app.command(epilog=examples("note history 'deploy day'"))
@for_agent
def history(call: Invocation, target: Target) -> None:
    """Show the changes of a note, oldest first, also of one in the trash."""
    with call.memory() as mem:
        revisions = mem.history(identified(mem, target))
    if call.json:
        document(revisions)
    elif on_terminal():
        for revision in revisions:
            heading(revision.operation, f"{iso(revision.at)[:16]}  {safe(revision.actor)}")
            pairs(field_changes(revision))
    else:
        columns(
            ("when", "who", "what", "change"),
            [(iso(r.at), safe(r.actor), r.operation, one_line(r)) for r in revisions],
        )


@app.command(epilog=examples("note provenance 'deploy day'"))
@for_agent
def provenance(call: Invocation, target: Target) -> None:
    """Show where a note comes from: who said it, when, and in which conversation."""
    with call.memory() as mem:
        found = mem.provenance(identified(mem, target))
    if call.json:
        document(found)
    else:
        _trail(found, 0)


def _trail(source: Provenance, depth: int) -> None:
    """Print a source and, indented below it, what it was made from."""
    from rich.text import Text

    at = "" if source.at is None else iso(source.at)[:16]
    where = f"conversation {source.conversation}" if source.conversation else ""
    gone = "gone" if source.gone else "in the trash" if source.in_trash else ""
    about = ", ".join(part for part in (source.origin, source.name, at, where, gone) if part)
    text = f"{source.who}: {source.text}" if source.who and source.text else source.ref
    shown(Text(f"{'  ' * depth}{line(text)}{f' ({line(about)})' if about else ''}"))
    for one in source.made_from:
        _trail(one, depth + 1)
    if source.left_out:
        shown(Text(f"{'  ' * (depth + 1)}and {source.left_out} more"))


@app.command(epilog=examples("note restore 'deploy day'", "note restore 'deploy day' --name 'former deploy day'"))
@for_agent
def restore(
    call: Invocation,
    target: Annotated[str, typer.Argument(metavar="NAME|ID", help="Id, or the name it had.", show_default=False)],
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="New name, if its own is in use.")] = None,
) -> None:
    """Restore a note from the trash, with its id and name, or undo that it was superseded or retracted."""
    with call.memory() as mem:
        entry = mem.restore(identified_in_trash(mem, target), name=name)
    print_entry(call, "restored", entry)


@app.command(epilog=examples("note upsert 'staging port' 8081"))
@for_agent
def upsert(
    call: Invocation, key: NameArgument, text: TextArgument, tag: TagOption = None, origin: OriginOption = None
) -> None:
    """Create the note with this name, or replace its text."""
    with call.memory() as mem:
        entry = mem.upsert(key, text_of(text), tags=tag or (), origin=origin)
    print_entry(call, "wrote", entry)


@app.command(epilog=examples("note links 'deploy day'"))
@for_agent
def links(call: Invocation, target: Target) -> None:
    """Show the [[links]] of a note, its backlinks and its broken links."""
    with call.memory() as mem:
        found = mem.links(identified(mem, target))
    if call.json:
        document(found)
    elif not (found.out or found.back or found.broken):
        remark("no links from or to this note")
    else:
        pairs(
            [
                *(("links to", label(entry)) for entry in found.out),
                *(("linked from", label(entry)) for entry in found.back),
                *(("broken link", safe(name)) for name in found.broken),
            ]
        )


@app.command(epilog=examples("note trash"))
@for_agent
def trash(
    call: Invocation,
    limit: LimitOption = 100,
    before: Annotated[
        int | None, typer.Option("--before", metavar="NUMBER", help="Only before this `seq` (next page).")
    ] = None,
) -> None:
    """List the entries in the trash, newest first."""
    with call.memory() as mem:
        found = mem.trash(limit=limit, before=before)
    if call.json:
        document(found)
    elif not found:
        remark("the trash is empty", limit=limit)
    else:
        header = ("id", "forgotten", "name", "text")
        table(header, [(short(o.entry.id), iso(o.removed_at)[:16], *_named_text(o.entry)) for o in found])
        if len(found) == limit:
            remark(f"there may be more; next page: --before {found[-1].seq}")


@app.command("empty-trash", epilog=examples("note empty-trash --yes"))
@for_agent
def empty_trash(
    call: Invocation,
    yes: Annotated[
        bool, typer.Option("--yes", help="Confirm; nothing in the trash can be restored afterwards.")
    ] = False,
) -> None:
    """Permanently remove the text of all entries in the trash, including those that jobs put there."""
    if not yes:
        raise Invalid("emptying the trash cannot be undone; add --yes to confirm")
    with call.memory() as mem:
        emptied = mem.empty_trash()
    if call.json:
        document({"emptied": emptied})
    else:
        print(f"removed the text of {counted(emptied, 'entry', 'entries')} in the trash")


@app.command(epilog=examples("note changes", "note changes --after 10"))
@for_agent
def changes(
    call: Invocation,
    after: Annotated[int, typer.Option("--after", metavar="NUMBER", help="Only changes after this number.")] = 0,
    limit: LimitOption = 100,
    account: Annotated[bool, typer.Option("--account", help="Show the log of the account, which is separate.")] = False,
) -> None:
    """Show the operation log of all notes, oldest first."""
    with call.memory() as mem:
        found = mem.changes(after, limit=limit, account=account)
    if call.json:
        document(list(found))
    elif not found:
        remark(f"no changes after {after}" if after else "no changes yet", limit=limit)
    else:
        columns(
            ("number", "when", "who", "what", "change"),
            [(str(r.seq), iso(r.at), safe(r.actor), r.operation, one_line(r)) for r in found],
        )


@app.command(epilog=examples("note fading 'deploy day'"))
@for_agent
def fading(call: Invocation, target: Target) -> None:
    """Plot how the relevance of a note decays, and list the recalls that renewed it."""
    with call.memory() as mem:
        found = mem.accesses(identified(mem, target))
    if call.json:
        document(found)
        return
    first, last = found.curve[0][0], found.curve[-1][0]
    plot([value for _, value in resampled(found.curve, room())], f"{iso(first)[:10]} to {iso(last)[:10]}")
    pairs((iso(at)[:16], line(query)) for at, query in found.recalls)


def _row(entry: Entry, *, past: bool) -> tuple[str, ...]:
    validity = [_day(entry.valid_from), _day(entry.valid_until), _state(entry)] if past else [""] * 3
    return short(entry.id), iso(entry.created_at)[:10], *validity, entry.category or "", *_named_text(entry)


def _day(moment: int | None) -> str:
    return "" if moment is None else iso(moment)[:10]


def _state(entry: Entry) -> State:
    return entry.state_at(SystemClock().now())


def _named_text(entry: Entry) -> tuple[str, str]:
    """Return the name, and the first tags with the beginning of the text, as much as fits into a row."""
    tags = " ".join(f"#{tag}" for tag in entry.tags[:TAGS])
    return line(entry.name or ""), line(f"{tags} {entry.content[:LONGEST]}")


def _read(entry: Entry) -> str:
    return "(read from the text)" if entry.validity_inferred else ""


def _show(entry: Entry) -> None:
    heading(label(entry), entry.id if entry.name else "")
    pairs(
        [
            ("aliases", safe(", ".join(entry.aliases))),
            ("kind", entry.kind if entry.kind is not Kind.NOTE else ""),
            ("category", entry.category or ""),
            ("tags", safe(", ".join(entry.tags))),
            ("context", line(entry.context or "")),
            ("importance", f"{entry.importance:g}"),
            ("scope", entry.scope),
            ("channel", safe(entry.channel_id or "")),
            ("conversation", safe(entry.conversation_id or "")),
            ("lifetime", entry.lifetime),
            ("source", safe(entry.source)),
            ("origin", entry.origin),
            ("evidence", safe(", ".join(entry.evidence))),
            ("holds", " ".join(filter(None, (holding(entry, _state(entry)), _read(entry))))),
            ("replaced by", entry.superseded_by or ""),
            ("created", iso(entry.created_at)),
            ("updated", iso(entry.updated_at) if entry.updated_at != entry.created_at else ""),
        ]
    )
    print(f"\n{safe(entry.content)}")
