"""The context of a new session from the command line, as a block of text or as markdown."""

from typing import Annotated

import typer

from recollect.cli.exit_codes import EXIT_CODES
from recollect.cli.invocation import Invocation
from recollect.cli.options import examples, for_agent, text_of
from recollect.cli.output import document, line, remark, safe
from recollect.errors import Unavailable

__all__ = ["app"]

app = typer.Typer()


@app.command(
    epilog=examples("context 'deploy the shop'", "context 'deploy the shop' --profile brief --budget 500 --orient")
)
@for_agent
def context(
    call: Invocation,
    command: Annotated[
        str, typer.Argument(metavar="COMMAND", help="What the session is about to do.", show_default=False)
    ],
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="TOKENS", help="Maximum length. [default: set by the profile]")
    ] = None,
    profile: Annotated[
        str, typer.Option("--profile", metavar="NAME", help="Profile that selects the sections.")
    ] = "default",
    conversation: Annotated[
        str | None, typer.Option("--conversation", metavar="ID", help="Include entries of this conversation.")
    ] = None,
    orient: Annotated[
        bool, typer.Option("--orient", help="Print markdown, condensed by the language model if one is configured.")
    ] = False,
) -> None:
    """Print the context of a new session: project, last hand-off, open tasks, rules, and what answers the command.

    Sections that cannot be read are omitted, with the reason on stderr. The exit code is 6 if all of them fail.
    """
    with call.memory() as mem:
        if orient:
            oriented = mem.orient(command, budget=budget, profile=profile, conversation=conversation)
            found, text = oriented.context, oriented.markdown
        else:
            oriented, found = None, mem.context(command, budget=budget, profile=profile, conversation=conversation)
            text = found.text
    if call.json:
        document(oriented or found)
    else:
        if found.failed or not text:
            remark("; ".join(found.failed) or f"no context for {line(command)!r} yet")
        typer.echo(safe(text), nl=False)
    if found.failed and not found.sections:
        raise typer.Exit(EXIT_CODES[Unavailable])


@app.command(epilog=examples("project", "project 'The shop sells boats and ropes.'", "project - < notes.txt"))
@for_agent
def project(
    call: Invocation,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="New description; - reads it from stdin.", show_default=False),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Do not replace an existing description.")] = False,
) -> None:
    """Show or set the project description, with which every context begins."""
    with call.memory() as mem:
        written = None if text is None else mem.set_project(text_of(text), replace=not keep)
        about = mem.project() if text is None or call.json else None
    if call.json:
        document({"content": about} | ({} if written is None else {"written": written}))
    elif written is not None:
        typer.echo("project description saved" if written else "unchanged: the project already has a description")
    elif about is None:
        remark("no project description yet; set one with: recollect project 'TEXT'")
    else:
        typer.echo(safe(about))
