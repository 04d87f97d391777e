"""Hooks of a coding agent: add context at the start of a session, and store its conversation.

A hook never fails its host: it always exits with 0, and errors go to stderr.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from recollect.cli.invocation import Invocation, for_agent
from recollect.cli.mcp_clients import HOOKS
from recollect.cli.options import examples
from recollect.cli.output import complain, document
from recollect.conversation import Conversation
from recollect.errors import Invalid
from recollect.memory import Memory
from recollect.model.context import DECISIONS, EARLIER, LESSONS, NOTES
from recollect.model.history import EventType, Status

__all__ = ["app"]

app = typer.Typer()

EVENTS = {word: event for event, (word, _) in HOOKS.items()}
ASIDE = ("isMeta", "isSidechain", "isCompactSummary")
"""Flags of transcript lines that are not part of the conversation between user and model."""
RELEVANT = (DECISIONS, LESSONS, NOTES, EARLIER)
INSERTED = re.compile(
    r"<(/?)(system-reminder|command-(?:name|message|contents)|local-command-[a-z]+|bash-(?:input|stdout|stderr)"
    r"|user-prompt-submit-hook|task-notification|new-diagnostics|ide_[a-z_]+)\b"
)
"""Start and end tags of elements that the host inserts into user messages."""
MARKS = re.compile(r"</?command-args>|\A\[Request interrupted by user[^\]]*\]")
"""Other insertions of the host. The arguments of a command stay, because the user typed them."""


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
) -> None:
    """Handle a hook of Claude Code, whose JSON is read from stdin. `recollect connect claude-code` installs the hooks.

    A session is stored as the conversation whose chat id is the session id. session-start prints the context,
    user-prompt prints standing rules and relevant decisions, lessons, notes and turns, and session-end ends the
    conversation. Every event appends the new messages of the transcript.
    """
    try:
        if event not in EVENTS:
            raise Invalid(f"unknown hook {event!r}; choose one of {', '.join(EVENTS)}")
        given = _given()
        project = Path(folder or given.get("cwd") or "")
        with replace(call, folder=project, home=_within(project, call.home)).memory() as mem:
            text = _answer(mem, event, given, profile)
    except Exception as error:  # the session must go on
        complain(f"hook {event} failed: {error}")
        return
    if text:
        document({"hookSpecificOutput": {"hookEventName": EVENTS[event], "additionalContext": text}})


def _within(folder: Path, home: str) -> str:
    """Resolve a relative location against the project folder, wherever in the project the session runs."""
    return str(folder / Path(home).expanduser()) if home.strip() and "://" not in home else home


def _given() -> Mapping[str, Any]:
    raw = b"" if sys.stdin.isatty() else sys.stdin.buffer.read()
    given = json.loads(raw) if raw.strip() else {}
    if not isinstance(given, dict):
        raise Invalid("the input of a hook must be a JSON object")
    return given


def _answer(mem: Memory, event: str, given: Mapping[str, Any], profile: str) -> str:
    session = given.get("session_id")
    if event in ("stop", "pre-compact", "session-end"):
        if isinstance(session, str) and session:
            _keep(mem, given, session, end=event == "session-end")
        return ""
    here = None
    if isinstance(session, str) and session:
        model = given.get("model")
        here = mem.conversations.start(chat_id=session, model_id=model if isinstance(model, str) else None, resume=True)
        _take_in(mem, here, given, session)
    if event == "user-prompt":
        return _bearing(mem, str(given.get("prompt") or ""), here)
    found = mem.context("", profile=profile, conversation=here.id if here else None)
    if found.failed:
        complain("; ".join(found.failed))
    named = f"This session is the conversation {here.ref_code} of the memory `recollect`." if here else ""
    return "\n\n".join(part for part in (found.text.strip(), named) if part)


def _keep(mem: Memory, given: Mapping[str, Any], session: str, *, end: bool) -> None:
    """Append the new messages of the transcript, and end the conversation if the session ends."""
    known = mem.conversations.list(chat_id=session)
    active = next((mem.conversations.get(info.id) for info in known if info.status is Status.ACTIVE), None)
    if active is None and next(_new(mem, given, session), None) is None:
        return  # already ended
    here = active or mem.conversations.start(chat_id=session, resume=True)
    _take_in(mem, here, given, session)
    if not end:
        return
    if next(here.events(), None) is None:
        here.archive()  # nothing was said, so there is nothing to hand over
    else:
        here.end()


def _bearing(mem: Memory, prompt: str, here: Conversation | None) -> str:
    """Return standing rules and what is relevant to a prompt, fenced as in a context."""
    if not prompt.strip():
        return ""
    found = mem.context(prompt, profile="prompt", conversation=here.id if here else None)
    relevant = RELEVANT if found.answered else (NOTES,)  # the notes have the standing rules
    items = [line for section in found.sections if section.name in relevant for line in section.lines()]
    return "\n".join(["Remembered, and perhaps of use here:", *items]) if items else ""


def _take_in(mem: Memory, here: Conversation, given: Mapping[str, Any], session: str) -> None:
    here.extend(_new(mem, given, session, here.id))


def _new(mem: Memory, given: Mapping[str, Any], session: str, here: str | None = None) -> Iterator[dict[str, str]]:
    """Yield the messages of the transcript that earlier conversations of the same session do not have."""
    messages = list(_transcript(given.get("transcript_path")))
    known: list[str] = []
    for info in reversed(mem.conversations.list(True, chat_id=session)):
        if info.id != here:
            events = mem.conversations.get(info.id).events()
            known += [event.content for event in events if event.type in (EventType.USER, EventType.MODEL)]
    if [message["content"] for message in messages[: len(known)]] == known:
        messages = messages[len(known) :]
    yield from messages


def _transcript(path: object) -> Iterator[dict[str, str]]:
    """Yield the messages between user and model from a transcript in JSON Lines."""
    if not isinstance(path, str) or not Path(path).expanduser().is_file():
        return
    with Path(path).expanduser().open(encoding="utf-8", errors="replace") as file:
        for written in file:
            try:
                record = json.loads(written)
            except ValueError:  # the last line may be incomplete
                continue
            message = record.get("message") if isinstance(record, dict) else None
            if not isinstance(message, dict) or any(record.get(mark) for mark in ASIDE):
                continue
            role = message.get("role")
            parts = _texts(message.get("content"))
            text = "\n".join(_by_user(part) if role == "user" else part for part in parts)
            text = text.replace("\0", "").strip()
            text = text.encode(errors="replace").decode()  # a lone surrogate would be rejected
            if role in ("user", "assistant") and text:
                yield {"role": role, "content": text}


def _texts(content: Any) -> list[str]:
    """Return the texts of a message, whose content is a string or a list of typed parts."""
    if isinstance(content, str):
        return [content]
    parts = [part for part in content or () if isinstance(part, dict) and part.get("type") == "text"]
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


def _by_user(text: str) -> str:
    """Remove the elements that the host inserted. An element without an end tag was typed by the user.

    Takes linear time for any text: one pass collects the end tags by name, one pass cuts.
    """
    ends: dict[str, list[int]] = {}
    marks = list(INSERTED.finditer(text))
    for mark in reversed(marks):
        if mark[1] and text.startswith(">", mark.end()):
            ends.setdefault(mark[2], []).append(mark.start())
    kept, place, tag_end = [], 0, 0
    for mark in marks:
        if mark[1] or mark.start() < place:
            continue
        if tag_end <= mark.end():
            tag_end = text.find(">", mark.end()) + 1 or len(text) + 1
        closing = ends.get(mark[2], [])
        while closing and closing[-1] < tag_end:
            closing.pop()
        if closing:
            kept.append(text[place : mark.start()])
            place = closing[-1] + len(f"</{mark[2]}>")
    return MARKS.sub("", "".join([*kept, text[place:]]))
