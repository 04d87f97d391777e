"""Hooks of a coding agent: add context at the start of a session, and store its conversation.

A hook never fails its host: it always exits with 0, and errors go to stderr.
"""

from pathlib import Path
from typing import Annotated

import typer

from recollect.cli.hook_client import LONGEST
from recollect.cli.hook_events import EVENTS
from recollect.cli.invocation import Invocation
from recollect.cli.options import examples, for_agent

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog=examples("hook session-start < /dev/null", "hook session-end < /dev/null"))
@for_agent
def hook(
    call: Invocation,
    event: Annotated[
        str,
        typer.Argument(
            metavar="EVENT",
            help=f"Hook event: {', '.join(EVENTS)}.",
            show_default=False,
            autocompletion=lambda incomplete: [word for word in EVENTS if word.startswith(incomplete)],
        ),
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="PATH",
            envvar="CLAUDE_PROJECT_DIR",
            show_envvar=False,
            help="Project folder, for --workspace . and a relative --home. "
            "[default: $CLAUDE_PROJECT_DIR or the hook's cwd]",
        ),
    ] = None,
    profile: Annotated[
        str, typer.Option("--profile", metavar="NAME", help="Profile of the context at the start of a session.")
    ] = "default",
    keep_running: Annotated[
        float,
        typer.Option(
            "--keep-running",
            metavar="MINUTES",
            min=0,
            max=LONGEST,
            help="Start a process that handles further hooks quickly, and ends after this time without one.",
        ),
    ] = 0,
) -> None:
    """Handle a hook of Claude Code, Codex or Cursor, whose JSON is read from stdin. `recollect connect` installs it.

    A session is stored as the conversation whose chat id is the session id. session-start prints the context,
    user-prompt prints standing rules and relevant decisions, lessons, notes and turns, and session-end ends the
    conversation. Every event appends the new messages of the transcript.
    """
    from recollect.cli.hook_call import handle

    handle(event, call, str(folder or ""), profile)
