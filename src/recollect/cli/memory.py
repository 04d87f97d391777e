"""Commands on one agent's memory: remember, recall, forget."""

import shlex
from typing import Annotated, Any

import typer

from recollect.cli.entries import identified, print_entry, remember_note
from recollect.cli.erasure import confirm_erasure, print_receipt
from recollect.cli.invocation import Invocation
from recollect.cli.options import (
    Target,
    TextArgument,
    examples,
    filters,
    for_agent,
    note_fields,
    one_of,
)
from recollect.cli.output import brief, document, line, nothing_found, pairs, remark
from recollect.model.entry import Category, Kind, Lifetime, Scope
from recollect.model.operation import Remove
from recollect.model.recall import UNANSWERED, Hit

__all__ = ["app"]


app = typer.Typer()


@app.command(
    epilog=examples(
        "remember 'We deploy on Tuesdays' --name 'deploy day' --tag ops --category decisions",
        "remember - --name 'meeting notes' < notes.txt",
        "remember '- [ ] call the carrier' --category tasks",
    )
)
@for_agent
@note_fields
def remember(
    call: Invocation,
    text: TextArgument,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Name to address it by.")] = None,
    **fields: Any,
) -> None:
    """Store a note. It is on disk when the command returns."""
    remember_note(call, "remembered", text, name, fields)


@app.command(
    epilog=examples(
        "recall 'when do we deploy?'",
        "recall deploy --category decisions --since 2026-01-01 --limit 3",
        "recall deploy --as-of 2026-04-01",
        "recall deploy --json",
    )
)
@for_agent
@filters
def recall(
    call: Invocation,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Question or keywords.", show_default=False)],
    *,
    limit: Annotated[int, typer.Option("--limit", metavar="NUMBER", help="Maximum number of hits.")] = 5,
    mode: Annotated[
        str,
        typer.Option(
            "--mode", metavar="MODE", help="Search mode: hybrid, keyword (words only) or vector (meaning only)."
        ),
    ] = "hybrid",
    category: Annotated[
        list[Category] | None,
        typer.Option("--category", metavar="CATEGORY", help=f"Only {one_of(Category)}; repeatable."),
    ] = None,
    kind: Annotated[
        list[Kind] | None, typer.Option("--kind", metavar="KIND", help=f"Only {one_of(Kind)}; repeatable.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="WORD", help="Only with this tag; repeat to require several.")
    ] = None,
    scope: Annotated[
        list[Scope] | None, typer.Option("--scope", metavar="SCOPE", help=f"Only {one_of(Scope)}; repeatable.")
    ] = None,
    channel: Annotated[
        str | None, typer.Option("--channel", metavar="NAME", help="Include entries of this channel.")
    ] = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", metavar="ID", help="Include entries of this conversation.")
    ] = None,
    target_agent: Annotated[
        str | None,
        typer.Option("--target-agent", metavar="NAME", help="Search another agent's memory; such reads are recorded."),
    ] = None,
    lifetime: Annotated[
        list[Lifetime] | None,
        typer.Option("--lifetime", metavar="LIFETIME", help=f"Only {one_of(Lifetime)}; repeatable."),
    ] = None,
    fusion: Annotated[
        str,
        typer.Option("--fusion", metavar="METHOD", help="How word and vector scores are combined: weighted or rrf."),
    ] = "weighted",
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Also match longer words that begin with a query word, at a lower score.")
    ] = False,
    fuzzy: Annotated[
        float,
        typer.Option(
            "--fuzzy", metavar="NUMBER", help="Also match similar words: share of letters that may differ, from 0 to 1."
        ),
    ] = 0.0,
    min_confidence: Annotated[
        float,
        typer.Option(
            "--min-confidence", metavar="NUMBER", help="Return nothing if an answer is less probable, from 0 to 1."
        ),
    ] = 0.0,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score is computed.")] = False,
    **narrowing: Any,
) -> None:
    """Search entries, best match first. The query has no syntax: every word counts, in any form.

    Times are dates or RFC 3339: 2026-03-16 or 2026-03-16T14:32:00Z.
    """
    with call.memory() as mem:
        hits = mem.recall(
            query,
            limit=limit,
            mode=mode,
            category=category or None,
            kinds=kind,
            tags=tag,
            scopes=scope,
            channel=channel,
            conversation=conversation,
            target_agent=target_agent,
            lifetimes=lifetime,
            fusion=fusion,
            prefix=prefix,
            fuzzy=fuzzy,
            min_confidence=min_confidence,
            explain=explain,
            **narrowing,
        )
        from recollect.memory import conversations_have_more

        given = [value for name, value in narrowing.items() if name not in ("include_past", "min_origin")]
        more = (
            not call.json
            and limit > 0
            and conversations_have_more(
                mem, query, hits, category, kind, tag, scope, target_agent, lifetime, *given, conversation=conversation
            )
        )
    if call.json:
        document(hits)
        return
    if not hits:
        nothing_found(query, limit=limit, min_confidence=min_confidence)
    elif hits[0].confidence < UNANSWERED:
        remark("nothing that answers this; nearest:")
    for hit in hits:
        _show(hit)
    if more:
        remark(f"conversations have more: recollect conversation search {shlex.quote(line(query))}")


@app.command(epilog=examples("forget 'deploy day'", "note restore 'deploy day'", "forget 'deploy day' --erase --yes"))
@for_agent
def forget(
    call: Invocation,
    target: Target,
    erase: Annotated[
        bool, typer.Option("--erase", help="Remove the text from the history, too. This cannot be undone.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Erase without confirmation.")] = False,
) -> None:
    """Move an entry to the trash, or erase it. `note restore` restores it from the trash."""
    with call.memory() as mem:
        if not erase:
            print_entry(call, "forgot", mem.apply(Remove(identified(mem, target))))
            return
        if not yes:
            mem.history(target)  # raises NotFound before asking
            confirm_erasure(f"{line(target)!r} and its history")
        receipt = mem.forget(identified(mem, target), erase=True)
    if call.json:
        document(receipt)
    else:
        print_receipt(receipt, f"erased {receipt.entry_id}")


def _show(hit: Hit) -> None:
    whole, part = " ".join(hit.entry.content.split()), " ".join(hit.snippet.split())
    before, after = "" if whole.startswith(part) else "… ", "" if whole.endswith(part) else " …"
    brief(hit.entry, f"{before}{part}{after}", hit.state)
    if hit.why is not None:
        why = hit.why
        pairs(
            [
                ("words", _list(why.words, "score", why.words_part)),
                ("meaning", _list(why.vector, "cosine", why.vector_part)),
                ("score", f"{why.fused:.3f} × {why.decay:.3f} for its age = {hit.score:.3f}"),
            ]
        )


def _list(found: tuple[int, float] | None, unit: str, part: float) -> str:
    return "" if found is None else f"rank {found[0]}, {unit} {found[1]:.2f}, contributes {part:.3f}"
