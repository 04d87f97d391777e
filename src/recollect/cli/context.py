"""The context of a new session from the command line, as a block of text or as markdown."""

from typing import Annotated

import typer

from recollect.cli.call import Call, for_agent
from recollect.cli.content import examples, text_of
from recollect.cli.exits import EXIT_CODES
from recollect.cli.output import document, line, remark, safe
from recollect.errors import Unavailable

__all__ = ["app"]

app = typer.Typer()


@app.command(
    epilog=examples("context 'deploy the shop'", "context 'deploy the shop' --profile brief --budget 500 --orient")
)
@for_agent
def context(
    call: Call,
    command: Annotated[
        str, typer.Argument(metavar="COMMAND", help="What the session is about to do.", show_default=False)
    ],
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="TOKENS", help="How long it may be; else as the profile says.")
    ] = None,
    profile: Annotated[str, typer.Option("--profile", metavar="NAME", help="What it holds.")] = "default",
    conversation: Annotated[
        str | None, typer.Option("--conversation", metavar="ID", help="Also entries of this conversation.")
    ] = None,
    orient: Annotated[
        bool, typer.Option("--orient", help="As markdown; a language model, if there is one, may narrow it.")
    ] = False,
) -> None:
    """Show what a new session starts with: project, last hand-off, decisions, lessons, open tasks.

    A section that cannot be read is left out, and why is on stderr; the exit code is 6 if none could be.
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
            remark("; ".join(found.failed) or f"there is nothing to say about {line(command)!r} yet")
        typer.echo(safe(text), nl=False)
    if found.failed and not found.sections:
        raise typer.Exit(EXIT_CODES[Unavailable])


@app.command(epilog=examples("project", "project 'The shop sells boats and ropes.'", "project - < notes.txt"))
@for_agent
def project(
    call: Call,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT", help="What it is about; - reads it from the standard input.", show_default=False
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Only if nothing was said before.")] = False,
) -> None:
    """Show what the project is about, or say it. Every context begins with it."""
    with call.memory() as mem:
        written = None if text is None else mem.set_project(text_of(text), replace=not keep)
        about = mem.project() if text is None or call.json else None
    if call.json:
        document({"content": about} | ({} if written is None else {"written": written}))
    elif written is not None:
        typer.echo("noted what the project is about" if written else "left as it was: it was said before")
    elif about is None:
        remark("nobody has said what the project is about yet")
    else:
        typer.echo(safe(about))
